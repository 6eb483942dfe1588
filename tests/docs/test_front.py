"""What the front pages say in numbers is what was measured, and what is handed out holds what it should."""

import re
import sys
from collections import Counter
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import ellipsoid

ROOT = Path(__file__).parent.parent.parent
# The reproductions say under each table anew what a paper leaves open.
PAGES = [ROOT / "README.md", *(page for page in (ROOT / "docs").rglob("*.md") if page.stem != "reproductions")]


def script(path):
    spec = spec_from_file_location(Path(path).stem, ROOT / path)
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_table_of_speeds_is_that_of_the_results():
    speed = script("docs/figures/speed.py")
    text = (ROOT / "README.md").read_text("utf-8")
    begin, end = speed.MARKS
    between = text[text.index(begin) + len(begin) : text.index(end)]
    assert between.split("\n") == ["", "", *speed.table(), "", ""]


def test_speeds_in_the_text_agree_with_the_results():
    speed = script("docs/figures/speed.py")
    results = speed.ROOT / "benchmarks" / "results"
    river = speed.case(results, "single", "learn-one")
    ratio = speed.peer(river, "river PAClassifier")["ratio"]
    assert 7.5 < ratio < 10.5  # "an eighth to a tenth of the time of river"
    page = (ROOT / "docs" / "from-vowpal-wabbit.md").read_text("utf-8")
    for name in ("mnist-whole", "letter", "covtype"):
        case = speed.case(results, "streams", f"learn-{name}")
        wabbit = speed.peer(case, "Vowpal Wabbit, oaa")
        assert speed.short(wabbit["ratio"]) in page
        assert f"{100 * case['ours']['error']:.1f}" in page
        assert f"{100 * wabbit['error']:.1f}" in page


def test_a_wheel_holds_the_package_and_nothing_else():
    dist = script("tools/dist.py")
    info = {
        f"ellipsoid-{ellipsoid.__version__}.dist-info/{n}" for n in ("METADATA", "entry_points.txt", "licenses/LICENSE")
    }
    whole = dist.sources() | info
    assert "ellipsoid/cli/learn.py" in whole
    assert dist.wheel_problems(whole) == []
    assert dist.wheel_problems(whole | {"tests/test_house.py"}) != []
    assert dist.wheel_problems(whole - {"ellipsoid/cli/learn.py"}) != []
    assert dist.wheel_problems(whole - info) != []


def test_citation_names_this_version():
    text = (ROOT / "CITATION.cff").read_text("utf-8")
    assert re.search(r"^version: (\S+)$", text, flags=re.MULTILINE)[1] == ellipsoid.__version__


def test_every_flag_of_the_page_for_vowpal_wabbit_exists():
    from ellipsoid.cli import learn, predict

    parameters = learn.command.params + predict.command.params
    options = {name for parameter in parameters for name in parameter.opts + parameter.secondary_opts}
    page = (ROOT / "docs" / "from-vowpal-wabbit.md").read_text("utf-8")
    rows = re.findall(r"^\| `[^|]*\| ([^|]*) \|$", page, flags=re.MULTILINE)
    named = {flag for row in rows for flag in re.findall(r"(?<![\w-])--[a-z][a-z-]*", row)}
    assert len(named) > 8
    assert named - options == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_no_page_says_the_same_twice(page):
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", page.read_text("utf-8"))]
    long = Counter(paragraph for paragraph in paragraphs if len(paragraph) > 150)
    assert [paragraph for paragraph, times in long.items() if times > 1] == []
