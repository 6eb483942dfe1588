"""Two machines on the same random splits: which errs less, and whether the difference could be chance."""

from __future__ import annotations

from math import sqrt
from statistics import fmean, variance
from typing import NamedTuple

from .results import Results


def corrected_p(differences: list[float], learned: int, tested: int) -> float:
    """Two-sided p of no difference over random splits, corrected for their overlap: Nadeau and Bengio, "Inference for
    the generalization error", Machine Learning 52 (2003). Without a spread a difference shows nothing.

    >>> corrected_p([0.0, 0.0, 0.0], 10, 10), round(corrected_p([1.0, 1.2, 0.9, 1.1], 100, 10), 4)
    (1.0, 0.0008)
    """
    from scipy.stats import t

    n = len(differences)
    if n < 2 or variance(differences) == 0.0:
        return 1.0
    deviation = sqrt((1 / n + tested / learned) * variance(differences))
    return float(2 * t.sf(abs(fmean(differences)) / deviation, n - 1))


def shown_p(p: float, named: bool = False) -> str:
    """A p with three digits, or that it is smaller; ``named`` for a sentence.

    >>> shown_p(0.0421), shown_p(0.0002), shown_p(0.0421, named=True), shown_p(0.0002, named=True)
    ('0.042', '< 0.001', 'p = 0.042', 'p < 0.001')
    """
    small = p < 0.0005
    return f"{'p ' if named else ''}{'< 0.001' if small else ('= ' if named else '') + f'{p:.3f}'}"


class Pair(NamedTuple):
    """One machine minus another over the splits; ``plain`` is Student's paired p, ``careful`` the corrected one."""

    difference: float
    lower: int
    higher: int
    splits: int
    plain: float
    careful: float

    def less(self, p: float) -> bool:
        return self.difference < 0 and p < 0.05

    def more(self, p: float) -> bool:
        return self.difference > 0 and p < 0.05

    @property
    def words(self) -> str:
        tests = f"{shown_p(self.plain, named=True)}, corrected {shown_p(self.careful)}"
        return f"lower in {self.lower} and higher in {self.higher} of {self.splits} splits ({tests})"


def pair_of(results: Results, name: str, one: str, other: str) -> Pair:
    """The test errors of two machines on one set, in percent."""
    ours, theirs = (results.values(name, learner, "test_errors") for learner in (one, other))
    differences = [100 * (a - b) for a, b in zip(ours, theirs, strict=True)]
    learned, rows = (results.setting(name)[key] for key in ("at_once", "rows"))
    return Pair(
        fmean(differences),
        sum(d < 0 for d in differences),
        sum(d > 0 for d in differences),
        len(differences),
        corrected_p(differences, learned, 0),
        corrected_p(differences, learned, rows - learned),
    )
