"""CELLIP over shards: the rows that cut the ellipsoids of the shards are replayed, and cut one ellipsoid.

This is a run on a part of the data, in the order of the shards: what it says about its version space holds as usual,
and a row that did not cut the ellipsoid of its shard would have cut little.
"""

from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .blocks import rows_that_count
from .rounds import run_jobs
from .shard import Counts, Job, learn_chunk


class Cuts(NamedTuple):
    """The rows that cut the ellipsoid of a shard, with their labels."""

    X: Any
    y: Any
    counts: Counts


def cut_shard(start: Any, job: Job) -> Cuts:
    """Learn the blocks of a shard, and keep the rows that cut."""
    model, rows, labels = deepcopy(start), [], []
    for block in job.blocks:
        for chunk in rows_that_count(block, job.reading):
            before, cuts = model.t_, len(model.update_rounds_)
            learn_chunk(model, chunk)
            own = model.update_rounds_[cuts:] - 1 - before
            if len(own):
                rows.append(chunk.X.iloc[own] if hasattr(chunk.X, "columns") else chunk.X[own])
                labels.append(chunk.y[own])
    counts = Counts(job.number, model.t_, model.mistakes_, model.updates_)
    if not rows:
        return Cuts(None, None, counts)
    return Cuts(_stacked(rows), np.concatenate(labels), counts)


def _stacked(rows: list[Any]) -> Any:
    """Rows of one kind, one below the other."""
    if hasattr(rows[0], "columns"):
        import pandas

        return pandas.concat(rows)
    return sparse.vstack(rows, format="csr") if sparse.issparse(rows[0]) else np.concatenate(rows)


def replay_round(run: Any, shards: list[list[Any]], start: Any, name: str) -> Any:
    """The model of all shards after the only round: the rows that cut are replayed, shard after shard."""
    jobs = [Job(i, blocks, run.reading, 1.0, False) for i, blocks in enumerate(shards)]
    sent = run.engine.send(start, key=f"model-{name}")
    leaves, _ = run_jobs(run.engine, jobs, sent, cut_shard, name, run.progress.shard)
    model = deepcopy(start)
    for leaf in leaves:
        cuts = run.engine.result(leaf)
        if cuts.X is not None:
            model.partial_fit(cuts.X, cuts.y)
    return model
