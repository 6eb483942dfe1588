"""A comparison as one HTML file that needs nothing else: styles, drawing and numbers are inside it.

It fetches nothing when opened, follows the reader's light or dark setting, and prints. Colours and type are those of
the service's page.
"""

from html import escape
from pathlib import Path

from ellipsoid.certificates import Certificate
from ellipsoid.evaluate.compare import Comparison
from ellipsoid.streams.atomic import atomic_write

from .plots import svg
from .table import Table, bound_in_words, measures, number, setting_in_words, table

STYLE = """
:root {
  color-scheme: light dark;
  --paper: #fdfdfc; --sheet: #ffffff; --ink: #1d1f21; --soft: #565d64; --grid: #dfe2e5; --mark: #eef4f9;
  --best: #1f66ad;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #16181b; --sheet: #1d2024; --ink: #e6e7e8; --soft: #a9b0b7; --grid: #33383e; --mark: #1f2a35;
    --best: #6db1f2;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1.5rem 1.25rem 3rem; max-width: 92rem;
  background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif;
}
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .4rem; }
h2 { font-size: 1.05rem; margin: 1.8rem 0 .5rem; }
p { max-width: 46rem; }
.panel {
  margin: 1rem 0; padding: .9rem 1rem; background: var(--sheet); border: 1px solid var(--grid); border-radius: .6rem;
}
.panel > h2:first-child { margin-top: 0; }
.lead, .note { color: var(--soft); }
.note { font-size: .9rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.5rem; margin: 0; }
dt { color: var(--soft); }
dd { margin: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .95rem; }
th, td {
  padding: .45rem .7rem; border-bottom: 1px solid var(--grid);
  text-align: right; white-space: nowrap;
}
td:last-child { white-space: normal; min-width: 9rem; }
th {
  color: var(--soft); font-weight: 600; white-space: normal; line-height: 1.3;
  border-bottom-width: 2px; vertical-align: bottom;
}
th:first-child, td:first-child, th.words, td.words { text-align: left; }
td { vertical-align: top; }
td.words { white-space: normal; }
td.condition { min-width: 18rem; font-size: .9rem; }
td.best { font-weight: 700; background: var(--mark); box-shadow: inset 0 -2px var(--best); }
summary { cursor: pointer; padding: .2rem 0; }
:focus-visible { outline: 2px solid var(--best); outline-offset: 2px; }
svg { width: 100%; height: auto; display: block; }
svg text { font-family: inherit !important; }
@media print {
  body { max-width: none; padding: 0; }
  h2 { break-after: avoid; }
  table, svg { break-inside: avoid; }
}
"""

MOST_LABELS = 20
MEASURES = (
    "Balanced error: the mean, over the labels, of the share of their rows that were predicted wrongly. F1: of the "
    "greater label if there are two, else the mean over all labels. Kappa: the share of the errors of a simple rule "
    "that the learner avoids; the rule repeats the last label (temporal) or predicts the commonest label so far "
    "(majority); below 0 the learner is worse than the rule."
)

LEAD = "Every learner saw the same rows in the same order, and predicted each row before learning it."


def write_html(comparison: Comparison, path: str | Path) -> None:
    """The report as a file."""
    page = render(comparison)
    with atomic_write(path) as file:
        file.write(page)


def render(comparison: Comparison) -> str:
    """The report as text."""
    title = f"Online learners on {comparison.setting['data']}"
    sections = (
        _setting(comparison),
        _results(comparison),
        f"<h2>Learning curves</h2>\n{svg(comparison)}",
        _certificates(comparison),
    )
    return page(title, LEAD, "\n".join(f'<section class="panel">\n{section}\n</section>' for section in sections))


def page(title: str, lead: str, body: str) -> str:
    """An HTML file with the house's style around a body; title and lead are plain text."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<h1>{escape(title)}</h1>
<p class="lead">{escape(lead)}</p>
{body}
</body>
</html>
"""


def _setting(comparison: Comparison) -> str:
    pairs = setting_in_words(comparison.setting).items()
    items = "\n".join(f"<dt>{escape(title)}</dt><dd>{escape(words)}</dd>" for title, words in pairs)
    return f"<h2>Setting</h2>\n<dl>\n{items}\n</dl>"


def _results(comparison: Comparison) -> str:
    several = len(comparison.setting["seeds"]) > 1
    found, more = table(comparison), measures(comparison)
    notes = [
        "Online error: rows whose predicted label was wrong, in the first pass.",
        "Mistakes, to which the bounds apply, are rows on which the latest weights were wrong or tied, also where an "
        "average of weights makes the predictions.",
        "Test error: the model after the last pass." if comparison.setting["test_rows"] else "",
        "Numbers are means over the orders, with the standard deviation in brackets." if several else "",
        "Time counts learning and predicting, without compilation.",
    ]
    parts = ["<h2>Results</h2>", _drawn(found), _note(" ".join(filter(None, notes)))]
    if more is not None:
        parts += [_drawn(more), _note(MEASURES), *_confusions(comparison)]
    return "\n".join(parts)


def _drawn(found: Table) -> str:
    head = "".join(f"<th>{escape(title).replace(' %', '&nbsp;%')}</th>" for title in found.titles)
    lines = []
    for i, line in enumerate(found.lines):
        cells = (
            f'<td class="best">{_typeset(text)}</td>' if (i, j) in found.best else f"<td>{_typeset(text)}</td>"
            for j, text in enumerate(line)
        )
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return _html_table(head, lines)


def _html_table(head: str, lines: list[str]) -> str:
    body = "\n".join(lines)
    return f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>'


def _note(text: str) -> str:
    return f'<p class="note">{escape(text)}</p>'


def _confusions(comparison: Comparison) -> list[str]:
    """The confusion matrix of each learner, folded away; none where there are too many labels to read."""
    found = []
    for learner in comparison.learners:
        run = comparison.of(learner)[0].passes[0]
        if len(run.labels) > MOST_LABELS:
            return []
        order = sorted(range(len(run.labels)), key=lambda i: run.labels[i])
        titles = ("true label", *(str(run.labels[j]) for j in order))
        lines = [(str(run.labels[i]), *(f"{run.confusion[i, j]:,}" for j in order)) for i in order]
        drawn = _drawn(Table(titles, lines, set()))
        found.append(f"<details><summary>Predicted labels of {escape(learner)}</summary>{drawn}</details>")
    return found


def _certificates(comparison: Comparison) -> str:
    alike: dict[tuple[Certificate, ...], list[str]] = {}
    for learner in comparison.learners:
        alike.setdefault(comparison.of(learner)[0].certificates, []).append(learner)
    lines = []
    rows = comparison.of(comparison.learners[0])[0].rows
    for found, learners in alike.items():
        for i, c in enumerate(found):
            names = f'<td rowspan="{len(found)}">{",<br>".join(map(escape, learners))}</td>' if i == 0 else ""
            lines.append(
                f'<tr>{names}<td class="words">{escape(c.name)}</td><td>{number(c.observed)}</td>'
                f'<td>{bound_in_words(c, rows)}</td><td class="words condition">{escape(c.holds_if)}</td></tr>'
            )
    if not lines:
        return "<h2>Certificates</h2>\n<p>None of these learners gives a bound for this run.</p>"
    which = " (of several, the first order)" if len(comparison.setting["seeds"]) > 1 else ""
    return (
        "<h2>Certificates</h2>\n"
        f"<p>Bounds that hold for this very run{which}, each with its condition. "
        "An infinite bound means that the condition is not met; a bound above the number of rows "
        "says nothing here.</p>\n"
    ) + _html_table(
        '<th>learner</th><th class="words">bound on</th><th>observed</th><th>bound</th><th class="words">holds if</th>',
        lines,
    )


def _typeset(text: str) -> str:
    return escape(text.replace("<=", "≤"))
