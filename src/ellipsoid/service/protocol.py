"""Connections that may not dawdle: a request's head must come within some seconds, or the answer is 408."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

# A connection that has sent nothing at all yet may wait longer: it costs a file, no more.
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


def timed_protocol(head_seconds: float) -> type[Any]:
    """uvicorn's protocol, the quicker one where httptools is installed, with a limit of time for heads of requests."""
    base: Any
    if find_spec("httptools"):
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as base
    else:
        from uvicorn.protocols.http.h11_impl import H11Protocol as base

    class TimedProtocol(base):
        """A connection with a timer for the head that is due."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.heads = 0
            self.timer = self.loop.call_later(FIRST_SECONDS, self.too_slow)

        def data_received(self, data: bytes) -> None:
            before = self.cycle
            super().data_received(data)
            if self.cycle is not before:
                self._disarm()
            elif not self.heads and (self.cycle is None or self.cycle.response_complete):
                # Part of a head: the rest of it is due. Who sends byte by byte does not get more time.
                self._disarm()
                self.heads = 1
                self.timer = self.loop.call_later(head_seconds, self.too_slow)

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
