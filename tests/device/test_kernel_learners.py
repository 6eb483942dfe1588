"""Kernel learners whose values are made on a device: the same updates, and scores that agree to rounding.

The device is NumPy here, which runs the same code; ``make gpu`` does the same on a GPU.
"""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from ellipsoid import (
    ALMA,
    AROW,
    IELLIP,
    MIRA,
    ROMMA,
    OnlineSVM,
    PassiveAggressive,
    Perceptron,
    SecondOrderPerceptron,
    load,
)
from ellipsoid.ellipsoids import kernel_table
from ellipsoid.estimators import ellipsoidal, expansion, placed
from ellipsoid.representation.kernel import device

RNG = np.random.default_rng(1)
X = RNG.normal(size=(700, 12))
y = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 0.8)
RBF, POLY = {"kernel": "rbf", "gamma": 0.1}, {"kernel": "poly", "degree": 3, "gamma": 0.05, "coef0": 1.0}
LEARNERS = {
    "MIRA": MIRA(**RBF),
    "PA, averaged": PassiveAggressive(average=True, **POLY),
    "Perceptron, votes": Perceptron(average="vote", **RBF),
    "Perceptron, no constant": Perceptron(fit_intercept=False, **POLY),
    "ROMMA": ROMMA(**RBF),
    "ALMA": ALMA(**RBF),
    "OnlineSVM": OnlineSVM(window=5, **RBF),
    "IELLIP": IELLIP(**RBF),
    "IELLIP, averaged": IELLIP(average=True, trigger="margin", **POLY),
    "IELLIP, a shape that never stays": IELLIP(b=1.0, c=0.05, **RBF),
    "IELLIP, selective": IELLIP(selective=True, random_state=0, **RBF),
    "AROW": AROW(**RBF),
    "AROW, averaged": AROW(average=True, trigger="mistake", **POLY),
    "AROW, selective": AROW(selective=True, **RBF),
    "SOP": SecondOrderPerceptron(**RBF),
    "SOP, no constant": SecondOrderPerceptron(fit_intercept=False, a=3.0, **RBF),
}
# Those that keep a shape over their patterns.
SHAPED = [IELLIP(**RBF), AROW(**RBF), SecondOrderPerceptron(**RBF)]


def _numpy(monkeypatch):
    for module in (device, placed):
        monkeypatch.setattr(module, "cuda_arrays", lambda: np)


@pytest.fixture(params=["numpy", pytest.param("cuda", marks=pytest.mark.gpu)])
def on_device(request, monkeypatch):
    if request.param == "numpy":
        _numpy(monkeypatch)
        monkeypatch.setattr(device, "PIECE_VALUES", 1 << 14)  # several pieces
    else:
        pytest.importorskip("cupy")
    for module in (expansion, ellipsoidal):
        monkeypatch.setattr(module, "SCORED_AHEAD_ON_DEVICE", 64)
    monkeypatch.setattr(kernel_table, "LARGE_SHAPE", 50)


def on(model, **more):
    return copy.deepcopy(model).set_params(device="cuda", **more)


def agree(one, other, rows=X, rtol=1e-10):
    assert one.updates_ == other.updates_
    assert one.mistakes_ == other.mistakes_
    assert np.array_equal(one.support_vectors_, other.support_vectors_)
    scores = one.decision_function(rows)
    np.testing.assert_allclose(other.decision_function(rows), scores, rtol=0, atol=rtol * np.abs(scores).max())
    assert other._core.table.device is not None


@pytest.mark.parametrize("name", LEARNERS)
def test_both_devices_learn_the_same(name, on_device):
    here, there = copy.deepcopy(LEARNERS[name]).partial_fit(X, y), on(LEARNERS[name]).partial_fit(X, y)
    agree(here, there)
    assert repr(here.certificates()[:1])[:30] == repr(there.certificates()[:1])[:30]


def test_chunks_copies_and_files_make_no_difference(on_device, tmp_path):
    whole, model = on(MIRA(**RBF)).partial_fit(X, y), on(MIRA(**RBF))
    for begin, end in ((0, 1), (1, 40), (40, 333), (333, 700)):
        model = pickle.loads(pickle.dumps(copy.deepcopy(model)))
        model.partial_fit(X[begin:end], y[begin:end])
        path = tmp_path / "model"
        model.save(path)
        model = load(path)
        assert model.device == "cpu", "a file says nothing of devices"
        model.set_params(device="cuda")
    agree(whole, model, rtol=1e-12)
    np.testing.assert_allclose(model.dual_coef_, whole.dual_coef_, rtol=1e-12, atol=1e-15)


def test_a_model_learned_on_one_device_goes_on_on_the_other(on_device):
    whole, model = MIRA(**POLY).partial_fit(X, y), on(MIRA(**POLY)).partial_fit(X[:300], y[:300])
    model.set_params(device="cpu").partial_fit(X[300:500], y[300:500])
    agree(whole, model.set_params(device="cuda").partial_fit(X[500:], y[500:]))


def test_predictions_before_learning_are_those_of_predict(on_device):
    for model in (MIRA(**RBF), PassiveAggressive(average=True, **RBF), Perceptron(average="vote", **RBF)):
        here = copy.deepcopy(model).learn_predict(X[:200], y[:200])
        assert (on(model).learn_predict(X[:200], y[:200]) == here).all()


def test_sparse_rows_are_made_dense_up_to_a_width(on_device, monkeypatch):
    rows = sp.csr_matrix(np.where(np.abs(X) > 1.0, X, 0.0))
    here, there = MIRA(**RBF).partial_fit(rows, y), on(MIRA(**RBF)).partial_fit(rows, y)
    assert here.updates_ == there.updates_
    np.testing.assert_allclose(there.decision_function(rows), here.decision_function(rows), atol=1e-9)
    monkeypatch.setattr(device, "WIDEST_ON_DEVICE", 5)
    with pytest.raises(ValueError, match="sparse rows of up to 5 features"):
        on(MIRA(**RBF)).partial_fit(rows, y)


def test_single_precision_keeps_sums_double(on_device):
    here, there = MIRA(**RBF).partial_fit(X, y), on(MIRA(**RBF), precision="single").partial_fit(X, y)
    assert abs(here.updates_ - there.updates_) <= 3
    assert there.decision_function(X).dtype == np.float64
    assert (here.predict(X) == there.predict(X)).mean() > 0.99


def test_new_labels_and_features(on_device):
    here, there = (MIRA(grow_features=True, **RBF), on(MIRA(grow_features=True, **RBF)))
    for model in (here, there):
        model.partial_fit(X[:50, :8], np.minimum(y[:50], 1))
        model.partial_fit(X[50:], y[50:])
    agree(here, there)


def test_an_error_in_mid_block_leaves_the_model_that_was(on_device, monkeypatch):
    model, twin = on(MIRA(**RBF)).partial_fit(X[:200], y[:200]), on(MIRA(**RBF)).partial_fit(X[:200], y[:200])
    calls = []

    def failing(self, *args, real=device.DevicePatterns.sums_of):
        calls.append(1)
        if len(calls) == 4:
            raise MemoryError("no memory on the device")
        return real(self, *args)

    monkeypatch.setattr(device.DevicePatterns, "sums_of", failing)
    with pytest.raises(MemoryError):
        model.partial_fit(X[200:600], y[200:600])
    monkeypatch.undo()
    if "cuda" not in str(type(model._core.table.device.arrays)):
        _numpy(monkeypatch)
    assert 200 <= model.t_ < 600
    twin.partial_fit(X[200 : model.t_], y[200 : model.t_]) if model.t_ > 200 else None
    agree(twin, model)
    agree(twin.partial_fit(X[model.t_ :], y[model.t_ :]), model.partial_fit(X[model.t_ :], y[model.t_ :]))


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"device": "gpu"}, "device must be one of"),
        ({"device": "cuda"}, "a linear learner has none"),
        ({"device": "cuda", "kernel": "precomputed"}, "a function in Python, or given ones"),
        ({"device": "cuda", "kernel": lambda A, B: A @ B.T}, "a function in Python, or given ones"),
        ({"device": "cuda", "kernel": "rbf", "budget": 4}, "budget keeps inverse matrices on the CPU"),
        ({"device": "cuda", "kernel": "rbf", "precision": "half"}, "precision must be one of"),
    ],
)
def test_what_cannot_be_is_said(parameters, told, monkeypatch):
    _numpy(monkeypatch)
    with pytest.raises(ValueError, match=told):
        MIRA(**parameters).partial_fit(X[:5], y[:5])


def test_without_cupy_the_sentence_names_the_extra(monkeypatch):
    monkeypatch.setattr(device, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"ellipsoid\[cuda12\]"):
        MIRA(device="cuda", **RBF).partial_fit(X[:5], y[:5])
    assert not device.cuda_present()
    assert MIRA(device="auto", **RBF).partial_fit(X[:50], y[:50])._core.table.device is None


def test_a_full_device_says_how_many_patterns_fit(monkeypatch, on_device):
    class Full:
        """NumPy with little memory."""

        def __getattr__(self, name):
            return getattr(np, name)

        @staticmethod
        def zeros(shape, dtype=float):
            if np.prod(shape) > 1500:
                raise MemoryError
            return np.zeros(shape, dtype)

    for module in (device, placed):
        monkeypatch.setattr(module, "cuda_arrays", Full)
    with pytest.raises(MemoryError, match=r"no memory left for .* support patterns of 12 features"):
        on(MIRA(**RBF)).partial_fit(X, y)
