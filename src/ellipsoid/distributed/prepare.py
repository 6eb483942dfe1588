"""Preparation of a run before its first round: check the workers' versions, survey the data, compile the code."""

import warnings
from copy import deepcopy
from dataclasses import replace
from typing import Any
from uuid import uuid4

import numpy as np
from sklearn.base import is_regressor

from ellipsoid.streams.stream import Chunk

from .blocks import BlockReading, rows_that_count
from .plan import Plan
from .rounds import run_tasks
from .survey import Settled, check_versions, joined_surveys, machine, settle, survey_blocks

# Rows that compiled code is tried on.
TRIED_ROWS = 8


def check_machines(engine: Any) -> None:
    """Refuse workers with other versions; warn of different processors, whose sums may differ in their last bits."""
    own, found = machine(), engine.everywhere(machine)
    for name, versions in found.items():
        check_versions(versions, own, f"the worker {name}")
    processors = sorted({versions[-1] for versions in found.values()})
    if len(processors) > 1:
        warnings.warn(
            f"workers have processors of different kinds ({', '.join(processors)}): the last bits of the model may "
            "depend on which worker learned which shard; NUMBA_CPU_NAME=generic, set for all workers, prevents this",
            stacklevel=3,
        )


def survey(run: Any, classes: Any, n_features: int | None) -> Settled:
    """What all shards must agree on; the data are only read where something is not given by the user."""
    plan, options = run.plan, dict(run.plan.reading.options)
    svmlight = plan.format == "svmlight" and options.get("bits") is None
    zero_based = options.get("zero_based")
    standard = run.scaler is not None and type(run.scaler).__name__ == "StandardStream"
    given = (
        classes is not None and not standard and (not svmlight or (n_features is not None and zero_based is not None))
    )
    if given and svmlight:
        reading = replace(plan.reading, options={**options, "n_features": n_features})
        found = Settled(reading, list(classes), int(n_features or 0), None)
    elif given:
        sample = first_rows(plan, plan.reading)
        found = Settled(plan.reading, list(classes), sample.X.shape[1], None)
    else:
        found = _read_survey(run, classes, n_features, svmlight, standard)
    if run.scaler is not None and not standard:
        run.scaler.n_features_in_ = found.width
    return found


def _read_survey(run: Any, classes: Any, n_features: int | None, svmlight: bool, standard: bool) -> Settled:
    plan, options = run.plan, dict(run.plan.reading.options)
    # Read as if features were counted from 0: only all blocks together show whether they are.
    looking = replace(plan.reading, options={**options, "zero_based": True}) if svmlight else plan.reading
    run.progress.line(f"first pass over {len(plan.blocks)} blocks, to find labels and features")
    groups = plan.deal(min(len(plan.blocks), 64))
    # Names of tasks must be unique, since other drivers may use the same scheduler.
    tasks = [(blocks, looking, standard, not is_regressor(run.learner)) for blocks in groups]
    surveyed = run_tasks(run.engine, survey_blocks, tasks, f"survey-{uuid4().hex[:8]}")
    run.engine.forget()
    total = surveyed[0]
    for other in surveyed[1:]:
        total = joined_surveys(total, other)
    found = settle(total, plan.reading, classes, n_features, options.get("zero_based"))
    if standard:
        moments = total.moments
        if svmlight and not found.reading.options["zero_based"]:
            moments = moments[:, 1:]
        moments = np.pad(moments, ((0, 0), (0, found.width - moments.shape[1])))
        centre = bool(run.scaler.with_mean) and not hasattr(first_rows(plan, found.reading).X, "tocsr")
        run.scaler.restore({"width": found.width, "rows": total.rows, "centre": centre}, {"moments": moments})
    run.progress.line(f"{total.rows:,} rows, {len(found.classes)} classes, {found.width:,} features")
    return found


def first_rows(plan: Plan, reading: BlockReading) -> Chunk:
    """The first few rows of the data, not scaled."""
    for block in plan.blocks:
        for chunk in rows_that_count(block, replace(reading, scaler=None)):
            return Chunk(chunk.X[:TRIED_ROWS], None if chunk.y is None else chunk.y[:TRIED_ROWS], 0)
    raise ValueError("the data have no rows")


def warm_workers(engine: Any, start: Any, block: Any, reading: BlockReading) -> None:
    """Let every worker compile or load its code before shards are sent, which would look like a hang otherwise."""
    engine.everywhere(try_out, engine.send(start, key=f"try-{uuid4().hex[:8]}"), block, reading)
    engine.forget()


def try_out(start: Any, block: Any, reading: BlockReading) -> bool:
    """Learn a few rows with a copy of the model."""
    model = deepcopy(start)
    for chunk in rows_that_count(block, reading):
        some = min(TRIED_ROWS, len(chunk.y))
        model.partial_fit(chunk.X[:some], chunk.y[:some])
        return True
    return False
