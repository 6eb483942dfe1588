"""The results of the ellipsoid method: the answer, its proof, and the history of the run."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from ellipsoid.ellipsoids import Ellipsoid
from ellipsoid.representation.table_protocol import Floats

CutRule = Literal["deep", "central"]


class Step(NamedTuple):
    """One centre: what was evaluated there, and what is known after it."""

    iteration: int
    kind: Literal["objective", "constraint", "ball"]
    which: int | None  # of the constraints
    centre: Floats
    value: float  # of the objective, the constraint or |x - x0| - radius
    best: float  # the best objective value at a feasible point so far, inf if there is none
    lower_bound: float  # no feasible point has an objective value below this
    width: float  # sqrt(g'Pg) for the subgradient g evaluated
    log_volume: float  # log det P of the ellipsoid around this centre


@dataclass(frozen=True)
class MinimizeResult:
    """Where `minimize` ended.

    ``status`` is ``"optimal"`` (the gap is proven to be within ``tol``), ``"infeasible"`` (proven:
    ``witness`` is the number of the constraint whose cut left nothing, or ``"ball"``), ``"exhausted"``
    (the ellipsoid is too thin for floating point; the gap is what it is), ``"max_iter"`` or ``"stopped"``
    (by the callback).  ``x`` is None and ``fun`` infinite as long as no feasible point was met.
    ``iteration_bound`` is the number of central cuts that suffice for a gap of ``tol`` if all are
    objective cuts, given the largest subgradient seen.
    """

    x: Floats | None
    fun: float
    lower_bound: float
    gap: float
    n_iter: int
    status: Literal["optimal", "infeasible", "exhausted", "max_iter", "stopped"]
    message: str
    witness: int | Literal["ball"] | None
    ellipsoid: Ellipsoid
    iteration_bound: int
    history: list[Step] = field(repr=False)

    @property
    def success(self) -> bool:
        """Whether the gap is proven to be within the tolerance."""
        return self.status == "optimal"


class Cut(NamedTuple):
    """A half-space <normal, x> <= offset from the oracle, and the depth at which it cut."""

    normal: Floats
    offset: float
    depth: float


@dataclass(frozen=True)
class FeasibilityResult:
    """Where `feasible_point` ended.

    ``status`` is ``"feasible"`` (``x`` is the point), ``"empty"`` (proven: the last of ``cuts`` left
    nothing of the start ball), ``"small"`` (proven: no ball of radius ``inner_radius`` fits into the set
    and the start ball), ``"exhausted"`` or ``"max_iter"``.  ``iteration_bound`` is the number of
    questions after which central cuts end as ``"feasible"`` or ``"small"``.
    """

    x: Floats | None
    n_iter: int
    status: Literal["feasible", "empty", "small", "exhausted", "max_iter"]
    message: str
    ellipsoid: Ellipsoid
    iteration_bound: int
    cuts: list[Cut] = field(repr=False)

    @property
    def success(self) -> bool:
        """Whether a feasible point was found."""
        return self.status == "feasible"
