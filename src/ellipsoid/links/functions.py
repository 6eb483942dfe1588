"""Links: the complexity F(w) that dual ascent measures hypotheses by, its conjugate G(theta), and w = grad G(theta).

    norm       F = |w|_q^2 / 2                        G = |theta|_p^2 / 2           1/p + 1/q = 1, p >= 2
    simplex    F = sum w_i log(n w_i), w a            G = log mean exp theta_i
               distribution
    balanced   the same on (x, -x): signed weights    G = log mean cosh theta_i
               u with |u|_1 <= 1

G(0) = 0 in each: the conjugate of the relative entropy to the uniform distribution is log *mean* exp. A table of
several functions is one long vector (``joint``: the multiclass construction with z = (e_y - e_s) (x) x), or each of its
rows has a link of its own and F and G are sums over rows (one-vs-rest; Winnow's version 1).

The balanced F needs no doubled features. The maximiser has sinh theta_i = Z u_i with sum_i sqrt(1 + (Z u_i)^2) = Z,
one equation for one number, and F(u) = sum_i u_i arsinh(Z u_i) - log(Z / n).

Shalev-Shwartz and Singer (COLT 2006), section 3, corrected; Kivinen and Warmuth (1997) for the balanced entropy.
"""

from math import inf, log
from typing import NamedTuple

import numpy as np

from ellipsoid.representation.table_protocol import Floats

NORM, SIMPLEX, BALANCED = range(3)

# A comparator whose weights sum to one up to this is a distribution.
NEARLY = 1e-9


class Link(NamedTuple):
    """A link over tables of weights, one row per function: ``p`` counts for NORM only."""

    kind: int = NORM
    p: float = 2.0
    joint: bool = True

    @property
    def quadratic(self) -> bool:
        """Is G half a squared norm?"""
        return self.kind == NORM

    @property
    def pair(self) -> float:
        """kappa(z) / kappa(x) for z = (e_a - e_b) (x) x; the entropies' kappa is a largest entry already."""
        return float(2.0 ** (2.0 / self.p)) if self.kind == NORM else 1.0

    def groups(self, table: Floats) -> list[Floats]:
        """The vectors that have a link of their own."""
        return [table.ravel()] if self.joint else list(table)

    def conjugate(self, theta: Floats) -> float:
        """G(theta)."""
        return sum((self._conjugate(group) for group in self.groups(theta)), 0.0)

    def _conjugate(self, theta: Floats) -> float:
        if self.kind == NORM:
            norm = power_norm(theta, self.p)
            return 0.5 * norm * norm
        largest = float(np.abs(theta).max() if self.kind == BALANCED else theta.max())
        if self.kind == SIMPLEX:
            return largest + log(float(np.exp(theta - largest).mean()))
        if largest < 1.0:
            # cosh t - 1 = 2 sinh(t / 2)^2: nothing cancels near zero.
            return float(np.log1p(2.0 * np.mean(np.sinh(0.5 * theta) ** 2)))
        return largest + log(0.5 * float((np.exp(theta - largest) + np.exp(-theta - largest)).mean()))

    def dual_norm(self, theta: Floats) -> float:
        """The norm in which theta is measured against comparators; for one simplex the largest entry, signed.

        Of several simplices a comparator may use some more than others: there none counts less than zero.
        """
        if self.kind == NORM:
            return power_norm(np.array([power_norm(group, self.p) for group in self.groups(theta)]), 2.0)
        largest = [float((np.abs(g) if self.kind == BALANCED else g).max()) for g in self.groups(theta)]
        return largest[0] if len(largest) == 1 else sum(max(0.0, one) for one in largest)

    def size(self, w: Floats) -> float:
        """The norm of a comparator; infinite for one that has negative weights where none are possible."""
        if self.kind == NORM:
            q = self.p / (self.p - 1.0)
            return power_norm(np.array([power_norm(group, q) for group in self.groups(w)]), 2.0)
        if self.kind == SIMPLEX and (w < 0.0).any():
            return inf
        return max(power_norm(group, 1.0) for group in self.groups(w))

    def complexity(self, w: Floats) -> float:
        """F(w), infinite outside its domain."""
        if self.kind == NORM:
            size = self.size(w)
            return 0.5 * size * size
        return sum((self._entropy(group) for group in self.groups(w)), 0.0)

    def _entropy(self, w: Floats) -> float:
        total, n = power_norm(w, 1.0), w.size
        if self.kind == SIMPLEX:
            if (w < 0.0).any() or abs(total - 1.0) > NEARLY:
                return inf
            some = w[w > 0.0]
            return max(0.0, float((some * np.log(n * some)).sum()))
        # Not "beyond": infinite entries have no norm at all.
        if not total <= 1.0 + NEARLY:
            return inf
        # Z(u) grows without bound towards |u|_1 = 1; there F tends to sum |u_i| log(2 n |u_i|).
        some = np.abs(w[w != 0.0])
        if total >= 1.0 - NEARLY:
            return max(0.0, float((some / total * np.log(2.0 * n * (some / total))).sum()))
        low, high = float(n), 2.0 * n
        while _excess(some, n, high) > 0.0:
            low, high = high, 4.0 * high
        for _ in range(200):
            middle = 0.5 * (low + high)
            if middle in (low, high):
                break
            low, high = (middle, high) if _excess(some, n, middle) > 0.0 else (low, middle)
        return max(0.0, float((some * np.arcsinh(high * some)).sum()) - log(high / n))

    def fitted(self, w: Floats) -> Floats:
        """The multiple of a comparator that lies in the domain, or the comparator itself where none is needed."""
        if self.quadratic:
            return w
        size = self.size(w)
        if size == inf and (self.kind == BALANCED or (w >= 0.0).all()):
            return self.fitted(w / float(np.abs(w).max()))
        return w / size if 0.0 < size < inf and (self.kind == SIMPLEX or size > 1.0) else w


def _excess(u: Floats, n: int, Z: float) -> float:
    """sum_i sqrt(1 / Z^2 + u_i^2) - 1 over all n entries, those that are zero included."""
    return float(np.sqrt(1.0 / (Z * Z) + u * u).sum()) + (n - u.size) / Z - 1.0


def power_norm(v: Floats, p: float) -> float:
    """``|v|_p`` of entries of any size.

    >>> power_norm(np.array([1e200, 1e200]), 1.0)
    2e+200
    """
    largest = float(np.abs(v).max(initial=0.0))
    return largest * float(np.linalg.norm(v / largest, p)) if largest > 0.0 else 0.0
