"""Merging of AROW and second-order Perceptrons: inverse covariances add up, exactly where they are kept whole.

With L the inverse of the covariance and h = L w, an update adds z z' / r to L and y z / r to h, whatever the state. So

    L = L_0 + sum (L_i - L_0),    h = h_0 + sum (h_i - h_0),    w = L^{-1} h

is the model of the update rows of all shards, in any order. The start L_0 is counted once, not once for each shard. A
model that saw its third label only later started with S = I / 2, and so does the merged one. A diagonal covariance
drops the entries beside the diagonal as it learns; in the first round what is left adds up, in later ones the weights
are averaged.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf, log
from typing import Any

import numpy as np

from ellipsoid.certificates.mixed import INFORMATION
from ellipsoid.ellipsoids import state as slots
from ellipsoid.ellipsoids.forms.vector_forms import FullForm
from ellipsoid.ellipsoids.tables.diagonal import DiagonalTable
from ellipsoid.ellipsoids.tables.gaussian import GaussianTable
from ellipsoid.engine import tally as tallies
from ellipsoid.estimators.second_order import GaussianLearner
from ellipsoid.representation.table_protocol import Floats
from ellipsoid.rules.gaussian import ADAPTIVE

from .parts import Part
from .tables import Taken, rows_and_sums

# Numbers of a run that add up.
ADDED = [
    slots.CUTS, slots.MARGIN_WEIGHT, slots.ASKED, slots.INVERSE_NORM, slots.MARGIN_UPDATES, slots.SQUARED_LOSS,
]  # fmt: skip
STEEPNESS = np.array(ADDED) == slots.INVERSE_NORM
# Quantities that are linear in the inverse of S, and change with the unit of its start.
OF_INVERSE = {"inverse", "pull", "priors", "weight"}


@contextmanager
def _within_float64() -> Iterator[None]:
    """Raise a ``ValueError`` that says what to do where the squares of rows swamp the start or overflow."""
    try:
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            yield
    except (np.linalg.LinAlgError, FloatingPointError):
        raise ValueError(
            "these models cannot be added up in float64, because their rows are too long compared with r (or a); "
            "learn them on features of size about 1, for example with Scaled, and merge those"
        ) from None


@_within_float64()
def take_gaussian(core: Any, start: Any) -> Taken:
    """The information that a learner has gained since ``start``, with which all shards began."""
    _check(core)
    inverse, pull = _information(core, core)
    numbers = core.table.numbers[ADDED].copy()
    priors, weight = _priors(core), inverse
    if start is not None:
        before, pulled = _information(start, core)
        inverse, numbers = inverse - before, numbers - start.table.numbers[ADDED]
        pull = pull if _goes_on(start) else pull - pulled
        priors = priors if start.rounds == 0 else inf
    else:
        inverse = inverse - _nothing_known(core)
    added = {"inverse": inverse, "pull": pull, "numbers": numbers, "priors": np.array([priors])}
    if start is not None and _goes_on(start):
        added["weight"] = weight
    # In units in which S starts with I: other shards may have seen their third label at another time.
    return {}, {**_in_units(added, 1.0 / _unit(core)), **rows_and_sums(core, start)}, {}


@_within_float64()
def put_gaussian(core: Any, part: Part, start: Any) -> None:
    """Give the learner the sum of all information."""
    table = core.table
    if core.split:
        table.numbers[slots.LOG_SCALE] = -log(2.0)
    added = _in_units(part.added, _unit(core))
    inverse, pull = added["inverse"], added["pull"]
    if start is None:
        inverse, numbers = inverse + _nothing_known(core), np.zeros(len(ADDED))
    else:
        before, pulled = _information(start, core)
        inverse, numbers = inverse + before, start.table.numbers[ADDED]
        pull = pull if _goes_on(start) else pull + pulled
    table.numbers[ADDED] = numbers + added["numbers"]
    functions, columns = table.scores, 1 + table.width
    if isinstance(table, DiagonalTable):
        B = 1.0 / np.maximum(1.0, inverse)
        table.variances()[:] = B
        W = pull / added["weight"] if "weight" in added else B * pull
    else:
        root = np.linalg.cholesky(inverse)
        J = np.linalg.inv(root).T
        W = (J @ (J.T @ pull.ravel())).reshape(functions, columns)
        table.prepare()
        table.form = FullForm(table.numbers, table.form.room, {"J": J.reshape(functions, columns, functions, columns)})
        table.numbers[slots.LOG_KEPT] = -2.0 * float(np.log(np.diag(root)).sum())
        table.rounds = np.zeros(int(table.numbers[slots.CUTS]) + 64)
        table.form.measure()
        table.bind()
    linear, rows, rounds = table.linear, float(added["rows"][0]), core.rounds
    linear._oriented(linear.W)[:functions, :columns] = W
    if core.average:
        mean = added["sums"] / rows if rows > 0.0 else W
        linear._oriented(linear.U)[:functions, :columns] = rounds * (W - mean)
    apart = np.zeros(tallies.SIZE)
    # Counts and sums are those of all shards; this one shows later whether something was learned since the merge.
    apart[tallies.UPDATES] = core.tally[tallies.UPDATES]
    priors = float(added["priors"][0])
    core.mixed = core.mixed._replace(kind=INFORMATION, factor=max(1.0, priors), update_factor=1.0, apart=apart)


def _goes_on(start: Any) -> bool:
    """Whether it is a diagonal that has learned already: then weights are averaged by their inverse variances.

    A diagonal is not a sum over its examples, so the shards' changes do not add up: the second round would go S times
    too far.
    """
    return isinstance(start.table, DiagonalTable) and start.rounds > 0


def _priors(core: Any) -> float:
    """How many starts the squared losses of a run are compared with; unknown if it learned after a merge."""
    mixed = core.mixed
    if mixed is None:
        return 1.0
    return float(mixed.factor) if core.tally[tallies.UPDATES] == mixed.apart[tallies.UPDATES] else inf


def _unit(core: Any) -> float:
    """The multiple of I that S started with: one half where one function became two opposite ones."""
    return float(np.exp(core.table.numbers[slots.LOG_SCALE]))


def _in_units(added: dict[str, Floats], unit: float) -> dict[str, Floats]:
    """The quantities with the inverse of S in units of another start."""
    found = {name: unit * array if name in OF_INVERSE else array for name, array in added.items()}
    return found | {"numbers": np.where(STEEPNESS, unit, 1.0) * added["numbers"]}


def _nothing_known(core: Any) -> Floats:
    functions, columns = core.table.scores, 1 + core.table.width
    if isinstance(core.table, DiagonalTable):
        return np.ones((functions, columns))
    return np.eye(functions * columns)


def _information(core: Any, like: Any) -> tuple[Floats, Floats]:
    """B^{-1} and B^{-1} w; a table that has no form yet knows nothing."""
    table = core.table
    if isinstance(table, DiagonalTable):
        inverse: Floats = 1.0 / table.variances()
        return inverse, inverse * table.linear.weights(table.scores, 0)
    if table.form is None:
        return _nothing_known(like), np.zeros((table.scores, 1 + table.width))
    size = table.scores * (1 + table.width)
    root = np.linalg.inv(table.form.arrays["J"].reshape(size, size))
    return root.T @ root, table.preimage()


def _check(core: Any) -> None:
    """Refuse a learner whose knowledge is not a sum over its examples."""
    if not isinstance(core, GaussianLearner):
        raise ValueError(
            "ellipsoids of models that were learned separately cannot be merged: replay the rows "
            "that cut (distributed.fit does, for "
            "CELLIP), or intersect the version spaces by ellipsoid.merging.fusion.fuse"
        )
    if core.rule.kind != ADAPTIVE:
        raise ValueError("only the covariances of AROW and of SecondOrderPerceptron add up; merge models of these")
    table = core.table
    whole = isinstance(table, DiagonalTable) or (
        type(table) is GaussianTable and isinstance(table.form, FullForm | None)
    )
    if not whole:
        raise ValueError(
            f"a covariance kept as {table.form_name!r} cannot be merged: learn with shape='dense' or 'diagonal'"
        )
