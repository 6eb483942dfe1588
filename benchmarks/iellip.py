"""The ellipsoid learner IELLIP beside a dense matrix, beside olpy, and beside our own first-order learner."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ellipsoid import PassiveAggressive
from ellipsoid.estimators import LEARNERS

from . import dense_iellip, peers
from .data import Data, load
from .harness import Case, Contender, Effort, Target, attempt

SHRINK, MEMORY = 0.1, 0.3


def run(quick: bool, effort: Effort) -> Iterator[dict[str, Any]]:
    """Nothing but the reason, where the learner does not exist."""
    if "IELLIP" not in LEARNERS:
        yield {"case": "iellip", "skipped": "this version of ellipsoid has no learner IELLIP"}
        return
    yield attempt("iellip-dense", lambda: beside_dense(load("usps", 300 if quick else None), quick), effort)
    yield attempt("iellip-olpy", lambda: beside_olpy(load("usps", 500 if quick else None), quick), effort)
    yield attempt("iellip-news20", lambda: beside_pa(load("news20", 1000 if quick else None), quick), effort)


def new(decay: str = "update") -> Any:
    """IELLIP as the comparisons need it: the constant feature is not part of the peers' examples."""
    return LEARNERS["IELLIP"](c=SHRINK, b=MEMORY, decay=decay, fit_intercept=False)


def beside_dense(data: Data, quick: bool) -> Case:
    """USPS, 10 x 256 = 2560 dimensions: factored, and as a 2560 x 2560 matrix."""
    X, y, classes = data.X, data.y.astype(np.int64), len(data.classes)

    def contender(name: str, thrifty: bool, counted: str, target: Target | None) -> Contender:
        def job(_: Any) -> dense_iellip.Run:
            return dense_iellip.learn(X, y, classes, c=SHRINK, b=MEMORY, thrifty=thrifty)

        return Contender(name, lambda: None, job, counted, peers.test_error(data), target)

    def agree(outcomes: dict[str, Any]) -> str:
        dense = outcomes["dense P"]
        watched = new()
        predicted = watched.learn_predict(X, y, classes=data.classes)
        mistakes = int(dense.mistaken.sum())
        assert watched.mistakes_ == mistakes, f"we made {watched.mistakes_} mistakes, the dense matrix {mistakes}"
        assert (predicted == dense.predicted).all(), "a prediction differs from the dense matrix's"
        return f"the same {mistakes} mistakes and the same {len(y)} predictions"

    return Case(
        "iellip-dense",
        f"IELLIP, c = {SHRINK}, b = {MEMORY}, first pass: {data.describe()}, {classes * X.shape[1]} dimensions",
        len(y),
        peers.epoch("IELLIP", new, data),
        [
            contender("dense P", False, "compiled, P z and P for every update", None if quick else Target(200)),
            contender("dense P, thrifty", True, "compiled, two blocks of P z, P only until c_k < 1e-16", None),
        ],
        agree=agree,
    )


def beside_olpy(data: Data, quick: bool) -> Case:
    """Two classes (digits 5 to 9 against 0 to 4); olpy shrinks every round, and so do we here."""
    data = data._replace(
        name="USPS, 5-9 against 0-4", y=np.where(data.y >= 5, 1, -1), y_test=np.where(data.y_test >= 5, 1, -1)
    )
    ours = peers.epoch("IELLIP", lambda: new("round"), data)
    return Case(
        "iellip-olpy",
        f"IELLIP, c = {SHRINK}, b = {MEMORY}, decay by round, first pass: {data.describe()}",
        len(data.y),
        ours,
        [peers.olpy_epoch(data, "IELLIP", target=None if quick else Target(100))],
    )


def beside_pa(data: Data, quick: bool) -> Case:
    """20 x 46818 = 936360 dimensions: how much more a pass costs than our first-order learner's."""
    other = peers.epoch("IELLIP", new, data, target=None if quick else Target(2, at_least=False))
    return Case(
        "iellip-news20",
        f"PassiveAggressive, and IELLIP as the other, first pass: {data.describe()}",
        len(data.y),
        peers.epoch("PassiveAggressive", PassiveAggressive, data),
        [other],
    )
