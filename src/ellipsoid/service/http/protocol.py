"""HTTP connections with a deadline for the head of a request, on which small requests skip the general parser.

A request's head must come within some seconds, or the answer is 408. A request that `short_request` accepts is answered
without parser, application and routes. It must begin where the request before it has ended: what looks like a request
inside a body that nobody has read is part of that body.
"""

from importlib.util import find_spec
from typing import Any

from .short_requests import as_bytes, short_request

# A connection that has sent nothing yet may wait longer, since it costs only an open file.
FIRST_SECONDS = 60.0
_BODY = b'{"title":"Request Timeout","status":408,"detail":"the head of the request came too slowly"}'
_SLOW = b"\r\n".join(
    [
        b"HTTP/1.1 408 Request Timeout",
        b"content-type: application/problem+json",
        b"connection: close",
        b"content-length: %d" % len(_BODY),
        b"",
        _BODY,
    ]
)


def timed_protocol(head_seconds: float, short_calls: dict[str, Any]) -> type[Any]:
    """The protocol of uvicorn, the quicker one where httptools is installed, with deadlines and short requests."""
    base: Any
    if find_spec("httptools"):
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as base
    else:
        from uvicorn.protocols.http.h11_impl import H11Protocol as base

    class TimedProtocol(base):
        """A connection with a timer for the head of the next request."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.heads = 0
            self.inside = False
            # The short request that is being answered, and the bytes that came after it.
            self.short: Any = None
            self.pending = b""
            self.stopping = False
            self.timer = self.loop.call_later(FIRST_SECONDS, self.too_slow)

        def data_received(self, data: bytes) -> None:
            if self.short is not None:
                self.pending += data
                if len(self.pending) > 1 << 16:
                    self.transport.pause_reading()
                return
            idle = not self.heads and (self.cycle is None or self.cycle.response_complete)
            idle = idle and self.between_requests()
            request = short_request(data) if idle else None
            if request is not None:
                self._disarm()
                self._unset_keepalive_if_required()
                self.short = self.loop.create_task(self._answer(request))
                self.tasks.add(self.short)
                self.short.add_done_callback(self.tasks.discard)
                return
            before = self.cycle
            super().data_received(data)
            if self.cycle is not before:
                self._disarm()
            elif idle:
                # Part of a head: the rest must come in time, and more parts do not extend it.
                self._disarm()
                self.heads = 1
                self.timer = self.loop.call_later(head_seconds, self.too_slow)

        def between_requests(self) -> bool:
            """Is everything that came part of requests that have ended?"""
            if hasattr(self, "conn"):
                return self.conn.their_state is self.conn.our_state and not self.conn.trailing_data[0]
            return not self.inside

        def on_message_begin(self) -> None:
            """Httptools calls this where a request begins, and `on_message_complete` where it ends."""
            self.inside = True
            super().on_message_begin()

        def on_message_complete(self) -> None:
            self.inside = False
            super().on_message_complete()

        async def _answer(self, request: Any) -> None:
            response = await short_calls[request.call](request)
            self.server_state.total_requests += 1
            if self.transport.is_closing():
                return
            self.transport.write(as_bytes(response, self.server_state.default_headers))
            # Wait for a caller that does not read, so that its answers do not fill the memory.
            await self.flow.drain()
            self.short = None
            if self.stopping:
                self.transport.close()
                return
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )
            if self.pending:
                pending, self.pending = self.pending, b""
                self.transport.resume_reading()
                self.data_received(pending)

        def eof_received(self) -> bool:
            """A caller that sends nothing more may still wait for the answer to its last request."""
            if self.short is not None:
                self.stopping = True
                return True
            waits = self.cycle is not None and not self.cycle.response_started and not self.cycle.more_body
            if waits:
                self.cycle.keep_alive = False
            return waits

        def shutdown(self) -> None:
            """Close the connection when the request that is being answered is done."""
            if self.short is None:
                super().shutdown()
            self.stopping = True

        def connection_lost(self, exc: Exception | None) -> None:
            self._disarm()
            super().connection_lost(exc)

        def _disarm(self) -> None:
            self.heads = 0
            if self.timer is not None:
                self.timer.cancel()
                self.timer = None

        def too_slow(self) -> None:
            """Answer 408 and close."""
            if not self.transport.is_closing():
                self.transport.write(_SLOW)
                self.transport.close()

    return TimedProtocol
