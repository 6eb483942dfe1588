"""The demo store: two learners, and an embedded stream that is fed to them at a speed that people can follow."""

import atexit
import shutil
import tempfile
import threading
import time
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from .calls.predict import SETTLE, answers_for, open_questions
from .journal.writes import IncomingRows, KeepWrite, LearnWrite
from .messages import ExampleToPredict, NewLearner, NewModel
from .problem import CallProblem
from .store import Store, StoreOptions

ROWS_A_SECOND = 20.0
# One of so many examples is predicted and kept, until there are enough questions or far too many kept examples.
KEPT_EVERY = 5
FIRST_KEPT = 30
ENOUGH_QUESTIONS = 40
MOST_KEPT = 5000
COUNT_SECONDS = 5.0
DIGIT_LABELS = 5
# Compiling takes a minute at the most, on a slow machine.
COMPILE_SECONDS = 120.0
# The first examples are learned at once, then single ones; the questions and the second learner come later still. So
# there is something to see as soon as a part of the code is compiled.
FIRST_ROWS = 20
FIRST_ASKED = 30
SECOND_JOINS = 80


class DemoStore(Store):
    """A store that feeds itself with handwritten digits from 0 to 4, to be classified."""

    # Its own examples need no reader.
    seconds_until_warm_up = 30.0

    def start(self) -> None:
        """Begin; returns when the first learner has learned something, so that the page has something to show."""
        super().start()
        self._halt = threading.Event()
        self._enough, self._count_again = False, 0.0
        classes: list[Any] = list(range(DIGIT_LABELS))
        params: dict[str, Any] = {"r": 1.0, "certainty": 0.95}
        self.make_model("digits", NewModel(learner="AROW", params=params, scale="unit", classes=classes))
        stream = self.models["digits"]
        rows, labels, unlabelled = _digits()
        deadline = time.monotonic() + COMPILE_SECONDS
        try:
            # Batches and single examples are learned by different machine code, and both must be compiled.
            for first, last in ((0, FIRST_ROWS - 1), (FIRST_ROWS - 1, FIRST_ROWS)):
                self._learn(stream, rows[first:last], labels[first:last])
                _wait_for(stream, last, deadline)
        except BaseException:
            self.close()
            raise
        threading.Thread(
            target=self._feed, args=(stream, rows, labels, unlabelled), name="ellipsoid demo", daemon=True
        ).start()

    def _feed(self, stream: Any, rows: list[Any], labels: list[int], unlabelled: list[Any]) -> None:
        for i in count(FIRST_ROWS):
            if self._halt.wait(1.0 / ROWS_A_SECOND):
                return
            try:
                if i == FIRST_ASKED:
                    self._keep(stream, unlabelled[:FIRST_KEPT])
                if i == SECOND_JOINS:
                    self.make_challenger("digits", "large-margin", NewLearner(learner="EllipsoidClassifier"))
                stream.check_learning()
                self._learn(stream, [rows[i % len(rows)]], [labels[i % len(rows)]])
                if i % KEPT_EVERY == 0 and self._wants_more(stream):
                    self._keep(stream, [unlabelled[i // KEPT_EVERY % len(unlabelled)]])
            except CallProblem:
                continue

    def _wants_more(self, stream: Any) -> bool:
        now = time.monotonic()
        if now > self._count_again:
            found, settled = open_questions(stream, ENOUGH_QUESTIONS, None, [])
            self.submit_later(lambda connection: connection.executemany(SETTLE, settled))
            self._enough = len(found.questions) >= ENOUGH_QUESTIONS or stream.kept > MOST_KEPT
            self._count_again = now + COUNT_SECONDS
        return not self._enough

    def _learn(self, stream: Any, xs: list[Any], ys: list[int]) -> None:
        rows = IncomingRows(stream.rows_of(xs, ys), None, range(1, len(ys) + 1))
        self.journal.submit(LearnWrite(stream, [rows], "demo", lambda answer: None))

    def _keep(self, stream: Any, xs: list[Any]) -> None:
        asked: list[tuple[int | None, ExampleToPredict]] = [(None, ExampleToPredict(x=x, keep=True)) for x in xs]
        _, kept = answers_for(stream, stream.champion.published, asked)
        self.journal.submit(KeepWrite(stream, kept, "demo", lambda answer: None))

    def close(self) -> None:
        self._halt.set()
        super().close()
        shutil.rmtree(self.folder, ignore_errors=True)


def _wait_for(stream: Any, t: int, deadline: float) -> None:
    while stream.champion.published.t < t and time.monotonic() < deadline:
        time.sleep(0.02)


def _digits() -> tuple[list[Any], list[int], list[Any]]:
    """Rows with their labels, and others whose labels people are asked for."""
    from ellipsoid.streams.sets.datasets import load

    X, y = load("digits").train
    few = np.flatnonzero(np.asarray(y) < DIGIT_LABELS)
    asked, learned = few[::4], np.setdiff1d(few, few[::4])
    return X[learned].tolist(), [int(label) for label in y[learned]], X[asked].tolist()


def demo_store(options: StoreOptions) -> DemoStore:
    """A new store in a temporary folder, which is deleted when the store is closed, or else when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="ellipsoid-demo-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return DemoStore(folder, options)
