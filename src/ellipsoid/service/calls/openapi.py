"""The OpenAPI description of all calls, at `/openapi.json`, made from the types that decode requests."""

from typing import Any

import msgspec

from ellipsoid import __version__

from .. import messages
from ..messages import NAME
from ..views import messages as view_messages
from .routes import CALLS, CallRow
from .web import JSON, NDJSON, PROBLEM

_TYPES = (
    messages.NewModel,
    messages.NewLearner,
    messages.LabelledExample,
    messages.ExampleToPredict,
    messages.TrueLabel,
    messages.Promotion,
    messages.Prediction,
    messages.Learned,
    messages.LineAnswer,
    messages.Questions,
    messages.ModelStatus,
    messages.Models,
    messages.Seen,
    view_messages.ModelHistory,
    view_messages.Portrait,
    messages.ProblemDetails,
)
# The errors that any call may answer.
_ALWAYS = (400, 401, 403, 404, 408, 409, 410, 413, 415, 421, 422, 429, 503, 507)
_PARAMETERS: dict[str, dict[str, Any]] = {
    "name": {"in": "path", "required": True, "schema": {"type": "string", "pattern": NAME}},
    "learner": {"in": "path", "required": True, "schema": {"type": "string", "pattern": NAME}},
    "key": {"in": "path", "required": True, "schema": {"type": "string", "minLength": 1}},
    "partial": {"in": "query", "schema": {"type": "string", "enum": ["true", "false"]}},
    "claim": {"in": "query", "schema": {"type": "string", "enum": ["true", "false"]}},
    "who": {"in": "query", "schema": {"type": "string"}},
    "skip": {"in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
    "of": {"in": "query", "schema": {"type": "string", "pattern": NAME}},
    "limit": {"in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 100}},
    "t": {"in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 2**53}},
}


def description() -> dict[str, Any]:
    """The whole document."""
    _, schemas = msgspec.json.schema_components(_TYPES, ref_template="#/components/schemas/{name}")
    paths: dict[str, dict[str, Any]] = {}
    for row in CALLS:
        # Starlette marks a parameter that may hold slashes by ":path", OpenAPI does not.
        paths.setdefault(row.path.replace(":path}", "}"), {})[row.method.lower()] = _operation(row)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "ellipsoid",
            "version": __version__,
            "description": "Models that learn over HTTP and never forget an example that they have acknowledged.",
        },
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _operation(row: CallRow) -> dict[str, Any]:
    names = [part[1:-1].partition(":")[0] for part in row.path.split("/") if part.startswith("{")] + list(row.query)
    found: dict[str, Any] = {
        "operationId": row.call.__name__,
        "summary": (row.call.__doc__ or "").strip(),
        "parameters": [{"name": name, **_PARAMETERS[name]} for name in names],
        "responses": {
            **{str(status): {"description": "answered", "content": _content(row)} for status in row.statuses},
            **{str(status): {"description": "a problem", "content": {PROBLEM: {"schema": _ref("ProblemDetails")}}}
               for status in _ALWAYS if status not in row.statuses},
        },
    }  # fmt: skip
    if row.role is not None:
        found["security"] = [{"token": []}, {}]
        found["x-role"] = row.role
    if row.body is not None:
        content = {JSON: {"schema": _ref(row.body)}}
        if row.lines:
            content[NDJSON] = {"schema": {"type": "string", "description": f"one {row.body} per line"}}
        found["requestBody"] = {"required": True, "content": content}
    return found


def _content(row: CallRow) -> dict[str, Any]:
    content: dict[str, Any] = {row.media: {"schema": {"type": "object"} if row.answer is None else _ref(row.answer)}}
    if row.media != JSON:
        content = {row.media: {}}
    if row.answer_lines:
        content[NDJSON] = {"schema": {"type": "string", "description": f"one {row.answer_lines} per line"}}
    return content


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}
