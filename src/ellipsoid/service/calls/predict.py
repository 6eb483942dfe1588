"""Calls for predictions, and for questions: kept examples whose label the model asks for."""

import time
from collections.abc import AsyncIterator
from contextlib import closing
from math import inf
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ..http.tokens import Holder
from ..journal.database import opened
from ..journal.writes import KeepWrite
from ..messages import ENCODE, ExampleToPredict, Prediction, Question, Questions
from ..models.published import Published
from ..models.stream import ModelStream, new_id
from ..problem import CallProblem
from ..views.reasons import reasons_for
from .lines import decoded, decoded_lines
from .web import NDJSON, Service, flag, json_response, whole_number

# Rows that are predicted at once; other requests wait no longer than for these.
PREDICTED_ROWS = 256
# Of the kept examples, the most doubtful ones at last sight are predicted anew to find questions.
CANDIDATES = 256
MOST_QUESTIONS = 100
SETTLE = "UPDATE kept SET doubt = ?, ask = 0 WHERE model = ? AND id = ?"


async def predict(service: Service, request: Request, holder: Holder) -> Response:
    """Predicted labels of examples; examples to be kept are on disk before the answer."""
    stream = service.store.stream(request.path_params["name"])
    if not service.wants_lines(request):
        asked = decoded(ExampleToPredict, await service.body(request))
        published = _published(stream)
        answers, kept = answers_for(stream, published, [(None, asked)])
        await _keep(service, stream, kept, holder)
        return json_response(answers[0])
    batch: list[tuple[int | None, ExampleToPredict]] = []
    async for line, text in service.pieces(request):
        batch += await service.in_thread(decoded_lines, ExampleToPredict, text, line)
    if not batch:
        raise CallProblem(422, "the body holds no example; send at least one")
    published = _published(stream)
    lines: list[bytes] = []
    kept = []
    for start in range(0, len(batch), PREDICTED_ROWS):
        answers, more = await service.in_thread(answers_for, stream, published, batch[start : start + PREDICTED_ROWS])
        lines.append(b"".join(ENCODE.encode(answer) + b"\n" for answer in answers))
        kept += more
    await _keep(service, stream, kept, holder)

    async def written() -> AsyncIterator[bytes]:
        for part in lines:
            yield part

    return StreamingResponse(written(), media_type=NDJSON)


def _published(stream: ModelStream) -> Published:
    """The copy that predicts, or a `CallProblem` while there is none."""
    if stream.champion.failure is None:
        stream.check_learning()  # after a restart, a snapshot lacks what was acknowledged after it
    published = stream.champion.published
    if not published.learner.has_learned:
        stream.check_learning()
        raise CallProblem(
            409, f"{stream.name} has learned nothing yet; send examples to /v1/models/{stream.name}/learn"
        )
    return published


def answers_for(
    stream: ModelStream, published: Published, batch: list[tuple[int | None, ExampleToPredict]]
) -> tuple[list[Prediction], list[tuple[Any, ...]]]:
    """Predictions, and the examples to be kept as `KeepWrite` takes them."""
    try:
        predicted = published.predict(stream.matrix_of([asked.x for _, asked in batch]))
    except (ValueError, OverflowError, CallProblem) as error:
        for each in batch if len(batch) > 1 else []:
            answers_for(stream, published, [each])
        # Each is right by itself: they are not all of one kind, as they must be to be predicted at once.
        status = error.status if isinstance(error, CallProblem) else 422
        raise CallProblem(status, str(error), line=batch[0][0]) from None
    answers, kept = [], []
    for i, (_, asked) in enumerate(batch):
        scores = None
        if asked.scores:
            scores = [float(predicted.scores[i])] if predicted.scores.ndim == 1 else predicted.scores[i].tolist()
        answer = Prediction(
            y=predicted.labels[i],
            t=published.t,
            scores=scores,
            certain=None if predicted.certain is None else predicted.certain[i],
            ask=None if predicted.ask is None else predicted.ask[i],
        )
        if asked.why:
            answer.why = reasons_for(published, stream.matrix_of([asked.x]))
        if asked.keep:
            answer.id = asked.id or new_id()
            x, y = msgspec.json.encode(asked.x), msgspec.json.encode(answer.y).decode()
            kept.append((answer.id, x, y, predicted.doubt[i], answer.ask))
        answers.append(answer)
    return answers, kept


async def _keep(service: Service, stream: ModelStream, kept: list[tuple[Any, ...]], holder: Holder) -> None:
    if kept:
        future, reply = service.promise()
        service.store.journal.submit(KeepWrite(stream, kept, holder.name, reply))
        await future


async def questions(service: Service, request: Request, holder: Holder) -> Response:
    """Kept examples whose label the model asks for, most doubtful first. Each is the caller's for a few minutes, unless
    it is given back by ``skip``.
    """
    stream = service.store.stream(request.path_params["name"])
    most = whole_number(request, "limit", 1, MOST_QUESTIONS) or 1
    who = request.query_params.get("who", holder.name)[:200]
    skipped = request.query_params.getlist("skip")[:MOST_QUESTIONS]
    claims = flag(request, "claim", True)
    found, settled = await service.in_thread(open_questions, stream, most, who if claims else None, skipped)
    if settled and service.store.journal.fault is None:
        # With their doubt lowered, they leave the candidates of the next call to others.
        service.store.submit_later(lambda connection: connection.executemany(SETTLE, settled))
    return json_response(found)


def _can_predict(stream: ModelStream, published: Published, xs: list[Any]) -> bool:
    """Can the learner predict all of these examples at once?"""
    try:
        published.predict(stream.matrix_of(xs))
    except (ValueError, OverflowError):
        return False
    return True


def open_questions(
    stream: ModelStream, most: int, who: str | None, skipped: list[str]
) -> tuple[Questions, list[tuple[Any, ...]]]:
    """Questions, claimed for ``who`` unless None, and those kept examples (with their doubt) that need no label."""
    with closing(opened(stream.path)) as connection:
        rows = connection.execute(
            "SELECT id, x, time, doubt FROM kept WHERE model = ? ORDER BY doubt DESC LIMIT ?", (stream.id, CANDIDATES)
        ).fetchall()
    published = stream.champion.published
    if not rows or not published.learner.has_learned:
        return Questions(questions=[], waiting=stream.kept), []
    settled: list[tuple[Any, ...]] = []
    xs = [msgspec.json.decode(row[1]) for row in rows]
    if not _can_predict(stream, published, xs):
        # A new champion may not be able to predict examples kept before: they are no questions, and must hide no other.
        good = [i for i, x in enumerate(xs) if _can_predict(stream, published, [x])]
        settled = [(-inf, stream.id, row[0]) for i, row in enumerate(rows) if i not in good and row[3] > -inf]
        rows, xs = [rows[i] for i in good], [xs[i] for i in good]
        if not rows:
            return Questions(questions=[], waiting=stream.kept), settled
    found = published.predict(stream.matrix_of(xs))
    order = sorted(range(len(rows)), key=lambda i: -found.doubt[i])
    if found.ask is not None:
        settled += [
            (found.doubt[i], stream.id, rows[i][0]) for i in order if not found.ask[i] and found.doubt[i] < rows[i][3]
        ]
        order = [i for i in order if found.ask[i]]
    ids = [rows[i][0] for i in order]
    mine = dict.fromkeys(ids[:most], 0.0) if who is None else stream.claim(ids, who, most, skipped)
    asked = [
        Question(
            id=rows[i][0],
            x=xs[i],
            doubt=found.doubt[i],
            ask=None if found.ask is None else True,
            predicted=found.labels[i],
            kept=min(rows[i][2], time.time()),
            claimed_for=mine[rows[i][0]],
            why=reasons_for(published, stream.matrix_of([xs[i]])),
        )
        for i in order
        if rows[i][0] in mine
    ]
    return Questions(questions=asked, waiting=stream.kept), settled
