"""Calls that teach a model: examples with labels, and labels of kept examples."""

from contextlib import closing
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from ..http.tokens import Holder
from ..journal.database import opened
from ..journal.rows import label_of
from ..journal.writes import IncomingRows, LabelWrite, LearnWrite, caller_key
from ..messages import ENCODE, LabelledExample, Learned, LineAnswer, TrueLabel
from ..problem import CallProblem
from .lines import decoded, decoded_lines, labelled_rows
from .web import NDJSON, Service, flag, json_response


async def learn(service: Service, request: Request, holder: Holder) -> Response:
    """Examples with labels, answered when they are on disk and learned."""
    stream = service.store.stream(request.path_params["name"])
    refused: list[LineAnswer] | None = [] if flag(request, "partial") else None
    parts: list[IncomingRows] = []
    batch = service.wants_lines(request)
    if batch:
        async for line, text in service.pieces(request):
            parts += await service.in_thread(labelled_rows, stream, text, line, refused)
    else:
        refused = None
        parts = [_single(stream, decoded(LabelledExample, await service.body(request)))]
    stream.check_learning()
    if not parts and not refused:
        raise CallProblem(422, "the body holds no example; send at least one")
    future, reply = service.promise()
    write = LearnWrite(stream, parts, holder.name, reply, refused)
    service.store.journal.submit(write)
    try:
        answer: Learned = await future
    except CallProblem as problem:
        if not batch:
            problem.line = None  # a single example has no line number
        raise
    if write.answers is not None:
        lines = sorted(write.answers, key=lambda each: each.line)
        return Response(b"".join(ENCODE.encode(line) + b"\n" for line in lines), media_type=NDJSON)
    if answer.refused and answer.learned == 1:
        raise CallProblem(422, answer.refused[0])
    return json_response(answer)


def _single(stream: Any, example: LabelledExample) -> IncomingRows:
    try:
        rows = stream.rows_of([example.x], [example.y])
    except (ValueError, OverflowError) as error:
        raise CallProblem(422, str(error)) from None
    return IncomingRows(rows, None if example.key is None else [caller_key(example.key)], range(1, 2))


async def labels(service: Service, request: Request, holder: Holder) -> Response:
    """The true labels of kept examples."""
    stream = service.store.stream(request.path_params["name"])
    truths: list[tuple[int, TrueLabel]] = []
    if service.wants_lines(request):
        async for line, text in service.pieces(request):
            truths += await service.in_thread(decoded_lines, TrueLabel, text, line)
    else:
        truths = [(1, decoded(TrueLabel, await service.body(request)))]
    stream.check_learning()
    if not truths:
        raise CallProblem(422, "the body holds no label; send at least one")
    try:
        checked = [(line, truth.id, label_of(truth.y)) for line, truth in truths]
    except (ValueError, OverflowError) as error:
        raise CallProblem(422, str(error)) from None
    future, reply = service.promise()
    service.store.journal.submit(LabelWrite(stream, checked, holder.name, reply))
    return json_response(await future)


async def key_seen(service: Service, request: Request, holder: Holder) -> Response:
    """Whether an example with a key is in the journal, by which a sender finds out where it stopped."""
    stream = service.store.stream(request.path_params["name"])
    key = request.path_params["key"]

    def find() -> Any:
        with closing(opened(service.store.journal.path)) as connection:
            query = "SELECT row FROM keys WHERE model = ? AND key = ?"
            return connection.execute(query, (stream.id, caller_key(key))).fetchone()

    found = await service.in_thread(find)
    if found is None:
        raise CallProblem(404, f"no example of {stream.name} has the key {key[:200]!r}")
    return json_response({"key": key, "t": found[0] + 1})
