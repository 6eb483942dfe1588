"""Streams that change, and numbers in place of labels: a committee beside its members and river, regressors beside
scikit-learn's.
"""

import os
from collections.abc import Iterator
from statistics import median
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from ellipsoid import Committee, IntervalRegressor, PassiveAggressiveRegressor, Scaled
from ellipsoid.estimators.wrappers.council import default_family

from . import peers
from .data import Data, made
from .harness import Case, Clock, Contender, Duel, Effort, Target, compare, figure

WIDTH = 9


def run(quick: bool, effort: Effort) -> Iterator[dict[str, Any]]:
    """Thirteen members on rows of nine numbers; then one number after another."""
    data = made(500 if quick else 20_000, WIDTH)
    yield beside_members(data, effort, quick)
    yield compare(beside_river(data.first(500 if quick else 10_000)), effort)
    yield compare(one_by_one(data.first(100 if quick else 2000)), effort)
    for rows, width, classes in ((500, WIDTH, 2),) if quick else ((40_000, WIDTH, 2), (3000, 54, 7)):
        yield two_threads(made(rows, width, classes=classes), effort)
    yield compare(numbers(300 if quick else 3000), effort)
    yield compare(intervals(300 if quick else 3000), effort)


def passed(data: Data) -> Any:
    """What one of our learners does."""
    return lambda model: model.learn_predict(data.X, data.y, classes=data.classes)


def beside_members(data: Data, effort: Effort, quick: bool) -> dict[str, Any]:
    """The committee's time beside that of its members, each alone, one after the other."""

    def learn_separately(members: list[Any]) -> None:
        for member in members:
            passed(data)(member)

    duel = Duel(
        Clock(Contender("Committee", Committee, passed(data), "")),
        Clock(Contender("members", default_family, learn_separately, "")),
    )
    for clock in duel:
        clock.warm_up()
    for _ in range(effort.repeats):
        duel.run()
    ours, theirs = (median(clock.cpu) / len(data.y) for clock in duel)
    return figure(
        "committee-beside-members",
        f"(time of Committee() - 0.2 us) over that of its 13 members' learn_predict, {data.describe()}",
        (ours - 2e-7) / theirs, "x", None if quick else Target(1.15, at_least=False),
        microseconds=1e6 * ours, microseconds_of_members=1e6 * theirs,
    )  # fmt: skip


def beside_river(data: Data) -> Case:
    """Thirteen members and a scaler beside one learner of river, all predicting a row before they learn it."""
    return Case(
        "committee-river",
        f"Scaled(Committee()), 13 members, predicted and learned: {data.describe()}",
        len(data.y),
        Contender("Scaled(Committee())", lambda: Scaled(Committee()), passed(data), "learn_predict(X, y, classes)"),
        [_river(data, scaled, Target(1)) for scaled in (False, True)],
    )


def one_by_one(data: Data) -> Case:
    """The same one example at a time, where every member has a call of its own."""
    rows = list(zip(list(data.X), data.y.tolist(), strict=True))

    def known() -> Any:
        return Committee().partial_fit(data.X[:2], data.y[:2], classes=data.classes)

    return Case(
        "committee-one-by-one",
        f"Committee(), 13 members, predict_one then learn_one: {data.describe()}",
        len(data.y),
        Contender("Committee", known, peers.predict_then_learn(rows), "1-D arrays"),
        [_river(data, scaled=False, target=None)],
    )


def _river(data: Data, scaled: bool, target: Target | None) -> Contender:
    name = f"river {'StandardScaler | ' if scaled else ''}LogisticRegression"
    if peers.absent("river"):
        return peers.missing(name, "river")
    from river import linear_model, preprocessing

    def make() -> Any:
        model = linear_model.LogisticRegression()
        return preprocessing.StandardScaler() | model if scaled else model

    job = peers.predict_then_learn(peers.river_examples(data))
    return Contender(name, make, job, "predict_one, learn_one, dicts", None, target)


def two_threads(data: Data, effort: Effort) -> dict[str, Any]:
    """A pass on one thread beside the same pass on two."""
    name = f"committee-two-threads-{data.X.shape[1]}"
    if (os.cpu_count() or 1) < 2:
        return {"figure": name, "skipped": "there is one processor"}

    def contender(threads: int) -> Clock:
        def job(model: Any) -> Any:
            with threadpool_limits(threads, user_api="blas"):
                return passed(data)(model)

        return Clock(Contender(f"{threads} threads", lambda: Scaled(Committee()), job, ""))

    duel = Duel(contender(2), contender(1))
    by_two, by_one = (clock.warm_up() for clock in duel)
    if (by_two != by_one).any():
        raise AssertionError("two threads have not predicted what one does")
    for _ in range(effort.repeats):
        duel.run()
    two, one = (median(clock.wall) / len(data.y) for clock in duel)
    return figure(
        name, f"Scaled(Committee()), 13 members, wall time on one thread over that on two, {data.describe()}",
        one / two, "x", None, microseconds_on_one=1e6 * one, microseconds_on_two=1e6 * two,
    )  # fmt: skip


def _numbers(rows: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X, truth = rng.normal(size=(rows, 10)), rng.normal(size=10)
    return X, X @ (0.8 * truth / np.linalg.norm(truth)) + rng.uniform(-0.1, 0.1, rows)


def _case(name: str, make: Any, rows: int, target: Target | None) -> Case:
    """A regressor of ours beside scikit-learn's passive-aggressive one, by its new name."""
    from sklearn.linear_model import SGDRegressor

    X, y = _numbers(rows)
    ours = list(zip(list(X), y.tolist(), strict=True))
    theirs = [(X[i : i + 1], y[i : i + 1]) for i in range(rows)]

    def peer() -> Any:
        pa = {"loss": "epsilon_insensitive", "penalty": None, "learning_rate": "pa1", "eta0": 1.0, "epsilon": 0.1}
        return SGDRegressor(**pa).partial_fit(X[:1], y[:1])

    def job(model: Any) -> Any:
        for row, number in theirs:
            model.predict(row)
            model.partial_fit(row, number)
        return model

    def error(model: Any) -> float:
        return float(np.abs(model.predict(X) - y).mean())

    return Case(
        name,
        f"predict, then learn, one number at a time, d = 10, noise 0.1, {rows} rows; the error is absolute",
        rows,
        Contender(type(make()).__name__, lambda: make().partial_fit(X[:1], y[:1]), peers.predict_then_learn(ours),
                  "predict_one, learn_one", error),
        [Contender("scikit-learn SGDRegressor pa1", peer, job, "predict, partial_fit of one row", error, target)],
    )  # fmt: skip


def numbers(rows: int) -> Case:
    """Passive-aggressive regression."""
    return _case("regressor-one-by-one", PassiveAggressiveRegressor, rows, Target(10))


def intervals(rows: int) -> Case:
    """The regressor with intervals that hold every number."""
    return _case("interval-regressor-one-by-one", lambda: IntervalRegressor(noise=0.1), rows, Target(10))
