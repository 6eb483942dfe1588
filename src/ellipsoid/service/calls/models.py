"""Calls about models (make, show, file, challengers, promotion) and about the health of the service."""

import re
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from ellipsoid import __version__
from ellipsoid.estimators.files.saving import UnwritableModel

from ..http.tokens import Holder
from ..messages import NAME, LearnerStatus, Models, ModelStatus, NewLearner, NewModel, Promotion
from ..models.learner_thread import LearnerThread
from ..models.record import ERROR_WINDOW
from ..models.stream import ModelStream
from ..problem import CallProblem
from .lines import decoded
from .web import Service, json_response, whole_number

MOST_MODELS = 1000
MOST_CHALLENGERS = 16


async def _body(service: Service, request: Request, kind: Any) -> Any:
    """The body, decoded."""
    if service.wants_lines(request):
        raise CallProblem(415, "the content-type must be application/json")
    return decoded(kind, await service.body(request, 1 << 20))


def _name(request: Request, parameter: str) -> str:
    name: str = request.path_params[parameter]
    if not re.fullmatch(NAME, name):
        raise CallProblem(422, f"a name must be 1 to 64 letters, digits, - or _, got {name[:100]!r}")
    return name


async def make_model(service: Service, request: Request, holder: Holder) -> Response:
    """Make a model; the same request again changes nothing."""
    name = _name(request, "name")
    body = await _body(service, request, NewModel)
    if name not in service.store.models and len(service.store.models) >= MOST_MODELS:
        raise CallProblem(409, f"a service has at most {MOST_MODELS} models, and all of them are taken")
    made = await service.in_thread(service.store.make_model, name, body)
    return json_response(await service.in_thread(_status, service.store.stream(name)), 201 if made else 200)


async def make_challenger(service: Service, request: Request, holder: Holder) -> Response:
    """Add a challenger: another learner that learns the stream of a model."""
    name, learner = request.path_params["name"], _name(request, "learner")
    body = await _body(service, request, NewLearner)
    stream = service.store.stream(name)
    if learner not in stream.learners and len(stream.learners) > MOST_CHALLENGERS:
        raise CallProblem(409, f"a model has at most {MOST_CHALLENGERS} challengers, and all of them are taken")
    made = await service.in_thread(service.store.make_challenger, name, learner, body)
    return json_response(await service.in_thread(_status, stream), 201 if made else 200)


async def promote(service: Service, request: Request, holder: Holder) -> Response:
    """Let a challenger answer predictions from now on."""
    name = request.path_params["name"]
    body = await _body(service, request, Promotion)
    await service.in_thread(service.store.promote, name, body.learner)
    return json_response(await service.in_thread(_status, service.store.stream(name)))


async def show_model(service: Service, request: Request, holder: Holder) -> Response:
    """The counts, certificates and learners of a model."""
    return json_response(await service.in_thread(_status, service.store.stream(request.path_params["name"])))


async def list_models(service: Service, request: Request, holder: Holder) -> Response:
    """The names of all models."""
    return json_response(Models(models=sorted(service.store.models)))


async def model_file(service: Service, request: Request, holder: Holder) -> Response:
    """The model file, of now or after ``t`` examples."""
    stream = service.store.stream(request.path_params["name"])
    t = whole_number(request, "t", 1, 2**53)
    if t is None:
        published = stream.champion.published
        if not published.learner.has_learned:
            raise CallProblem(
                409, f"{stream.name} has learned nothing yet; send examples to /v1/models/{stream.name}/learn"
            )
        t, make = published.t, published.file
    else:
        make = partial(service.store.model_at, stream.name, t)
    try:
        content = await service.in_thread(make)
    except UnwritableModel as error:
        raise CallProblem(409, str(error)) from None
    headers = {"content-disposition": f'attachment; filename="{stream.name}-{t}.model"', "x-examples": str(t)}
    return Response(content, headers=headers, media_type="application/octet-stream")


async def alive(service: Service, request: Request, holder: Holder) -> Response:
    """Whether the process answers."""
    return json_response({"status": "alive", "version": __version__})


async def ready(service: Service, request: Request, holder: Holder) -> Response:
    """Whether every journal is replayed, apart from those of models that have stopped, and the disk can be written."""
    store = service.store
    if not store.ready():
        why = store.journal.fault or f"still replaying the journal of {', '.join(store.behind()[:5])}"
        raise CallProblem(503, f"not ready: {why}", retry_after=1)
    stopped = store.stopped()
    return json_response({"status": "ready", "stopped": stopped} if stopped else {"status": "ready"})


async def metrics(service: Service, request: Request, holder: Holder) -> Response:
    """Counts and times for Prometheus."""
    text, kind = await service.in_thread(service.metrics.text)
    return Response(text, media_type=kind)


def _status(stream: ModelStream) -> ModelStatus:
    published = stream.champion.published
    return ModelStatus(
        name=stream.name,
        champion=stream.champion_name,
        **published.counts,
        windowed_error=published.learner.record.windowed_error,
        window=ERROR_WINDOW,
        certificates=published.bounds(),
        classes=published.learner.classes_known(),
        features=published.learner.model.n_features_in_ if published.learner.has_learned else None,
        bits=stream.bits,
        journal=stream.tail.end,
        oldest=stream.oldest,
        snapshot=stream.champion.snapshot,
        kept=stream.kept,
        learners=[_learner(stream, name, learner_thread) for name, learner_thread in list(stream.learners.items())],
    )


def _learner(stream: ModelStream, name: str, learner_thread: LearnerThread) -> LearnerStatus:
    published = learner_thread.published
    body = published.learner.body
    return LearnerStatus(
        name=name,
        champion=name == stream.champion_name,
        learner=body.learner,
        params=body.params,
        scale=body.scale,
        first=published.learner.first,
        **published.counts,
        lag=stream.tail.end - published.t,
        windowed_error=published.learner.record.windowed_error,
        snapshot=learner_thread.snapshot,
        refused=len(published.learner.refused),
    )
