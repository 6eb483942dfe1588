"""MIRA's coefficients against the quadratic program they solve.

min (A/2) sum tau_r^2 + sum B~_r tau_r   s.t.  tau_r <= [r = y],  sum tau = 0,     B~_y = B_y - margin
"""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import minimize

from ellipsoid.rules.mira import MIRARule

scores = st.one_of(st.integers(-3, 3).map(float), st.floats(-50.0, 50.0).map(lambda v: round(v, 6)))
programs = st.tuples(
    st.lists(scores, min_size=3, max_size=9),
    st.floats(0.05, 40.0).map(lambda v: round(v, 6)),
    st.sampled_from([0.01, 1.0, 30.0]),
)


def tau_of(one_round, B, A, margin, y=0):
    """The loop's tau for scores B and |x|^2 = A: x has one feature, so that the weights are B / x."""
    x = np.sqrt(A)
    after = one_round(MIRARule(margin), np.asarray(B)[:, None] / x, [x], y)
    return after.step[:, 0] / x, after.scores


@given(programs)
@example(([0.0] * 6, 1e-6, 0.01))
def test_the_conditions_of_karush_kuhn_and_tucker(one_round, program):
    """One multiplier for all labels that are free to move; a label at its cap would rather move on."""
    B, A, margin = program
    tau, B = tau_of(one_round, B, A, margin)
    slope = A * tau + B
    slope[0] -= margin
    cap = np.eye(len(B))[0]
    room = 1e-9 * (1.0 + np.abs(slope).max())
    assert abs(tau.sum()) * A <= room
    assert ((tau - cap) * A <= room).all()
    free = tau < cap - room / A
    assert np.ptp(slope[free]) <= room
    assert (slope[~free] <= slope[free].max() + room).all()


@pytest.mark.parametrize("margin", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("labels", [3, 5, 10])
def test_a_general_solver_agrees(one_round, labels, margin):
    rng = np.random.default_rng(labels)
    for A in (0.3, 2.0, 20.0):
        tau, B = tau_of(one_round, rng.normal(size=labels), A, margin)
        linear = B - margin * np.eye(labels)[0]
        found = minimize(
            lambda t, A=A, linear=linear: 0.5 * A * t @ t + linear @ t,
            np.zeros(labels),
            jac=lambda t, A=A, linear=linear: A * t + linear,
            bounds=[(None, 1.0)] + [(None, 0.0)] * (labels - 1),
            constraints={"type": "eq", "fun": np.sum, "jac": np.ones_like},
            method="SLSQP",
            options={"ftol": 1e-15, "maxiter": 500},
        )
        np.testing.assert_allclose(tau, found.x, atol=1e-6)
        assert 0.5 * A * tau @ tau + linear @ tau <= found.fun + 1e-9


@pytest.mark.parametrize("labels", [3, 10, 26])
def test_a_conic_solver_agrees(one_round, labels):
    clarabel = pytest.importorskip("clarabel", reason="clarabel is not installed: the extra 'exact' brings it")
    from scipy import sparse as sp

    rng = np.random.default_rng(labels)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    for A, margin in ((0.3, 1.0), (2.0, 0.01), (20.0, 5.0)):
        tau, B = tau_of(one_round, rng.normal(size=labels), A, margin)
        constraints = sp.csc_matrix(np.vstack([np.ones((1, labels)), np.eye(labels)]))
        cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(labels)]
        unit = np.eye(labels)[0]
        solver = clarabel.DefaultSolver(
            sp.csc_matrix(A * np.eye(labels)),
            B - margin * unit,
            constraints,
            np.concatenate([[0.0], unit]),
            cones,
            settings,
        )
        np.testing.assert_allclose(tau, solver.solve().x, atol=1e-8)


@given(programs)
def test_the_fixed_point_gets_there_in_the_limit_only(one_round, program):
    """theta <- (sum max(theta, D_r) - 1) / k falls from max D to the root, never faster than by the factor 1 - p/k.

    With q labels at or above theta so far, what is left is at most k/q - 1 times the last change; in the end q = p.
    """
    B, A, margin = program
    tau, B = tau_of(one_round, B, A, margin)
    k = len(B)
    D = B / A
    D[0] += 1.0 - margin / A
    top = np.sort(D)[::-1]
    means = (np.cumsum(top) - 1.0) / np.arange(1, k + 1)
    p = int(np.flatnonzero(top > means)[-1]) + 1
    root, theta = means[p - 1], D.max()
    for _ in range(60):
        new = (np.maximum(theta, D).sum() - 1.0) / k
        room = 1e-12 * (1.0 + np.abs(D).max())
        assert root - room <= new <= theta + room
        q = int((theta <= D).sum())
        assert (1.0 - p / k) * (theta - root) - k * room <= new - root <= (1.0 - q / k) * (theta - root) + k * room
        assert new - root <= (k / max(q, 1) - 1.0) * (theta - new) + k * k * room
        theta = new
    expected = np.minimum(root - (B - margin * np.eye(k)[0]) / A, np.eye(k)[0])
    np.testing.assert_allclose(tau, expected, atol=1e-9 * (1.0 + np.abs(D).max()))
