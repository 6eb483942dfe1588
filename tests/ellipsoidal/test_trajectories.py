"""Whole runs against the dense reference: weights, matrix, volume and counts along the way, in every form."""

from decimal import Decimal, getcontext
from itertools import product

import numpy as np
import pytest

from ellipsoid import CELLIP, IELLIP

TASKS = ("binary", "multiclass", "multi-label")
CLASSICAL = list(product(("paper", "minvol"), ("mistake", "margin", "always")))
IMPROVED = list(product(("update", "round"), ("mistake", "margin")))
# Every task meets every cut and decay, and every trigger; the last two columns of a stream are drawn from its seed.
STREAMS = [(CELLIP, task, *CLASSICAL[(2 * i + j) % 6]) for j, task in enumerate(TASKS) for i in range(3)] + [
    (IELLIP, task, *choice) for task in TASKS for choice in IMPROVED
]
SHRINKAGES = [(0.5, 0.5), (0.1, 0.3), (0.3, 0.9), (0.2, 1.0)]


def stream(seed):
    kind, task, how, trigger = STREAMS[seed % len(STREAMS)]
    rng = np.random.default_rng(seed)
    d, n, classes = int(rng.integers(3, 6)), 60, 1 if task == "binary" else 3
    X = rng.normal(size=(n, d))
    X[np.arange(n), rng.integers(d, size=n)] = 0.0
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    U = rng.normal(size=(classes, d))
    scores = X @ U.T
    noisy = rng.random(n) < (0.02 if kind is CELLIP else 0.2)
    if task == "binary":
        Y = np.where((scores[:, 0] > 0.0) ^ noisy, 1, -1).tolist()
    elif task == "multiclass":
        Y = [{int(rng.integers(3)) if noisy[t] else int(scores[t].argmax())} for t in range(n)]
    else:
        Y = [set(np.flatnonzero(scores[t] > 0.0).tolist()) for t in range(n)]
    intercept = seed % 4 == 0
    if kind is CELLIP:
        model = CELLIP(margin=0.1, a=0.9, cut=how, trigger=trigger, fit_intercept=intercept)
    else:
        c, b = SHRINKAGES[seed % 4]
        model = IELLIP(margin=0.7, c=c, b=b, decay=how, trigger=trigger, fit_intercept=intercept)
    full = np.column_stack([np.ones(n), X]) if intercept else X
    return model, X, full, Y, classes


def check(dense, seed, form, sparse):
    """After each of the first rounds, after every fifth, and where nothing is left of a version space."""
    model, X, full, Y, classes = stream(seed)
    model.set_params(shape=form)
    truth = dense.run(model, full, Y, classes)
    stops = [t for t, now in enumerate(truth) if t < 5 or t % 5 == 4 or now.outcome == "exhausted"]
    sets = STREAMS[seed % len(STREAMS)][1] == "multi-label"
    for t in dense.feed(model, X, Y, classes, sparse=sparse, sets=sets, stops=stops):
        now = truth[t]
        assert (model.mistakes_, model.updates_) == (sum(past.mistake for past in truth[: t + 1]), now.updates), t
        # A version space is cut a little less deep than the formulas say, by as much as rounding may have done to it.
        slack = 1e-10 if isinstance(model, CELLIP) else 1e-12
        np.testing.assert_allclose(dense.weights(model), now.w, rtol=0, atol=slack * max(1.0, np.abs(now.w).max()))
        if now.outcome == "exhausted":
            assert model.exhausted_
            return
        volume = np.linalg.slogdet(now.P)[1]
        if isinstance(model, CELLIP):
            assert volume - 1e-10 * (1.0 + abs(volume)) <= model.log_volume_ <= volume + 1e-7, "rounded outwards"
        else:
            assert model.log_volume_ == pytest.approx(volume, rel=1e-10, abs=1e-10)
        # A version space is rounded outwards: by more than a few units of the last place, and by little.
        slack = 1e-8 if isinstance(model, CELLIP) else 1e-12
        np.testing.assert_allclose(dense.shape(model), now.P, rtol=0, atol=slack * np.abs(now.P).max())
    assert truth[-1].updates >= 5


@pytest.mark.parametrize("form", ["auto", "column", "product", "gram", "dense"])
@pytest.mark.parametrize("seed", range(21))
def test_run_equals_the_dense_one(dense, plain, seed, form):
    check(dense, seed, form, sparse=seed % 2 == 1)


@pytest.mark.parametrize("seed", range(21))
def test_run_equals_the_dense_one_on_other_rows(dense, plain, seed):
    check(dense, seed, "auto", sparse=seed % 2 == 0)


# The loops of streams 3 and 11 are needed by other tests too; label sets of a version space are met in one form.
@pytest.mark.long
@pytest.mark.gate(3, 11, "dense")
@pytest.mark.parametrize(("seed", "form"), [*((seed, "auto") for seed in range(21)), (6, "dense")])
def test_compiled_run_equals_the_dense_one(dense, seed, form):
    check(dense, seed, form, sparse=False)


@pytest.mark.gate(3)
@pytest.mark.parametrize("seed", [0, 3, 6, 9, 13, 17])
def test_compiled_sparse_run_equals_the_dense_one(dense, seed):
    check(dense, seed, "auto", sparse=True)


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("kind", "dim", "forms"),
    [
        ("classical", 300, ["column", "product"]),
        ("classical", 8, ["column", "full"]),
        ("constant", 30, ["product", "full"]),
    ],
)
def test_change_of_form_leaves_the_run_unchanged(dense, kind, dim, forms):
    rng = np.random.default_rng(3)
    X, Y, _ = dense.separable(rng, 250, min(dim, 30), 0.1)
    X = np.pad(X, ((0, 0), (0, dim - X.shape[1])))
    if kind == "classical":
        model = CELLIP(margin=0.09, trigger="margin", fit_intercept=False)
    else:
        model = IELLIP(c=0.05, b=1.0, fit_intercept=False, trigger="margin")
    truth = dense.run(model, X, Y)
    # A version space is rounded outwards, by what each of its forms needs.
    slack = 1e-10 if kind == "classical" else 1e-12
    seen = []
    for t in dense.feed(model, X, Y, stops=range(0, 250, 3)):
        seen += [model._core.table.form.name] if model._core.table.form.name not in seen else []
        np.testing.assert_allclose(
            dense.weights(model), truth[t].w, atol=slack * max(1.0, np.abs(truth[t].w).max()), rtol=0
        )
    assert seen == forms
    np.testing.assert_allclose(dense.shape(model), truth[t].P, rtol=0, atol=10 * slack * np.abs(truth[t].P).max())


@pytest.mark.interpreted
@pytest.mark.parametrize("sparse", [False, True])
def test_change_of_form_with_classes(dense, sparse):
    rng = np.random.default_rng(4)
    X, Y, _ = dense.separable(rng, 250, 9, 0.08, classes=3)
    model = CELLIP(margin=0.05, trigger="margin", fit_intercept=False)
    truth = dense.run(model, X, Y, 3)
    forms = set()
    for t in dense.feed(model, X, Y, 3, sparse=sparse, stops=range(0, 250, 3)):
        forms.add(model._core.table.form.name)
        np.testing.assert_allclose(dense.weights(model), truth[t].w, rtol=0, atol=1e-10)
    assert forms == ({"sparse", "full"} if sparse else {"gram", "full"})
    np.testing.assert_allclose(dense.shape(model), truth[t].P, rtol=0, atol=1e-9)


# -- where factored forms lose digits -----------------------------------------------------------------------------


def exactly(X, Y, c, b, goal, digits=60):
    """IELLIP's weights after the last round, and its mistakes, with 60 digits throughout."""
    getcontext().prec = digits
    d = X.shape[1]
    w = [Decimal(0)] * d
    P = [[Decimal(int(i == j)) for j in range(d)] for i in range(d)]
    c, b, goal, mistakes = Decimal(c), Decimal(b), Decimal(goal), 0
    for x, y in zip(X, Y, strict=True):
        z = [Decimal(float(v)) * y for v in x]
        n = sum(a * v for a, v in zip(w, z, strict=True))
        if n > 0:
            continue
        Pz = [sum(p * v for p, v in zip(row, z, strict=True)) for row in P]
        v = sum(a * q for a, q in zip(z, Pz, strict=True))
        w = [a + (goal - n) / v * q for a, q in zip(w, Pz, strict=True)]
        now = c * b**mistakes
        P = [[(P[i][j] - now / v * Pz[i] * Pz[j]) / (1 - now) for j in range(d)] for i in range(d)]
        mistakes += 1
    return np.array([float(a) for a in w]), mistakes


def nearly_parallel(n=150, d=6, seed=8):
    rng = np.random.default_rng(seed)
    X = np.array([1.0, 0.5, -0.5, 0.25, 1.0, -1.0])[:d] + 1e-2 * rng.normal(size=(n, d))
    return X, rng.choice([-1, 1], n).tolist()


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("form", "sparse", "tolerance"),
    [("auto", False, 1e-9), ("auto", True, 1e-9), ("product", False, 1e-9), ("dense", False, 1e-9)],
)
def test_nearly_parallel_rows(dense, form, sparse, tolerance):
    """Sparse rows too are kept in a form that does not cancel, where it fits."""
    X, Y = nearly_parallel()
    w, mistakes = exactly(X, Y, 0.9, 0.9, 1.0)
    model = IELLIP(c=0.9, b=0.9, fit_intercept=False, shape=form)
    for _ in dense.feed(model, X, Y, sparse=sparse):
        pass
    assert model.mistakes_ == mistakes > 60
    assert np.linalg.norm(dense.weights(model) - w) <= tolerance * np.linalg.norm(w)


@pytest.mark.parametrize("form", ["column", "gram"])
def test_nearly_parallel_rows_in_forms_that_cancel(dense, plain, form):
    """A column or Gram form turns into a product before it has lost its digits."""
    X, Y = nearly_parallel(80)
    w, mistakes = exactly(X, Y, 0.9, 0.9, 1.0)
    model = IELLIP(c=0.9, b=0.9, fit_intercept=False, shape=form)
    for _ in dense.feed(model, X, Y):
        pass
    assert model._core.table.form.name == "product"
    assert model.mistakes_ == mistakes
    assert np.linalg.norm(dense.weights(model) - w) <= 1e-9 * np.linalg.norm(w)


@pytest.mark.long
@pytest.mark.parametrize(("c", "b", "tolerance"), [(0.9, 0.9, 1e-7), (0.5, 0.97, 1e-5)])
def test_nearly_parallel_rows_in_many_dimensions(dense, c, b, tolerance):
    """Sparse rows in a space too large for a matrix: the Gram form goes on, and loses what 1 / D_N says."""
    X, Y = nearly_parallel()
    w, mistakes = exactly(X, Y, c, b, 1.0)
    wide = np.zeros((len(X), 5000))
    wide[:, ::1000] = X[:, :5]
    wide[:, 4999] = X[:, 5]
    model = IELLIP(c=c, b=b, fit_intercept=False)
    for _ in dense.feed(model, wide, Y, sparse=True):
        pass
    found = dense.weights(model)
    assert model.mistakes_ == mistakes
    assert np.linalg.norm(np.append(found[::1000], found[4999]) - w) <= tolerance * np.linalg.norm(w)


def test_one_dimension_keeps_its_sign(dense):
    """In one dimension P stays 1, whatever the number of updates: a column form loses z'Bz after 96 of them."""
    Y = [1, -1] * 200
    model = IELLIP(c=0.5, b=0.99, fit_intercept=False)
    for _ in dense.feed(model, np.ones((400, 1)), Y):
        pass
    assert model.updates_ == 400
    np.testing.assert_allclose(dense.weights(model), [-1.0], rtol=1e-12)
    assert model.log_volume_ == pytest.approx(0.0, abs=1e-10)
