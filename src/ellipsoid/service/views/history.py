"""How learners came to where they are: thinned counters in the journal's database, which survive a restart.

Once a second a point is added for every learner that has learned something, unless the last one is so near that nobody
could tell them apart. Of too many points every second one goes; a million examples leave five hundred.
"""

from __future__ import annotations

import time
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np

from ..journal.database import blocks_after, opened
from ..journal.rows import as_predicted, joined
from ..messages import Bound
from ..models.published import bounds_of
from .shadow import MEASURED_ROWS, Shadow, shadow_of

HISTORY_POINTS = 500
# Certificates and shadows may take so much of a processor for each learner, no more.
MEASURED_SHARE = 0.1
_COLUMNS = "t, time, errors, windowed, mistakes, updates, bound, longest, second"


class HistoryPoint(NamedTuple):
    """A learner after ``t`` examples: counts, the bound on its mistakes, and the half-lengths of its ellipsoid's two
    longest axes (None: there is none).
    """

    t: int
    time: float
    errors: int
    windowed: float
    mistakes: int
    updates: int
    bound: float | None
    longest: float | None
    second: float | None


class Measured(NamedTuple):
    """What takes longer to find out than to count, with the counts of the same moment."""

    point: HistoryPoint
    bounds: list[Bound]
    shadow: Shadow | None


class StoreHistory:
    """The points of every learner, by (model, learner)."""

    def __init__(self, connection: Any) -> None:
        self.points: dict[tuple[int, str], list[HistoryPoint]] = {}
        self.measured: dict[tuple[int, str], Measured] = {}
        self._again_at: dict[tuple[int, str], float] = {}
        query = f"SELECT model, learner, {_COLUMNS} FROM history ORDER BY model, learner, t"
        for model, learner, *values in connection.execute(query):
            self.points.setdefault((model, learner), []).append(HistoryPoint(*values))

    def of(self, stream: Any, learner: str) -> list[HistoryPoint]:
        """The points of one learner, oldest first."""
        return self.points.get((stream.id, learner), [])

    def measure(self, stream: Any, learner: str) -> Measured | None:
        """The bound and the shadow of a learner, of now or of a moment ago."""
        key, published = (stream.id, learner), stream.learners[learner].published
        known = self.measured.get(key)
        if not published.learner.has_learned:
            return None
        if known is None or (published.t != known.point.t and time.monotonic() >= self._again_at.get(key, 0.0)):
            began = time.thread_time()
            # On a copy: predictions of the published one do not wait.
            with published.lock:
                twin = published.learner.copy()
            fresh = self.measured[key] = _measured(stream, twin)
            # The first time everything is slow.
            cost = 0.0 if known is None else time.thread_time() - began
            self._again_at[key] = time.monotonic() + cost * (1.0 / MEASURED_SHARE - 1.0)
            return fresh
        return known

    def note(self, store: Any) -> None:
        """Add what is new, and write it."""
        fresh: list[tuple[Any, ...]] = []
        gone: list[tuple[Any, ...]] = []
        for stream in list(store.models.values()):
            for name in list(stream.learners):
                measured = self.measure(stream, name)
                if measured is not None:
                    self.add(stream.id, name, measured.point, fresh, gone)
        if fresh:
            store.submit_change(lambda connection: write_points(connection, fresh, gone))

    def add(self, model: int, learner: str, point: HistoryPoint, fresh: list[Any], gone: list[Any]) -> None:
        """A point, if it is far enough behind the last; what the database must learn and forget is added to lists."""
        points = self.points.get((model, learner), [])
        if points and point.t - points[-1].t <= (_spacing(points) if len(points) > HISTORY_POINTS // 2 else 0.0):
            return
        points = [*points, point]
        fresh.append((model, learner, *point))
        if len(points) > HISTORY_POINTS:
            gone += [(model, learner, old.t) for old in points[1:-1:2]]
            points = [points[0], *points[2:-1:2], points[-1]]
        self.points[model, learner] = points


def _spacing(points: list[HistoryPoint]) -> float:
    return (points[-1].t - points[0].t) / HISTORY_POINTS


def write_points(connection: Any, fresh: list[tuple[Any, ...]], gone: list[tuple[Any, ...]]) -> None:
    """Write points, and forget others."""
    connection.executemany(f"INSERT OR REPLACE INTO history VALUES ({', '.join('?' * 11)})", fresh)
    connection.executemany("DELETE FROM history WHERE model = ? AND learner = ? AND t = ?", gone)


def _measured(stream: Any, learner: Any) -> Measured:
    record, model = learner.record, learner.model
    bounds, shadow = bounds_of(model), _shadow(stream, learner)
    bound = next((found.bound for found in bounds if found.name == "mistakes"), None)
    longest, second = (None, None) if shadow is None else shadow.half_lengths
    point = HistoryPoint(
        learner.t, time.time(), record.errors, record.windowed_error or 0.0, model.mistakes_, model.updates_, bound,
        longest, second,
    )  # fmt: skip
    return Measured(point, bounds, shadow)


def recent_rows(stream: Any, bits: int | None) -> Any:
    """The last examples of a stream as rows to predict, None if there are none any more."""
    first = max(stream.oldest, stream.tail.end - MEASURED_ROWS)
    blocks = stream.tail.after(first, 1 << 30)
    if blocks is None:
        with closing(opened(stream.path)) as connection:
            blocks = list(blocks_after(connection, stream.id, first))
    if not blocks:
        return None
    rows = joined([block.rows for block in blocks])
    return as_predicted(rows.part(max(0, len(rows.y) - MEASURED_ROWS), len(rows.y)).x, bits)


def _shadow(stream: Any, twin: Any) -> Shadow | None:
    X = recent_rows(stream, twin.bits)
    try:
        return None if X is None else shadow_of(twin.model, X)
    except (ValueError, ArithmeticError, np.linalg.LinAlgError):
        return None  # rows that came behind what this learner knows may bring features or labels
