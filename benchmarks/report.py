"""Results as a line, as tables on the terminal and as the page ``results/README.md``."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RATIOS = (
    "case", "ours", "peer", "ratio", "spread", "CPU ratio", "target", "met", "error ours", "error peer", "repeats",
)  # fmt: skip
FIGURES = ("figure", "setting", "value", "target", "met", "details")


def line(result: dict[str, Any]) -> str:
    """One result in short, while the others are still running."""
    if "skipped" in result:
        return f"{result.get('case', result.get('figure'))}: skipped, {result['skipped']}"
    if "figure" in result:
        return f"{result['figure']} ({result['setting']}): {_value(result)}{_verdict(result)}"
    ratios = ", ".join(
        f"{p['name']} {p['unavailable'] or number(p['ratio']) + 'x' + _verdict(p)}" for p in result["peers"]
    )
    return f"{result['case']}: ours {_per_row(result['ours'], result['rows'])}; {ratios}"


def ratios(results: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """A row for each peer of each case: times of a row, and the peer's time over ours."""
    rows: list[tuple[str, ...]] = []
    for result in results:
        if "case" not in result:
            continue
        if "skipped" in result:
            rows.append((result["case"], "", f"skipped: {result['skipped']}", *[""] * 8))
            continue
        ours = result["ours"]
        for peer in result["peers"]:
            mine = f"{ours['name']} {_per_row(ours, result['rows'])}"
            if peer["unavailable"]:
                rows.append((result["case"], mine, peer["unavailable"], *[""] * 8))
                continue
            rows.append(
                (
                    result["case"],
                    mine,
                    f"{peer['name']} {_per_row(peer, result['rows'])}",
                    f"{number(peer['ratio'])}x",
                    f"{number(peer['ratio_low'])}-{number(peer['ratio_high'])}",
                    number(peer["ratio_cpu"]),
                    peer["target"],
                    _met(peer),
                    _percent(ours["error"]),
                    _percent(peer["error"]),
                    str(peer["repeats"]),
                )
            )
    return rows


def figures(results: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """A row for each single number, and for each case its distance to one read of the data."""
    rows: list[tuple[str, ...]] = []
    for result in results:
        if "figure" in result and "skipped" in result:
            rows.append((result["figure"], f"skipped: {result['skipped']}", "", "", "", ""))
        elif "figure" in result:
            rows.append(
                (
                    result["figure"],
                    result["setting"],
                    _value(result),
                    result["target"],
                    _met(result),
                    "; ".join(_details(result["details"])),
                )
            )
        elif "limit" in result:
            limit = result["limit"]
            read, ours = (
                _per_row(limit, result["rows"], "wall_min"),
                _per_row(result["ours"], result["rows"], "wall_min"),
            )
            rows.append(
                (
                    f"{result['case']}, distance to the limit",
                    "our fastest pass over the fastest read of X",
                    f"{number(limit['distance'])}x",
                    "",
                    "",
                    f"a row: read {read}, pass {ours}",
                )
            )
    return rows


def settings(results: list[dict[str, Any]]) -> Iterator[str]:
    """What each case is, in words."""
    for result in results:
        if "peers" in result:
            counted = "; ".join(f"{p['name']}: {p['counted']}" for p in result["peers"] if p["counted"])
            agreement = f" Checked: {result['agreement']}." if result["agreement"] else ""
            ours = f"ours: {result['ours']['counted']}"
            yield f"`{result['case']}`: {result['setting']}. Counted: {ours}; {counted}.{agreement}"


def write_page(folder: Path) -> Path:
    """The page of all results files of a folder."""
    documents = [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json"))]
    documents = [document for document in documents if "results" in document and "group" in document]
    results = [result for document in documents for result in document["results"]]
    parts = [
        "# Measured",
        "Made by `ellipsoid bench` (`make bench`); do not edit. A ratio is the peer's median wall time over ours, the "
        "two run in turn on one thread; the spread is that of the pairs. Times are of one row, the errors of the test "
        "part after the pass. Our compile time is not in the ratios but listed below. A case may have several peers.",
        _table(RATIOS, ratios(results)),
        "Single numbers. The limit is the time to read X once through one core.",
        _table(FIGURES, figures(results)),
        "## Settings",
        "\n".join(f"- {text}" for text in settings(results)),
        "\n".join(f"- {_machine(document)}" for document in documents),
    ]
    page = folder / "README.md"
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return page


def number(value: float) -> str:
    """Three significant digits, without an exponent."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """A time with a unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if abs(seconds) >= size:
            return f"{number(seconds / size)} {unit}"
    return f"{number(seconds / 1e-9)} ns"


def _per_row(timing: dict[str, Any], rows: int, which: str = "wall_median") -> str:
    return duration(timing[which] / rows)


def _value(result: dict[str, Any]) -> str:
    return duration(result["value"]) if result["unit"] == "s" else f"{number(result['value'])} {result['unit']}"


def _met(result: dict[str, Any]) -> str:
    return "" if result["met"] is None else ("yes" if result["met"] else "NO")


def _verdict(result: dict[str, Any]) -> str:
    return "" if result["met"] is None else f" (target {result['target']}: {'met' if result['met'] else 'MISSED'})"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f} %"


def _details(details: dict[str, Any]) -> Iterator[str]:
    for key, value in details.items():
        if isinstance(value, dict):
            yield f"{key.replace('_', ' ')} " + ", ".join(f"{at}: {duration(v)}" for at, v in value.items())
        elif isinstance(value, list):
            yield f"{key.replace('_', ' ')} {' '.join(map(number, value))}"
        else:
            yield f"{key.replace('_', ' ')} {number(value)}"


def _machine(document: dict[str, Any]) -> str:
    machine = document["machine"]
    versions = ", ".join(f"{name} {version or 'absent'}" for name, version in machine["versions"].items())
    return (
        f"`{document['group']}`: {machine['date']}, {machine['processor']}, {machine['cores']} cores, one used, load "
        f"{machine['load']} at the end, {machine['system']}, Python {machine['python']}, {versions}."
    )


def _table(titles: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    cells = [titles, tuple("---" for _ in titles), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in cells)
