"""Calls by which the page shows models: events, history, portraits."""

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ..http.tokens import Holder
from ..problem import CallProblem
from ..views.messages import LearnerHistory, ModelHistory
from ..views.portrait import portrait_of
from .web import Service, json_response


async def events(service: Service, request: Request, holder: Holder) -> Response:
    """Server-sent events: all models at once, and then what changes; `Last-Event-ID` resumes."""
    last, may = request.headers.get("last-event-id", ""), service.may_still(holder)
    stream = await service.events.watch(holder, last, may)
    # This header makes a proxy such as nginx pass events on as they come.
    headers = {"x-accel-buffering": "no"}
    if request.method == "HEAD":
        return Response(headers=headers, media_type="text/event-stream")  # the stream itself never ends
    return StreamingResponse(stream, headers=headers, media_type="text/event-stream")


async def history(service: Service, request: Request, holder: Holder) -> Response:
    """The thinned counters of every learner of a model."""
    stream = service.store.stream(request.path_params["name"])
    found = []
    for name, learner_thread in list(stream.learners.items()):
        points = service.store.history.of(stream, name)
        columns = {field: [getattr(p, field) for p in points] for field in LearnerHistory.__struct_fields__[2:]}
        found.append(LearnerHistory(name=name, learner=learner_thread.learner.body.learner, **columns))
    return json_response(ModelHistory(name=stream.name, champion=stream.champion_name, learners=found))


async def portrait(service: Service, request: Request, holder: Holder) -> Response:
    """The weights, certificates and recent errors of a learner of a model, the champion if none is named."""
    stream = service.store.stream(request.path_params["name"])
    learner = request.query_params.get("of", stream.champion_name)
    if learner not in stream.learners:
        raise CallProblem(
            404, f"{stream.name!r} has no learner {learner[:100]!r}; there are {', '.join(stream.learners)}"
        )
    return json_response(await service.in_thread(portrait_of, service.store.history, stream, learner))
