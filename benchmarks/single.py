"""One example at a time: predict it, learn it, as a service does."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from ellipsoid import PassiveAggressive, Scaled

from . import peers
from .data import Data, made
from .harness import Case, Contender, Effort, Target, compare

WIDTH = 50


def run(quick: bool, effort: Effort) -> Iterator[dict[str, Any]]:
    """``learn_one`` beside river, one-row ``partial_fit`` beside scikit-learn."""
    data = made(500 if quick else 5000, WIDTH)
    yield compare(one_example(data), effort)
    for title, examples in dict_streams(300 if quick else 2000).items():
        known = 20 if "new" in title else len(examples)
        for scaled in (False, True):
            yield compare(dicts(title, examples, known, scaled), effort)
    yield compare(one_row(data), effort)


def one_example(data: Data) -> Case:
    """``predict_one`` then ``learn_one``; we get a 1-D array, river the dict it wants."""
    job = peers.predict_then_learn(list(zip(list(data.X), data.y.tolist(), strict=True)))
    return Case(
        "learn-one",
        f"predict_one then learn_one, two classes, d = {WIDTH}, made data",
        len(data.y),
        Contender("PassiveAggressive", lambda: _known(PassiveAggressive(), data), job, "1-D arrays"),
        [_river(name, data) for name in ("PAClassifier", "Perceptron", "LogisticRegression")],
    )


def dict_streams(count: int) -> dict[str, list[tuple[dict[str, float], bool]]]:
    """Examples as services hand them over: always the same names, or other words each time, or ever new ones."""
    rng = np.random.default_rng(0)
    words = [f"word {i}" for i in range(2000)]

    def examples(names: Callable[[], list[str]]) -> list[tuple[dict[str, float], bool]]:
        found = [dict(zip(chosen := names(), rng.normal(size=len(chosen)).tolist(), strict=True)) for _ in range(count)]
        return [(x, sum(list(x.values())[:5]) > 0) for x in found]

    return {
        "20 names": examples(lambda: words[:20]),
        "200 names": examples(lambda: words[:200]),
        "20 of 2,000 words": examples(lambda: [words[i] for i in rng.choice(2000, 20, replace=False)]),
        "about 20 words of a text, 4 of them new": examples(lambda: [f"word {i}" for i in {*rng.zipf(1.3, size=32)}]),
    }


def dicts(title: str, examples: list[tuple[dict[str, float], bool]], known: int, scaled: bool) -> Case:
    """``predict_one`` then ``learn_one`` of the same dicts by both, of which so many were learned before."""

    def met(model: Any) -> Any:
        for x, y in examples[:known]:
            model.learn_one(x, y)
        return model

    ours = Scaled(PassiveAggressive()) if scaled else PassiveAggressive()
    peer = "river StandardScaler | PAClassifier" if scaled else "river PAClassifier"
    if peers.absent("river"):
        rival = peers.missing(peer, "river")
    else:
        from river import linear_model, preprocessing

        def make() -> Any:
            model = linear_model.PAClassifier()
            return met(preprocessing.StandardScaler() | model if scaled else model)

        rival = Contender(peer, make, peers.predict_then_learn(examples), "dicts", target=Target(1))
    name = "learn-one-dicts-scaled" if scaled else "learn-one-dicts"
    mine = Contender(type(ours).__name__, lambda: met(clone(ours)), peers.predict_then_learn(examples), "dicts")
    return Case(name, f"predict_one then learn_one, dicts of {title}", len(examples), mine, [rival])


def _known(model: Any, data: Data) -> Any:
    """A model that has seen one row, so that nothing is set up inside the clock."""
    return model.partial_fit(data.X[:1], data.y[:1], classes=[-1, 1])


def _river(name: str, data: Data) -> Contender:
    title = f"river {name}"
    if peers.absent("river"):
        return peers.missing(title, "river")
    from river import linear_model

    job = peers.predict_then_learn(peers.river_examples(data))
    target = Target(8) if name == "PAClassifier" else None
    return Contender(title, getattr(linear_model, name), job, "dicts", target=target)


def one_row(data: Data) -> Case:
    """``partial_fit`` with an array of one row, known classes."""
    rows = [(data.X[i : i + 1], data.y[i : i + 1]) for i in range(len(data.y))]

    def job(model: Any) -> Any:
        for X, y in rows:
            model.partial_fit(X, y)
        return model

    def contender(name: str, make: Callable[[], Any], target: Target | None = None) -> Contender:
        return Contender(name, lambda: _known(make(), data), job, "partial_fit(X[i:i+1], y[i:i+1])", target=target)

    return Case(
        "partial-fit-one-row",
        f"partial_fit of one row, two classes, d = {WIDTH}, made data",
        len(data.y),
        contender("PassiveAggressive", PassiveAggressive),
        [contender("scikit-learn SGD pa1", peers.sklearn_pa, Target(40))],
    )
