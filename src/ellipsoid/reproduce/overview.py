"""The page of all reproductions, made from the results of earlier runs: no number in it is written by hand."""

from __future__ import annotations

from pathlib import Path

from ellipsoid.report.plots import svg_text
from ellipsoid.reproduce.entries import ENTRIES
from ellipsoid.reproduce.figures import draw
from ellipsoid.reproduce.render import markdown
from ellipsoid.reproduce.results import FILE, Results
from ellipsoid.streams.atomic import atomic_write

LEAD = """# Reproductions

The tables and figures of four papers, computed again. What a paper printed stands beside what this library measures,
as mean and standard deviation in brackets, with a verdict in words; `ellipsoid reproduce NAME` runs one of them. This
page is generated from the raw results, see [the command](command-line.md).
"""


def write_page(folder: Path, page: Path) -> list[str]:
    """Write ``page`` from the runs found in ``folder``, pictures in ``_static/reproductions`` beside it; returns their
    names. A quick run is refused: its numbers say nothing.
    """
    pictures = page.parent / "_static" / "reproductions"
    pictures.mkdir(parents=True, exist_ok=True)
    parts, done = [LEAD], []
    for entry in ENTRIES:
        if not (folder / entry.name / FILE).is_file():
            continue
        results = Results.read(folder / entry.name)
        if results.quick:
            raise ValueError(f"{folder / entry.name} holds a quick run; run {entry.name} at full size for the page")
        report = entry.report(results)
        with atomic_write(pictures / f"{entry.name}.svg") as file:
            file.write(svg_text(draw(report.panels)))
        parts.append(f"## {entry.name}\n\n{entry.title}\n")
        parts += markdown(entry, results, report, f"_static/reproductions/{entry.name}.svg", level=3)
        seconds = sum(time["seconds"] for time in results.times)
        parts.append(f"All cells together took {seconds:,.0f} seconds of one core.\n")
        done.append(entry.name)
    if not done:
        raise ValueError(f"{folder} holds no reproduction; run one with `ellipsoid reproduce NAME --output {folder}`")
    with atomic_write(page) as file:
        file.write("\n".join(parts))
    return done
