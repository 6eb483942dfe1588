"""The model that all shards start from, and which learners can be learned in shards, in which way."""

from typing import Any

from sklearn.base import clone, is_regressor

from ellipsoid.certificates.mixed import DUAL, INFORMATION, MIX, REPLAY
from ellipsoid.estimators.inputs.rows import RowSource
from ellipsoid.estimators.parameters.validation import is_count
from ellipsoid.merging.agreement import DRIFTS, UNPROVED
from ellipsoid.rules import dual_ascent

INFORMED = ("AROW", "SecondOrderPerceptron", "EllipsoidClassifier")
# Learners whose steps are capped; in a mixture each step counts only a share.
WITH_A_CAP = ("PassiveAggressive", "QuasiAdditive", "OnlineSVM")

# Wrappers that cannot be learned in shards, and what to do instead.
_ONE_STREAM = "depend on all earlier rows; learn it from one stream, without workers"
OF_ONE_STREAM = {
    "Calibrated": "calibrate the result of fit on separate rows",
    "Committee": f"the weights of its members {_ONE_STREAM}",
    "Conformal": f"its thresholds {_ONE_STREAM}",
}


def initial_model(learner: Any, classes: list[Any], rows: Any, width: int) -> Any:
    """A clone of the learner that knows its classes and the features of ``rows``, but has learned nothing."""
    model = clone(learner)
    classes = [] if is_regressor(model) else classes
    core = model._new_learner()
    source = RowSource(rows, core.constant)
    model._note_names(rows, reset=True)
    core.open(width, by_class=core.by_class(source, len(classes)), classes=len(classes))
    for label in classes:
        core.add_label(label)
    core.closed = True
    model._install(core)
    return model


def check_single(learner: Any) -> None:
    """Refuse a wrapper where a single learner is needed."""
    if not hasattr(learner, "_new_learner"):
        raise ValueError(
            f"compare takes single learners, not a {type(learner).__name__}: give the learners inside it, on rows "
            "that are already scaled, or learn this one from one stream with partial_fit"
        )


def check_count(name: str, value: Any) -> None:
    """Raise unless the value is a positive integer."""
    if not is_count(value):
        raise ValueError(f"{name} must be a positive integer, got {value!r}")


def check_options(options: dict[str, Any]) -> None:
    """Refuse to keep named features as columns of their own: each shard would number them in an order of its own."""
    if options.get("dicts") == "keep":
        raise ValueError(
            "shards would number the names of features each in its order: leave dicts='keep' out, to hash them, or "
            "learn over one stream, without workers"
        )


def merge_kind(learner: Any, asked: str) -> str:
    """How the shards of a learner are put together; raises where they cannot be."""
    name, params = type(learner).__name__, learner.get_params(deep=False)
    if name in UNPROVED or not hasattr(learner, "_new_learner"):
        why = UNPROVED.get(name) or OF_ONE_STREAM.get(name, "it is not an online learner of this library")
        raise ValueError(f"{name} cannot be learned in shards: {why}")
    if params.get("drift"):
        raise ValueError(f"{name} with a drift cannot be learned in shards: {DRIFTS}")
    kernel = params.get("kernel", "linear")
    if not (isinstance(kernel, str) and kernel == "linear"):
        raise ValueError(
            "a kernel model would grow with every shard and cannot be learned in shards; "
            "approximate the kernel with features, for example by sklearn.kernel_approximation"
        )
    if name in INFORMED and params.get("shape") in ("sketch", "gram"):
        raise ValueError(f"a covariance kept as {params['shape']!r} cannot be merged: give shape='dense' or 'diagonal'")
    if name == "CELLIP" and params["on_infeasible"] == "restart":
        raise ValueError(
            "an ellipsoid that restarts no longer covers the earlier rows, so its shards cannot be "
            "merged: choose another on_infeasible"
        )
    if name == "IELLIP" and params["b"] == 1.0 and params["c"] > 0.0:
        raise ValueError("with b=1 an IELLIP shrinks its shape for ever and cannot be learned in shards: give b < 1")
    usual = REPLAY if name == "CELLIP" else INFORMATION if name in INFORMED else MIX
    if asked in ("auto", usual):
        return usual
    if asked == DUAL:
        _check_dual(name, params)
        return DUAL
    if asked not in (MIX, REPLAY, INFORMATION):
        raise ValueError(f"merge must be auto, mix, replay, information or dual, got {asked!r}")
    raise ValueError(f"the models of {name} shards are merged by merge={usual!r}, not by {asked!r}")


def one_round_suffices(learner: Any) -> bool:
    """Whether one round is enough, because the knowledge of shards adds up."""
    return type(learner).__name__ in ("AROW", "SecondOrderPerceptron", "CELLIP")


def _check_dual(name: str, params: dict[str, Any]) -> None:
    plain = name == "OnlineSVM" or (
        name == "QuasiAdditive" and params["link"] == "euclidean" and params["update"] == "exact"
    )
    if not plain:
        raise ValueError("merge='dual' is for OnlineSVM, and for QuasiAdditive with link='euclidean', update='exact'")


def cap_factor(learner: Any, way: str, shards: int) -> float:
    """The factor for the cap of a step on a shard, so that the multipliers of the mixture stay within the cap."""
    if way != MIX or type(learner).__name__ not in WITH_A_CAP:
        return 1.0
    rule = learner._start().rule
    return 1.0 if getattr(rule, "step_kind", None) == dual_ascent.FIXED_STEP else float(shards)
