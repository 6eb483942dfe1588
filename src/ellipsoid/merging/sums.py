"""Merges the tallies of shards: sums weighted as the hypotheses are, counts over all rows, and maxima."""

from math import inf
from typing import Any

import numpy as np

from ellipsoid.certificates import run_rounding
from ellipsoid.certificates.mixed import COUNTS, LARGEST_SLOTS, MIX, SUMS, Mixed, sums_of_all
from ellipsoid.engine import tally as tallies
from ellipsoid.representation.table_protocol import Floats
from ellipsoid.representation.window.table import WindowTable

from .parts import Part

# Roundings of a merge in addition to one for each shard.
MERGE_ROUNDINGS = 8.0


def final_sums(core: Any) -> Floats:
    """The tally of a learner, including the multipliers in its window, which become final when it is merged."""
    tally: Floats = core.tally.copy()
    if isinstance(core.table, WindowTable):
        alphas = core.table.slots.alphas()
        tally[tallies.WEIGHT] += alphas.sum()
        tally[tallies.LARGEST] = max(tally[tallies.LARGEST], alphas.max(initial=0.0))
    return tally


def take_sums(core: Any, start: Any) -> dict[str, dict[str, Floats]]:
    """What the tally of a learner contributes; ``start`` is the learner that all shards began with, or None."""
    tally, mixed = final_sums(core), core.mixed
    apart = np.zeros(tallies.SIZE) if mixed is None else mixed.apart
    whole = sums_of_all(core) + (tally - core.tally)
    before = np.zeros(tallies.SIZE) if start is None else sums_of_all(start) + (final_sums(start) - start.tally)
    # Merges before the start are counted there; only a merge since then belongs to this shard.
    past = None if start is None else start.mixed
    own = mixed if mixed is not None and (past is None or mixed.rounds > past.rounds) else None
    known = run_rounding.path_known(core.tally) and run_rounding.path_known(core.tally, tallies.HELD)
    return {
        "weighted": {"tally": tally[SUMS], "counts": (tally - apart)[COUNTS]},
        "added": {
            "counts": tally[COUNTS] - before_counts(start), "whole": (whole - before)[SUMS],
            "shards": np.array([1.0 if own is None else float(own.shards)]),
            "unknown": np.array([0.0 if known else 1.0]),
        },
        "largest": {
            "tally": tally[LARGEST_SLOTS], "split": np.array([float(core.split)]),
            "mixed": np.array(
                [own.factor, own.update_factor, own.operations, own.rounds, own.cap] if own is not None
                else [1.0, 1.0, 0.0, 0.0, 1.0]
            ),
        },
        "heaviest": {"alpha": tally[[tallies.LARGEST]]},
    }  # fmt: skip


def before_counts(start: Any) -> Floats:
    """The counts of the learner that all began with."""
    return np.zeros(len(COUNTS)) if start is None else start.tally[COUNTS]


def put_sums(core: Any, part: Part, start: Any, weights: str, cap: float) -> None:
    """Give the learner, a copy of one of the shards' or of their start, the merged tally."""
    past = None if start is None else start.mixed
    largest = part.largest["mixed"]
    tally, apart = np.zeros(tallies.SIZE), np.zeros(tallies.SIZE)
    tally[COUNTS] = before_counts(start) + part.added["counts"]
    apart[COUNTS] = np.maximum(0.0, tally[COUNTS] - part.mean("counts"))
    tally[SUMS] = part.mean("tally")
    whole = part.added["whole"] if start is None else part.added["whole"] + (sums_of_all(start))[SUMS]
    apart[SUMS] = whole - tally[SUMS]
    apart[[tallies.PUSH, tallies.LOSS2, tallies.PATH]] = np.maximum(
        0.0, apart[[tallies.PUSH, tallies.LOSS2, tallies.PATH]]
    )
    tally[LARGEST_SLOTS] = part.largest["tally"]
    alpha = float(part.heaviest["alpha"][0]) / part.coefficient
    tally[tallies.LARGEST] = alpha if start is None else max(alpha, float(final_sums(start)[tallies.LARGEST]))
    if part.added["unknown"][0] > 0.0:
        tally[[tallies.PATH, tallies.HELD]] = run_rounding.UNKNOWN_PATH
        apart[[tallies.PATH, tallies.HELD]] = 0.0
    shards = float(part.shards)
    factor, update_factor = (
        shards * float(most) if weights in ("uniform", name) else inf
        for most, name in zip(largest[:2], ("mistakes", "updates"), strict=True)
    )  # fmt: skip
    core.tally = tally
    core.mixed = Mixed(
        shards=int(part.added["shards"][0]) if past is None else max(past.shards, part.shards),
        rounds=1 + max(int(largest[3]), 0 if past is None else past.rounds),
        weights=weights,
        kind=MIX,
        factor=factor if past is None else max(past.factor, factor),
        update_factor=update_factor if past is None else max(past.update_factor, update_factor),
        operations=shards + MERGE_ROUNDINGS + max(float(largest[2]), 0.0 if past is None else past.operations),
        cap=max(cap, float(largest[4]), 1.0 if past is None else past.cap),
        apart=apart,
    )
