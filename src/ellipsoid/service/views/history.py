"""The history of learners: points with their counts, in the journal's database, so that they survive a restart.

Once a second a point is added for every learner that has learned something, unless it is so near the last one that a
chart could not show both. Whenever there are too many points every second one is deleted; about five hundred remain.
"""

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
# The most of a processor that certificates and shadows may take for each learner.
MEASURED_SHARE = 0.1
_COLUMNS = "t, time, errors, windowed, mistakes, updates, bound, longest, second"


class HistoryPoint(NamedTuple):
    """A learner after ``t`` examples: counts, the bound on mistakes, half-lengths of the two longest axes (or None)."""

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
    """The certificates and the shadow of a learner, which take longer to compute, with its counts at that moment."""

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
        """The certificates and the shadow of a learner, as they are now or were a moment ago."""
        key, published = (stream.id, learner), stream.learners[learner].published
        known = self.measured.get(key)
        if not published.learner.has_learned:
            return None
        if known is None or (published.t != known.point.t and time.monotonic() >= self._again_at.get(key, 0.0)):
            began = time.thread_time()
            # A copy is measured, so that predictions do not wait.
            with published.lock:
                learner_copy = published.learner.copy()
            fresh = self.measured[key] = _measured(stream, learner_copy)
            # The first measurement does not count: it may compile.
            cost = 0.0 if known is None else time.thread_time() - began
            self._again_at[key] = time.monotonic() + cost * (1.0 / MEASURED_SHARE - 1.0)
            return fresh
        return known

    def note(self, store: Any) -> None:
        """Add a point for every learner that has learned something, and write the points."""
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
        """Add a point far enough from the last; rows to write and to delete are added to ``fresh`` and ``gone``."""
        points = self.points.get((model, learner), [])
        spacing = (points[-1].t - points[0].t) / HISTORY_POINTS if len(points) > HISTORY_POINTS // 2 else 0.0
        if points and point.t - points[-1].t <= spacing:
            return
        points = [*points, point]
        fresh.append((model, learner, *point))
        if len(points) > HISTORY_POINTS:
            gone += [(model, learner, old.t) for old in points[1:-1:2]]
            points = [points[0], *points[2:-1:2], points[-1]]
        self.points[model, learner] = points


def write_points(connection: Any, fresh: list[tuple[Any, ...]], gone: list[tuple[Any, ...]]) -> None:
    """Write points, and delete others."""
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
    """The last examples of a stream as rows to predict, None if none are left."""
    first = max(stream.oldest, stream.tail.end - MEASURED_ROWS)
    blocks = stream.tail.after(first, 1 << 30)
    if blocks is None:
        with closing(opened(stream.path)) as connection:
            blocks = list(blocks_after(connection, stream.id, first))
    if not blocks:
        return None
    rows = joined([block.rows for block in blocks])
    return as_predicted(rows.part(max(0, len(rows.y) - MEASURED_ROWS), len(rows.y)).x, bits)


def _shadow(stream: Any, learner: Any) -> Shadow | None:
    X = recent_rows(stream, learner.bits)
    try:
        return None if X is None else shadow_of(learner.model, X)
    except (ValueError, ArithmeticError, np.linalg.LinAlgError):
        return None  # rows that this learner has not learned yet may have new features
