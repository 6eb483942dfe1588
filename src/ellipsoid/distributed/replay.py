"""CELLIP over shards: one ellipsoid is cut by the rows that cut the ellipsoids of the shards.

That is a run on a part of the data, in the order of the shards: what it says of its version space holds as ever, and
every row that a shard had no use for would have cut little.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .blocks import rows_that_count
from .rounds import run_jobs
from .shard import Counts, Job


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
            model.partial_fit(chunk.X, chunk.y, **({} if chunk.weights is None else {"sample_weight": chunk.weights}))
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


class Replaying(NamedTuple):
    """The one round of such a run: the ellipsoid that all rows that cut have cut, shard after shard."""

    run: Any
    dealt: list[list[Any]]

    def resumed(self, model: Any) -> Any:
        """A model that was read from a checkpoint."""
        return model

    def round(self, start: Any, name: str) -> Any:
        """The model of all shards."""
        run = self.run
        jobs = [Job(i, blocks, run.reading, 1.0, False) for i, blocks in enumerate(self.dealt)]
        held = run.engine.send(start, key=f"model-{name}")
        leaves, _ = run_jobs(run.engine, jobs, held, cut_shard, name, run.progress.shard)
        model = deepcopy(start)
        for leaf in leaves:
            cuts = run.engine.result(leaf)
            if cuts.X is not None:
                model.partial_fit(cuts.X, cuts.y)
        return model
