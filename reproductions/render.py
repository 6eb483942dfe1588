"""A report as files: Markdown, pictures, and one HTML page that needs nothing else."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from ellipsoid.report.html import page
from ellipsoid.report.plots import PLACEHOLDERS, inline, svg_text
from ellipsoid.streams.atomic import atomic_write

from .entry import Entry
from .figures import draw
from .report import Report, Table
from .results import Results

FILES = ("report.html", "report.md", "figure.png", "figure.svg", "results.json", "times.json")


def write(entry: Entry, results: Results, folder: Path) -> Report:
    """All files of a report but the JSON ones, made from the results alone."""
    report = entry.report(results)
    figure = draw(report.panels)
    write_png(figure, folder / "figure.png")
    with atomic_write(folder / "figure.svg") as file:
        file.write(svg_text(figure))
    with atomic_write(folder / "report.md") as file:
        file.write("\n".join([f"# {entry.title}\n", *markdown(entry, results, report, "figure.svg")]))
    with atomic_write(folder / "report.html") as file:
        file.write(html(entry, results, report))
    return report


def write_png(figure: Any, path: Path) -> None:
    """A picture without the name and version of what drew it."""
    with atomic_write(path, "wb") as file:
        figure.savefig(file, format="png", dpi=130, metadata={"Software": None})


def warnings(results: Results) -> list[str]:
    """What a reader must know before any number: a quick run, and sets that were not run."""
    found = []
    if results.quick:
        most = max(results.setting(name)["rows"] for name in results.experiments)
        found.append(
            f"A quick run on a subsample of at most {most:,} rows a set: it shows that everything works, and its "
            "numbers say nothing about the paper."
        )
    found += [f"Not run: {missing['data']} ({missing['reason']})." for missing in results.record["not_run"]]
    return found


def verdict_lines(results: Results, report: Report) -> list[str]:
    """What the numbers say of the paper: nothing, where they are those of a quick run."""
    return [] if results.quick else list(report.verdicts)


def markdown(entry: Entry, results: Results, report: Report, figure: str, level: int = 2) -> list[str]:
    """The lines of a report below its heading."""
    heading = "#" * level
    lines = [f"{entry.paper}.\n", f"{report.lead}\n", *(f"**{warning}**\n" for warning in warnings(results))]
    if verdicts := verdict_lines(results, report):
        lines += [f"{heading} Verdict\n", *(f"- {verdict}" for verdict in verdicts), ""]
    lines += [f"![{report.lead}]({figure})\n"]
    for table in report.tables:
        lines += [f"{heading} {table.title}\n", *markdown_table(table), ""]
        lines += [f"{table.note}\n"] if table.note else []
    lines += [f"{heading} What the paper leaves open\n", *(f"- {choice}" for choice in report.choices), ""]
    software = ", ".join(f"{name} {version}" for name, version in results.record["versions"].items())
    return [*lines, f"Computed with {software}.\n"]


def html(entry: Entry, results: Results, report: Report) -> str:
    """The same as one file."""
    software = ", ".join(f"{name} {version}" for name, version in results.record["versions"].items())
    parts = [f"<p><strong>{escape(warning)}</strong></p>" for warning in warnings(results)]
    parts += [f"<p>{escape(report.lead)}</p>"]
    if verdicts := verdict_lines(results, report):
        parts += ["<h2>Verdict</h2>", _list(verdicts)]
    parts += [inline(draw(report.panels, PLACEHOLDERS), escape(entry.title, quote=True))]
    for table in report.tables:
        parts.append(f"<h2>{escape(table.title)}</h2>\n{_html_table(table)}")
        parts += [f'<p class="note">{escape(table.note)}</p>'] if table.note else []
    parts += ["<h2>What the paper leaves open</h2>", _list(report.choices)]
    parts += [f'<p class="note">Computed with {escape(software)}.</p>']
    return page(entry.title, entry.paper, "\n".join(parts))


def markdown_table(table: Table) -> list[str]:
    """A table's lines."""
    rule = ["---" if i < table.words else "---:" for i in range(len(table.titles))]
    return [f"| {' | '.join(line)} |" for line in (table.titles, rule, *table.lines)]


def _html_table(table: Table) -> str:
    def line(cells: tuple[str, ...], tag: str) -> str:
        words = [' class="words"' if i < table.words else "" for i in range(len(cells))]
        return "".join(f"<{tag}{w}>{escape(cell)}</{tag}>" for w, cell in zip(words, cells, strict=True))

    rows = "\n".join(f"<tr>{line(cells, 'td')}</tr>" for cells in table.lines)
    head = f"<thead><tr>{line(table.titles, 'th')}</tr></thead>"
    return f'<div class="wide"><table>\n{head}\n<tbody>\n{rows}\n</tbody>\n</table></div>'


def _list(sentences: list[str]) -> str:
    items = "\n".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return f"<ul>\n{items}\n</ul>"
