"""The result of a test-then-train run: totals, and curves at checkpoints."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from math import inf, nan
from typing import Any

import numpy as np

from .confusion import f1_scores, kappa, kappa_against


@dataclass(frozen=True, eq=False)
class Prequential:
    """Totals of a run, and its curves at `checkpoints` (rows seen, counted from the start of the run).

    The learner's updates, mistakes and certificates and the time are known only where it was stopped, because stopping
    costs time: they are NaN at the other checkpoints (null in JSON). ``mistake_bound`` bounds the mistakes of the
    learner since its own start, with its weights at that checkpoint as the comparator; ``hindsight`` is the least loss,
    in units of the margin, that any weights of that norm have suffered; ``dual_objective`` is the value that a learner
    that climbs a dual has reached. They are NaN where the learner gives none, or without ``bounds``.

    ``errors`` counts rows whose label differed from the one that ``predict`` would have given before the row was
    learned. ``mistakes`` is the learner's own count, to which its bounds apply, made by the hypothesis that learns, not
    by an average or by votes: a tie for the best score is a mistake even where it was broken rightly, and a new label,
    always an error, is one only if its row of zeros does not win.

    ``confusion`` counts rows of true label i that were predicted as label j, in the order of ``labels``, in which rows
    had them, those only predicted last; ``label_counts`` counts the rows of each label. ``repeat_errors`` and
    ``majority_errors`` are those of two baselines that learn nothing: the last label, and the commonest so far. For
    label sets all these are empty, and the measures made of them NaN. All these count rows; ``total_weight`` and
    ``weighted_errors`` are the weights of all rows and of those in ``errors``, None without weights. ``covered_rows``,
    ``answered_rows`` and ``answered_errors`` count rows whose predicted set held their label, was a single label, and
    was a single wrong one; None for a learner without sets.
    """

    rows: int
    errors: int
    mistakes: int
    updates: int
    seconds: float
    compile_seconds: float
    window: int
    checkpoints: np.ndarray
    cumulative_error: np.ndarray
    windowed_error: np.ndarray
    cumulative_updates: np.ndarray
    cumulative_seconds: np.ndarray
    cumulative_mistakes: np.ndarray
    mistake_bound: np.ndarray
    hindsight: np.ndarray
    dual_objective: np.ndarray
    labels: tuple[Any, ...] = ()
    confusion: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    label_counts: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    repeat_errors: int = 0
    majority_errors: int = 0
    total_weight: float | None = None
    weighted_errors: float | None = None
    covered_rows: int | None = None
    answered_rows: int | None = None
    answered_errors: int | None = None

    @property
    def coverage(self) -> float:
        """The share of rows whose predicted set held their label; NaN for a learner without sets."""
        return nan if self.covered_rows is None else self.covered_rows / self.rows

    @property
    def answered(self) -> float:
        """The share of rows whose predicted set was one label; NaN for a learner without sets."""
        return nan if self.answered_rows is None else self.answered_rows / self.rows

    @property
    def answered_error(self) -> float:
        """The share of these rows that were predicted wrongly."""
        return nan if not self.answered_rows else (self.answered_errors or 0) / self.answered_rows

    @property
    def error(self) -> float:
        """The share of rows predicted wrongly before they were learned."""
        return self.errors / self.rows

    @property
    def weighted_error(self) -> float:
        """The share of the weight of all rows that was predicted wrongly; without weights that of the rows."""
        if self.total_weight is None or self.weighted_errors is None:
            return self.error
        return self.weighted_errors / self.total_weight

    @property
    def speed(self) -> float:
        """Rows predicted and learned a second."""
        return self.rows / self.seconds if self.seconds else inf

    @property
    def kappa_temporal(self) -> float:
        """1 without errors, 0 with as many errors as repeating the last label makes, negative with more."""
        return kappa_against(self.errors, self.repeat_errors) if self.labels else nan

    @property
    def kappa_majority(self) -> float:
        """The same against the commonest label so far."""
        return kappa_against(self.errors, self.majority_errors) if self.labels else nan

    @property
    def kappa(self) -> float:
        """Cohen's kappa: the same against guessing labels as often as they were predicted."""
        return kappa(self.confusion) if self.labels else nan

    @property
    def balanced_error(self) -> float:
        """The mean, over the labels, of the share of their rows that were predicted wrongly."""
        if not self.labels:
            return nan
        met = self.label_counts > 0
        return float(1.0 - (np.diag(self.confusion)[met] / self.label_counts[met]).mean())

    @property
    def f1(self) -> float:
        """The F1 score of the greater label if there are two, else the mean over the labels."""
        if not self.labels:
            return nan
        scores = f1_scores(self.confusion, self.label_counts)
        return float(scores[self.labels.index(max(self.labels))] if len(scores) == 2 else scores.mean())

    def __repr__(self) -> str:
        return (
            f"Prequential(rows={self.rows}, error={self.error:.4f}, mistakes={self.mistakes}, "
            f"updates={self.updates}, seconds={self.seconds:.3f})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON; `from_dict` reads them back."""
        return {
            k: [None if x != x else x for x in v.tolist()] if isinstance(v, np.ndarray) else v
            for k, v in asdict(self).items()
        }

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Prequential:
        """The run that `to_dict` wrote down."""
        values: dict[str, Any] = {each.name: record[each.name] for each in fields(cls) if each.name in record}
        labels = tuple(values.pop("labels", ()))
        for name, value in values.items():
            if isinstance(value, list):
                values[name] = np.array([nan if x is None else x for x in value])
        return cls(**values, labels=labels)

    def to_frame(self) -> Any:
        """The curves as a pandas DataFrame, one line per checkpoint."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame needs pandas; install pandas, or use to_dict()") from error
        return pd.DataFrame(
            {
                "rows": self.checkpoints,
                "error": self.cumulative_error,
                "window_error": self.windowed_error,
                "updates": self.cumulative_updates,
                "seconds": self.cumulative_seconds,
                "mistakes": self.cumulative_mistakes,
                "mistake_bound": self.mistake_bound,
                "hindsight": self.hindsight,
                "dual_objective": self.dual_objective,
            }
        )

    def plot(self, ax: Any = None, *, label: str = "cumulative", **line: Any) -> Any:
        """Draw cumulative and windowed error in percent on ``ax`` (new if None), and return it."""
        if ax is None:
            try:
                import matplotlib.pyplot as plt
            except ImportError as error:
                raise ImportError("plot needs matplotlib; install matplotlib, or use to_dict()") from error
            _, ax = plt.subplots(figsize=(7, 4), layout="constrained")
        (drawn,) = ax.plot(self.checkpoints, 100 * self.cumulative_error, label=label, **line)
        ax.plot(
            self.checkpoints,
            100 * self.windowed_error,
            color=drawn.get_color(),
            alpha=0.45,
            linewidth=1,
            label=f"last {self.window} rows",
        )
        ax.set_xlabel("rows seen")
        ax.set_ylabel("error, %")
        ax.set_ylim(bottom=0)
        ax.legend(frameon=False)
        return ax
