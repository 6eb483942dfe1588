"""The types of what the page gets: models at a glance, their history, and the portrait of a learner."""

from msgspec import Struct

from ..messages import Bound
from .history import HistoryPoint


class Curve(Struct, kw_only=True):
    """The error of the last examples after ``t`` of them."""

    t: list[int]
    error: list[float]


class LearnerGlance(Struct, kw_only=True, omit_defaults=True):
    """Counts of a learner; ``last`` is the newest point of its history, ``curve`` is there at the beginning."""

    name: str
    learner: str
    t: int
    lag: int
    errors: int
    mistakes: int
    updates: int
    error: float | None
    last: HistoryPoint | None
    failure: str | None = None
    curve: Curve | None = None


class ModelGlance(Struct, kw_only=True):
    """A model at a glance: ``saved`` labels were not needed, ``asked`` were, ``answered`` have come."""

    name: str
    champion: str
    journal: int
    ready: bool
    waiting: int
    asked: int
    saved: int
    answered: int
    learners: list[LearnerGlance]


class Glance(Struct, kw_only=True):
    """Models that have changed, or at the beginning all of them, with the name and the role of the caller."""

    time: float
    models: list[ModelGlance]
    version: str | None = None
    who: str | None = None
    role: str | None = None


class LearnerHistory(Struct, kw_only=True):
    """The points of a learner, as a list for each number, null where a point has none."""

    name: str
    learner: str
    t: list[int]
    time: list[float]
    errors: list[int]
    windowed: list[float]
    mistakes: list[int]
    updates: list[int]
    bound: list[float | None]
    longest: list[float | None]
    second: list[float | None]


class ModelHistory(Struct, kw_only=True):
    """The thinned counters of every learner of a model."""

    name: str
    champion: str
    learners: list[LearnerHistory]


class Confused(Struct, kw_only=True):
    """How often a label was predicted as another (null: nothing was predicted yet)."""

    label: str | int
    predicted: str | int | None
    count: int


class HeavyFeature(Struct, kw_only=True):
    """A feature and its weight."""

    feature: str
    weight: float


class ScoreWeights(Struct, kw_only=True):
    """The heaviest features of a label, and all weights where they can be shown as a square picture."""

    label: str | int
    heaviest: list[HeavyFeature]
    square: list[float] | None


class ShadowTold(Struct, kw_only=True):
    """The shadow of the ellipsoid: half-lengths of the two axes, their share of all doubt, their heaviest features."""

    longest: float
    second: float
    share: float
    axes: list[list[HeavyFeature]]


class Portrait(Struct, kw_only=True):
    """What a learner knows after ``t`` examples."""

    name: str
    of: str
    learner: str
    t: int
    params: dict[str, str | bool | int | float | None]
    scale: str
    classes: list[str | int]
    features: int | None
    form: str | None
    sample: list[float] | dict[str, str | bool | int | float] | None
    certificates: list[Bound]
    confusion: list[Confused]
    weights: list[ScoreWeights]
    shadow: ShadowTold | None
    changes: list[int]
