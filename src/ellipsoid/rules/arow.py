"""AROW, adaptive regularisation of weights: a Gaussian over weights, updated on every margin below 1.

    alpha = (1 - m) / (v + r),     1 - kappa = r / (v + r)

This is the unique minimum of KL(N(w, S) || N(w_t, S_t)) + ((1 - <w, z>)^2 + z'Sz) / (2 r). Every update adds the same
1 / r to the weight of its example, so that w is the ridge solution (r I + X)^{-1} sum z on the examples it was updated
on, X = sum zz'; the order of the examples matters only for which of them update. An example of weight k has r / k in
place of r, and adds k / r: what k copies in a row do, as none of them reaches the margin.

The second-order Perceptron scores x by x'(a I + X + xx')^{-1} sum z over its mistakes; with r = a that is
m / (1 + v / r), of the same sign, and so it is this rule asked on mistakes only.

Crammer, Kulesza, Dredze (NIPS 2009; multiclass in Machine Learning 2013). Cesa-Bianchi, Conconi, Gentile (SIAM J.
Comput. 2005).
"""

from math import log1p

from ellipsoid.ellipsoids.state import SQUARED_LOSS
from ellipsoid.engine.generic import helper
from ellipsoid.engine.rows import HUGE

from .gaussian_sums import note_update


@helper()
def cut_of_arow(r, margin, v, scale, tilt, state):
    """alpha s and kappa; zero where there is nothing to do."""
    loss, whole = 1.0 - margin, v + r
    alpha, kappa = loss / whole, v / whole
    # Without kappa the weights would move and the covariance would not, but both must have the same examples.
    if not 0.0 < alpha < HUGE or kappa == 0.0:
        return 0.0, 0.0
    left, omega = r / whole, min(v / r, HUGE)
    note_update(state, margin, left, -log1p(omega), omega, tilt)
    state[SQUARED_LOSS] += min(loss * (loss * left), HUGE)
    return alpha * scale, kappa
