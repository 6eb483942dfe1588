"""Merging of AROW and second-order Perceptrons: inverse covariances add up, exactly where they are kept whole.

With L the inverse of the covariance and h = L w, an update adds z z' / r to L and y z / r to h, whatever the state. So

    L = L_0 + sum (L_i - L_0),    h = h_0 + sum (h_i - h_0),    w = L^{-1} h

is the model of the update rows of all shards, in any order. The start L_0 is counted once, not once for each shard. A
model that met its third label on the way has S = I / 2 for its start, and so has what it is merged to. A
diagonal drops what lies beside it on the way, and adds up what is left, in the first round; in later ones its weights
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

# Numbers of a run that add up.
ADDED = [
    slots.CUTS, slots.MARGIN_WEIGHT, slots.ASKED, slots.STEEP, slots.MARGIN_UPDATES, slots.SQUARED_LOSS,
]  # fmt: skip
STEEPNESS = np.array(ADDED) == slots.STEEP
# What is told of the inverse of S, in units of what S began with.
OF_INVERSE = {"inverse", "pull", "priors", "weight"}


@contextmanager
def _within_float64() -> Iterator[None]:
    """Say what to do where the squares of rows leave no digits of the start, or are no numbers any more."""
    try:
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            yield
    except (np.linalg.LinAlgError, FloatingPointError):
        raise ValueError(
            "what these models know cannot be added up in float64, since their rows are too long beside r (or a); "
            "learn them on features of about the size of 1, with Scaled say, and merge those"
        ) from None


@_within_float64()
def take_gaussian(core: Any, start: Any) -> tuple[dict[str, Floats], dict[str, Floats], dict[str, Floats]]:
    """What a learner knows more than the one that all began with."""
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
    # As if S had begun with I: the labels of other shards may have come in another way.
    added = _measured(added, 1.0 / _unit(core))
    added["rows"] = np.array([float(core.rounds - (0 if start is None else start.rounds))])
    if core.average:
        added["sums"] = core.rounds * core.table.weights(core.scores, core.rounds)
        if start is not None and start.rounds:
            added["sums"] = added["sums"] - start.rounds * start.table.weights(start.scores, start.rounds)
    return {}, added, {}


@_within_float64()
def put_gaussian(core: Any, part: Part, start: Any) -> None:
    """Let the learner know what all know."""
    table = core.table
    if core.split:
        table.numbers[slots.LOG_SCALE] = -log(2.0)
    added = _measured(part.added, _unit(core))
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
    core.fast = core.named = core._predictor = None
    apart = np.zeros(tallies.SIZE)
    # Counts and sums are those of all; only this tells whether something was learned since.
    apart[tallies.UPDATES] = core.tally[tallies.UPDATES]
    priors = float(added["priors"][0])
    core.mixed = core.mixed._replace(kind=INFORMATION, factor=max(1.0, priors), update_factor=1.0, apart=apart)


def _goes_on(start: Any) -> bool:
    """Is it a diagonal that has learned already? Then weights are averaged, each shard's by what it knows of them.

    A diagonal is no sum of its examples, and what shards change in it does not add up: the second round would go S
    times too far.
    """
    return isinstance(start.table, DiagonalTable) and start.rounds > 0


def _priors(core: Any) -> float:
    """How many starts the squared losses of a run have to be held against; nobody knows after it learned on."""
    mixed = core.mixed
    if mixed is None:
        return 1.0
    return float(mixed.factor) if core.tally[tallies.UPDATES] == mixed.apart[tallies.UPDATES] else inf


def _unit(core: Any) -> float:
    """The share of I that S began with: half of it, where one function became two opposite ones."""
    return float(np.exp(core.table.numbers[slots.LOG_SCALE]))


def _measured(added: dict[str, Floats], unit: float) -> dict[str, Floats]:
    """What is told of the inverse of S, measured by another start."""
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
    """Refuse what is no sum of its examples."""
    if not isinstance(core, GaussianLearner):
        raise ValueError(
            "ellipsoids of models learned apart cannot be merged: replay the rows that cut (distributed.fit does, for "
            "CELLIP), or intersect the version spaces by ellipsoid.merging.fusion.fuse"
        )
    if core.rule.kind != ADAPTIVE:
        raise ValueError("only the covariances of AROW and of the second-order Perceptron add up")
    table = core.table
    whole = isinstance(table, DiagonalTable) or (
        type(table) is GaussianTable and isinstance(table.form, FullForm | None)
    )
    if not whole:
        raise ValueError(
            f"a covariance kept as {table.form_name!r} cannot be merged: learn with shape='dense' or 'diagonal'"
        )
