"""The summary that ``ellipsoid learn`` prints at its end: errors, counts, speed, and the bounds that hold."""

from typing import Any

import click

from .inputs import Inputs
from .terminal import show_certificates, show_table

# Beside entries smaller than this a constant feature of 1 is one of the largest, and its weight swings with every step.
SMALL_ENTRY = 0.3


def parameter_of(model: Any, name: str) -> Any:
    """A parameter of the learner itself."""
    return getattr(model, "learner", model).get_params(deep=False).get(name)


def support_patterns(model: Any) -> int | None:
    """How many patterns a kernel model has so far; None of any other."""
    core = getattr(getattr(model, "learner_", model), "_core", None)
    return getattr(getattr(core, "table", None), "used", None)


def labels_asked(model: Any) -> list[tuple[str, str]]:
    """A line that says how many labels a selective learner asked for; none of any other."""
    from ellipsoid.estimators.inputs.frames import innermost

    learner = innermost(model)
    if not getattr(learner, "selective", False):
        return []
    return [("labels asked for", f"{learner.asked_:,} of {learner.t_:,}")]


def show_proof(model: Any) -> None:
    """Say which rows prove that no hypothesis fits all rows, if there is such a proof."""
    from ellipsoid.estimators.inputs.frames import innermost

    learner = innermost(model)
    proof = getattr(learner, "infeasible_round_", None)
    # A merged model has updates of several runs, and one that starts again keeps only those since.
    if proof is None or learner._core.mixed is not None:
        return
    if len(learner.changes_) or not learner.certificates() or not hasattr(learner, "update_rounds_"):
        sentence = f"Round {proof:,} is the first whose row contradicts rows before it: a proof."
    else:
        margin = learner.certificates()[-1].bound
        before = int((learner.update_rounds_ < proof).sum())
        others = f" and the {before:,} updates before it" if before else ""
        sentence = f"Proof: no classifier of norm 1 has the margin {margin:g} on the row of round {proof:,}{others}."
    click.echo()
    click.echo(sentence)


def error_on(model: Any, chunks: Any) -> tuple[int, int]:
    """Wrongly labelled rows, and rows, of a stream."""
    from ellipsoid.evaluate.recorder import wrong_rows

    wrong = rows = 0
    for X, y in chunks:
        wrong += int(wrong_rows(model.predict(X), y).sum())
        rows += len(y)
    return wrong, rows


def typical_entry(X: Any, scale: str | None) -> float:
    """The root mean square of the entries of sparse rows as they are learned; 1 for all other rows."""
    if not hasattr(X, "tocsr") or X.nnz == 0 or scale == "standard":
        return 1.0
    import numpy as np

    return float(np.sqrt(X.shape[0] / X.nnz if scale == "unit" else np.mean(np.square(X.data))))


def intercept_hint(entry: float | None, constant: Any) -> list[tuple[str, str]]:
    """A line that advises a smaller constant feature, where it is 1 and far larger than a typical entry of the rows.

    >>> intercept_hint(0.1, 1.0)
    [('hint', 'the constant feature is 10 times an entry: try --param intercept_scaling=0.1')]
    >>> intercept_hint(0.1, 0.1), intercept_hint(0.8, 1.0), intercept_hint(0.1, False)
    ([], [], [])
    """
    if entry is None or not 0.0 < entry < SMALL_ENTRY or constant is False or constant != 1.0:
        return []
    return [("hint", f"the constant feature is {1.0 / entry:.0f} times an entry: try --param intercept_scaling=0.1")]


def show_summary(run: Any, options: dict[str, Any]) -> None:
    """Print what was learned, and how well."""
    from ellipsoid.report.table import significant

    model, results, position = run.model, run.results, run.position
    rows, seconds = sum(result.rows for result in results), sum(result.seconds for result in results)
    name = ", ".join(run.inputs.names)
    lines = [("learner", repr(model)), ("data", f"{name}, {position.pass_rows:,} rows")]
    if run.dataset is None:
        lines += [("", description) for description in run.inputs.descriptions]
    regression = bool(results) and hasattr(results[0], "mae")
    if run.rows_before:
        lines.append(("resumed", f"after {run.rows_before:,} rows"))
        if not regression:
            lines.append(("online error", f"{100 * position.error:.2f} % ({position.errors:,} rows)"))
    for i, result in enumerate(results if not run.rows_before or regression else [], start=1):
        which = f", pass {i}" if len(results) > 1 else ""
        if regression:
            lines += _regression_errors(result, which)
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
    constant = parameter_of(model, "fit_intercept") and parameter_of(model, "intercept_scaling")
    lines += intercept_hint(run.entry, constant)
    held_out: dict[str, Any] = {}
    if run.dataset is not None and run.dataset.test is not None:
        held_out["test"] = [run.dataset.test]
    if options["validate"]:
        how = {**run.inputs.options, "n_features": model.n_features_in_, "extra": "drop", "word_labels": None}
        held_out["validation"] = Inputs(
            (options["validate"],), run.inputs.learned, of_classes=run.inputs.of_classes, asked=run.inputs.asked, **how
        )
    for kind, chunks in held_out.items():
        if regression:
            lines.append((f"{kind} error", absolute_error_on(model, chunks)))
            continue
        wrong, count = error_on(model, chunks)
        lines.append((f"{kind} error", f"{100 * wrong / max(1, count):.2f} % (of {count:,} rows)"))
    # After a resumed run all counts, as its error, are of all rows, those before included.
    updates = model.updates_ if run.rows_before else sum(result.updates for result in results)
    if not regression:
        mistakes = model.mistakes_ if run.rows_before else sum(result.mistakes for result in results)
        lines.append(("mistakes", f"{mistakes:,} (ties included)"))
    lines += [
        ("updates", f"{updates:,}"),
        *labels_asked(model),
        ("speed", f"{significant(rows / max(seconds, 1e-9))} rows/s ({seconds:.3f} s)"),
    ]
    if options["target"]:
        lines.append(("saved in", options["target"]))
    show_table(("", ""), lines, words=(0, 1))
    if options["curve"]:
        _show_curve(results, regression)
    show_certificates(model)
    show_proof(model)


def _regression_errors(result: Any, which: str) -> list[tuple[str, str]]:
    lines = [
        (f"mean absolute error{which}", f"{result.mae:.6g}, repeating the last number {result.repeat_mae:.6g}"),
        (f"root mean squared error{which}", f"{result.rmse:.6g}"),
    ]
    if result.coverage == result.coverage:
        share = f"{100 * result.coverage:.3f} % of the rows, half width {result.half_width:.6g}"
        lines.append((f"inside their interval{which}", share))
    return lines


def absolute_error_on(model: Any, chunks: Any) -> str:
    """The mean absolute error of a regressor on a stream, in words."""
    import numpy as np

    total, rows = 0.0, 0
    for X, y in chunks:
        total += float(np.abs(model.predict(X) - np.asarray(y, dtype=np.float64)).sum())
        rows += len(y)
    return f"{total / max(1, rows):.6g}, the mean absolute one of {rows:,} rows"


def _show_curve(results: list[Any], regression: bool) -> None:
    """Show the error so far, and over the last rows, after every power of two of rows and at the end."""
    suffix = "mae" if regression else "error"
    shown = "{:.6g}".format if regression else lambda error: f"{100 * error:.2f} %"
    for i, result in enumerate(results, start=1):
        so_far, windowed = getattr(result, f"cumulative_{suffix}"), getattr(result, f"windowed_{suffix}")
        lines = [
            (f"{row:,}", shown(error), shown(last))
            for row, error, last in zip(result.checkpoints.tolist(), so_far, windowed, strict=True)
            if row & (row - 1) == 0 or row == result.rows
        ]
        click.echo()
        title = f"rows, pass {i}" if len(results) > 1 else "rows"
        show_table((title, "error so far", f"error of last {result.window:,}"), lines, words=())
