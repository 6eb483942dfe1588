"""Runs one round: every shard starts from the same model and learns its blocks; the driver puts the results together.

The contributions of the shards are added up by a fixed tree over their numbers, so that the result does not depend on
which worker learned which shard, how often and when. Nothing of a round stays on the workers when it is over.
"""

from collections.abc import Callable
from itertools import count
from typing import Any

from ellipsoid.merging.merger import WEIGHTS, put_together, shares_of
from ellipsoid.merging.parts import Part, add_two, in_pairs

from .engines.engine import Engine, LostWorkers
from .initial_model import cap_factor
from .shard import Job, Leaf, counts_of, learn_shard
from .survey import check_versions, machine

# How often a task is sent in all, where its workers die or its file cannot be read.
ATTEMPTS = 4
# How many shards one task adds up. Since neighbours are joined first, any power of two gives the same tree.
TOGETHER = 8


def mix_round(run: Any, shards: list[list[Any]], kind: str, weights: str, start: Any, name: str) -> Any:
    """The model after another round, put together as ``merge`` does it, in the way ``kind`` (mix or information).

    ``name`` is part of the names of all tasks of the round.
    """
    count = len(shards)
    cap = cap_factor(run.learner, kind, count)
    if cap != 1.0 and run.progress.round == 0:
        run.progress.line(
            f"steps are capped at {cap:g} times C on each of {count} shards, and so at C in their mixture"
        )
    jobs = [Job(i, blocks, run.reading, cap, count == 1) for i, blocks in enumerate(shards)]
    sent = run.engine.send(start, key=f"model-{name}")
    leaves, counts = run_jobs(run.engine, jobs, sent, learn_shard, name, run.progress.shard)
    if count == 1:
        return run.engine.result(leaves[0]).model
    made = [float(each.mistakes if weights == "mistakes" else each.updates) for each in counts]
    coefficients = shares_of(made) if weights in WEIGHTS else [1.0] * count
    total = sum_parts(run.engine, leaves, coefficients, name)
    return put_together(total, start, start, weights, cap)


def sum_parts(engine: Engine, leaves: list[Any], coefficients: list[float], name: str) -> Part:
    """The weighted sum of what the shards contribute, added up by tasks over groups of neighbours, level by level."""
    for attempt in range(ATTEMPTS):
        level: list[Any] = leaves
        for depth in count():
            sums = []
            for first in range(0, len(level), TOGETHER):
                group, key = level[first : first + TOGETHER], f"sum-{name}-{attempt}-{depth}-{first}"
                if depth == 0:
                    some = coefficients[first : first + TOGETHER]
                    sums.append(engine.submit(add_leaves, some, *group, key=key))
                else:
                    sums.append(engine.submit(add_parts, *group, key=key))
            level = sums
            if len(level) == 1:
                break
        try:
            return engine.result(level[0])
        except LostWorkers:
            if attempt + 1 == ATTEMPTS:
                raise
    raise AssertionError("the last attempt raises")


def run_jobs(
    engine: Engine, jobs: list[Any], model: Any, work: Callable[..., Any], name: str, report: Callable[[Any], None]
) -> tuple[list[Any], list[Any]]:
    """Run ``work(model, job)`` for all jobs; where workers died, jobs are sent again under another name.

    Returns the futures of the results, and the counts of all shards; ``report`` is called with the counts of each shard
    when it is done.
    """
    leaves: dict[int, Any] = {}
    counts: dict[int, Any] = {}
    missing, lost = list(jobs), ""
    for number in range(ATTEMPTS):
        waiting: dict[int, tuple[Any, Any, Any]] = {}
        for job in missing:
            key = f"shard-{name}-{number}-{job.number}"
            leaf = engine.submit(run_if_same_versions, machine(), work, model, job, key=key, turn=job.number)
            counted = engine.submit(counts_of, leaf, key=f"count-{name}-{number}-{job.number}")
            waiting[id(counted)] = counted, leaf, job
        missing = []
        for done in engine.as_done([counted for counted, _, _ in waiting.values()]):
            _, leaf, job = waiting[id(done)]
            try:
                counts[job.number] = engine.result(done)
            except (LostWorkers, OSError) as error:
                missing.append(job)
                lost = str(error)  # not the error: its traceback would keep all results on the workers
                continue
            leaves[job.number] = leaf
            report(counts[job.number])
        if not missing:
            return [leaves[job.number] for job in jobs], [counts[job.number] for job in jobs]
    raise LostWorkers(f"shard {missing[0].number} was sent to workers {ATTEMPTS} times and never came back: {lost}")


def run_tasks(engine: Engine, function: Callable[..., Any], arguments: list[tuple[Any, ...]], name: str) -> list[Any]:
    """The results of a function for each tuple of arguments; a task whose workers died is sent again."""
    found: dict[int, Any] = {}
    for number in range(ATTEMPTS):
        sent = {
            i: engine.submit(function, *args, key=f"{name}-{number}-{i}", turn=i)
            for i, args in enumerate(arguments) if i not in found
        }  # fmt: skip
        for i, future in sent.items():
            try:
                found[i] = engine.result(future)
            except LostWorkers:
                if number + 1 == ATTEMPTS:
                    raise
    return [found[i] for i in range(len(arguments))]


def run_if_same_versions(driver: tuple[str, ...], work: Callable[..., Any], model: Any, job: Any) -> Any:
    """Run a job on a worker after checking its versions: it may have joined after all workers were checked."""
    check_versions(machine(), driver, "a worker that came later")
    return work(model, job)


def add_leaves(coefficients: list[float], *leaves: Leaf) -> Part:
    """The weighted sum of the parts of neighbouring shards."""
    parts = [leaf.part for leaf in leaves if leaf.part is not None]
    weighted = [part if c == 1.0 else part.times(c) for part, c in zip(parts, coefficients, strict=True)]
    return in_pairs(weighted, add_two)


def add_parts(*parts: Part) -> Part:
    """The sum of neighbouring parts."""
    return in_pairs(list(parts), add_two)
