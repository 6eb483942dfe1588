"""Learners by name: those that a comparison shows by default, others written as ``NAME:key=value:key=value``."""

import ast
from math import inf
from typing import Any, NamedTuple

from ellipsoid.estimators import learner_named


class Entry(NamedTuple):
    """A learner of the default line-up; ``multiclass``: with two classes it equals another entry."""

    label: str
    name: str
    parameters: dict[str, Any]
    multiclass: bool = False


LINE_UP = (
    Entry("EllipsoidClassifier", "EllipsoidClassifier", {}),
    Entry("Perceptron (max)", "Perceptron", {"multiclass": "max"}),
    Entry("Perceptron (max, averaged)", "Perceptron", {"multiclass": "max", "average": True}),
    Entry("Perceptron (one-vs-rest)", "Perceptron", {"multiclass": "ovr"}, multiclass=True),
    Entry("PA-I", "PassiveAggressive", {"variant": "I", "C": 1.0}),
    Entry("PA-I (averaged)", "PassiveAggressive", {"variant": "I", "C": 1.0, "average": True}),
    Entry("MIRA", "MIRA", {}),
    Entry("MIRA (averaged)", "MIRA", {"average": True}),
    Entry("CELLIP", "CELLIP", {}),
    Entry("IELLIP", "IELLIP", {}),
)


def line_up(n_classes: int) -> dict[str, Any]:
    """The default learners that this library has, by label.

    >>> "Perceptron (one-vs-rest)" in line_up(10), "Perceptron (one-vs-rest)" in line_up(2)
    (True, False)
    """
    return {
        entry.label: learner_named(entry.name)(**entry.parameters)
        for entry in LINE_UP
        if n_classes > 2 or not entry.multiclass
    }


def from_spec(spec: str) -> tuple[str, Any]:
    """The label and the learner of ``NAME`` or ``NAME:key=value:key=value``.

    >>> from_spec("Perceptron:multiclass=ovr:average=true")[0]
    'Perceptron (multiclass=ovr, average=True)'
    """
    name, *settings = spec.split(":")
    parameters = dict(parameter(setting) for setting in settings)
    described = ", ".join(f"{key}={value}" for key, value in parameters.items())
    return f"{name} ({described})" if described else name, learner(name, parameters)


def learner(name: str, parameters: dict[str, Any]) -> Any:
    """A learner of the class ``name``.

    >>> learner("Adaline", {})
    Traceback (most recent call last):
        ...
    ValueError: no learner 'Adaline'; there are ...
    """
    kind = learner_named(name)
    known = kind().get_params()
    for key in parameters:
        if key not in known:
            raise ValueError(f"{name} has no parameter {key!r}; it has {', '.join(known)}")
    return kind(**parameters)


def parameter(setting: str) -> tuple[str, Any]:
    """``key=value`` with the value as a number, a truth value, None or, failing those, a string.

    >>> [parameter(s)[1] for s in ("C=0.5", "C=inf", "average=true", "multiclass=ovr", "budget=none")]
    [0.5, inf, True, 'ovr', None]
    """
    key, equals, text = setting.partition("=")
    if not (key and equals and text):
        raise ValueError(f"a parameter must be written key=value, got {setting!r}")
    words: dict[str, Any] = {"true": True, "false": False, "none": None, "inf": inf}
    if text.lower() in words:
        return key, words[text.lower()]
    try:
        return key, ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return key, text
