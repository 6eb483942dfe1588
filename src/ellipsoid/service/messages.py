"""The types of requests and answers, by which requests are decoded and `/openapi.json` is made."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from ellipsoid.streams.labels import LONGEST_LABEL

# Names are used as names of files and in paths of URLs.
NAME = r"^[A-Za-z0-9_-]{1,64}$"
LONGEST_KEY = 200

Name = Annotated[str, Meta(pattern=NAME)]
Value = str | bool | int | float | None
Key = Annotated[str, Meta(min_length=1, max_length=LONGEST_KEY)]
Label = Annotated[str, Meta(max_length=LONGEST_LABEL)] | bool | int | float
FeatureRow = Annotated[list[float], Meta(min_length=1)] | dict[str, Value]
Scale = Literal["none", "standard", "unit"]


class NewLearner(Struct, forbid_unknown_fields=True, kw_only=True):
    """A learner: its class, its parameters (infinity as "inf"), and the scaler before it."""

    learner: str = "EllipsoidClassifier"
    params: dict[str, Value] = {}
    scale: Scale = "none"


class NewModel(NewLearner, forbid_unknown_fields=True, kw_only=True):
    """A model: its first learner, the labels if they are known beforehand, and the bits that names are hashed to;
    without ``bits`` every name has a column of its own.
    """

    classes: Annotated[list[str | int], Meta(min_length=2)] | None = None
    bits: Annotated[int, Meta(ge=1, le=24)] | None = None


class LabelledExample(Struct, forbid_unknown_fields=True, kw_only=True):
    """An example to learn. One whose ``key`` was seen before is acknowledged and not learned again."""

    x: FeatureRow
    y: Label
    key: Key | None = None


class ExampleToPredict(Struct, forbid_unknown_fields=True, kw_only=True):
    """An example to predict. With ``keep`` it is kept, under ``id``, for its true label; ``why`` asks for reasons."""

    x: FeatureRow
    scores: bool = False
    why: bool = False
    keep: bool = False
    id: Key | None = None


class TrueLabel(Struct, forbid_unknown_fields=True, kw_only=True):
    """The true label of a kept example."""

    id: Key
    y: Label


class Promotion(Struct, forbid_unknown_fields=True, kw_only=True):
    """The challenger that becomes the champion, which answers predictions."""

    learner: Name


class Push(Struct, kw_only=True):
    """What the lead of the predicted label would lose without a feature; below 0 the feature speaks for the rival."""

    feature: str
    value: Value
    push: float


class Reasons(Struct, kw_only=True):
    """Why a label was predicted: its ``lead`` over the first ``rival``, the probability that this lead is real where
    the learner knows one, and what each feature does for it, heaviest first.
    """

    rival: str | int | None
    lead: float | None
    confidence: float | None
    pushes: list[Push]


class Prediction(Struct, omit_defaults=True, kw_only=True):
    """A label, predicted by the model after ``t`` examples. ``certain``: no model that agrees with the examples says
    otherwise; ``ask``: the model asks for the true label. Both are missing for learners without them.
    """

    y: str | int
    t: int
    scores: list[float] | None = None
    certain: bool | None = None
    ask: bool | None = None
    id: str | None = None
    why: Reasons | None = None


class Learned(Struct, kw_only=True):
    """What became of the examples of a request, which are on disk: ``t`` is the number of examples of the stream so
    far, ``refused`` says why the learner itself refused some.
    """

    t: int
    learned: int
    duplicates: int = 0
    refused: list[str] = []

    def refuse(self, found: dict[int, str]) -> None:
        """Note why the learner refused examples, by their places among those that were new."""
        self.refused = list(found.values())


class LineAnswer(Struct, omit_defaults=True, kw_only=True):
    """What became of one line of a batch that may be learned in part."""

    line: int
    status: Literal["learned", "duplicate", "refused"]
    detail: str = ""


class LearnedLines(Learned, kw_only=True):
    """The same, line by line."""

    lines: list[LineAnswer]

    def refuse(self, found: dict[int, str]) -> None:
        """Mark the lines that the learner refused."""
        new = [line for line in self.lines if line.status == "learned"]
        for place, why in found.items():
            new[place].status, new[place].detail = "refused", why


class Question(Struct, kw_only=True):
    """A kept example whose label is asked for; it is the caller's for ``claimed_for`` seconds."""

    id: str
    x: Any
    doubt: float
    ask: bool | None
    predicted: str | int
    kept: float
    claimed_for: float
    why: Reasons


class Questions(Struct, kw_only=True):
    """The most doubtful kept examples, and how many are kept in all."""

    questions: list[Question]
    waiting: int


class Bound(Struct, kw_only=True):
    """A certificate: what was observed, the bound on it (null: none), and the condition under which it holds."""

    name: str
    observed: float
    bound: float | None
    holds_if: str


class LearnerStatus(Struct, kw_only=True):
    """A learner: ``t`` examples are learned, and ``lag`` examples of the journal are not learned yet."""

    name: str
    champion: bool
    learner: str
    params: dict[str, Any]
    scale: Scale
    first: int
    t: int
    lag: int
    errors: int
    mistakes: int
    updates: int
    windowed_error: float | None
    snapshot: int | None
    refused: int


class ModelStatus(Struct, kw_only=True):
    """A model: the counts of its champion, its certificates, its stream and all its learners."""

    name: str
    champion: str
    t: int
    errors: int
    mistakes: int
    updates: int
    windowed_error: float | None
    window: int
    certificates: list[Bound]
    classes: list[str | int]
    features: int | None
    bits: int | None
    journal: int
    oldest: int
    snapshot: int | None
    kept: int
    learners: list[LearnerStatus]


class Models(Struct, kw_only=True):
    """The names of all models."""

    models: list[str]


class Seen(Struct, kw_only=True):
    """Whether a key was seen, and the number of its example."""

    key: str
    t: int


class ProblemDetails(Struct, omit_defaults=True, kw_only=True):
    """An error (RFC 9457): ``detail`` says what is wrong and what to do, ``line`` which line of a batch it is."""

    title: str
    status: int
    detail: str
    type: str = "about:blank"
    line: int | None = None


ENCODE = msgspec.json.Encoder()


def canonical(body: Struct) -> str:
    """The body as JSON, the same text for the same content."""
    return msgspec.json.encode(body, order="deterministic").decode()
