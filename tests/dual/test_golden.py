"""Runs of every link and update over six rows, margin 0.5 and C = 0.4, to twelve digits."""

import numpy as np
import pytest
import scipy.sparse as sp

from ellipsoid import QuasiAdditive

# link, update: mistakes, dual objective, alphas, weights.
GOLDEN = {
    ("euclidean", "fixed"): ("110011", 0.732, [0.4, 0.4, 0, 0, 0.4, 0.4], [0.28, -0.24]),
    ("euclidean", "adaptive"): ("110011", 0.9926188, [0.4, 0.4, 0.196, 0.4, 0.4, 0.4], [0.4572, 0.0416]),
    ("euclidean", "exact"): (
        "110011", 1.0097476923076922, [0.4, 0.4, 0.3015384615384617, 0.4, 0.4, 0.4],
        [0.5310769230769232, -0.0006153846153847],
    ),
    ("balanced", "fixed"): (
        "110011", 0.7663740997272388, [0.4, 0.4, 0, 0, 0.4, 0.4], [0.1371464331931611, -0.1171490994332302]
    ),
    ("balanced", "adaptive"): (
        "110011", 1.0962949428312636, [0.4, 0.4, 0.35050781179183294, 0.4, 0.4, 0.4],
        [0.2753556011316476, -0.0093352650015918],
    ),
    ("balanced", "exact"): ("110011", 1.11095242355305, [0.4] * 6, [0.2912060008878856, -0.0183009203247529]),
    ("entropy", "fixed"): (
        "000011", 0.6582010789643318, [0, 0, 0, 0, 0.4, 0.4], [0.5299640517645717, 0.4700359482354282]
    ),
    ("entropy", "adaptive"): (
        "000011", 0.843688189338766, [0, 0.4, 0.21013745705548487, 0.14354359098841063, 0.4, 0.4],
        [0.6805534354241235, 0.31944656457587645],
    ),
    ("p-norm", "fixed"): (
        "110011", 0.7513576316366072, [0.4, 0.4, 0, 0, 0.4, 0.4], [0.22564690760946363, -0.14209834415056607]
    ),
    ("p-norm", "adaptive"): (
        "110011", 0.987662206342821, [0.4, 0.4, 0.16501810081237805, 0.4, 0.4, 0.4],
        [0.4354612386429273, 0.00082976229564],
    ),
    ("p-norm", "exact"): ("110011", 1.013704514442066, [0.4, 0.4, 0.3344612423062211, 0.4, 0.4, 0.4], None),
}  # fmt: skip


def model(link, update, **others):
    settings = {"p": 4, "C": 0.4, "margin": 0.5, "fit_intercept": False, **others}
    return QuasiAdditive(link=link, update=update, **settings)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize(("link", "update"), GOLDEN)
def test_six_rounds(link, update, sparse, six, theta_of):
    X, y = six
    mistakes, objective, alphas, weights = GOLDEN[link, update]
    learner = model(link, update)
    seen, counts, before = [], [0], np.zeros((1, 2))
    for t in range(6):
        row = sp.csr_matrix(X[t : t + 1]) if sparse else X[t : t + 1]
        learner.partial_fit(row, y[t : t + 1], classes=[0, 1])
        counts.append(learner.mistakes_)
        # theta moves by alpha z, and z is known.
        z = (2 * y[t] - 1) * X[t]
        seen.append(float((theta_of(learner) - before)[0] @ z / (z @ z)))
        before = theta_of(learner).copy()
    assert "".join(map(str, np.diff(counts))) == mistakes
    assert learner.dual_objective_ == pytest.approx(objective, abs=1e-12)
    np.testing.assert_allclose(seen, alphas, atol=1e-12)
    if weights is not None:
        np.testing.assert_allclose(learner.coef_[0], weights, atol=1e-12)
    assert learner.mistakes_ == mistakes.count("1")


def test_the_exact_step_of_a_p_norm_ends_on_the_margin(six):
    """The one golden run with an inner step whose weights are known to three digits only."""
    X, y = six
    learner = model("p-norm", "exact").partial_fit(X[:3], y[:3], classes=[0, 1])
    assert learner.decision_function(X[2:3])[0] == pytest.approx(-0.5, abs=1e-12)
    learner.partial_fit(X[3:], y[3:])
    np.testing.assert_allclose(learner.coef_[0], [0.5541227635143657, -8.53e-6], rtol=1e-3)


@pytest.mark.parametrize("link", ["euclidean", "balanced", "entropy", "p-norm"])
def test_curvature_steps_are_the_adaptive_ones_with_the_link_s_own_scale(link, six):
    """With rows scaled so that kappa = 1, `curvature` is `adaptive`."""
    X, y = six
    kappa = {
        "euclidean": lambda x: x @ x, "balanced": lambda x: np.abs(x).max() ** 2,
        "entropy": lambda x: ((x.max() - x.min()) / 2.0) ** 2, "p-norm": lambda x: 3.0 * np.linalg.norm(x, 4) ** 2,
    }[link]  # fmt: skip
    rows = X / np.sqrt([kappa(x) for x in X])[:, None]
    one, other = (model(link, update).partial_fit(rows, y, classes=[0, 1]) for update in ("curvature", "adaptive"))
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-12)
    assert one.dual_objective_ == pytest.approx(other.dual_objective_, rel=1e-12)
