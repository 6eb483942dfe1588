"""Bounds of the ellipsoid learners, from a few sums and from the ellipsoid itself.

CELLIP (threshold = a margin, start radius r, R largest |z| of an update). With pi = prod(1 - alpha^2), P <= pi r^2 I
for the `paper` cut, and each mistake takes at least (threshold / (R r))^2 off pi: so while no intersection was empty

    mistakes <= R^2 (r^2 - v0^2) / threshold^2,    v0 = margin (r - a) / (R + margin) the radius of a ball inside E,

and at most R^2 (pi r^2 - v0^2) / threshold^2 more will come from rows of norm at most R. The v0 terms use the
assumption that some unit vector has the margin; once pi refutes it they are dropped.

IELLIP (w_1 = 0). With omega_k = 1 / (v_k D_k), a_k = omega_k (goal - (1 - c_k) n_k), h = sum a_k z_k = P^{-1} w / D and
A = sum a_k, every comparator u has the average margin m = <u, h> / A on the updates, so no unit vector has margin above
|h| / A on all of them; and A >= mistakes goal / R^2, |h|^2 <= goal A / D give mistakes <= (R |u| / m)^2 / D.
"""

from math import exp, inf, log
from typing import NamedTuple

from .certificate import Certificate

SLACK = 1.0 + 1e-9


def cellip_mistakes(mistakes: int, remaining: float, bound: float, refuted: bool) -> list[Certificate]:
    """Mistakes so far and the most that can still come."""
    condition = "no intersection was empty and no row zero; rows of norm at most R"
    return [
        Certificate("mistakes", mistakes, inf if refuted else bound * SLACK, condition),
        Certificate("mistakes still to come", 0, inf if refuted else remaining * SLACK, condition + "; separable data"),
    ]


def cellip_bound(
    *, radius: float, threshold: float, margin: float, a: float, largest: float, pi: float
) -> tuple[float, float]:
    """Bound on mistakes, and on those still to come, for the `paper` cut; ``largest`` is R, ``pi`` = s / r^2."""
    if largest == 0.0:
        return 0.0, inf
    inner = max(0.0, margin * (radius - a) / (largest + margin))
    if pi * radius**2 < inner**2:
        inner = 0.0
    scale = (largest / threshold) ** 2
    return scale * (radius**2 - inner**2), scale * (pi * radius**2 - inner**2)


def minvol_bound(
    *, radius: float, margin: float, a: float, largest: float, dim: int, log_det: float
) -> tuple[float, float]:
    """The same for the `minvol` cut: every cut takes at least the central cut's share of the volume."""
    inner = margin * (radius - a) / (largest + margin) if largest > 0.0 else 0.0
    if inner <= 0.0 or log_det < 2.0 * dim * log(inner):
        return inf, inf
    central = log(2.0) if dim == 1 else -0.5 * ((dim - 1) * log(dim**2 / (dim**2 - 1.0)) + 2.0 * log(dim / (dim + 1.0)))
    return dim * log(radius / inner) / central, (0.5 * log_det - dim * log(inner)) / central


def best_margin(
    *, radius: float, threshold: float, largest: float, slim: float, log_det: float, dim: int, empty: bool
) -> Certificate:
    """No unit vector has a larger margin on the update examples.

    If one of margin g* existed, E would hold a ball of radius r (g* - beta) / (1 + g*) (norms in units of R), which
    neither the volume nor the slimmest cut leaves room for.
    """
    condition = "norms of the updates' rows at most R; infinite while the ellipsoid is too large to say"
    if empty:
        return Certificate("best unit margin", 0.0, threshold / radius, "an intersection was empty: a proof")
    if largest == 0.0:
        return Certificate("best unit margin", 0.0, inf, condition)
    room = min(_exp(max(-745.0, log_det / (2.0 * dim))), slim) / radius
    beta = threshold / (largest * radius)
    bound = largest * (beta + room) / (1.0 - room) if room < 1.0 else inf
    return Certificate("best unit margin", 0.0, bound * SLACK, condition)


def _exp(exponent: float) -> float:
    return exp(exponent) if exponent < 700.0 else inf


class Pull(NamedTuple):
    """h and A of an IELLIP run against a comparator u, both divided by exp(``lifted``).

    ``average`` is <u, h> / A, ``size`` |u|, ``norm`` |h|, ``weight`` A.
    """

    average: float
    size: float
    norm: float
    weight: float
    lifted: float = 0.0


def iellip(
    pull: Pull, *, mistakes: int, largest: float, log_kept: float, goal: float, zeros: bool, always: bool
) -> list[Certificate]:
    """``largest`` is R, ``log_kept`` log D; ``always`` says that narrow successes were learned from too."""
    average, size, norm, weight, lifted = pull
    mean = average / size if size > 0.0 else 0.0
    margin = Certificate(
        "average margin of the unit comparator on the updates", mean, norm / weight * SLACK if weight > 0.0 else inf,
        "always; it is also the largest margin that any unit vector has on all update examples",
    )  # fmt: skip
    if weight == 0.0:
        bound = 0.0 if mistakes == 0 else inf
    elif average <= 0.0 or zeros:
        bound = inf
    elif always:
        bound = largest**2 * size * norm / (goal * average) * _exp(lifted)
    else:
        bound = (largest * size / average) ** 2 * _exp(-log_kept)
    condition = "U has a positive average margin on the updates; R is the largest |z| of an update; no zero row"
    return [Certificate("mistakes", mistakes, bound * SLACK, condition), margin]
