"""Server-sent events, which keep every open page up to date twice a second, and can be resumed.

A new page gets everything once (`all`), and then only the models that have changed (`change`). The id of an event is a
name of this start of the service and a number. The last events are kept: a page that reconnects with the id of one of
them (`Last-Event-ID`) gets what it has missed; one that was away for longer, or reads too slowly, gets everything
again.
"""

import asyncio
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Any

from ellipsoid import __version__

from ..http.tokens import Holder
from ..messages import ENCODE
from ..problem import CallProblem
from ..views.messages import Curve, Glance, LearnerGlance, ModelGlance

TICK_SECONDS = 0.5
# After so long without an event a comment is sent, by which both ends see that the other is still there.
SILENCE_SECONDS = 5.0
REMEMBERED = 240
CURVE_POINTS = 160
MOST_WATCHERS = 256


class Events:
    """The events of a store, made while at least one page is watching."""

    def __init__(self, store: Any) -> None:
        self.store = store
        self.start, self.number = secrets.token_hex(4), 0
        self.watchers = 0
        self.ending = False
        self._recent: deque[tuple[int, bytes]] = deque(maxlen=REMEMBERED)
        self._known: dict[str, ModelGlance] = {}
        self._new_event: asyncio.Event | None = None
        self._ticking: asyncio.Task[None] | None = None

    async def watch(self, holder: Holder, last: str, may: Callable[[], bool] = lambda: True) -> AsyncIterator[bytes]:
        """Events from now on, or after the event ``last``, as long as the holder ``may`` see them."""
        if self.watchers >= MOST_WATCHERS:
            raise CallProblem(429, f"{MOST_WATCHERS} pages are already open; try again later", retry_after=10)
        return self._stream(holder, last, may)

    def end(self) -> None:
        """End all streams: the service stops."""
        self.ending = True
        if self._new_event is not None:
            self._new_event.set()

    def _number_of(self, last: str) -> int | None:
        """The number of an event of this start, if all events after it are still kept, else None."""
        start, _, number = last.partition("-")
        if start != self.start or not (number.isascii() and number.isdigit() and len(number) < 16):
            return None
        return int(number) if self._has_all_after(int(number)) else None

    def _has_all_after(self, number: int) -> bool:
        oldest = self._recent[0][0] if self._recent else self.number + 1
        return oldest - 1 <= number <= self.number

    async def _stream(self, holder: Holder, last: str, may: Callable[[], bool]) -> AsyncIterator[bytes]:
        # A caller that disconnects before the first event is sent never gets here, and is not counted.
        if self.watchers >= MOST_WATCHERS:
            return  # many came at the same time; `watch` refuses them when they reconnect
        self.watchers += 1
        try:
            if self._new_event is None:
                self._new_event = asyncio.Event()
            if self._ticking is None or self._ticking.done():
                self._make_event()
                self._ticking = asyncio.get_running_loop().create_task(self._tick())
            seen = self._number_of(last)
            yield b"retry: 1000\n\n"
            while not self.ending and may():
                if seen is None or not self._has_all_after(seen):
                    seen = self.number
                    yield _event("all", f"{self.start}-{seen}", self._everything(holder))
                for number, text in [each for each in self._recent if each[0] > seen]:
                    seen = number
                    yield text
                if seen < self.number:
                    continue
                try:
                    assert self._new_event is not None
                    async with asyncio.timeout(SILENCE_SECONDS):
                        await self._new_event.wait()
                except TimeoutError:
                    yield b": still here\n\n"
        finally:
            self.watchers -= 1

    async def _tick(self) -> None:
        while self.watchers > 0 and not self.ending:
            await asyncio.sleep(TICK_SECONDS)
            self._make_event()

    def _make_event(self) -> None:
        """Make an event of the models that have changed, if any have."""
        now = {stream.name: glance(self.store, stream) for stream in list(self.store.models.values())}
        changed = [model for name, model in now.items() if model != self._known.get(name)]
        self._known = now
        if changed:
            self.number += 1
            data = Glance(time=time.time(), models=changed)
            self._recent.append((self.number, _event("change", f"{self.start}-{self.number}", data)))
            if self._new_event is not None:
                self._new_event.set()
                self._new_event = asyncio.Event()

    def _everything(self, holder: Holder) -> Glance:
        models = [glance(self.store, stream, curves=True) for stream in list(self.store.models.values())]
        return Glance(time=time.time(), models=models, version=__version__, who=holder.name, role=holder.role)


def _event(kind: str, id: str, data: Glance) -> bytes:
    return b"id: %s\nevent: %s\ndata: %s\n\n" % (id.encode(), kind.encode(), ENCODE.encode(data))


def glance(store: Any, stream: Any, curves: bool = False) -> ModelGlance:
    """A model as it is now, with or without the error curves of its learners."""
    counts = stream.asked
    return ModelGlance(
        name=stream.name,
        champion=stream.champion_name,
        journal=stream.tail.end,
        ready=stream.caught_up(),
        waiting=stream.kept,
        asked=counts.asked,
        saved=counts.saved,
        answered=counts.answered,
        learners=[_learner(store, stream, name, curves) for name in list(stream.learners)],
    )


def _learner(store: Any, stream: Any, name: str, curves: bool) -> LearnerGlance:
    learner_thread = stream.learners[name]
    published = learner_thread.published
    measured = store.history.measured.get((stream.id, name))
    curve = None
    if curves:
        points = store.history.of(stream, name)
        points = points[:: -max(1, len(points) // CURVE_POINTS)][::-1]
        curve = Curve(t=[p.t for p in points], error=[round(p.windowed, 5) for p in points])
    return LearnerGlance(
        name=name,
        learner=published.learner.body.learner,
        **published.counts,
        lag=stream.tail.end - published.t,
        error=published.learner.record.windowed_error,
        last=None if measured is None else measured.point,
        failure=learner_thread.failure,
        curve=curve,
    )
