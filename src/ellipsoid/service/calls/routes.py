"""Every call of the service in one table: how it is addressed, who may make it, what it takes and gives."""

from __future__ import annotations

from typing import NamedTuple

from . import learn as learn_calls
from . import models as model_calls
from . import predict as predict_calls
from . import views as view_calls
from .web import JSON, Call


class CallRow(NamedTuple):
    """``body`` and ``answer`` name types of `messages`; ``lines``: a batch of them may be sent, and is answered by
    lines of ``answer_lines`` where that is a type.
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
    CallRow("GET", "/v1/models", "read", model_calls.list_models, answer="Models"),
    CallRow("PUT", _MODEL, "admin", model_calls.make_model, "NewModel", "ModelStatus", statuses=(200, 201)),
    CallRow("GET", _MODEL, "read", model_calls.show_model, answer="ModelStatus"),
    CallRow("GET", f"{_MODEL}/file", "read", model_calls.model_file, query=("t",), media="application/octet-stream"),
    CallRow(
        "POST", f"{_MODEL}/predict", "predict", predict_calls.predict, "ExampleToPredict", "Prediction",
        lines=True, answer_lines="Prediction",
    ),
    CallRow(
        "POST", f"{_MODEL}/learn", "learn", learn_calls.learn, "LabelledExample", "Learned",
        lines=True, answer_lines="LineAnswer", query=("partial",),
    ),
    CallRow("POST", f"{_MODEL}/labels", "label", learn_calls.labels, "TrueLabel", "Learned", lines=True),
    CallRow(
        "GET", f"{_MODEL}/questions", "label", predict_calls.questions, answer="Questions",
        query=("limit", "claim", "who", "skip"),
    ),
    CallRow("GET", f"{_MODEL}/keys/{{key:path}}", "learn", learn_calls.key_seen, answer="Seen"),
    CallRow(
        "PUT", f"{_MODEL}/challengers/{{learner}}", "admin", model_calls.make_challenger, "NewLearner", "ModelStatus",
        statuses=(200, 201),
    ),
    CallRow("POST", f"{_MODEL}/promote", "admin", model_calls.promote, "Promotion", "ModelStatus"),
    CallRow("GET", f"{_MODEL}/history", "read", view_calls.history, answer="ModelHistory"),
    CallRow("GET", f"{_MODEL}/portrait", "read", view_calls.portrait, answer="Portrait", query=("of",)),
    CallRow("GET", "/v1/events", "read", view_calls.events, media="text/event-stream"),
    CallRow("GET", "/healthz", None, model_calls.alive),
    CallRow("GET", "/readyz", None, model_calls.ready),
    CallRow("GET", "/metrics", "read", model_calls.metrics, media="text/plain"),
)  # fmt: skip
