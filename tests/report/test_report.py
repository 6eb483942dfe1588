"""Reports: a PNG that shows something, an HTML file that needs nothing else, tables that agree with them."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from ellipsoid import MIRA, Perceptron, datasets
from ellipsoid.evaluate import Protocol, compare
from ellipsoid.report.table import table

pytest.importorskip("matplotlib")

from ellipsoid.report.html import render, write_html
from ellipsoid.report.plots import learning_curves, line_styles, svg, write_png

MODELS = {
    "Perceptron": Perceptron(),
    "MIRA": MIRA(),
    "MIRA (averaged)": MIRA(average=True),
    "<b>odd</b> & name": Perceptron(multiclass="ovr"),
}


def some(**protocol):
    X, y = datasets.load("digits").train
    return compare(MODELS, datasets.Dataset("some <digits>", X=X[:600], y=y[:600]), Protocol(**protocol))


@pytest.fixture(scope="module")
def comparison():
    return some(hold_out=0.2)


@pytest.fixture(scope="module")
def several():
    return some(hold_out=0.2, seeds=(0, 1), passes=2)


@pytest.fixture(scope="module")
def text(comparison):
    """The page of the comparison."""
    return render(comparison)


@pytest.fixture(scope="module")
def drawing(comparison):
    return svg(comparison)


class Page(HTMLParser):
    """Collects references, open tags and the text of table cells."""

    VOID = frozenset({"br", "meta", "path", "use", "rect"})

    def __init__(self, text):
        super().__init__()
        self.references, self.open, self.cells, self.unclosed = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.references += [v for k, v in attributes if k in ("src", "href", "xlink:href", "data", "srcset", "action")]
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_startendtag(self, tag, attributes):
        self.references += [v for k, v in attributes if k in ("src", "href", "xlink:href")]

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "td":
            self.cells[-1] += data


def test_page_fetches_nothing(text):
    page = Page(text)
    assert page.open == []
    assert all(reference.startswith("#") for reference in page.references)
    assert "@import" not in text
    assert re.findall(r"url\((?!#)", text) == []
    assert "http" not in text
    assert "<script" not in text


def test_page_holds_every_number_of_the_table(comparison, text):
    cells = Page(text).cells
    found = table(comparison)
    for line in found.lines:
        for cell in line:
            assert cell.replace("<=", "≤") in cells
    assert set(MODELS) <= set(cells)


def test_page_says_the_setting_and_the_conditions(comparison, text):
    assert "480 to learn from, 120 to test on, the last 20% held out" in text
    assert "file order" in text
    for certificate in comparison.of("MIRA")[0].certificates:
        assert certificate.holds_if.split(";")[0].split("'")[0] in text


def test_names_are_escaped(text):
    assert "<b>odd" not in text
    assert "some <digits>" not in text
    assert "some &lt;digits&gt;" in text


def test_file_is_the_page(comparison, text, tmp_path):
    write_html(comparison, tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text("utf-8") == text


def test_equal_results_draw_equal_pictures(comparison, drawing):
    assert svg(comparison) == drawing


def test_drawing_takes_its_colours_from_the_page(drawing):
    assert drawing.startswith("<svg")
    assert "currentColor" in drawing
    assert "var(--grid)" in drawing
    assert "#010203" not in drawing


def test_png_shows_lines_in_several_colours(comparison, tmp_path):
    from matplotlib.image import imread

    write_png(comparison, tmp_path / "curves.png")
    pixels = imread(tmp_path / "curves.png")
    assert min(pixels.shape[:2]) >= 600
    ink = (np.ptp(pixels[..., :3], axis=2) > 0.3).mean()
    assert 0.001 < ink < 0.3


def test_curves_end_at_the_numbers_of_the_table(comparison):
    error, updates, below = learning_curves(comparison).axes
    cell = comparison.of("MIRA")[0]
    line = next(line for line in error.lines if "MIRA" in line.get_label())
    assert line.get_ydata()[-1] == pytest.approx(100 * cell.passes[0].error)
    assert line.get_xdata()[-1] == 480
    line = next(line for line in updates.lines if "MIRA" in line.get_label())
    assert line.get_ydata()[-1] == cell.updates
    # Below: mistakes never cross their bound, and both end where the learner does.
    run = cell.passes[0]
    assert run.cumulative_mistakes[-1] == cell.mistakes
    assert {c.name: c.bound for c in cell.certificates}["mistakes"] == run.mistake_bound[-1]
    known = np.isfinite(run.mistake_bound)
    assert known.any()
    assert (run.cumulative_mistakes[known] <= run.mistake_bound[known]).all()
    assert any(line.get_ydata()[-1] == cell.mistakes for line in below.lines)
    # Its title and its legend speak of the lines that are there, and of no others.
    assert below.get_title("left") == "Mistakes and their bound"
    drawn = {line.get_linestyle() for line in below.lines}
    assert len(below.get_legend().get_lines()) == len(drawn) == 2


def test_every_learner_is_in_the_legend(several):
    figure = learning_curves(several)
    assert len(figure.axes) == 4
    labels = " ".join(text.get_text() for text in figure.legends[0].get_texts())
    assert all(learner in labels for learner in MODELS)


def test_no_text_lies_over_other_text(several):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = learning_curves(several)
    FigureCanvasAgg(figure).draw()
    boxes = [figure.legends[0].get_window_extent()]
    for ax in figure.axes:
        shown = [ax._left_title, ax.xaxis.label, ax.yaxis.label]
        for axis, (low, high) in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
            shown += [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
        boxes += [text.get_window_extent() for text in shown]
    inside = figure.bbox.padded(1)
    for i, box in enumerate(boxes):
        assert inside.fully_contains(*box.min)
        assert inside.fully_contains(*box.max)
        assert not any(box.overlaps(other) for other in boxes[:i])


def test_averaged_form_shares_the_colour_and_is_dashed(comparison):
    styles = line_styles(comparison)
    assert styles["MIRA"]["color"] == styles["MIRA (averaged)"]["color"] != styles["Perceptron"]["color"]
    assert styles["MIRA"]["linestyle"] != styles["MIRA (averaged)"]["linestyle"]


def test_several_orders_show_deviations_and_their_page_fetches_nothing(several):
    found = table(several)
    assert all(re.fullmatch(r"[\d.]+ \([\d.]+\)", line[1]) for line in found.lines)
    text = render(several)
    assert "standard deviation" in text
    test_page_fetches_nothing(text)


def test_lowest_errors_are_marked(comparison):
    found = table(comparison)
    errors = [float(line[1]) for line in found.lines]
    assert {i for i, column in found.best if column == 1} == {i for i, e in enumerate(errors) if e == min(errors)}
