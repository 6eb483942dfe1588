"""Write the table of speeds into README.md, between its two marks, from the results of ``ellipsoid bench``.

Only like against like: the same input on both sides. river takes dicts of features, so that what was measured beside it
with our arrays is left out.
"""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
MARKS = "<!-- speed -->", "<!-- end of speed -->"

# The file of results, the case, and what is learned, in words.
CASES = (
    ("streams", "learn-mnist-whole", "MNIST, a text file of 69 MB"),
    ("streams", "learn-covtype", "Covertype, a text file of 61 MB"),
    ("epochs", "pa-mnist", "MNIST, an array"),
    ("epochs", "pa-news20", "20 Newsgroups, a sparse matrix"),
    ("epochs", "pa-binary", "a9a, an array, two classes"),
    ("single", "partial-fit-one-row", "50 features, one row per call"),
)


def short(number):
    """Two digits where there are no more before the point."""
    return f"{number:.2g}" if number < 10 else f"{number:.0f}"


def microseconds(measured, contender):
    """Time of one row."""
    return f"{short(1e6 * contender['wall_median'] / measured['rows'])} µs"


def error(contender):
    """Test error, where there is one."""
    return "" if contender["error"] is None else f", {100 * contender['error']:.1f} %"


def cell(measured, contender):
    """A peer's time, and what multiple of ours that is."""
    if contender is None:
        return "-"
    return f"{microseconds(measured, contender)} (**{short(contender['ratio'])}x**){error(contender)}"


def case(folder, group, name):
    """What was measured for a case."""
    results = json.loads((folder / f"{group}.json").read_text("utf-8"))["results"]
    return next(result for result in results if result.get("case") == name)


def peer(measured, name):
    """What was measured for a peer in a case, None if it has none of the name."""
    return next((found for found in measured["peers"] if found["name"] == name), None)


def table(folder=ROOT / "benchmarks" / "results"):
    """The lines of the table."""
    lines = ["| one pass over | ellipsoid | scikit-learn | Vowpal Wabbit |", "|---|---|---|---|"]
    for group, name, words in CASES:
        measured = case(folder, group, name)
        # Vowpal Wabbit reads text by itself; from arrays it would have to be fed by Python, which is another matter.
        native = peer(measured, "Vowpal Wabbit, oaa") if group == "streams" else None
        ours = microseconds(measured, measured["ours"]) + error(measured["ours"])
        theirs = cell(measured, peer(measured, "scikit-learn SGD pa1"))
        lines.append(f"| {words} | {ours} | {theirs} | {cell(measured, native)} |")
    return lines


def write(page=ROOT / "README.md"):
    """Exchange the lines between the marks."""
    text = page.read_text("utf-8")
    begin, end = (re.escape(mark) for mark in MARKS)
    between = "\n\n" + "\n".join(table()) + "\n\n"
    text, found = re.subn(f"(?<={begin}).*?(?={end})", lambda _: between, text, flags=re.DOTALL)
    if found != 1:
        raise ValueError(f"{page} must hold {MARKS[0]} and {MARKS[1]} once each")
    page.write_text(text, "utf-8")


if __name__ == "__main__":
    write()
