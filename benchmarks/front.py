"""What the learner to start with costs: beside passive-aggressive learning, and from a text file to a model.

``EllipsoidClassifier`` with one speed and with three, on rows as they were published; `AROW`, diagonal beside
passive-aggressive learning, and full beside the bare rank-one change of its matrix by BLAS.
"""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ellipsoid import AROW, EllipsoidClassifier, PassiveAggressive

from . import peers
from .data import Data, load
from .harness import Case, Contender, Effort, Target, attempt
from .streams import text_to_model, texts, vowpal_wabbit

# Name of the set, how its values are written, and how many times passive-aggressive learning one speed may take.
SETS = (("letter", "%d", 6), ("mnist-whole", "%d", 3), ("news20", "%d", 3), ("covtype", "%.6g", 6))
FROM_TEXT = ("letter", "news20", "covtype")
MOST_ROWS = 60_000
WIDTH = 256


def run(quick: bool, effort: Effort) -> Iterator[dict[str, Any]]:
    """Passes over arrays, the matrix of AROW, then files."""
    rows = 2000 if quick else MOST_ROWS

    def goal(value: float, *, at_least: bool = True) -> Target | None:
        return None if quick else Target(value, at_least)

    def one_speed() -> Any:
        return EllipsoidClassifier(speeds=1)

    def diagonal() -> Any:
        return AROW(shape="diagonal")

    for name, _, times in SETS:
        others = {"PassiveAggressive": (PassiveAggressive, goal(1 / times)),
                  "EllipsoidClassifier": (EllipsoidClassifier, goal(2.5, at_least=False))}  # fmt: skip
        yield attempt(
            f"front-{name}",
            lambda n=name, o=others: passes(f"front-{n}", "one speed", one_speed, o, load(n, rows)),
            effort,
        )
    for name, _, _ in SETS:
        others = {"PassiveAggressive": (PassiveAggressive, goal(1 / 2))}
        yield attempt(
            f"arow-{name}",
            lambda n=name, o=others: passes(f"arow-{n}", "AROW, diagonal", diagonal, o, load(n, rows)),
            effort,
        )
    yield attempt("arow-full", lambda: full(2000, goal(1 / 2)), effort)
    with tempfile.TemporaryDirectory() as folder:
        for name, form, _ in SETS:
            if name in FROM_TEXT:
                yield attempt(
                    f"text-{name}",
                    lambda n=name, f=form: text(n, f, 2000 if quick else None, Path(folder), goal(1.0)), effort,
                )  # fmt: skip


def passes(
    case: str,
    ours: str,
    make: Callable[[], Any],
    others: dict[str, tuple[Callable[[], Any], Target | None]],
    data: Data,
) -> Case:
    """One pass of several of our own learners."""
    return Case(
        case, f"{ours}, first pass: {data.describe()}", data.X.shape[0], peers.epoch(ours, make, data),
        [peers.epoch(name, other, data, target=target) for name, (other, target) in others.items()],
    )  # fmt: skip


def full(rows: int, target: Target | None) -> Case:
    """Rows of noise, so that most of them change the matrix, beside as many changes of a matrix of that size."""
    from scipy.linalg.blas import dger

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(rows, WIDTH)), rng.integers(0, 2, rows)
    data = Data("noise", X, y, X, y)
    matrix = np.asfortranarray(np.eye(WIDTH))

    def change(_: Any) -> None:
        for x in X:
            dger(-1e-9, x, x, a=matrix, overwrite_a=1)

    def make() -> Any:
        return AROW(shape="dense", fit_intercept=False)

    return Case(
        "arow-full", f"AROW with a full matrix, first pass: {data.describe()}", rows,
        peers.epoch("AROW, full", make, data),
        [Contender("BLAS dger", lambda: None, change, "a rank-one change a row, no product", target=target)],
    )  # fmt: skip


def text(name: str, form: str, rows: int | None, folder: Path, target: Target | None) -> Case:
    """One pass from a file to a model on disk."""
    data, path, vw = texts(name, form, rows, folder)
    return Case(
        f"text-{name}", f"one pass, svmlight text of {path.stat().st_size / 1e6:.0f} MB: {data.describe()}",
        data.X.shape[0],
        text_to_model("EllipsoidClassifier", lambda: EllipsoidClassifier(grow_features=True), data, path, folder),
        [
            vowpal_wabbit(data, form, vw, folder, target),
            text_to_model("one speed", lambda: EllipsoidClassifier(speeds=1, grow_features=True), data, path, folder),
        ],
    )  # fmt: skip
