"""One example at a time: predict it, learn it, as a service does."""

from collections.abc import Callable, Iterator
from typing import Any

from ellipsoid import PassiveAggressive

from . import peers
from .data import Data, made
from .harness import Case, Contender, Effort, Target, compare

WIDTH = 50


def run(quick: bool, effort: Effort) -> Iterator[dict[str, Any]]:
    """``learn_one`` beside river, one-row ``partial_fit`` beside scikit-learn."""
    data = made(500 if quick else 5000, WIDTH)
    yield compare(one_example(data), effort)
    yield compare(one_row(data), effort)


def one_example(data: Data) -> Case:
    """``predict_one`` then ``learn_one``; we get a 1-D array, river the dict it wants."""
    arrays = list(zip(list(data.X), data.y.tolist(), strict=True))
    return Case(
        "learn-one",
        f"predict_one then learn_one, two classes, d = {WIDTH}, made data",
        len(data.y),
        Contender("PassiveAggressive", lambda: _known(PassiveAggressive(), data), _loop(arrays), "1-D arrays"),
        [_river(name, data) for name in ("PAClassifier", "Perceptron", "LogisticRegression")],
    )


def _known(model: Any, data: Data) -> Any:
    """A model that has seen one row, so that nothing is set up inside the clock."""
    return model.partial_fit(data.X[:1], data.y[:1], classes=[-1, 1])


def _loop(examples: list[tuple[Any, Any]]) -> Callable[[Any], Any]:
    def job(model: Any) -> Any:
        predict, learn = model.predict_one, model.learn_one
        for x, y in examples:
            predict(x)
            learn(x, y)
        return model

    return job


def _river(name: str, data: Data) -> Contender:
    title = f"river {name}"
    if peers.absent("river"):
        return peers.missing(title, "river")
    from river import linear_model

    examples = [(dict(enumerate(x)), y > 0) for x, y in zip(data.X.tolist(), data.y.tolist(), strict=True)]
    target = Target(8) if name == "PAClassifier" else None
    return Contender(title, getattr(linear_model, name), _loop(examples), "dicts", target=target)


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
