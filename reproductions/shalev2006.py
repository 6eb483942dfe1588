"""Shalev-Shwartz and Singer, "Online learning meets optimization in the dual", COLT 2006, on two real streams.

The paper has no experiments. This draws what its theorems speak of: every algorithm raises the same dual, a mistake by
at least so much, and no hypothesis can be below the dual; so a dual that rises more for a mistake leaves room for
fewer.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from ellipsoid.evaluate.cell import Protocol
from ellipsoid.streams.sets.datasets import Dataset, load

from .entry import Entry, Experiment, Quick, Spec
from .report import Curve, Panel, Report, Table
from .results import Results

PAPER = "Shalev-Shwartz and Singer, Online learning meets optimization in the dual, COLT 2006"
STREAMS: Mapping[str, str] = {"electricity prices": "elec2", "spam": "spam_stream"}
ROWS = 2000
SVM = "whole dual (online SVM)"


def _ascent(update: str) -> Spec:
    return Spec("QuasiAdditive", {"update": update, "C": 1.0, "margin": 1.0, "fit_intercept": False})


def _window(window: int | None) -> Spec:
    return Spec("OnlineSVM", {"window": window, "C": 1.0, "margin": 1.0, "fit_intercept": False})


LEARNERS = {
    "fixed (Perceptron)": _ascent("fixed"),
    "adaptive": _ascent("adaptive"),
    "curvature": _ascent("curvature"),
    "exact (PA-I)": _ascent("exact"),
    "last 10": _window(10),
    SVM: _window(None),
}


def _first(name: str) -> Dataset:
    X, y = load(name).train
    return Dataset(name, X=X[:ROWS], y=y[:ROWS])


def _experiments() -> list[Experiment]:
    protocol = Protocol(scale="unit")
    return [
        Experiment(label, partial(_first, name), LEARNERS, protocol, curves=True) for label, name in STREAMS.items()
    ]


def _last(results: Results, name: str, learner: str, what: str) -> float | None:
    return results.curves(name, learner)[what][-1]


def _report(results: Results) -> Report:
    names = [name for name in STREAMS if name in results.experiments]
    lines = [line for name in names for line in _lines(results, name)]
    titles = ("stream", "algorithm", "mistakes", "bound on mistakes", "updates", "dual value", "share of the SVM's")
    return Report(
        lead=f"Dual value, mistakes and their bound for six algorithms on the first {ROWS:,} rows of two streams in "
        "the order of time; margin 1, C = 1, rows of 2-norm 1, no intercept. Dashed lines are bounds.",
        verdicts=[_overall(results, names), *(sentence for name in names for sentence in _verdicts(results, name))],
        tables=[Table("At the end of the stream", titles, lines, words=2)],
        panels=[panel for name in names for panel in _panels(results, name)],
        choices=[
            "The paper has no experiments: the streams, margin, C and the window of ten rows are ours.",
            "The bound is the learner's own certificate, with its weights at that moment as the comparator; where a "
            "learner promises nothing, none is drawn. With rows of norm 1 adaptive, curvature and exact are the "
            "same steps, and their lines lie on each other.",
        ],
    )


def _lines(results: Results, name: str) -> list[tuple[str, ...]]:
    top = _last(results, name, SVM, "dual_objective") or 0.0
    lines: list[tuple[str, ...]] = []
    for learner in LEARNERS:
        mistakes, bound, dual = (
            _last(results, name, learner, what) for what in ("cumulative_mistakes", "mistake_bound", "dual_objective")
        )
        updates = results.values(name, learner, "updates")[0]
        share = "" if dual is None or top <= 0.0 else f"{dual / top:.3f}"
        lines.append((name, learner, _shown(mistakes), _shown(bound), f"{updates:,.0f}", _shown(dual), share))
    return lines


def _shown(value: float | None) -> str:
    return "none" if value is None else f"{value:,.0f}"


def _overall(results: Results, names: list[str]) -> str:
    held = sum(not any(_breaks(results.curves(name, learner)) for learner in LEARNERS) for name in names)
    fewer = sum(
        results.values(name, SVM, "mistakes")[0] < results.values(name, "fixed (Perceptron)", "mistakes")[0]
        for name in names
    )
    return (
        f"Every certified bound holds at every checkpoint on {held} of {len(names)} streams; on {fewer} the optimum of "
        "the whole dual makes fewer mistakes than the Perceptron's fixed steps."
    )


def _verdicts(results: Results, name: str) -> list[str]:
    duals = {n: _last(results, name, n, "dual_objective") for n in LEARNERS}
    known = {n: dual for n, dual in duals.items() if dual is not None}
    mistakes = {n: results.values(name, n, "mistakes")[0] for n in LEARNERS}
    fewest, highest = min(mistakes, key=lambda n: mistakes[n]), max(known, key=lambda n: known[n])
    broken = [n for n in LEARNERS if _breaks(results.curves(name, n))]
    held = "at every checkpoint" if not broken else f"but not for {', '.join(broken)}"
    agrees = (
        "as it must be, being the optimum of every prefix" if highest == SVM else "which should have been the SVM's"
    )
    return [
        f"{name}: the highest dual value at the end is that of {highest}, {agrees}.",
        f"{name}: fewest mistakes by {fewest}, {mistakes[fewest]:,}; the Perceptron makes "
        f"{mistakes['fixed (Perceptron)']:,}, PA-I {mistakes['exact (PA-I)']:,}, the online SVM {mistakes[SVM]:,}.",
        f"{name}: mistakes stay below their certified bound {held}.",
    ]


def _breaks(curves: Mapping[str, list[Any]]) -> bool:
    pairs = zip(curves["cumulative_mistakes"], curves["mistake_bound"], strict=True)
    return any(bound is not None and mistakes > bound for mistakes, bound in pairs)


def _panels(results: Results, name: str) -> list[Panel]:
    def line(learner: str, what: str, dashed: bool = False) -> list[Curve]:
        found = results.curves(name, learner)
        points = [(x, y) for x, y in zip(found["checkpoints"], found[what], strict=True) if x and y and y > 0.0]
        return [Curve(learner, [x for x, _ in points], [y for _, y in points], dashed=dashed)] if points else []

    duals = [curve for learner in LEARNERS for curve in line(learner, "dual_objective")]
    counts = [
        curve
        for learner in LEARNERS
        for curve in (*line(learner, "cumulative_mistakes"), *line(learner, "mistake_bound", dashed=True))
    ]
    return [
        Panel(f"{name}: dual", "rows", "dual value", duals),
        Panel(f"{name}: mistakes", "rows", "mistakes, and bounds", counts, logarithmic=True),
    ]


ENTRIES = (
    Entry(
        "shalev2006",
        "Dual value, bound and mistakes of six algorithms on two streams",
        PAPER,
        _experiments,
        _report,
        Quick(rows=1000, seeds=1),
    ),
)
