"""The tasks of a worker: learn the blocks of one shard from a given model, count errors, predict."""

import threading
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np

from ellipsoid.engine import tally as tallies
from ellipsoid.evaluate.recorder import wrong_rows
from ellipsoid.merging.merger import contribution
from ellipsoid.merging.parts import Part
from ellipsoid.representation.kernel.threads import one_thread
from ellipsoid.streams.stream import Chunk

from .blocks import BlockReading, rows_of_block, rows_that_count
from .memory import kept_memory

# One shard at a time per process: two would compete for the caches of a core.
_LEARNING = threading.Lock()


class Job(NamedTuple):
    """A shard to be learned: its number, its blocks, how to read them, and the factor for the cap of a step.

    ``whole``: return the model itself, since there is only this shard.
    """

    number: int
    blocks: list[Any]
    reading: BlockReading
    cap: float
    whole: bool


class Counts(NamedTuple):
    """Rows, mistakes and updates of a shard in this round."""

    number: int
    rows: int
    mistakes: int
    updates: int


class Leaf(NamedTuple):
    """The result of a shard: its contribution to the merged model, or its model where it is the only shard."""

    part: Part | None
    model: Any
    counts: Counts


def learn_shard(start: Any, job: Job) -> Leaf:
    """Learn the blocks of a shard in their order."""
    with _LEARNING, kept_memory(), one_thread():
        model = deepcopy(start)
        set_cap(model._core, job.cap)
        for block in job.blocks:
            try:
                for chunk in rows_of_block(block, job.reading):
                    learn_chunk(model, chunk)
            except ValueError as error:
                error.add_note(f"in shard {job.number}, {block}")
                raise
        before, after = start._core.tally, model._core.tally
        made = [int(after[slot] - before[slot]) for slot in (tallies.ROUNDS, tallies.MISTAKES, tallies.UPDATES)]
        counts = Counts(job.number, *made)
        return Leaf(None, model, counts) if job.whole else Leaf(contribution(model, start), None, counts)


def learn_chunk(model: Any, chunk: Chunk) -> None:
    """Learn the rows of a chunk, with their weights if they have some."""
    weights = {} if chunk.weights is None else {"sample_weight": chunk.weights}
    model.partial_fit(chunk.X, chunk.y, **weights)


def set_cap(core: Any, factor: float) -> None:
    """Multiply the largest step that a rule may take."""
    if factor != 1.0:
        core.rule = core.rule._replace(cap=factor * core.rule.cap)
        core.fast = core.named = None


def counts_of(leaf: Leaf) -> Counts:
    """The counts of a shard, which are small enough to be sent to the driver."""
    return leaf.counts


def errors_of(model: Any, blocks: list[Any], reading: BlockReading) -> tuple[int, int]:
    """The number of wrongly predicted rows in some blocks, and of all rows."""
    wrong = rows = 0
    for block in blocks:
        for chunk in rows_that_count(block, reading):
            wrong += int(wrong_rows(model.predict(chunk.X), chunk.y).sum())
            rows += len(chunk.y)
    return wrong, rows


def predict_block(model: Any, block: Any, reading: BlockReading) -> Any:
    """The labels that a model gives to the rows of a block."""
    found = [model.predict(chunk.X) for chunk in rows_of_block(block, reading)]
    return np.concatenate(found) if found else model.classes_[:0]
