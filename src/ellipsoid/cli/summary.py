"""What ``ellipsoid learn`` says at its end: errors or distances, counts, speed, and the bounds that hold."""

from __future__ import annotations

from typing import Any

import click

from .reading import Inputs


def parameter_of(model: Any, name: str) -> Any:
    """A parameter of the learner itself."""
    return getattr(model, "learner", model).get_params(deep=False).get(name)


def support_patterns(model: Any) -> int | None:
    """How many patterns a kernel model has so far; None of any other."""
    core = getattr(getattr(model, "learner_", model), "_core", None)
    return getattr(getattr(core, "table", None), "used", None)


def error_on(model: Any, chunks: Any) -> tuple[int, int]:
    """Wrongly labelled rows, and rows, of a stream."""
    from ellipsoid.evaluate.prequential import wrong_rows

    wrong = rows = 0
    for X, y in chunks:
        wrong += int(wrong_rows(model.predict(X), y).sum())
        rows += len(y)
    return wrong, rows


def show(run: Any, options: dict[str, Any]) -> None:
    """Print what was learned, and how well."""
    from ellipsoid.report.table import significant

    from .advice import advice
    from .terminal import show_certificates, show_table

    model, results, position = run.model, run.results, run.position
    rows, seconds = sum(result.rows for result in results), sum(result.seconds for result in results)
    name = ", ".join(run.inputs.names)
    lines = [("learner", repr(model)), ("data", f"{name}, {position.pass_rows:,} rows")]
    if run.dataset is None:
        lines += [("", description) for description in run.inputs.descriptions]
    if run.begun:
        lines.append(("resumed", f"after {run.begun:,} rows"))
    if run.begun and not (results and hasattr(results[0], "mae")):
        lines.append(("online error", f"{100 * position.error:.2f} % ({position.errors:,} rows)"))
    numbers = bool(results) and hasattr(results[0], "mae")
    for i, result in enumerate(results if not run.begun or numbers else [], start=1):
        which = f", pass {i}" if len(results) > 1 else ""
        if numbers:
            lines += _distances(result, which)
            continue
        lines.append((f"online error{which}", f"{100 * result.error:.2f} % ({result.errors:,} rows)"))
        if result.total_weight is not None:
            lines.append((f"weighted error{which}", f"{100 * result.weighted_error:.2f} %"))
        if i == 1 and result.labels:
            repeat, commonest = (
                100 * errors / result.rows for errors in (result.repeat_errors, result.majority_errors)
            )
            lines.append(("", f"repeating the last label {repeat:.2f} %, the commonest so far {commonest:.2f} %"))
            lines.append(("balanced error", f"{100 * result.balanced_error:.2f} %, F1 {result.f1:.3f}"))
    lines += advice(run.entry, parameter_of(model, "fit_intercept") and parameter_of(model, "intercept_scaling"))
    held: dict[str, Any] = (
        {"test": [run.dataset.test]} if run.dataset is not None and run.dataset.test is not None else {}
    )
    if options["validate"]:
        told = {**run.inputs.options, "n_features": model.n_features_in_, "extra": "drop", "word_labels": None}
        held["validation"] = Inputs((options["validate"],), run.inputs.learned, **told)
    for kind, chunks in held.items():
        if numbers:
            lines.append((f"{kind} error", _mean_distance(model, chunks)))
            continue
        wrong, count = error_on(model, chunks)
        lines.append((f"{kind} error", f"{100 * wrong / max(1, count):.2f} % (of {count:,} rows)"))
    # Of a run that was resumed every count is of all its rows, as its error is.
    mistakes = model.mistakes_ if run.begun or numbers else sum(result.mistakes for result in results)
    updates = model.updates_ if run.begun else sum(result.updates for result in results)
    lines += [] if numbers else [("mistakes", f"{mistakes:,} (ties included)")]
    lines += [
        ("updates", f"{updates:,}"),
        ("speed", f"{significant(rows / max(seconds, 1e-9))} rows/s ({seconds:.3f} s)"),
    ]
    if options["target"]:
        lines.append(("saved in", options["target"]))
    show_table(("", ""), lines, words=(0, 1))
    if options["curve"]:
        _show_curve(results, numbers)
    show_certificates(model)


def _distances(result: Any, which: str) -> list[tuple[str, str]]:
    """How far a regressor was off."""
    lines = [
        (f"mean absolute error{which}", f"{result.mae:.6g}, repeating the last number {result.repeat_mae:.6g}"),
        (f"root mean squared error{which}", f"{result.rmse:.6g}"),
    ]
    if result.coverage == result.coverage:
        share = f"{100 * result.coverage:.3f} % of the rows, half width {result.half_width:.6g}"
        lines.append((f"inside their interval{which}", share))
    return lines


def _mean_distance(model: Any, chunks: Any) -> str:
    import numpy as np

    total, rows = 0.0, 0
    for X, y in chunks:
        total += float(np.abs(model.predict(X) - np.asarray(y, dtype=np.float64)).sum())
        rows += len(y)
    return f"{total / max(1, rows):.6g}, the mean absolute one of {rows:,} rows"


def _show_curve(results: list[Any], numbers: bool) -> None:
    """Error so far, and over the last rows, where the number of rows is a power of two and at the end."""
    from .terminal import show_table

    for i, result in enumerate(results, start=1):
        curves = ("cumulative_mae", "windowed_mae") if numbers else ("cumulative_error", "windowed_error")
        told = "{:.6g}".format if numbers else lambda error: f"{100 * error:.2f} %"
        lines = [
            (f"{row:,}", told(error), told(windowed))
            for row, error, windowed in zip(
                result.checkpoints.tolist(), *(getattr(result, curve) for curve in curves), strict=True
            )
            if row & (row - 1) == 0 or row == result.rows
        ]
        click.echo()
        title = f"rows, pass {i}" if len(results) > 1 else "rows"
        show_table((title, "error so far", f"error of last {result.window:,}"), lines, words=())
