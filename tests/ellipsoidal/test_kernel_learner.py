"""Kernel models of IELLIP as users meet them: against the linear learner, in chunks, from files, with bad input."""

import pickle

import numpy as np
import pytest

from ellipsoid import IELLIP, load

RNG = np.random.default_rng(3)
X = RNG.standard_normal((120, 5))
MANY, TWO = RNG.integers(0, 4, 120), RNG.integers(0, 2, 120)
SETS = (RNG.random((120, 4)) < 0.4).astype(int)


@pytest.mark.interpreted
@pytest.mark.parametrize(("y", "classes"), [(MANY, [0, 1, 2, 3]), (TWO, [0, 1]), (SETS, None), (MANY, None)])
def test_a_linear_kernel_gives_the_linear_learner(y, classes):
    rows, y = X[:50], y[:50]
    linear = IELLIP(shape="gram", c=0.4, b=0.7).partial_fit(rows, y, classes=classes)
    kernel = IELLIP(kernel="poly", degree=1, gamma=1.0, c=0.4, b=0.7).partial_fit(rows, y, classes=classes)
    assert (linear.mistakes_, linear.updates_) == (kernel.mistakes_, kernel.updates_)
    scale = np.abs(linear.coef_).max()
    np.testing.assert_allclose(kernel.dual_coef_ @ kernel.support_vectors_, linear.coef_, rtol=0, atol=1e-10 * scale)
    scores = linear.decision_function(rows)
    np.testing.assert_allclose(kernel.decision_function(rows), scores, rtol=0, atol=1e-9 * scale)
    for one, other in zip(linear.certificates(), kernel.certificates(), strict=True):
        assert one.bound == pytest.approx(other.bound, rel=1e-6)


def test_rbf_is_the_linear_run_on_a_root_of_its_gram_matrix():
    gram = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    values, vectors = np.linalg.eigh(gram)
    features = vectors * np.sqrt(np.maximum(values, 0.0))
    kernel = IELLIP(kernel="rbf", gamma=0.5, c=0.4, b=0.7).partial_fit(X, MANY, classes=range(4))
    explicit = IELLIP(shape="gram", c=0.4, b=0.7).partial_fit(features, MANY, classes=range(4))
    assert (kernel.mistakes_, kernel.updates_) == (explicit.mistakes_, explicit.updates_)
    scores = explicit.decision_function(features)
    np.testing.assert_allclose(kernel.decision_function(X), scores, rtol=0, atol=1e-8 * np.abs(scores).max())


def test_any_chunking_and_a_stop_in_between_give_the_same_model(tmp_path):
    models = []
    for size in (120, 7, 1):
        model = IELLIP(kernel="rbf", average=True)
        for start in range(0, 120, size):
            model.partial_fit(X[start : start + size], MANY[start : start + size], classes=range(4))
        models.append(model)
    assert len({model.dual_coef_.tobytes() for model in models}) == 1
    models[0].save(tmp_path / "kernel.model")
    copies = [load(tmp_path / "kernel.model"), pickle.loads(pickle.dumps(models[0])), models[0]]
    assert len({copy.partial_fit(X, MANY).dual_coef_.tobytes() for copy in copies}) == 1


@pytest.mark.long
def test_an_overflowing_kernel_value_is_refused_before_anything_changes():
    model = IELLIP(kernel="poly", degree=9, gamma=1.0).partial_fit(X, MANY, classes=range(4))
    before = model.dual_coef_.tobytes()
    bad = X.copy()
    bad[60] = 1e20
    with pytest.raises(ValueError, match="row 60 of X is too large"):
        model.partial_fit(bad, MANY)
    assert (model.dual_coef_.tobytes(), model.t_) == (before, 120)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kernel": "cosine"}, "kernel must be one of"),
        ({"kernel": "rbf", "gamma": -1.0}, "gamma must be positive"),
        ({"kernel": "rbf", "shape": "column"}, "shape must be one of"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        IELLIP(**settings).partial_fit(X, TWO)
