"""One online pass of multiclass passive-aggressive learning over a whole array, from a new model and later on."""

from collections.abc import Iterator
from typing import Any

from ellipsoid import PassiveAggressive

from . import peers
from .data import load, read_once
from .harness import Case, Effort, Target, attempt

# Name, target for scikit-learn's ratio, bits of Vowpal Wabbit's table (classes padded to a power of 2, times features).
SETS = (("letter", 10, 18), ("mnist", 5, 18), ("news20", 5, 22))


def run(quick: bool, effort: Effort) -> Iterator[dict[str, Any]]:
    """The first pass on each set, then the second, then two classes."""
    rows = 2000 if quick else None
    for name, ratio, bits in SETS:
        target = None if quick else Target(ratio)
        yield attempt(f"pa-{name}", lambda n=name, r=target, b=bits: first_pass(n, rows, r, b), effort)
        yield attempt(f"pa-{name}-second", lambda n=name: second_pass(n, rows), effort)
    yield attempt("pa-binary", lambda: binary(rows), effort)


def first_pass(name: str, rows: int | None, target: Target | None, bits: int) -> Case:
    """A new model learns every row once."""
    data = load(name, rows)
    others = [
        peers.epoch("scikit-learn SGD pa1", peers.sklearn_pa, data, target=target),
        peers.vowpal_wabbit(data, bits=bits),
    ]
    if name == "letter":
        others.append(peers.river_multiclass(data))
    return Case(
        f"pa-{name}",
        f"PA-I, C = 1, first pass: {data.describe()}",
        data.X.shape[0],
        peers.epoch("PassiveAggressive", PassiveAggressive, data),
        others,
        limit=lambda: read_once(data.X),
    )


def second_pass(name: str, rows: int | None) -> Case:
    """A model that has seen every row once sees them again: fewer updates."""
    data = load(name, rows)
    return Case(
        f"pa-{name}-second",
        f"PA-I, C = 1, second pass: {data.describe()}",
        data.X.shape[0],
        peers.epoch("PassiveAggressive", PassiveAggressive, data, before=1),
        [peers.epoch("scikit-learn SGD pa1", peers.sklearn_pa, data, before=1)],
        limit=lambda: read_once(data.X),
    )


def binary(rows: int | None) -> Case:
    """Two classes, where olpy and river have a learner of the same name."""
    data = load("a9a", rows)
    return Case(
        "pa-binary",
        f"PA-I, C = 1, first pass: {data.describe()}",
        data.X.shape[0],
        peers.epoch("PassiveAggressive", PassiveAggressive, data),
        [
            peers.epoch("scikit-learn SGD pa1", peers.sklearn_pa, data),
            peers.vowpal_wabbit(data, bits=18),
            peers.river_binary(data),
            peers.olpy_epoch(data, "PA_I"),
        ],
        limit=lambda: read_once(data.X),
    )
