"""The mistake bound of `EllipsoidClassifier`, from three sums that each copy of the weights keeps.

A step has the lead A of the losses, squared shares ``T = A^2 + sum (l_r - A)^2``, factor f of the cap, energy q and
divisor ``d = q + damping e``, ``kappa = q / d``. It adds ``z = f T (2 - kappa f) / d`` to Z, the *gain* of the run. At
a mistake some loss is at least the margin gamma that was asked for: so A >= gamma / 2 and ``z >= gamma^2 / (c d)``,
with

    c = 4 / min(C, 1), or 2 / min(C, 1) while there are two classes;

by Cauchy and Schwarz the number of mistakes that caused a step is at most ``sqrt(c Z Q)``, Q the sum of d / gamma^2
over them: the *price*. Mistakes that caused no step (those on zero rows) are added. Z itself is bounded for every
comparator V, see the documentation: by ``sum |W_t - V|^2`` in the growth of the metric, plus V's losses; V = 0 gives Z
exactly, and no V gives less.

Rounding. Both sums have only positive terms, each of which was rounded a few dozen times.
"""

from math import inf
from typing import NamedTuple

from .certificate import Certificate
from .rounding import Span, as_span

# The most roundings of one term of a sum, and by what share they may reduce the gain of a mistake.
TERM, PRICE_SLACK = 40.0, 1e-9


class CopyRun(NamedTuple):
    """The sums of one copy: mistakes, those without a step, Z, Q, steps, and its C; ``many``: more than two classes."""

    name: str
    mistakes: int
    unanswered: float
    gain: float
    price: float
    steps: float
    cap: float
    many: bool


def mistakes_of_last(run: CopyRun, largest: float) -> Certificate:
    """The mistakes of a copy's last weights; no bound if a sum was capped at ``largest``."""
    condition = "always; the last weights of this copy predict"
    if run.gain >= largest or run.price >= largest:
        return Certificate(run.name, run.mistakes, inf, condition)
    operations = run.steps + TERM
    scale = as_span(4.0 if run.many else 2.0) / (min(run.cap, 1.0) * (as_span(1.0) - PRICE_SLACK))
    product = scale * Span.about(run.gain, operations) * Span.about(run.price, operations)
    return Certificate(run.name, run.mistakes, (product.root() + run.unanswered).high, condition)
