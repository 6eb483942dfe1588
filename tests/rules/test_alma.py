"""ALMA: whole runs against the definition with its links, what a step promises, and the number behind its bound."""

from math import sqrt

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from ellipsoid import ALMA, load
from ellipsoid.certificates import scaled as certificates
from ellipsoid.certificates.additive import Run
from ellipsoid.engine import tally as tallies
from ellipsoid.representation.kernel import lookahead
from ellipsoid.representation.scaled import weights as scaled

N = 150


def link(w, q):
    """f: the gradient of half the squared q-norm, of a whole matrix."""
    norm = (np.abs(w) ** q).sum() ** (1.0 / q)
    return np.sign(w) * np.abs(w) ** (q - 1.0) / norm ** (q - 2.0) if norm > 0.0 else np.zeros_like(w)


def run(X, y, classes, p, alpha):
    """The algorithm with both links, on the matrix: w after each round and the number of updates."""
    q = p / (p - 1.0)
    W, j, history = np.zeros((classes, X.shape[1]), dtype=np.longdouble), 1, []
    for x, label in zip(X.astype(np.longdouble), y, strict=True):
        B = (W * x).sum(axis=1)
        rival = max((r for r in range(classes) if r != label), key=lambda r: (B[r], -r))
        Z = np.zeros_like(W)
        Z[label], Z[rival] = x, -x
        size = (np.abs(Z) ** p).sum() ** (1 / np.longdouble(p))
        if size > 0.0 and (W * Z).sum() / size <= (1.0 - alpha) * sqrt(8.0) / alpha * sqrt(p - 1.0) / sqrt(j):
            W = link(link(W, q) + sqrt(2.0) / (sqrt(p - 1.0) * sqrt(j)) * Z / size, p)
            W = W / max(1.0, (np.abs(W) ** q).sum() ** (1 / q))
            j += 1
        history.append(W)
    return np.array(history).astype(float), j - 1


def stream(classes):
    rng = np.random.default_rng(classes)
    X = rng.normal(size=(N, 5)) * rng.uniform(0.1, 3.0, size=(N, 1))
    y = np.argmax(X @ rng.normal(size=(5, classes)), axis=1)
    y[rng.random(N) < 0.1] = 0
    X[rng.random(X.shape) < 0.2] = 0.0
    X[[0, 77]] = 0.0
    return X, y


@pytest.mark.interpreted
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("p", [2, 2.5, 7])
@pytest.mark.parametrize("alpha", [0.3, 0.9, 1.0])
@pytest.mark.parametrize("classes", [2, 4])
def test_whole_run_follows_the_definition(classes, alpha, p, sparse):
    X, y = stream(classes)
    truth, updates = run(X, y, classes, p, alpha)
    # |(-w, w)|_q = 2^(1/q) |w|_q: in binary form the second row is divided by that factor's inverse.
    factor = 2.0 ** (1.0 - 1.0 / p)
    model = ALMA(p=p, alpha=alpha, fit_intercept=False, average=True)
    rows = sp.csr_matrix(X) if sparse else X
    for start in range(0, N, 50):
        model.partial_fit(
            rows[start : start + 50], y[start : start + 50], classes=range(classes) if not start else None
        )
        now, mean = truth[start + 49], truth[: start + 50].mean(axis=0)
        if classes == 2:
            now, mean = factor * now[1:], factor * mean[1:]
        weights = model._core.table.weights(model._core.scores, 0)[:, 1:]
        np.testing.assert_allclose(weights, now, rtol=0.0, atol=1e-10)
        np.testing.assert_allclose(model.coef_, mean, rtol=0.0, atol=1e-10)
    assert model.updates_ == updates
    if alpha == 1.0:
        assert model.updates_ == model.mistakes_ - 2  # the zero rows


@pytest.mark.parametrize("p", [2, 3, 40])
def test_weights_stay_in_the_unit_ball_and_the_dual_has_their_norm(p):
    X, y = stream(4)
    model = ALMA(p=p, alpha=0.3)
    for start in range(0, N, 10):
        model.partial_fit(X[start : start + 10], y[start : start + 10], classes=range(4))
        W = np.column_stack([model.intercept_, model.coef_])
        q = p / (p - 1.0)
        norm = (np.abs(W) ** q).sum() ** (1.0 / q)
        assert norm <= 1.0 + 1e-12
        if p > 2:
            theta = model._core.table.dual(4)
            assert (np.abs(theta) ** p).sum() ** (1.0 / p) == pytest.approx(norm, rel=1e-9)
            np.testing.assert_allclose(link(W, q), theta, atol=1e-9)
            assert model._core.table.numbers[scaled.POWER] == pytest.approx(
                (np.abs(model._core.table.state(4)["V"]) ** p).sum(), rel=1e-9
            )


@pytest.mark.interpreted
@pytest.mark.parametrize("rows", [np.array, sp.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("p", [2, 3])
def test_a_third_label_continues_the_run_of_two_rows(p, rows):
    """Binary until then, or a matrix of two rows from the start: the same hypothesis."""
    X, y = stream(2)
    truth, _ = run(X, y, 2, p, 0.9)
    model = ALMA(p=p, fit_intercept=False).partial_fit(rows(X), y, classes=None)
    before = model._core.table.numbers[lookahead.NORM2]
    model.partial_fit(rows(np.zeros((1, 5))), [7])
    order = [model.classes_.tolist().index(label) for label in (0, 1)]
    np.testing.assert_allclose(model.coef_[order], truth[-1], atol=1e-10)
    assert not model.coef_[2].any()
    assert model._core.table.numbers[lookahead.NORM2] == pytest.approx(before)


def test_scale_of_the_rows_does_not_matter():
    X, y = stream(4)
    lengths = 2.0 ** np.random.default_rng(0).integers(-200, 200, size=(N, 1))
    for p in (2, 3):
        plain, other = (ALMA(p=p, fit_intercept=False).partial_fit(rows, y) for rows in (X, X * lengths))
        np.testing.assert_allclose(other.coef_, plain.coef_, rtol=1e-9, atol=1e-12)


@settings(max_examples=60)
@given(
    st.integers(0, 2**32), st.sampled_from([2, 3]), st.sampled_from([2.0, 3.0, 12.0]), st.sampled_from([0.2, 0.9, 1.0])
)
def test_updates_are_within_the_theorem(seed, classes, p, alpha):
    """(2 (p - 1) / gamma^2) (2 / alpha - 1)^2 + 8 / alpha - 4 with gamma the least margin, rows of p-norm one."""
    rng = np.random.default_rng(seed)
    q = p / (p - 1.0)
    U = rng.normal(size=(classes, 4))
    U -= U.mean(axis=0)
    U /= (np.abs(U) ** q).sum() ** (1.0 / q)
    X = rng.normal(size=(300, 4))
    y = np.argmax(X @ U.T, axis=1)
    scores = X @ U.T
    lead = scores[np.arange(300), y] - np.sort(scores, axis=1)[:, -2]
    gammas = lead / (2.0 ** (1.0 / p) * (np.abs(X) ** p).sum(axis=1) ** (1.0 / p))
    keep = gammas > 0.1 * gammas.max()
    model = ALMA(p=p, alpha=alpha, fit_intercept=False).partial_fit(X[keep], y[keep], classes=range(classes))
    theorem = 2.0 * (p - 1.0) / gammas[keep].min() ** 2 * (2.0 / alpha - 1.0) ** 2 + 8.0 / alpha - 4.0
    bound = model.certificates(U if classes > 2 else U[1:])[0].bound
    assert model.updates_ <= bound <= theorem * (1.0 + 1e-9)


@pytest.mark.parametrize("alpha", [0.05, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("p", [2.0, 3.0, 50.0])
def test_the_least_weight_of_m_updates_gives_the_bound(p, alpha):
    """A <- (A + eta) / N with N as large as the trigger allows: the bound at g = 1 / A is never below m."""
    weight = 0.0
    for m in range(1, 20_001):
        eta, gamma = sqrt(2.0 / ((p - 1.0) * m)), sqrt(8.0 * (p - 1.0) / m) / alpha
        weight = (weight + eta) / sqrt(1.0 + (p - 1.0) * eta * eta + 2.0 * eta * (1.0 - alpha) * gamma)
        if m < 50 or m % 1000 == 0:
            tally = np.zeros(tallies.SIZE)
            tally[tallies.UPDATES] = m
            unit = np.ones((1, 1))
            bound = certificates.alma(Run(tally, unit, unit, 1, False), unit, power=p, alpha=alpha, weight=weight)[0]
            assert bound.name == "updates"
            assert bound.bound >= m


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"p": 1.5}, "p must be at least 2, got 1.5"),
        ({"p": np.inf}, "p must be positive and finite, got inf"),
        ({"p": "two"}, "p must be a positive number, got 'two'"),
        ({"alpha": 0.0}, "alpha must be positive and finite, got 0.0"),
        ({"alpha": 1.1}, r"alpha must lie in \(0, 1\], got 1.1"),
        ({"alpha": np.nan}, "alpha must be positive and finite, got nan"),
    ],
)
def test_bad_parameters_are_refused_in_a_sentence(parameters, message):
    with pytest.raises(ValueError, match=message):
        ALMA(**parameters).partial_fit([[1.0], [2.0]], [0, 1])


@pytest.mark.interpreted
@pytest.mark.parametrize("p", [2, 3])
def test_labels_that_keep_coming_have_room_in_sparse_tables_too(p, tmp_path):
    """Eleven labels, one after another: the run of dense rows, and a file that goes on from the middle."""
    X, _ = stream(4)
    y = np.arange(N) // 3 % 11
    dense = ALMA(p=p, average=True).partial_fit(X, y)
    rows = sp.csr_matrix(X)
    ALMA(p=p, average=True).partial_fit(rows[:20], y[:20]).save(tmp_path / "half")
    model = load(tmp_path / "half").partial_fit(rows[20:], y[20:])
    assert model.classes_.tolist() == list(range(11))
    assert (model.mistakes_, model.updates_) == (dense.mistakes_, dense.updates_)
    np.testing.assert_allclose(model.coef_, dense.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, dense.intercept_, rtol=1e-9, atol=1e-12)
    # Predictions score whole blocks of functions.
    np.testing.assert_allclose(model.decision_function(rows), dense.decision_function(X), rtol=1e-9, atol=1e-12)
