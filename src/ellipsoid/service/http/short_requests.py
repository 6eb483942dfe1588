"""A quick parser for short requests: a small JSON body that came in one piece, with the usual headers.

Half of the time of a small request goes into a parser that is ready for everything HTTP allows. This one accepts only
what is beyond doubt: one complete POST of HTTP/1.1, headers of a few kinds, each once, and a body of the length that
they give. All other requests go to the general parser. Both lead to the same calls.
"""

import re
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

# The calls that a short request can make.
TARGET = re.compile(rb"POST (/v1/models/([A-Za-z0-9_-]{1,64})/(predict|learn|labels)) HTTP/1\.1\r\n")
LONGEST_HEAD = 2048
PLAIN_HEADERS = frozenset(
    {"host", "content-type", "content-length", "authorization", "accept", "accept-encoding", "user-agent"}
)
_LINE = re.compile(rb"([A-Za-z-]+): ?([!-~](?:[ -~]*[!-~])?)")
_PHRASES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}


class ShortRequest:
    """The attributes of a request of Starlette that these calls use."""

    query_params: dict[str, str] = {}  # noqa: RUF012 - there are none

    def __init__(self, name: str, call: str, headers: dict[str, str], body: bytes) -> None:
        self.path_params, self.call, self.headers, self.whole = {"name": name}, call, headers, body


def short_request(data: bytes) -> ShortRequest | None:
    """The request, if these bytes are one short request as a whole, else None."""
    target = TARGET.match(data)
    end = data.find(b"\r\n\r\n", 0, LONGEST_HEAD)
    if target is None or end < 0:
        return None
    headers: dict[str, str] = {}
    for line in data[target.end() : end].split(b"\r\n"):
        found = _LINE.fullmatch(line)
        if found is None:
            return None
        name = found[1].decode().lower()
        value = found[2].decode()
        if name in headers:
            return None
        if name not in PLAIN_HEADERS and (name, value.lower()) != ("connection", "keep-alive"):
            return None
        headers[name] = value
    length = headers.get("content-length", "")
    whole = length.isdigit() and len(length) < 8 and int(length) == len(data) - end - 4
    if not whole or headers.get("content-type") != "application/json" or "host" not in headers:
        return None
    return ShortRequest(target[2].decode(), target[3].decode(), headers, data[end + 4 :])


def as_bytes(response: Response, headers: list[tuple[bytes, bytes]]) -> bytes:
    """An answer as it goes over the wire."""
    parts = [_PHRASES[response.status_code]]
    parts += [name + b": " + value + b"\r\n" for name, value in (*headers, *response.raw_headers)]
    return b"".join([*parts, b"\r\n", bytes(response.body)])


def short_calls(routes: Any) -> dict[str, Any]:
    """The endpoints that short requests can call, by the last word of their path."""
    found = {}
    for route in routes:
        word = route.path.rpartition("/")[2]
        if word in ("predict", "learn", "labels") and "POST" in (route.methods or ()):
            found[word] = route.endpoint
    return found
