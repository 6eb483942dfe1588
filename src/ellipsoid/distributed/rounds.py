"""A round: every shard begins with the same model and learns its blocks; what the shards contribute is added by a fixed
tree over their numbers, and the driver makes the model of all.

Nothing of a round is left on workers when it is over. Who learned which shard, how often and when enters no number.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple

from ellipsoid.merging.merger import WEIGHTS, put_together, shares_of
from ellipsoid.merging.parts import Part, add_two, in_pairs

from .engines.engine import Engine, LostWorkers
from .shard import Counts, Job, Leaf, counts_of, learn_shard
from .survey import check_versions, machine

# A task is sent again so many times after its workers died, or its file could not be read.
ATTEMPTS = 4
# Shards that one task adds up. As neighbours are joined first, any power of two gives the same tree.
TOGETHER = 8


class Round(NamedTuple):
    """What is needed to run a round: who runs it, the jobs, the weights, the cap's factor, and a name for its tasks."""

    engine: Engine
    jobs: list[Job]
    weights: str
    cap: float
    name: str

    def run(self, start: Any, tell: Callable[[Counts], None]) -> Any:
        """The model after the round; ``tell`` is told of every shard that is done."""
        held = self.engine.send(start, key=f"model-{self.name}")
        leaves, counts = run_jobs(self.engine, self.jobs, held, learn_shard, self.name, tell)
        if len(self.jobs) == 1:
            return self.engine.result(leaves[0]).model
        made = [float(count[2 if self.weights == "mistakes" else 3]) for count in counts]
        owned = shares_of(made) if self.weights in WEIGHTS else [1.0] * len(made)
        part = self._added(leaves, owned)
        return put_together(part, start, start, self.weights, self.cap)

    def _added(self, leaves: list[Any], owned: list[float]) -> Part:
        for number in range(ATTEMPTS):
            level: list[Any] = leaves
            for depth in count():
                starts = range(0, len(level), TOGETHER)
                groups = [(first, level[first : first + TOGETHER]) for first in starts]
                level = [
                    self.engine.submit(add_leaves, owned[first : first + TOGETHER], *group, key=f"{key}-{first}")
                    if depth == 0 else self.engine.submit(add_parts, *group, key=f"{key}-{first}")
                    for key in [f"sum-{self.name}-{number}-{depth}"] for first, group in groups
                ]  # fmt: skip
                if len(level) == 1:
                    break
            try:
                part: Part = self.engine.result(level[0])
                return part
            except LostWorkers:
                if number + 1 == ATTEMPTS:
                    raise
        raise AssertionError("the last attempt raises")


def run_jobs(
    engine: Engine, jobs: list[Any], held: Any, work: Callable[..., Any], name: str, tell: Callable[[Any], None]
) -> tuple[list[Any], list[Any]]:
    """Run a job each until all are done; those whose workers died are sent again, under another name."""
    leaves: dict[int, Any] = {}
    counts: dict[int, Any] = {}
    missing, lost = list(jobs), None
    for number in range(ATTEMPTS):
        waiting: dict[int, tuple[Any, Any, Any]] = {}
        for job in missing:
            key = f"shard-{name}-{number}-{job.number}"
            leaf = engine.submit(run_if_same_versions, machine(), work, held, job, key=key, turn=job.number)
            told = engine.submit(counts_of, leaf, key=f"count-{name}-{number}-{job.number}")
            waiting[id(told)] = told, leaf, job
        missing = []
        for done in engine.as_done([told for told, _, _ in waiting.values()]):
            _, leaf, job = waiting[id(done)]
            try:
                counts[job.number] = engine.result(done)
            except (LostWorkers, OSError) as error:
                missing.append(job)
                lost = error
                continue
            leaves[job.number] = leaf
            tell(counts[job.number])
        if not missing:
            return [leaves[job.number] for job in jobs], [counts[job.number] for job in jobs]
    raise LostWorkers(f"shard {missing[0].number} was sent to workers {ATTEMPTS} times, and came back never: {lost}")


def run_tasks(engine: Engine, function: Callable[..., Any], arguments: list[tuple[Any, ...]], name: str) -> list[Any]:
    """The results of a function, for one tuple of arguments after another; a task whose workers died is sent again."""
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


def run_if_same_versions(driver: tuple[str, ...], work: Callable[..., Any], held: Any, job: Any) -> Any:
    """What a worker makes of a job, if it has the versions of the driver: it may have come after all were asked."""
    check_versions(machine(), driver, "a worker that came later")
    return work(held, job)


def add_leaves(owned: list[float], *leaves: Leaf) -> Part:
    """The parts of neighbouring shards, each times its weight."""
    parts = [leaf.part for leaf in leaves if leaf.part is not None]
    return in_pairs([part if own == 1.0 else part.times(own) for part, own in zip(parts, owned, strict=True)], add_two)


def add_parts(*parts: Part) -> Part:
    """The sum of neighbouring parts."""
    return in_pairs(list(parts), add_two)
