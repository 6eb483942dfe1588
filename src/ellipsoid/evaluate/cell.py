"""One cell of an experiment: one learner, one order of the rows, some passes over them.

A cell holds all that a table needs, and is a JSON file of its own, so that an experiment can be interrupted, resumed,
spread over processes, and examined afterwards.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from ellipsoid.certificates import Certificate
from ellipsoid.streams.atomic import atomic_write
from ellipsoid.streams.scale import scale
from ellipsoid.streams.sets.datasets import Pair

from .prequential import Progress, prequential, shifted
from .recorder import wrong_rows
from .run import Prequential

# The version of the files of a store, apart from that of the library: what a cell holds may grow between the two.
FORM = 4


def _sum_over_passes(name: str) -> Any:
    return property(lambda cell: sum(getattr(run, name) for run in cell.passes))


@dataclass(frozen=True, eq=False)
class Cell:
    """``seed`` drew the order of the rows (None: file order); every pass uses that order. A model that was fitted on
    all rows at once has no passes, see `fit_and_test`.

    ``test_errors`` are those of the model as it stood after each pass, empty where there is no test part;
    ``support`` counts a kernel model's support patterns after each pass, and is empty for weights;
    ``certificates`` are those at the end; ``elapsed`` is all the time that the cell took, tests included, by the
    clock; ``weights`` are those of a linear model for two classes that was fitted at once.
    """

    learner: str
    seed: int | None
    passes: tuple[Prequential, ...]
    test_errors: tuple[float, ...]
    certificates: tuple[Certificate, ...]
    support: tuple[int, ...]
    elapsed: float
    weights: tuple[float, ...] = ()

    mistakes, updates, seconds, rows = map(_sum_over_passes, ("mistakes", "updates", "seconds", "rows"))

    def to_dict(self) -> dict[str, Any]:
        """Ready for strict JSON, which has no infinity: a bound that does not hold is null."""
        return {
            "learner": self.learner,
            "seed": self.seed,
            "passes": [run.to_dict() for run in self.passes],
            "test_errors": list(self.test_errors),
            "certificates": [
                {**c._asdict(), "observed": float(c.observed), "bound": float(c.bound) if isfinite(c.bound) else None}
                for c in self.certificates
            ],
            "support": list(self.support),
            "elapsed": self.elapsed,
            **({"weights": list(self.weights)} if self.weights else {}),
        }

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Cell:
        return cls(
            learner=record["learner"],
            seed=record["seed"],
            passes=tuple(Prequential.from_dict(run) for run in record["passes"]),
            test_errors=tuple(record["test_errors"]),
            certificates=tuple(
                Certificate(**{**c, "bound": inf if c["bound"] is None else c["bound"]}) for c in record["certificates"]
            ),
            support=tuple(record["support"]),
            elapsed=record["elapsed"],
            weights=tuple(record.get("weights", ())),
        )


@dataclass(frozen=True)
class Protocol:
    """How the rows are presented.

    ``passes``: how often each order is learned. ``window``: the rows of the sliding error, as in `prequential`.
    ``seeds``: one run for each, in the order it draws; None is file order. ``hold_out``: the share of the last rows
    kept for testing where the data has no test part. ``scale``: ``none``, ``unit`` or ``standard``. ``announce``: the
    learners get all labels of the training part beforehand. ``at_once``: no stream; the models are fitted on this many
    rows, drawn by each seed, and tested on all others.
    """

    passes: int = 1
    seeds: tuple[int | None, ...] = (None,)
    hold_out: float = 0.0
    scale: str = "none"
    announce: bool = True
    window: int | None = None
    at_once: int | None = None

    def __post_init__(self) -> None:
        if self.passes < 1:
            raise ValueError(f"passes must be positive, got {self.passes}")
        if not self.seeds:
            raise ValueError("seeds must hold at least one seed, or None for file order")
        if not 0 <= self.hold_out < 1:
            raise ValueError(f"hold_out must be at least 0 and below 1, got {self.hold_out}")


@dataclass(frozen=True)
class CellTask:
    """What a cell is computed from; it can be sent to another process."""

    learner: str
    model: Any
    train: Pair
    test: Pair | None
    seed: int | None
    classes: Any
    protocol: Protocol

    @property
    def rows(self) -> int:
        return len(self.train[1]) * self.protocol.passes


def _fresh_model(task: CellTask) -> Any:
    from sklearn.base import clone

    model = clone(task.model)
    if model.get_params().get("random_state", 0) is None:
        model.set_params(random_state=task.seed or 0)
    return model


def run_cell(task: CellTask, progress: Progress | None = None) -> Cell:
    """Compute a cell: learn a clone of the model, test it after each pass."""
    model = _fresh_model(task)
    X, y = task.train
    if task.seed is not None:
        order = np.random.default_rng(task.seed).permutation(len(y))
        X, y = X[order], y[order]
    passes: list[Prequential] = []
    test_errors: list[float] = []
    support: list[int] = []
    began = perf_counter()
    try:
        for number in range(task.protocol.passes):
            passes.append(
                prequential(
                    model,
                    (X, y),
                    classes=task.classes if number == 0 else None,
                    window=task.protocol.window,
                    bounds=True,
                    progress=shifted(progress, number * len(y), task.rows),
                )
            )
            if task.test is not None:
                test_errors.append(error_rate(model.predict(task.test[0]), task.test[1]))
            if getattr(model, "kernel", "linear") != "linear":
                support.append(model.dual_coef_.shape[1])
    except ValueError as error:
        raise ValueError(f"{task.learner}: {error}") from error
    bounds = tuple(model.certificates())
    elapsed = perf_counter() - began
    return Cell(task.learner, task.seed, tuple(passes), tuple(test_errors), bounds, tuple(support), elapsed)


def fit_and_test(task: CellTask, progress: Progress | None = None) -> Cell:
    """Fit a clone of the model on ``at_once`` rows drawn by the seed, test it on the others; ``elapsed`` is the
    processor's time of the fit alone, which other programs on the machine do not lengthen.
    """
    model = _fresh_model(task)
    X, y = task.train
    size = task.protocol.at_once or 0
    if not 0 < size < len(y):
        raise ValueError(f"{task.learner}: at_once must leave rows to test on, got {size} of {len(y)} rows")
    order = np.random.default_rng(task.seed).permutation(len(y)) if task.seed is not None else np.arange(len(y))
    learned, tested = order[:size], order[size:]
    X_train, X_test = scale(task.protocol.scale, X[learned], X[tested])
    began = process_time()
    try:
        model.fit(X_train, y[learned])
    except ValueError as error:
        raise ValueError(f"{task.learner}: {error}") from error
    elapsed = process_time() - began
    wrong = error_rate(model.predict(X_test), y[tested])
    if progress is not None:
        progress(task.rows, task.rows)
    weights = getattr(model, "coef_", np.empty((0, 0)))
    kept = tuple(map(float, weights[0])) if len(weights) == 1 else ()
    return Cell(task.learner, task.seed, (), (wrong,), (), (), elapsed, kept)


def error_rate(predicted: Any, y: Any) -> float:
    """The share of rows labelled wrongly."""
    return float(wrong_rows(predicted, y).mean())


def stored(store: Path, task: CellTask, data: str, compute: Callable[[CellTask], Cell]) -> Cell:
    """The cell from its file in ``store``, computed and written there if it is new.

    The file is valid only for the same learner and parameters, the same rows (``data`` is their
    `fingerprint`), the same order, and the same version of the library.
    """
    key = _key(task, data)
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:16]
    path = store / f"{digest}.json"
    if path.exists():
        record = json.loads(path.read_text(encoding="utf-8"))
        return Cell.from_dict(record["cell"] | {"learner": task.learner})
    cell = compute(task)
    with atomic_write(path) as file:
        json.dump({"key": key, "cell": cell.to_dict()}, file, allow_nan=False)
    return cell


def fingerprint(train: Pair, test: Pair | None) -> str:
    """A digest of all rows and labels."""
    digest = hashlib.sha256()
    for X, y in (train, test) if test is not None else (train,):
        arrays = (X.data, X.indices, X.indptr) if hasattr(X, "indptr") else (X,)
        for array in (*arrays, np.asarray(y)):
            digest.update(f"{array.shape} {array.dtype}".encode())
            digest.update(repr(array.tolist()).encode() if array.dtype == object else array.tobytes())
    return digest.hexdigest()


def _key(task: CellTask, data: str) -> dict[str, Any]:
    from ellipsoid import __version__

    # Only where it applies, so that cells of streams keep their names.
    split = {} if task.protocol.at_once is None else {"at_once": task.protocol.at_once, "scale": task.protocol.scale}
    return {
        **split,
        "form": FORM,
        "version": __version__,
        "learner": type(task.model).__name__,
        "parameters": {k: repr(v) for k, v in sorted(task.model.get_params().items())},
        "data": data,
        "seed": task.seed,
        "passes": task.protocol.passes,
        "classes": None if task.classes is None else [str(label) for label in task.classes],
        "window": task.protocol.window,
    }
