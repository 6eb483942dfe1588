"""Table 1 of Momma, Hatano and Nakayama, "Ellipsoidal support vector machines", ACML 2010: exact against relaxed.

Problem 5, the largest ellipsoid, is solved by a conic solver and Problem 6, its relaxation, by the everyday one, on the
same rows with the same nu and r. What the relaxation costs is read off three things: the test error, the angle between
the two weight vectors, and the seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import acos, degrees, hypot

from ellipsoid.evaluate.compare import Spread

from .entry import Entry, Missing, Quick, Spec
from .momma2010_small import PAPER, Small, experiments
from .paired import Pair, pair_of, shown_p
from .report import Curve, Panel, Report, Table, shown
from .results import Results

NAMES = ("raetsch-thyroid", "bupa", "diabetes", "wisconsin", "heart", "german", "ionosphere")
SPLITS = 10
# The time of the conic solver grows with the sixth power of the columns; above these it fits one nu only.
COLUMNS = 30
MISSING = (
    Missing("sonar and raetsch-splice", "60 columns; one fit of sonar takes the conic solver nearly five minutes"),
    Missing("a1a and w1a", "over 60 columns, more than the exact formulation takes"),
)
# nu times columns / rows, the quantity that decides how soft a linear e-SVM is.
SOFTNESS = {"": 0.02, ", softer": 0.2, ", harder": 0.002}


def _learners(small: Small) -> dict[str, Spec]:
    def machine(softness: float, **changed: str) -> Spec:
        nu = softness * small.rows / small.features
        return Spec("EllipsoidalSVC", {"kernel": "linear", "nu": nu, "tol": 1e-5, "random_state": 0, **changed})

    found = {}
    for suffix, softness in SOFTNESS.items():
        if suffix and small.features > COLUMNS:
            continue
        found[f"exact{suffix}"] = machine(softness, formulation="exact")
        found[f"relaxed{suffix}"] = machine(softness)
    found["relaxed as printed"] = machine(SOFTNESS[""], margin_scaling="paper")
    found["SVM, C = 1"] = Spec("SVC", {"kernel": "linear", "C": 1.0})
    return found


def angle(a: list[float], b: list[float]) -> float:
    """In degrees.

    >>> round(angle([1.0, 0.0], [1.0, 1.0]), 6)
    45.0
    """
    cosine = sum(x * y for x, y in zip(a, b, strict=True)) / (hypot(*a) * hypot(*b))
    return degrees(acos(max(-1.0, min(1.0, cosine))))


def _angles(results: Results, name: str, learner: str, suffix: str = "") -> Spread:
    """Between the weights of a machine and those of the exact one, split by split."""
    pairs = zip(results.weights(name, learner), results.weights(name, f"exact{suffix}"), strict=True)
    return Spread.of([angle(a, b) for a, b in pairs])


MAIN = ("exact", "relaxed", "relaxed as printed", "SVM, C = 1")


def _report(results: Results) -> Report:
    names = [name for name in NAMES if name in results.experiments]
    pairs = {name: pair_of(results, name, "relaxed", "exact") for name in names}
    return Report(
        lead="Linear e-SVMs with soft margins: the exact conic form (Problem 5) against the relaxation (Problem 6) on "
        "the same splits, with the same nu and r = 0.9.",
        verdicts=[_overall(results, pairs), *(_verdict(results, name, pair) for name, pair in pairs.items())],
        tables=[_errors(results, pairs), _distances(results, names), _softness(results, names)],
        panels=_panels(results, names),
        choices=[
            "The paper's own numbers are not known to us, so none stand beside ours; nor are its sets, its nu and its "
            "kernel. A conic solver needs explicit columns, so that all machines here are linear.",
            "nu is 0.02 rows / columns; ten times softer and ten times harder have a table of their own.",
            "The relaxation is the consistent one, with the margin in units of a row's length; the printed Problem 6, "
            "which leaves that length out, is a column of its own. Columns are standardised by the learned part.",
            "A soft SVM with C = 1 is not in the paper's table; it shows how much the difference of the two weighs.",
        ],
    )


def _overall(results: Results, pairs: dict[str, Pair]) -> str:
    found = list(pairs.values())
    times = [
        results.seconds(name, "exact").mean / max(results.seconds(name, "relaxed").mean, 1e-9)
        for name in pairs
    ]  # fmt: skip
    widest = max(abs(pair.difference) for pair in found)
    slower = sum(ratio > 1.0 for ratio in times)
    return (
        f"Of {len(found)} sets the relaxation errs less on {sum(pair.less(pair.plain) for pair in found)} and more on "
        f"{sum(pair.more(pair.plain) for pair in found)} (Student's paired test at 5 %; corrected for overlapping "
        f"splits {sum(pair.less(pair.careful) for pair in found)} and "
        f"{sum(pair.more(pair.careful) for pair in found)}); their mean errors differ by at most {widest:.2f} points. "
        f"The exact form takes more time on {slower} of them, up to {max(times):,.0f} times as much."
    )


def _verdict(results: Results, name: str, pair: Pair) -> str:
    exact, relaxed = (shown(results.spread(name, learner, "test_errors")) for learner in ("exact", "relaxed"))
    slow, fast = (results.seconds(name, learner).mean for learner in ("exact", "relaxed"))
    return (
        f"{name}: relaxed {relaxed} % beside the exact {exact} %, {pair.words}; the weights are "
        f"{_angles(results, name, 'relaxed').mean:.1f} degrees apart; {fast:.2f} s against {slow:.2f} s a fit."
    )


def _errors(results: Results, pairs: dict[str, Pair]) -> Table:
    lines: list[tuple[str, ...]] = []
    for name, pair in pairs.items():
        setting = results.setting(name)
        counts = f"{setting['at_once']} / {setting['rows'] - setting['at_once']}"
        errors = (shown(results.spread(name, learner, "test_errors")) for learner in MAIN)
        tests = (f"{pair.difference:+.2f}", shown_p(pair.plain), shown_p(pair.careful))
        lines.append((name, str(setting["features"]), counts, *errors, *tests))
    errors_of = (f"{learner} %" for learner in MAIN)
    titles = ("set", "columns", "rows learned / tested", *errors_of, "relaxed - exact", "p", "p, corrected")
    return Table("Test error, mean (sd) over random splits", titles, lines)


def _distances(results: Results, names: list[str]) -> Table:
    lines = [
        (
            name,
            *(shown(_angles(results, name, learner), ".1f") for learner in MAIN[1:]),
            *(shown(results.seconds(name, learner)) for learner in MAIN),
        )
        for name in names
    ]
    titles = ("set", *(f"{learner}, degrees" for learner in MAIN[1:]), *(f"{learner}, seconds" for learner in MAIN))
    return Table("Angle to the exact weights, and processor seconds of a fit, mean (sd)", titles, lines)


def _softness(results: Results, names: list[str]) -> Table:
    lines: list[tuple[str, ...]] = []
    for name in names:
        for suffix, softness in sorted(SOFTNESS.items(), key=lambda item: item[1]):
            if f"exact{suffix}" not in results.learners(name):
                continue
            errors = (shown(results.spread(name, f"{kind}{suffix}", "test_errors")) for kind in ("exact", "relaxed"))
            apart = shown(_angles(results, name, f"relaxed{suffix}", suffix), ".1f")
            lines.append((name, f"{softness}", *errors, apart))
    titles = ("set", "nu columns / rows", "exact %", "relaxed %", "degrees apart")
    note = f"With more than {COLUMNS} columns the conic solver fitted one nu only, for want of time."
    return Table("How much nu matters", titles, lines, note, words=1)


def _panels(results: Results, names: list[str]) -> list[Panel]:
    x = list(range(len(names)))

    def curves(learners: tuple[str, ...], value: Callable[[str, str], Spread], bars: bool = True) -> list[Curve]:
        found = {learner: [value(name, learner) for name in names] for learner in learners}
        return [Curve(n, x, [s.mean for s in f], [s.sd for s in f] if bars else []) for n, f in found.items()]

    error = curves(MAIN, lambda name, learner: results.spread(name, learner, "test_errors"))
    apart = curves(MAIN[1:], lambda name, learner: _angles(results, name, learner))
    # A deviation above the mean has no place on a logarithmic axis.
    time = curves(MAIN, results.seconds, bars=False)
    return [
        Panel("Error", "", "test error, %", error, joined=False, names=tuple(names)),
        Panel("Distance", "", "degrees from the exact weights", apart, joined=False, names=tuple(names)),
        Panel("Time", "", "processor seconds a fit", time, joined=False, names=tuple(names), logarithmic=True),
    ]


ENTRIES = (
    Entry(
        "momma2010-table1", "The exact conic e-SVM against its relaxation: table 1",
        PAPER, partial(experiments, _learners, SPLITS, NAMES), _report, Quick(rows=80, seeds=1), MISSING,
    ),
)  # fmt: skip
