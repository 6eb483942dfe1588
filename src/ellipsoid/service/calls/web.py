"""What all calls have in common: how callers are identified, bodies are read, and answers and errors are sent.

Bodies are read under a limit of size and of time, so that neither a large nor a slow caller costs others anything. A
body that breaks off has no effect.
"""

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from ..http.metrics import Metrics
from ..http.short_requests import ShortRequest
from ..http.tokens import EVERYBODY, Holder, Tokens
from ..messages import ENCODE, ProblemDetails
from ..problem import CallProblem
from ..store import Store
from .events import Events
from .lines import Pieces

_log = logging.getLogger("ellipsoid.service")

JSON, NDJSON, PROBLEM = "application/json", "application/x-ndjson", "application/problem+json"
# The names in the Host header by which a service without tokens may be called. A page of another site could make its
# own name point to this machine (DNS rebinding), but not one of these.
LOOPBACK = ("localhost", "127.0.0.1", "::1", "[::1]")
# The most tokens whose hash is computed or waited for at the same time.
MOST_TOKEN_CHECKS = 5


@dataclass(frozen=True)
class WebOptions:
    """The limits of a body: ``max_body`` bytes, ``chunk_seconds`` between two chunks, ``body_seconds`` in all.

    ``workers`` threads decode and predict batches; with ``loopback_only``, where there are no tokens, other host names
    than this machine's are refused.
    """

    max_body: int = 1 << 26
    chunk_seconds: float = 10.0
    body_seconds: float = 600.0
    workers: int = 2
    loopback_only: bool = True


class Service:
    """A store, with the metrics, events and threads that are needed to serve it."""

    def __init__(self, store: Store, tokens: Tokens | None, options: WebOptions) -> None:
        self.store, self.tokens, self.options = store, tokens, options
        self.metrics = Metrics(store)
        self.events = Events(store)
        self.threads = ThreadPoolExecutor(max(1, options.workers), thread_name_prefix="ellipsoid worker")
        self.guards = ThreadPoolExecutor(1, thread_name_prefix="ellipsoid guard")
        # Bytes of all batches that are being read.
        self.batch_bytes = 0
        self.token_checks: dict[str, asyncio.Future[Holder | None]] = {}
        self._replies: list[tuple[asyncio.Future[Any], Any]] = []
        self._replies_lock = threading.Lock()

    # -- replies of other threads ------------------------------------------------------------------------------

    def promise(self) -> tuple[asyncio.Future[Any], Callable[[Any], None]]:
        """A future of this loop, and a function by which any thread sets its result or exception."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()

        def reply(answer: Any) -> None:
            with self._replies_lock:
                self._replies.append((future, answer))
                first = len(self._replies) == 1
            # One call into the loop delivers all replies that have come until it runs.
            if first:
                with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                    loop.call_soon_threadsafe(self._deliver)

        return future, reply

    def _deliver(self) -> None:
        with self._replies_lock:
            replies, self._replies = self._replies, []
        for future, answer in replies:
            if future.done():
                continue  # the caller has disconnected
            if isinstance(answer, BaseException):
                future.set_exception(answer)
            else:
                future.set_result(answer)

    async def in_thread(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run a function that takes long in another thread."""
        return await asyncio.get_running_loop().run_in_executor(self.threads, function, *args)

    # -- callers -----------------------------------------------------------------------------------------------

    async def holder(self, request: Request) -> Holder:
        """The caller, or a `CallProblem`."""
        if self.tokens is None:
            host = request.headers.get("host", "")
            name = host if host.endswith("]") else host.rpartition(":")[0] or host
            if self.options.loopback_only and name not in LOOPBACK:
                raise CallProblem(421, f"this service answers to {', '.join(LOOPBACK[:2])}, not to {name[:100]!r}")
            # Browsers send this header with every request, also for an image, by which a page could claim questions.
            if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
                raise CallProblem(
                    403,
                    "the request comes from a page of another site; a service without tokens answers only its own page",
                )
            return EVERYBODY
        self._refresh(self.tokens)
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token or len(token) > 200:
            raise CallProblem(401, "a token is needed: send the header 'Authorization: Bearer TOKEN'")
        holder = self.tokens.known(token)
        if holder is None:
            # Requests with the same token wait for the same check.
            if token not in self.token_checks:
                if len(self.token_checks) >= MOST_TOKEN_CHECKS:
                    raise CallProblem(
                        429, "too many tokens are being checked at once; try again in a second", retry_after=1
                    )
                loop = asyncio.get_running_loop()
                self.token_checks[token] = loop.run_in_executor(self.guards, self.tokens.check, token)
                self.token_checks[token].add_done_callback(lambda _: self.token_checks.pop(token))
            await asyncio.shield(self.token_checks[token])
            holder = self.tokens.known(token)
        if holder is None:
            raise CallProblem(401, "the token is not known; check it, or ask for a new one")
        return holder

    def _refresh(self, tokens: Tokens) -> None:
        try:
            tokens.refresh()
        except (OSError, ValueError) as error:
            _log.error("the file of tokens cannot be read: %s", error)
            raise CallProblem(
                503,
                "the file of tokens cannot be read, so no caller can be let in; see the log of the service",
                retry_after=5,
            ) from None

    def may_still(self, holder: Holder) -> Callable[[], bool]:
        """A function that says whether a caller that was let in still has the same token and role."""
        tokens = self.tokens
        if tokens is None:
            return lambda: True
        entry = tokens.entry(holder.name)

        def may() -> bool:
            try:
                return entry is not None and tokens.entry(holder.name) == entry
            except (OSError, ValueError):
                return False

        return may

    # -- bodies ------------------------------------------------------------------------------------------------

    async def chunks(self, request: Request, most: int | None = None) -> AsyncIterator[bytes]:
        """The body as it comes, within its limits."""
        most = self.options.max_body if most is None else most
        length = request.headers.get("content-length", "0")
        if length.isdigit() and int(length) > most:
            raise CallProblem(413, f"the body must have at most {most:,} bytes")
        size, deadline = 0, time.monotonic() + self.options.body_seconds
        body = request.stream()
        while True:
            try:
                async with asyncio.timeout(self.options.chunk_seconds):
                    chunk = await anext(body, None)
            except TimeoutError:
                raise CallProblem(408, "the body came too slowly; nothing of it was learned; send it again") from None
            if chunk is None:
                return
            size += len(chunk)
            if size > most:
                raise CallProblem(413, f"the body must have at most {most:,} bytes")
            if time.monotonic() > deadline:
                raise CallProblem(408, "the body came too slowly; nothing of it was learned; send it again")
            if chunk:
                yield chunk

    async def body(self, request: Request, most: int = 1 << 23) -> bytes:
        """The whole body of a single message."""
        if isinstance(request, ShortRequest):
            if len(request.whole) > self.options.max_body:
                raise CallProblem(413, f"the body must have at most {self.options.max_body:,} bytes")
            return request.whole
        parts = [chunk async for chunk in self.chunks(request, min(most, self.options.max_body))]
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def pieces(self, request: Request) -> AsyncIterator[tuple[int, bytes]]:
        """The body in pieces of whole lines, each with the number of its first line."""
        cutter, line, own_bytes = Pieces(), 1, 0
        try:
            async for chunk in self.chunks(request):
                own_bytes += len(chunk)
                self.batch_bytes += len(chunk)
                if self.batch_bytes > 4 * self.options.max_body:
                    raise CallProblem(429, "too many large bodies at once; try again in a second", retry_after=1)
                text = cutter.add(chunk)
                if text:
                    yield line, text
                    line += text.count(b"\n")
            text = cutter.rest()
            if text:
                yield line, text
        finally:
            self.batch_bytes -= own_bytes

    def wants_lines(self, request: Request) -> bool:
        """Is the body a batch? Content types that a form of a web page could send are refused."""
        packed = request.headers.get("content-encoding", "identity")
        if packed.strip().lower() != "identity":
            raise CallProblem(415, f"compressed bodies are not read: send it without content-encoding {packed[:100]!r}")
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == NDJSON:
            return True
        if kind != JSON:
            raise CallProblem(415, f"the content-type must be {JSON}, or {NDJSON} for a batch, got {kind[:100]!r}")
        return False


Call = Callable[[Service, Request, Holder], Awaitable[Response]]


def endpoint(service: Service, name: str, role: str | None, call: Call) -> Callable[[Request], Awaitable[Response]]:
    """A call as an endpoint of Starlette; with ``role`` None everybody may make it."""

    async def answer(request: Request) -> Response:
        began = time.perf_counter()
        try:
            holder = EVERYBODY if role is None else await service.holder(request)
            if role is not None and not holder.may(role):
                raise CallProblem(403, f"the token {holder.name!r} has the role {holder.role}; this call needs {role}")
            response = await call(service, request, holder)
        except CallProblem as problem:
            response = problem_response(problem)
        except ClientDisconnect:
            response = Response(status_code=400)
        except Exception:
            _log.exception("%s failed", name)
            response = problem_response(
                CallProblem(500, "the service failed at this request; see its log for the reason")
            )
        service.metrics.answered(name, response.status_code, time.perf_counter() - began)
        return response

    return answer


def problem_response(problem: CallProblem) -> Response:
    """A problem as an answer."""
    details = ProblemDetails(title=problem.title, status=problem.status, detail=problem.detail, line=problem.line)
    headers = {} if problem.retry_after is None else {"retry-after": str(problem.retry_after)}
    if problem.status == 401:
        headers["www-authenticate"] = "Bearer"
    return Response(ENCODE.encode(details), problem.status, headers, PROBLEM)


def json_response(answer: Any, status: int = 200) -> Response:
    return Response(ENCODE.encode(answer), status, media_type=JSON)


def flag(request: Request, name: str, default: bool = False) -> bool:
    """A parameter of the URL that is true or false."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if text not in ("true", "false"):
        raise CallProblem(422, f"{name} must be true or false, got {text[:100]!r}")
    return text == "true"


def whole_number(request: Request, name: str, least: int, most: int) -> int | None:
    """A parameter of the URL that is a whole number, None if it is missing."""
    text = request.query_params.get(name)
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or not least <= int(text[:30]) <= most:
        raise CallProblem(422, f"{name} must be a whole number from {least} to {most}, got {text[:100]!r}")
    return int(text)
