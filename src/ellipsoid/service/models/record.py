"""The record of a learner: errors of its predictions before it learned each example, in all and of the last ones."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from ellipsoid.evaluate.recorder import wrong_rows

ERROR_WINDOW = 1000
PAIRS = 10_000
# Beyond so many, pieces are joined, so that single examples do not cost more and more.
MOST_PIECES = 256


class RunRecord:
    """``rows`` learned, ``errors`` of them predicted wrongly; arrays are replaced, never changed: a copy is cheap."""

    def __init__(self) -> None:
        self.rows = self.errors = 0
        self.recent = np.zeros(0, dtype=bool)
        # The last labels and what was predicted for them, in pieces.
        self.pairs: tuple[tuple[Any, Any], ...] = ()
        self.paired = 0

    @property
    def windowed_error(self) -> float | None:
        """The share of the last examples that was predicted wrongly; None before the first."""
        return float(self.recent.mean()) if len(self.recent) else None

    def add(self, predicted: Any, y: Any) -> None:
        """Count examples that were predicted and then learned."""
        wrong = wrong_rows(predicted, y)
        self.rows += len(y)
        self.errors += int(wrong.sum())
        self.recent = np.concatenate([self.recent, wrong])[-ERROR_WINDOW:]
        pairs, self.paired = (*self.pairs, (y, predicted)), self.paired + len(y)
        while len(pairs) > 1 and self.paired - len(pairs[0][0]) >= PAIRS:
            self.paired -= len(pairs[0][0])
            pairs = pairs[1:]
        if len(pairs) > MOST_PIECES:
            pairs = (_together(pairs),)
            self.paired = len(pairs[0][0])
        self.pairs = pairs

    def confusion(self) -> list[tuple[Any, Any, int]]:
        """Triples (label, prediction, count) of the last examples; the prediction is None where there was none yet."""
        counts: Counter[tuple[Any, Any]] = Counter()
        for labels, predicted in self.pairs:
            counts.update(zip(np.asarray(labels).tolist(), np.asarray(predicted).tolist(), strict=True))
        return [(label, guess, count) for (label, guess), count in counts.items()]

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON can hold it."""
        labels, predicted = _together(self.pairs) if self.pairs else ((), ())
        return {
            "rows": self.rows,
            "errors": self.errors,
            "recent": "".join("01"[int(wrong)] for wrong in self.recent),
            "labels": np.asarray(labels).tolist()[-PAIRS:],
            "predicted": np.asarray(predicted).tolist()[-PAIRS:],
        }

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> RunRecord:
        """The record that `to_dict` made."""
        record = cls()
        record.rows, record.errors = int(saved["rows"]), int(saved["errors"])
        record.recent = np.array([letter == "1" for letter in saved["recent"]], dtype=bool)
        if saved["labels"]:
            record.pairs = ((np.array(saved["labels"]), np.array(saved["predicted"], dtype=object)),)
            record.paired = len(saved["labels"])
        return record


def _together(pairs: tuple[tuple[Any, Any], ...]) -> tuple[Any, Any]:
    labels = np.concatenate([np.asarray(y, dtype=object) for y, _ in pairs])
    predicted = np.concatenate([np.asarray(guesses, dtype=object) for _, guesses in pairs])
    return labels[-PAIRS:], predicted[-PAIRS:]
