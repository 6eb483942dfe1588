"""What a reproduction consists of, as plain data: experiments to run, and how their results become a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ellipsoid.evaluate.cell import Protocol
    from ellipsoid.evaluate.prequential import Progress
    from ellipsoid.streams.sets.datasets import Dataset

    from .report import Report
    from .results import Results


class Spec(NamedTuple):
    """A learner by the name of its class, and its parameters; those of ``grid`` it chooses by cross-validation."""

    kind: str
    parameters: Mapping[str, Any]
    grid: Mapping[str, tuple[float, ...]] | None = None


class Experiment(NamedTuple):
    """Learners on one data set; ``data`` loads it, already cut and prepared as the paper has it. ``curves``: the
    results keep what was counted on the way, not only at the end of each pass.
    """

    label: str
    data: Callable[[], Dataset]
    learners: Mapping[str, Spec]
    protocol: Protocol
    curves: bool = False


class Quick(NamedTuple):
    """The most rows and orders of a quick run, which shows that everything works and proves nothing.

    Experiments whose labels begin with a word of ``without`` are left to the full run.
    """

    rows: int = 400
    test_rows: int = 200
    seeds: int = 2
    without: tuple[str, ...] = ()


QUICK = Quick()


class Missing(NamedTuple):
    """A data set that is not run for want of its rows, and what stands in for it."""

    data: str
    reason: str


@dataclass(frozen=True)
class Entry:
    """A table or figure of a paper. ``missing`` names the sets of the paper that this library cannot get at all.

    ``measure``: a run that no comparison makes; told whether it is quick, and whom to tell how far it is, it returns
    the records of its experiments and of their times. ``experiments`` then only says what they look like.
    """

    name: str
    title: str
    paper: str
    experiments: Callable[[], list[Experiment]]
    report: Callable[[Results], Report]
    quick: Quick = QUICK
    missing: tuple[Missing, ...] = ()
    measure: Callable[[bool, Progress | None], tuple[list[dict[str, Any]], list[dict[str, Any]]]] | None = None
