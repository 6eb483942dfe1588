"""The table of all calls of the service: method and path, role, and the types of request and answer."""

from typing import NamedTuple

from . import learn, models, predict, views
from .web import JSON, Call


class CallRow(NamedTuple):
    """``body`` and ``answer`` name types of `messages`. With ``lines`` a batch may be sent; the answer is then lines of
    the type ``answer_lines`` where that is given.
    """

    method: str
    path: str
    role: str | None
    call: Call
    body: str | None = None
    answer: str | None = None
    lines: bool = False
    answer_lines: str | None = None
    query: tuple[str, ...] = ()
    statuses: tuple[int, ...] = (200,)
    media: str = JSON


_MODEL = "/v1/models/{name}"

CALLS = (
    CallRow("GET", "/v1/models", "read", models.list_models, answer="Models"),
    CallRow("PUT", _MODEL, "admin", models.make_model, "NewModel", "ModelStatus", statuses=(200, 201)),
    CallRow("GET", _MODEL, "read", models.show_model, answer="ModelStatus"),
    CallRow("GET", f"{_MODEL}/file", "read", models.model_file, query=("t",), media="application/octet-stream"),
    CallRow(
        "POST", f"{_MODEL}/predict", "predict", predict.predict, "ExampleToPredict", "Prediction",
        lines=True, answer_lines="Prediction",
    ),
    CallRow(
        "POST", f"{_MODEL}/learn", "learn", learn.learn, "LabelledExample", "Learned",
        lines=True, answer_lines="LineAnswer", query=("partial",),
    ),
    CallRow("POST", f"{_MODEL}/labels", "label", learn.labels, "TrueLabel", "Learned", lines=True),
    CallRow(
        "GET", f"{_MODEL}/questions", "label", predict.questions, answer="Questions",
        query=("limit", "claim", "who", "skip"),
    ),
    CallRow("GET", f"{_MODEL}/keys/{{key:path}}", "learn", learn.key_seen, answer="Seen"),
    CallRow(
        "PUT", f"{_MODEL}/challengers/{{learner}}", "admin", models.make_challenger, "NewLearner", "ModelStatus",
        statuses=(200, 201),
    ),
    CallRow("POST", f"{_MODEL}/promote", "admin", models.promote, "Promotion", "ModelStatus"),
    CallRow("GET", f"{_MODEL}/history", "read", views.history, answer="ModelHistory"),
    CallRow("GET", f"{_MODEL}/portrait", "read", views.portrait, answer="Portrait", query=("of",)),
    CallRow("GET", "/v1/events", "read", views.events, media="text/event-stream"),
    CallRow("GET", "/healthz", None, models.alive),
    CallRow("GET", "/readyz", None, models.ready),
    CallRow("GET", "/metrics", "read", models.metrics, media="text/plain"),
)  # fmt: skip
