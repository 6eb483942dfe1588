"""Callers over loopback, many in one process: requests written by hand, so that the clock sees the server."""

import asyncio
import random
import time
from collections.abc import Sequence
from urllib.parse import urlsplit


class Times:
    """Seconds of single requests, in order of their length."""

    def __init__(self, seconds: Sequence[float]) -> None:
        self.seconds = sorted(seconds)

    def quantile(self, share: float) -> float:
        """The time that so many of all requests did not exceed."""
        return self.seconds[min(len(self.seconds) - 1, int(share * len(self.seconds)))]


def request(method: str, path: str, body: bytes, kind: str = "application/json") -> bytes:
    """A request as bytes."""
    head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def _caller(address: tuple[str, int], requests: Sequence[bytes], pause: float, times: list[float]) -> None:
    reader, writer = await asyncio.open_connection(*address)
    # Callers do not all begin at the same moment.
    due = time.perf_counter() + pause * random.random()
    for each in requests:
        if pause:
            due += pause
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
        began = time.perf_counter()
        writer.write(each)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        await reader.readexactly(int(head.split(b"content-length:")[1].split(b"\r\n")[0]))
        times.append(time.perf_counter() - began)
        if not head.startswith(b"http/1.1 2"):
            raise RuntimeError(f"the server answered {head[:60]!r}")
    writer.close()


def call(url: str, callers: Sequence[Sequence[bytes]], pause: float = 0.0) -> Times:
    """Let callers make their requests, each one after another, at once or with a pause between their starts."""
    where = urlsplit(url)
    times: list[float] = []

    async def everybody() -> None:
        address = (where.hostname or "", where.port or 0)
        await asyncio.gather(*(_caller(address, requests, pause, times) for requests in callers))

    asyncio.run(everybody())
    return Times(times)


async def _teller(address: tuple[str, int], lines: Sequence[bytes]) -> None:
    reader, writer = await asyncio.open_connection(*address)
    for line in lines:
        writer.write(line)
        await reader.readline()
    writer.close()


def tell(address: tuple[str, int], callers: Sequence[Sequence[bytes]]) -> None:
    """The same for a daemon that answers lines by lines."""

    async def everybody() -> None:
        await asyncio.gather(*(_teller(address, lines) for lines in callers))

    asyncio.run(everybody())
