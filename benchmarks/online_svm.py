"""The online SVM beside passive-aggressive: what it costs to keep the last examples' alphas free."""

from collections.abc import Iterator
from time import process_time
from typing import Any

from ellipsoid import OnlineSVM, PassiveAggressive

from . import peers
from .data import Data, load
from .harness import Case, Effort, Target, attempt, figure

WINDOWS = (1, 2, 16, 64)


def run(quick: bool, effort: Effort) -> Iterator[dict[str, Any]]:
    """MNIST dense and 20 Newsgroups sparse for several windows; then all examples of growing streams."""
    rows = 2000 if quick else None
    for name in ("mnist", "news20"):
        yield attempt(f"online-svm-{name}", lambda n=name: beside_pa(n, load(n, rows), quick), effort)
    yield from all_examples(quick)


def beside_pa(name: str, data: Data, quick: bool) -> Case:
    """How many times a passive-aggressive pass a pass with a window takes."""

    def contender(window: int) -> Any:
        wanted = name == "mnist" and window == 64 and not quick
        target = Target(20, at_least=False) if wanted else None
        return peers.epoch(f"OnlineSVM(window={window})", lambda: OnlineSVM(window=window), data, target=target)

    return Case(
        f"online-svm-{name}",
        f"PassiveAggressive, and OnlineSVM as the others, C = 1, first pass: {data.describe()}",
        len(data.y),
        peers.epoch("PassiveAggressive", PassiveAggressive, data),
        [contender(window) for window in WINDOWS],
    )


def all_examples(quick: bool) -> Iterator[dict[str, Any]]:
    """The SVM of every prefix: seconds for the first n rows of a9a, and how close primal and dual are at the end."""
    for n in (200,) if quick else (500, 1000, 2000, 4000):
        try:
            data = load("a9a", n)
        except (ValueError, OSError) as error:
            yield {"case": "online-svm-all", "skipped": " ".join(str(error).split())}
            return
        model = OnlineSVM(window=None, C=0.1)
        model.partial_fit(data.X[:2], data.y[:2], classes=data.classes)
        model = OnlineSVM(window=None, C=0.1)
        began = process_time()
        model.partial_fit(data.X, data.y, classes=data.classes)
        spent = process_time() - began
        margins = data.y * model.decision_function(data.X)
        square = float((model.coef_**2).sum() + (model.intercept_**2).sum())
        primal = 0.5 * square + 0.1 * float((1.0 - margins).clip(min=0.0).sum())
        yield figure(
            f"online-svm-all-{n}", f"OnlineSVM(window=None, C=0.1): {data.describe()}", spent, "s",
            duality_gap=primal - model.dual_objective_, updates=model.updates_,
        )  # fmt: skip
