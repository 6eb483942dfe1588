"""Housekeeping of a store, once a second: write history and snapshots that are due, and delete old examples."""

import logging
import time
from typing import Any

from ellipsoid.estimators.files.container import DamagedModel
from ellipsoid.estimators.files.saving import UnwritableModel
from ellipsoid.estimators.loading import open_model

from .journal.writes import forget_rows

_log = logging.getLogger("ellipsoid.service")


def run_housekeeping(store: Any) -> None:
    """Write new points of the history and the snapshots that are due, and delete what need not be kept."""
    if store.journal.fault is None:
        store.history.note(store)
    for stream in list(store.models.values()):
        for learner_thread in list(stream.learners.values()):
            if learner_thread.unwritten:
                learner_thread.write_refusals()
            if _due(learner_thread, store.options):
                write_snapshot(learner_thread)
        if store.journal.fault is None:
            _forget_examples(store, stream)
            _forget_unlabelled(store, stream)


def _due(learner_thread: Any, options: Any) -> bool:
    fresh = learner_thread.published.t - (learner_thread.snapshot or 0)
    aged = time.monotonic() - learner_thread.written_at >= options.snapshot_seconds
    return fresh >= options.snapshot_rows or (fresh > 0 and aged)


def write_snapshot(learner_thread: Any) -> None:
    """Write a snapshot. An error of the disk, or of numbers that no file holds, is only logged: the journal has all."""
    try:
        learner_thread.write_snapshot()
    except (OSError, UnwritableModel) as error:
        learner_thread.written_at = time.monotonic()
        _log.error("no snapshot of %s.%s: %s", learner_thread.stream.name, learner_thread.name, error)


def _forget_examples(store: Any, stream: Any) -> None:
    if store.options.keep_rows is None and store.options.keep_days is None:
        return
    # A challenger that is being made begins at the oldest example, which must not be deleted meanwhile.
    with store.changing:
        before, options = _in_two_snapshots(stream), store.options
        if options.keep_rows is not None:
            before = min(before, stream.tail.end - options.keep_rows)
        if options.keep_days is not None and before > stream.oldest:
            before = min(before, _older_than(store, stream, time.time() - 86400 * options.keep_days))
        if before > stream.oldest:
            gone = store.submit_change(lambda connection: forget_rows(connection, stream.id, before))
            stream.oldest += gone
            if gone:
                _log.info("%s: %d examples are gone from the journal", stream.name, gone)


def _in_two_snapshots(stream: Any) -> int:
    """How many of the first examples two good snapshots of every learner hold."""
    least = stream.tail.end
    for learner_thread in stream.learners.values():
        good: list[int] = []
        for snapshot in learner_thread.snapshots.all():
            if len(good) < 2 and _is_good(snapshot.path):
                good.append(snapshot.t)
        least = min(least, good[1] if len(good) > 1 else 0)
    return int(least)


def _is_good(path: Any) -> bool:
    try:
        open_model(path)
    except (DamagedModel, OSError):
        return False
    return True


def _older_than(store: Any, stream: Any, moment: float) -> int:
    """The number of the first example that came after a moment; because clocks jump, a later one may be older."""

    def find(connection: Any) -> int:
        query = "SELECT min(first) FROM blocks WHERE model = ? AND time >= ?"
        first = connection.execute(query, (stream.id, moment)).fetchone()[0]
        return int(stream.tail.end if first is None else first)

    return int(store.submit_change(find))


def _forget_unlabelled(store: Any, stream: Any) -> None:
    if not stream.kept or time.monotonic() < stream.forget_again_at:
        return
    stream.forget_again_at = time.monotonic() + 60.0
    moment = time.time() - 86400 * store.options.keep_unlabelled_days

    def forget(connection: Any) -> int:
        return int(connection.execute("DELETE FROM kept WHERE model = ? AND time < ?", (stream.id, moment)).rowcount)

    def forgotten(gone: Any) -> None:
        # This runs in the thread of the journal, as all changes of this count do.
        if not isinstance(gone, BaseException):
            stream.kept -= gone

    store.submit_later(forget, forgotten)
