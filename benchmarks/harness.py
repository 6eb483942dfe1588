"""How a time is taken: the contenders of a case run in turn, ours before every peer, and ratios are made of medians.

A neighbour's load on the machine then falls on both sides alike. Setting a job up (making or copying a model) is not
counted; a first, untimed run of every contender takes compilation, page faults and lazy imports out of the figures. A
short job is run once more just before the clock starts: otherwise it would find the caches full of the other side's
data, as it never does where it runs again and again. As in ``timeit``, garbage is not collected inside the clock.
"""

import gc
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, NamedTuple


class Target(NamedTuple):
    """What a figure must reach; ``at_least`` says on which side of ``bound``."""

    bound: float
    at_least: bool = True

    def met(self, value: float) -> bool:
        """Is ``value`` on the right side?"""
        return value >= self.bound if self.at_least else value <= self.bound

    def __str__(self) -> str:
        return f"{'>=' if self.at_least else '<='} {self.bound:g}"


# Seconds below which a job is short.
SHORT = 0.1


@dataclass
class Contender:
    """One way to do the job: ``job(setup())`` is run, ``job`` alone is timed.

    ``error`` judges what the job returned, so that speed is not bought with accuracy; ``counted`` says what the clock
    sees. A peer that is ``unavailable`` is reported with that reason instead of a time.
    """

    name: str
    setup: Callable[[], Any]
    job: Callable[[Any], Any]
    counted: str
    error: Callable[[Any], float] | None = None
    target: Target | None = None
    unavailable: str = ""


@dataclass
class Case:
    """One job, done by us and by each peer. ``limit`` is a job no learner can beat: one read of the data.

    A time is reported for each of ``rows`` rows.
    """

    name: str
    setting: str
    rows: int
    ours: Contender
    peers: list[Contender]
    limit: Callable[[], Any] | None = None
    agree: Callable[[dict[str, Any]], str] | None = None


@dataclass
class Clock:
    """Seconds of each repeat of a contender's job, on the wall and of the processor."""

    contender: Contender
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    first: float = 0.0

    def warm_up(self) -> Any:
        """Do the job for the first time; it is not timed, but shows whether the job is short."""
        began = time.perf_counter()
        outcome = self.contender.job(self.contender.setup())
        self.first = time.perf_counter() - began
        return outcome

    def run(self) -> None:
        """Do the job and keep its time."""
        if (self.wall[-1] if self.wall else self.first) < SHORT:
            self.contender.job(self.contender.setup())
        state = self.contender.setup()
        gc.disable()
        cpu, wall = time.process_time(), time.perf_counter()
        self.contender.job(state)
        self.wall.append(time.perf_counter() - wall)
        self.cpu.append(time.process_time() - cpu)
        gc.enable()

    def summary(self) -> dict[str, Any]:
        """Medians and minima in seconds."""
        return {
            "repeats": len(self.wall),
            "wall_median": median(self.wall),
            "wall_min": min(self.wall),
            "cpu_median": median(self.cpu),
            "cpu_min": min(self.cpu),
        }


def timed(contender: Contender, repeats: int) -> Clock:
    """The times of one job by itself."""
    clock = Clock(contender)
    clock.warm_up()
    for _ in range(repeats):
        clock.run()
    return clock


class Effort(NamedTuple):
    """How long to measure: ``repeats`` runs of each peer, fewer when ``seconds`` are used up, never below ``least``."""

    repeats: int = 9
    seconds: float = 40.0
    least: int = 3


class Duel(NamedTuple):
    """A peer's clock and that of our own runs, one before each of the peer's."""

    ours: Clock
    peer: Clock

    def run(self) -> float:
        """One run of each; returns how long it took."""
        began = time.perf_counter()
        self.ours.run()
        self.peer.run()
        return time.perf_counter() - began


def compare(case: Case, effort: Effort) -> dict[str, Any]:
    """Run a case; the outcome is what a results file holds."""
    mine = Clock(case.ours)
    duels = {peer.name: Duel(Clock(case.ours), Clock(peer)) for peer in case.peers if not peer.unavailable}
    outcomes = {clock.contender.name: clock.warm_up() for clock in (mine, *(duel.peer for duel in duels.values()))}
    agreement = case.agree(outcomes) if case.agree else ""
    errors = {c.name: c.error(outcomes[c.name]) for c in (case.ours, *case.peers) if c.error and c.name in outcomes}
    outcomes.clear()
    for duel in duels.values():
        duel.ours.first = mine.first
    spent = dict.fromkeys(duels, 0.0)
    for i in range(effort.repeats):
        for name, duel in duels.items():
            if i < effort.least or spent[name] < effort.seconds:
                spent[name] += duel.run()
    for duel in duels.values():
        mine.wall += duel.ours.wall
        mine.cpu += duel.ours.cpu
    if not duels:
        mine = timed(case.ours, effort.repeats)
    found: dict[str, Any] = {
        "case": case.name,
        "setting": case.setting,
        "rows": case.rows,
        "agreement": agreement,
        "ours": {
            "name": case.ours.name,
            "counted": case.ours.counted,
            "error": errors.get(case.ours.name),
            **mine.summary(),
        },
        "peers": [
            _peer(duels[peer.name], errors.get(peer.name))
            if peer.name in duels
            else {"name": peer.name, "counted": peer.counted, "unavailable": peer.unavailable}
            for peer in case.peers
        ],
    }
    if case.limit is not None:
        limit = timed(Contender("one read of X", lambda: None, lambda _: case.limit(), ""), effort.repeats)
        found["limit"] = {**limit.summary(), "distance": min(mine.wall) / min(limit.wall)}
    return found


def _peer(duel: Duel, error: float | None) -> dict[str, Any]:
    peer = duel.peer.contender
    pairs = [theirs / ours for ours, theirs in zip(duel.ours.wall, duel.peer.wall, strict=True)]
    ratio = median(duel.peer.wall) / median(duel.ours.wall)
    return {
        "name": peer.name,
        "counted": peer.counted,
        "unavailable": "",
        "error": error,
        **duel.peer.summary(),
        "ratio": ratio,
        "ratio_low": min(pairs),
        "ratio_high": max(pairs),
        "ratio_cpu": median(duel.peer.cpu) / median(duel.ours.cpu),
        "ratio_min": min(duel.peer.cpu) / min(duel.ours.cpu),
        "target": str(peer.target) if peer.target else "",
        "met": peer.target.met(ratio) if peer.target else None,
    }


def attempt(name: str, build: Callable[[], Case], effort: Effort) -> dict[str, Any]:
    """Run a case, or say why it cannot be: its data set is not at hand."""
    try:
        case = build()
    except (ValueError, OSError) as error:
        return {"case": name, "skipped": " ".join(str(error).split())}
    return compare(case, effort)


def exponent(sizes: Sequence[float], times: Sequence[float]) -> float:
    """The power p of the least-squares fit ``time = factor * size^p``; 1 is a straight line.

    >>> round(exponent([1, 2, 4], [3.0, 6.0, 12.0]), 12)
    1.0
    """
    x, y = [math.log(s) for s in sizes], [math.log(t) for t in times]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / sum((a - mean_x) ** 2 for a in x)


def figure(name: str, setting: str, value: float, unit: str, target: Target | None = None, **details: Any) -> Any:
    """A single measured number, as a results file holds it."""
    return {
        "figure": name,
        "setting": setting,
        "value": value,
        "unit": unit,
        "target": str(target) if target else "",
        "met": target.met(value) if target else None,
        "details": details,
    }
