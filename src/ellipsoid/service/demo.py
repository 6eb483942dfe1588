"""A service to look at: two learners, and an embedded stream that runs through them at human speed."""

from __future__ import annotations

import tempfile
import threading
from itertools import count
from pathlib import Path

from .messages import NewLearner, NewModel
from .problem import CallProblem
from .store import Store, StoreOptions
from .works import Incoming, LearnWork

ROWS_A_SECOND = 20.0


class DemoStore(Store):
    """A store that feeds itself."""

    def start(self) -> None:
        """Begin, with digits to be told apart."""
        super().start()
        if "digits" not in self.models:
            self.make_model("digits", NewModel(learner="EllipsoidClassifier"))
            self.make_challenger("digits", "mira", NewLearner(learner="MIRA"))
        self._halt = threading.Event()
        threading.Thread(target=self._feed, name="ellipsoid demo", daemon=True).start()

    def _feed(self) -> None:
        from ellipsoid.streams.datasets import load

        X, y = load("digits").train
        stream = self.models["digits"]
        for i in count():
            if self._halt.wait(1.0 / ROWS_A_SECOND):
                return
            rows = stream.rows_of([X[i % len(y)].tolist()], [int(y[i % len(y)])])
            try:
                stream.check_learning()
                self.journal.submit(LearnWork(stream, [Incoming(rows, None, range(1, 2))], "demo", lambda answer: None))
            except CallProblem:
                continue

    def close(self) -> None:
        self._halt.set()
        super().close()


def demo_store(options: StoreOptions) -> DemoStore:
    """A new store in a temporary folder."""
    return DemoStore(Path(tempfile.mkdtemp(prefix="ellipsoid-demo-")), options)
