"""Dual ascent: the Euclidean updates beside the passive-aggressive loop, and the links' cost against the features.

The Euclidean learners share table and loop with `PassiveAggressive`; a ratio below 1 is what the dual's sums cost.
Behind a link an update costs its non-zeros, as the normaliser is kept lazily: the same rows in a wider space must not
take longer.
"""

from collections.abc import Callable, Iterator
from typing import Any

import scipy.sparse as sp

from ellipsoid import PassiveAggressive, QuasiAdditive, Winnow

from . import peers
from .data import Data, load
from .harness import Case, Contender, Effort, Target, attempt, exponent, figure, timed

# At most 1.2 times the passive-aggressive loop.
NEAR = Target(1.0 / 1.2)
# The exponent of the width in the time of a pass; 1 would be a pass over all weights an update.
FLAT = Target(0.2, False)

LINKS: dict[str, Callable[[], Any]] = {
    "balanced, curvature": lambda: QuasiAdditive(link="balanced", update="curvature", C=0.3, margin=0.01),
    "balanced, exact": lambda: QuasiAdditive(link="balanced", update="exact", C=0.3, margin=0.01),
    "entropy, fixed": lambda: QuasiAdditive(link="entropy", update="fixed", C=0.3),
    "p-norm, fixed": lambda: QuasiAdditive(link="p-norm", update="fixed", p=10.0),
    "Winnow": lambda: Winnow(eta=0.3),
}


def run(quick: bool, effort: Effort) -> Iterator[dict[str, Any]]:
    """Three sets by the Euclidean updates, then 20 Newsgroups in ever wider spaces."""
    rows = 2000 if quick else None
    target = None if quick else NEAR
    for name in ("letter", "mnist", "news20"):
        yield attempt(f"dual-{name}", lambda n=name: euclidean(n, rows, target), effort)
    data = halves(load("news20", rows))
    for name, make in LINKS.items():
        yield against_width(name, make, data, (1, 4) if quick else (1, 2, 4, 8, 16), effort)


def euclidean(name: str, rows: int | None, target: Target | None) -> Case:
    """The exact step is PA-I: the same loop, plus what the certificates need."""
    data = load(name, rows)
    return Case(
        f"dual-{name}",
        f"first pass, C = 1: {data.describe()}",
        data.X.shape[0],
        peers.epoch("QuasiAdditive, exact", QuasiAdditive, data),
        [peers.epoch("PassiveAggressive", PassiveAggressive, data, target=target)],
    )


def halves(data: Data) -> Data:
    """Two classes, each row divided by its largest entry: the multiplicative learners want entries of at most 1."""
    largest = data.X.max(axis=1).toarray().ravel()
    rows = (sp.diags_array(1.0 / largest) @ data.X).tocsr()
    rows.sort_indices()
    return data._replace(name="20 Newsgroups, rows over their largest count", X=rows, y=data.y >= 10)


def against_width(
    name: str, make: Callable[[], Any], data: Data, factors: tuple[int, ...], effort: Effort
) -> dict[str, Any]:
    """Processor time of a pass over the same non-zeros in spaces of growing dimension."""
    n, width = data.X.shape
    times = []
    for factor in factors:
        wide = sp.csr_matrix((data.X.data, data.X.indices, data.X.indptr), shape=(n, factor * width))
        job = Contender("", make, lambda model, X=wide: model.partial_fit(X, data.y, classes=data.classes), "")
        times.append(min(timed(job, min(3, effort.repeats)).cpu))
    sizes = [factor * width for factor in factors]
    points = {str(size): seconds for size, seconds in zip(sizes, times, strict=True)}
    target = FLAT if len(factors) > 2 else None
    return figure(
        f"QuasiAdditive ({name}), time of a pass against n" if name != "Winnow" else "Winnow, time of a pass against n",
        data.describe(), exponent(sizes, times), "exponent", target, seconds=points,
    )  # fmt: skip
