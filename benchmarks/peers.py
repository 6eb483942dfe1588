"""How each peer does the jobs: one function a peer and a kind of job, each returning a `Contender`.

Each gets the data in the form it is fastest with, prepared beforehand: arrays (scikit-learn, olpy), dicts (river),
parsed examples (Vowpal Wabbit). Preparing is not counted.
"""

import copy
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from .data import Data
from .harness import Contender, Target


def absent(package: str) -> str:
    """Why a peer cannot run, empty if it can."""
    return "" if find_spec(package) else f"{package} is not installed: pip install 'ellipsoid[bench]'"


def missing(name: str, package: str) -> Contender:
    """The place of a peer that is not installed."""
    return Contender(name, lambda: None, lambda _: None, "", unavailable=absent(package))


def test_error(data: Data) -> Callable[[Any], float]:
    """Share of wrong labels on the test part, for whatever has ``predict``."""
    return lambda model: float(np.mean(np.asarray(model.predict(data.X_test)) != data.y_test))


def predict_then_learn(examples: list[tuple[Any, Any]]) -> Callable[[Any], Any]:
    """A job that passes examples to ``predict_one`` and then to ``learn_one``, one at a time."""

    def job(model: Any) -> Any:
        predict, learn = model.predict_one, model.learn_one
        for x, y in examples:
            predict(x)
            learn(x, y)
        return model

    return job


def river_examples(data: Data) -> list[tuple[dict[int, float], bool]]:
    """Rows as dicts, each with whether its label is positive."""
    return [(dict(enumerate(x)), y > 0) for x, y in zip(data.X.tolist(), data.y.tolist(), strict=True)]


def epoch(
    name: str, make: Callable[[], Any], data: Data, *, before: int = 0, target: Target | None = None
) -> Contender:
    """``partial_fit`` over all rows by a new model, or by one that has made ``before`` passes already."""
    known = data.classes

    def passed(times: int) -> Any:
        model = make()
        for _ in range(times):
            model.partial_fit(data.X, data.y, classes=known)
        return model

    kept = passed(before) if before else None
    return Contender(
        name,
        (lambda: copy.deepcopy(kept)) if before else make,
        lambda model: model.partial_fit(data.X, data.y, classes=known),
        "partial_fit(X, y, classes) on the whole array",
        error=test_error(data),
        target=target,
    )


def sklearn_pa() -> Any:
    """PassiveAggressiveClassifier (deprecated since 1.8) by its new name: PA-I, one-vs-rest, C = 1."""
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(loss="hinge", penalty=None, learning_rate="pa1", eta0=1.0, shuffle=False)


def vowpal_wabbit(data: Data, *, bits: int) -> Contender:
    """Vowpal Wabbit, one-against-all with hinge loss and its default adaptive steps."""
    name = "Vowpal Wabbit, oaa"
    if absent("vowpalwabbit"):
        return missing(name, "vowpalwabbit")
    from vowpalwabbit import Workspace

    known = data.classes
    kind = f"--oaa {len(known)}" if len(known) > 2 else "--binary"
    code = {label: i + 1 if len(known) > 2 else int(label) for i, label in enumerate(known.tolist())}

    def new() -> Any:
        return Workspace(f"{kind} --loss_function hinge --bit_precision {bits} --quiet")

    parser = new()
    examples = [parser.parse(f"{code[y]} {line}") for line, y in zip(_lines(data.X), data.y.tolist(), strict=True)]
    tests = [parser.parse(line) for line in _lines(data.X_test)]
    expected = np.array([code[label] for label in data.y_test.tolist()])

    def job(model: Any) -> Any:
        learn = model.learn
        for example in examples:
            learn(example)
        return model

    def error(model: Any) -> float:
        return float(np.mean(np.array([model.predict(example) for example in tests]) != expected))

    return Contender(
        name if len(known) > 2 else "Vowpal Wabbit",
        new,
        job,
        "learn(example) for parsed examples, zeros left out",
        error,
    )


def _lines(X: Any) -> Any:
    """Rows as Vowpal Wabbit reads them, zeros left out."""
    for row in X:
        if hasattr(row, "indices"):
            pairs = zip(row.indices.tolist(), row.data.tolist(), strict=True)
        else:
            pairs = ((j, row[j]) for j in np.flatnonzero(row).tolist())
        yield "| " + " ".join(f"{j}:{value:.10g}" for j, value in pairs)


def river_epoch(data: Data, name: str, make: Callable[[Any], Any]) -> Contender:
    """``learn_one`` over dicts without zeros; ``make`` builds the model from the package ``river``."""
    if absent("river"):
        return missing(name, "river")
    import river.linear_model
    import river.multiclass

    examples = [(_dict(x), y) for x, y in zip(data.X, data.y.tolist(), strict=True)]
    tests = [_dict(x) for x in data.X_test]

    def job(model: Any) -> Any:
        learn = model.learn_one
        for x, y in examples:
            learn(x, y)
        return model

    def error(model: Any) -> float:
        return float(np.mean(np.array([model.predict_one(x) for x in tests]) != data.y_test))

    return Contender(name, lambda: make(river), job, "learn_one(x, y) for dicts without zeros", error)


def _dict(x: Any) -> dict[int, float]:
    return {j: float(x[j]) for j in np.flatnonzero(x).tolist()}


def river_binary(data: Data) -> Contender:
    """river's passive-aggressive learner; it wants labels 0 and 1."""
    binary = data._replace(y=(data.y > 0).astype(int), y_test=data.y_test > 0)
    return river_epoch(binary, "river PAClassifier", lambda river: river.linear_model.PAClassifier(C=1.0, mode=1))


def river_multiclass(data: Data) -> Contender:
    """The same learner, one against the rest."""
    return river_epoch(
        data,
        "river OneVsRest(PAClassifier)",
        lambda river: river.multiclass.OneVsRestClassifier(river.linear_model.PAClassifier(C=1.0, mode=1)),
    )


def olpy_epoch(data: Data, learner: str, *, target: Target | None = None) -> Contender:
    """olpy's binary learners: a loop in Python over numpy rows."""
    name = f"olpy {learner}"
    if absent("olpy"):
        return missing(name, "olpy")
    import olpy.classifiers

    make = getattr(olpy.classifiers, learner)

    def error(model: Any) -> float:
        return float(np.mean(np.where(data.X_test @ model.weights > 0, 1, -1) != data.y_test))

    return Contender(
        name,
        make,
        lambda model: model.partial_fit(data.X, data.y),
        "partial_fit(X, y) on the whole array",
        error,
        target,
    )
