"""Weak duality on random streams, against a conic solver where there is one, and the certificates that follow."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from ellipsoid import QuasiAdditive
from ellipsoid.certificates.dual import Dual, rescaled
from ellipsoid.links.functions import BALANCED, NORM, SIMPLEX, Link

LINKS = ["euclidean", "p-norm", "entropy", "balanced"]
UPDATES = ["fixed", "adaptive", "curvature", "exact"]


def stream(seed, n=30, dim=4, noise=0.2):
    """Rows with entries in [-1, 1] and norm at most 1, labels with noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n, dim))
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None]
    y = (X @ rng.normal(size=dim) > 0.0).astype(int)
    return X, np.where(rng.random(n) < noise, 1 - y, y)


def hinge(w, X, y, margin):
    return np.maximum(0.0, margin - (2 * y - 1) * (X @ w)).sum()


def link_of(model):
    return model._core.link


def comparators(rng, link, dim, count):
    """Random weights in the domain of F: on its boundary, inside, and sparse ones."""
    for _ in range(count):
        w = rng.normal(size=dim) * rng.choice([0.0, 1.0], p=[0.3, 0.7], size=dim)
        if link.kind == NORM:
            yield w * rng.choice([0.1, 1.0, 5.0])
        elif link.kind == SIMPLEX:
            yield np.abs(w) / np.abs(w).sum() if w.any() else np.full(dim, 1.0 / dim)
        else:
            yield w / max(1e-9, np.abs(w).sum()) * rng.choice([0.3, 1.0])


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("link", LINKS)
@settings(max_examples=6)
@given(seed=st.integers(0, 2**32), C=st.sampled_from([0.05, 0.5, 3.0]), margin=st.sampled_from([0.1, 0.5, 1.0]))
def test_no_weights_beat_the_dual(link, update, seed, C, margin):
    """D <= F(w) + C sum of losses, loss >= least_loss, margin <= best margin, for weights of every kind."""
    X, y = stream(seed)
    rng = np.random.default_rng(seed)
    model = QuasiAdditive(link=link, update=update, C=C, margin=margin, p=3.0, fit_intercept=False)
    model.partial_fit(X, y, classes=[0, 1])
    kind, told = link_of(model), {c.name: c.observed for c in model.certificates()}
    best = told["rescaled dual objective"]
    # Both are rounded down; the attribute is the nearest number.
    assert told["dual objective"] <= best + 1e-12
    assert model.dual_objective_ == pytest.approx(told["dual objective"], rel=1e-10, abs=1e-10)
    for w in comparators(rng, kind, X.shape[1], 8):
        loss, row = hinge(w, X, y, margin), w[None]
        primal = kind.complexity(row) + C * loss
        assert primal >= best - 1e-9
        assert loss >= model.least_loss(kind.size(row)) - 1e-9
        for certificate in model.certificates(w):
            assert certificate.observed <= certificate.bound, certificate


@pytest.mark.parametrize("link", LINKS)
@settings(max_examples=8)
@given(seed=st.integers(0, 2**32), C=st.sampled_from([0.05, 0.5, 3.0]), scale=st.sampled_from([0.1, 1.0, 7.0]))
def test_the_dual_never_decreases_round_by_round(link, seed, C, scale):
    """Steps by curvature and exact ones need no scaling; the others where kappa <= 1, `fixed` where C < 2 margin."""
    X, y = stream(seed)
    for update in UPDATES:
        normal = update in ("fixed", "adaptive")
        rows = X if normal else scale * X
        margin = C if update == "fixed" else 1.0
        if link == "p-norm":
            rows = rows / np.sqrt(2.0)
        model = QuasiAdditive(link=link, update=update, C=C, margin=margin, p=3.0, fit_intercept=False)
        last = 0.0
        for t in range(len(X)):
            before = model.mistakes_ if t else 0
            model.partial_fit(rows[t : t + 1], y[t : t + 1], classes=[0, 1])
            gained = model.dual_objective_ - last
            assert gained >= -1e-12
            if model.mistakes_ > before:
                step = min(C, margin)
                assert gained >= (step * (margin - 0.5 * step) if normal else 0.0) - 1e-12
            last = model.dual_objective_


@pytest.mark.parametrize("link", LINKS)
def test_an_exact_step_is_no_worse_than_any_other(link):
    """From one state, no multiplier in [0, C] of the newest example gives a larger dual."""
    X, y = stream(5, n=12)
    for C in (0.3, 2.0):
        model = QuasiAdditive(link=link, update="exact", C=C, margin=0.3, p=3.0, fit_intercept=False)
        for t in range(len(X)):
            theta = model._core.theta().copy() if t else np.zeros((1, X.shape[1]))
            A = model._core.solution().weight if t else 0.0
            model.partial_fit(X[t : t + 1], y[t : t + 1], classes=[0, 1])
            z = (2 * y[t] - 1) * X[t : t + 1]
            others = [0.3 * (A + tau) - link_of(model).conjugate(theta + tau * z) for tau in np.linspace(0.0, C, 201)]
            assert model.dual_objective_ >= max(others) - 1e-13


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("seed", [1, 2])
def test_below_the_optimum_of_a_conic_solver(link, seed):
    cvxpy = pytest.importorskip("cvxpy", reason="cvxpy is not installed: the optimum cannot be computed")
    X, y = stream(seed, n=20)
    C, margin, p = 0.5, 0.4, 3.0
    n = X.shape[1]
    z = (2 * y - 1)[:, None] * X
    if link in ("euclidean", "p-norm"):
        w = cvxpy.Variable(n)
        q = 2.0 if link == "euclidean" else p / (p - 1.0)
        F, rules = 0.5 * cvxpy.square(cvxpy.pnorm(w, q)), []
    else:
        size = n if link == "entropy" else 2 * n
        v = cvxpy.Variable(size)
        F, rules = -cvxpy.sum(cvxpy.entr(v)) + np.log(size), [v >= 0, cvxpy.sum(v) == 1]
        w = v if link == "entropy" else v[:n] - v[n:]
    problem = cvxpy.Problem(cvxpy.Minimize(F + C * cvxpy.sum(cvxpy.pos(margin - z @ w))), rules)
    problem.solve(solver="CLARABEL")
    assert problem.status == "optimal"
    for update in UPDATES:
        model = QuasiAdditive(link=link, update=update, C=C, margin=margin, p=p, fit_intercept=False)
        model.partial_fit(X, y, classes=[0, 1])
        named = {c.name: c.observed for c in model.certificates()}
        assert model.dual_objective_ <= named["rescaled dual objective"] + 1e-12 <= problem.value + 1e-7
    # Every link has a dual that is far from empty.
    assert named["rescaled dual objective"] > 0.5 * problem.value
    own = model._core.link.complexity(np.atleast_2d(w.value if link != "entropy" else w.value / w.value.sum()))
    assert own == pytest.approx(float(F.value), abs=1e-5), "F in closed form is what the solver minimised"


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32), kind=st.sampled_from([NORM, SIMPLEX, BALANCED]), scale=st.sampled_from([1e-4, 1, 9]))
def test_conjugates_are_conjugates(seed, kind, scale):
    """G(theta) + F(w) >= <w, theta>, with equality at w = grad G(theta), taken by differences."""
    rng = np.random.default_rng(seed)
    for joint in (True, False):
        link = Link(kind, 3.0 if kind == NORM else 2.0, joint)
        theta = scale * rng.normal(size=(2, 3))
        step = 1e-6 * max(scale, 1e-2)
        gradient = np.zeros((2, 3))
        for i in np.ndindex(2, 3):
            shift = np.zeros((2, 3))
            shift[i] = step
            gradient[i] = (link.conjugate(theta + shift) - link.conjugate(theta - shift)) / (2.0 * step)
        if kind == SIMPLEX:
            gradient /= gradient.sum() if joint else gradient.sum(axis=1, keepdims=True)
        touching = link.conjugate(theta) + link.complexity(gradient) - np.vdot(gradient, theta)
        assert abs(touching) < 1e-6 * max(1.0, scale**2)
        for w in comparators(rng, link, 6, 10):
            rows = w.reshape(2, 3)
            if not joint and kind == SIMPLEX:
                rows = np.maximum(rows, 1e-3)
                rows = rows / rows.sum(axis=1, keepdims=True)
            assert link.conjugate(theta) + link.complexity(rows) >= np.vdot(rows, theta) - 1e-9 * max(1.0, scale**2)
            assert np.vdot(rows, theta) <= link.size(rows) * link.dual_norm(theta) + 1e-9 * scale


def test_rescaling_finds_the_top_of_the_ray():
    theta = np.array([[0.4, -0.2, 0.1]])
    for kind in (NORM, SIMPLEX, BALANCED):
        link = Link(kind, 2.0)
        run = Dual(0.5, 0.4, 0.9, 0.3, link.conjugate(theta), link.dual_norm(theta))
        value, s = rescaled(run, lambda factor, link=link: link.conjugate(factor * theta))
        grid = np.linspace(0.0, 0.4 / 0.3, 2001)
        values = [0.45 * factor - link.conjugate(factor * theta) for factor in grid]
        assert value == pytest.approx(max(values), abs=1e-6)
        assert 0.0 <= s <= 0.4 / 0.3 + 1e-12
    quadratic = rescaled(Dual(0.5, np.inf, 0.9, 0.3, 0.105, 0.21**0.5))
    assert quadratic[0] == pytest.approx(0.45**2 / (4 * 0.105))
    assert rescaled(Dual(1.0, 1.0, 0.0, 0.0, 0.0, 0.0))[0] == 0.0


@pytest.mark.parametrize("link", LINKS)
def test_sparse_rows_climb_the_same_dual(link):
    X, y = stream(9)
    X[np.abs(X) < 0.2] = 0.0
    for update in UPDATES:
        model = QuasiAdditive(link=link, update=update, C=0.4, margin=0.3, p=3.0)
        dense = model.partial_fit(X, y, classes=[0, 1]).dual_objective_
        weights = model.coef_
        model = QuasiAdditive(link=link, update=update, C=0.4, margin=0.3, p=3.0)
        sparse = model.partial_fit(sp.csr_matrix(X), y, classes=[0, 1]).dual_objective_
        assert sparse == pytest.approx(dense, rel=1e-12)
        np.testing.assert_allclose(model.coef_, weights, rtol=1e-9, atol=1e-13)
