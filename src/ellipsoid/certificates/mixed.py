"""What bounds need to know about a model that was merged from models of *shards*, parts of the data.

Where the hypotheses of S shards are mixed with weights mu, the proofs still hold with all sums weighted as the models
are: a potential that is convex in the weights and linear in the sums does not grow by mixing. So the tally of a merged
model holds weighted sums, but plain counts over all shards. ``apart`` is the difference: by how much the plain counts
exceed the weighted ones, and by how much the plain sums would exceed the weighted ones. Bounds on rounding need the
plain sums, since the hypothesis of one shard may have moved farther than the mixture.
"""

from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ellipsoid.engine import tally as tallies

from .certificate import Certificate
from .rounding import Span

# How the hypotheses of shards were put together.
MIX, REPLAY, INFORMATION, DUAL = "mix", "replay", "information", "dual"
WAYS = (MIX, REPLAY, INFORMATION, DUAL)

COUNTS = [
    tallies.ROUNDS, tallies.MISTAKES, tallies.UPDATES, tallies.PARTS, tallies.ZEROS, tallies.STEPS, tallies.WEIGHED,
]  # fmt: skip
SUMS = [
    tallies.PUSH, tallies.LOSS2, tallies.WEIGHT, tallies.GAIN, tallies.PATH, tallies.SWAY, tallies.HELD, tallies.EXCESS,
]  # fmt: skip
LARGEST_SLOTS = [tallies.RADIUS2, tallies.FARTHEST, tallies.HEAVY]


class Mixed(NamedTuple):
    """How a model was merged: from ``shards`` streams in ``rounds`` rounds, in the way ``kind``, with ``weights``.

    A mistake counts at least ``1 / factor`` in the weighted sum; the factor is infinite if a shard has the weight 0.
    ``update_factor`` is the same for updates. ``operations`` bounds the roundings of all merges.
    ``cap`` is the factor by which the cap of the shards' steps was multiplied. ``primal`` is the objective of a dual
    solution on all rows, infinite where it was not measured.
    """

    shards: int
    rounds: int
    weights: str
    kind: str
    factor: float
    update_factor: float
    operations: float
    cap: float
    apart: NDArray[np.float64]
    primal: float = inf

    def restate(self, found: list[Certificate], tally: NDArray[np.float64]) -> list[Certificate]:
        """The certificates with conditions that say what was counted; for mistakes and updates also on all shards."""
        if self.kind != MIX:
            return [each._replace(holds_if=f"{each.holds_if}; sums over {self.shards} shards") for each in found]
        restated = []
        for each in found:
            condition = f"{each.holds_if}; sums weighted over {self.shards} shards"
            restated.append(each._replace(holds_if=condition))
            for name, slot, factor in (
                ("mistakes", tallies.MISTAKES, self.factor),
                ("updates", tallies.UPDATES, self.update_factor),
            ):
                if each.name == name:
                    restated[-1] = each._replace(name=f"{name}, weighted over the shards", holds_if=condition)
                    bound = (Span.exactly(each.bound) * factor).high if each.bound < inf and factor < inf else inf
                    # No shard's rows count less than one in so many.
                    restated.append(Certificate(f"{name} on all shards", float(tally[slot]), bound, condition))
        return restated


def counted(learner: Any, slot: int = tallies.MISTAKES) -> float:
    """A count of a run; for a merged model the weighted count, rounded down."""
    whole, mixed = int(learner.tally[slot]), learner.mixed
    return whole if mixed is None or mixed.kind != MIX else weighted_count(mixed, learner.tally, slot).low


def weighted_count(mixed: Mixed, tally: NDArray[np.float64], slot: int) -> Span:
    """A count in which every shard has its weight."""
    whole, apart = float(tally[slot]), float(mixed.apart[slot])
    if apart == 0.0:
        return Span.exactly(whole)
    return (Span.about(whole, mixed.operations + 2.0) - Span.about(apart, mixed.operations + 2.0)).at_least(0.0)


def sums_of_all(learner: Any) -> NDArray[np.float64]:
    """The plain sums over all shards, by which the rounding of a run is bounded."""
    tally: NDArray[np.float64] = learner.tally
    if learner.mixed is None:
        return tally
    whole = tally.copy()
    whole[SUMS] += np.maximum(0.0, learner.mixed.apart[SUMS])
    whole[tallies.STEPS] += learner.mixed.operations
    return whole


def roundings(learner: Any) -> float:
    """The roundings of merges, in addition to those of the updates."""
    return 0.0 if learner.mixed is None else float(learner.mixed.operations)


def describe_mixed(mixed: Mixed) -> dict[str, Any]:
    """The scalars as a model file holds them."""
    return {
        name: "inf" if value == inf else value for name, value in mixed._asdict().items() if name != "apart"
    }  # fmt: skip


def restore_mixed(record: Any, apart: NDArray[Any]) -> Mixed:
    """The record of a merge from a model file, or ``ValueError`` where it is impossible."""
    numbers: dict[str, Any] = {name: inf if value == "inf" else value for name, value in record.items()}
    mixed = Mixed(**numbers, apart=np.array(apart))
    sound = (
        mixed.kind in WAYS and isinstance(mixed.shards, int) and mixed.shards >= 1
        and isinstance(mixed.rounds, int) and mixed.rounds >= 1 and isinstance(mixed.weights, str)
        and mixed.factor >= 1.0 and mixed.update_factor >= 1.0 and mixed.operations >= 0.0 and mixed.cap >= 1.0
        and mixed.primal >= 0.0 and apart.shape == (tallies.SIZE,) and bool((apart[COUNTS + SUMS[:2]] >= 0.0).all())
    )  # fmt: skip
    if not sound:
        raise ValueError("its record of the mixed shards is impossible")
    return mixed
