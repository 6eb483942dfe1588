"""The page of all reproductions, made from the results of earlier runs: no number in it is written by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ellipsoid.streams.atomic import atomic_write

from .entries import ENTRIES
from .entry import Entry
from .figures import draw
from .render import markdown, markdown_table, write_png
from .report import Report, Table
from .results import FILE, Results

LEAD = """# Reproductions

The tables and figures of five papers, computed again. What a paper printed stands beside what this library measures,
as mean and standard deviation in brackets, with a verdict in words; `ellipsoid reproduce NAME` runs one of them. This
page is generated from the raw results of every order in the folder `reproductions`, see
[the command](command-line.md#reproducing-the-papers).
"""
# How and where a run was made, in words: beside its results, because only who ran it knows.
ABOUT = "about.md"
PICTURES = Path("_static") / "reproductions"


def write_page(folder: Path, page: Path) -> list[str]:
    """Write ``page`` from the runs found in ``folder``, pictures in ``_static/reproductions`` beside it; returns their
    names. A quick run is refused: its numbers say nothing.
    """
    found = _found(folder)
    pictures = page.parent / PICTURES
    pictures.mkdir(parents=True, exist_ok=True)
    for entry, _, report in found:
        write_png(draw(report.panels), pictures / f"{entry.name}.png")
    with atomic_write(page) as file:
        file.write(page_text(folder))
    return [entry.name for entry, _, _ in found]


def page_text(folder: Path) -> str:
    """The page without its pictures."""
    found = _found(folder)
    parts = [LEAD]
    if (folder / ABOUT).is_file():
        parts.append((folder / ABOUT).read_text(encoding="utf-8"))
    parts += [*markdown_table(_times(found)), ""]
    for entry, results, report in found:
        parts.append(f"## {entry.name}\n\n{entry.title}\n")
        parts += markdown(entry, results, report, f"{PICTURES.as_posix()}/{entry.name}.png", level=3)
    return "\n".join(parts)


def _found(folder: Path) -> list[tuple[Entry, Results, Report]]:
    found = []
    for entry in ENTRIES:
        if not (folder / entry.name / FILE).is_file():
            continue
        results = Results.read(folder / entry.name)
        if results.quick:
            raise ValueError(f"{folder / entry.name} holds a quick run; run {entry.name} at full size for the page")
        found.append((entry, results, entry.report(results)))
    if not found:
        raise ValueError(f"{folder} holds no reproduction; run one with `ellipsoid reproduce NAME --output {folder}`")
    return found


def _times(found: list[tuple[Entry, Results, Report]]) -> Table:
    """What each entry says in short and how long its cells took; of cells that two entries share only the first counts
    in the sum.
    """
    lines: list[tuple[str, ...]] = []
    all_cells: dict[tuple[Any, ...], float] = {}
    for entry, results, report in found:
        seconds = sum(time["seconds"] for time in results.times)
        link = f"[{entry.name}](#{entry.name})"
        lines.append((link, report.verdicts[0], f"{len(results.times):,}", f"{seconds:,.0f}"))
        for time in results.times:
            all_cells[(time["experiment"], time["learner"], time["seed"], time["seconds"])] = time["seconds"]
    lines.append(("all", "", f"{len(all_cells):,}", f"{sum(all_cells.values()):,.0f}"))
    return Table("", ("name", "in short", "cells", "seconds"), lines, words=2)
