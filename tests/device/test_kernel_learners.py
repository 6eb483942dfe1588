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
    Calibrated,
    Committee,
    Conformal,
    OnlineSVM,
    PassiveAggressive,
    PassiveAggressiveRegressor,
    Perceptron,
    Scaled,
    SecondOrderPerceptron,
    load,
)
from ellipsoid.ellipsoids.shapes.device import DeviceShape
from ellipsoid.ellipsoids.tables import kernel as kernel_table
from ellipsoid.estimators.state import device_learner
from ellipsoid.representation.kernel import device

from .conftest import CLASSES, FEW, POLY, RBF, RNG, X, agree, on, put_numpy_in_place, y

# Its shape is complete after some fifteen updates, so that few rows meet patterns behind those of the shape.
SOON = {"b": 0.1, **RBF}
LEARNERS = {
    "MIRA": MIRA(**RBF),
    "PA, averaged": PassiveAggressive(average=True, **POLY),
    "Perceptron, votes": Perceptron(average="vote", **RBF),
    "Perceptron, no constant": Perceptron(fit_intercept=False, **POLY),
    "ROMMA": ROMMA(**RBF),
    "ALMA": ALMA(**RBF),
    "OnlineSVM": OnlineSVM(window=5, **RBF),
    "IELLIP": IELLIP(**SOON),
    "IELLIP, averaged": IELLIP(average=True, trigger="margin", **SOON),
    "IELLIP, a shape that never stays": IELLIP(b=1.0, c=0.05, **RBF),
    "IELLIP, selective": IELLIP(selective=True, random_state=0, **SOON),
    "AROW": AROW(**RBF),
    "AROW, averaged": AROW(average=True, trigger="mistake", **POLY),
    "AROW, selective": AROW(selective=True, **RBF),
    "SOP": SecondOrderPerceptron(**RBF),
    "SOP, no constant": SecondOrderPerceptron(fit_intercept=False, a=3.0, **RBF),
}
# Those that keep a shape over their patterns. The loops of AROW and of the second-order Perceptron are one piece of
# machine code, and hold every form that a device fills; on NumPy the others run as Python.
SHAPED = [IELLIP(**SOON), AROW(**RBF), SecondOrderPerceptron(**RBF)]
SETS = np.column_stack([X[:, 0] > 0, X[:, 1] * X[:, 2] > 0, X[:, 3] > 0.5]).astype(int)
as_python = pytest.mark.interpreted("numpy")


def name_of(model):
    return type(model).__name__


def cases(*models):
    """One of each model, IELLIP as Python."""
    return pytest.mark.parametrize(
        "start",
        [pytest.param(each, marks=as_python if isinstance(each, IELLIP) else ()) for each in models],
        ids=name_of,
    )


@pytest.mark.gate(
    "MIRA",
    "PA, averaged",
    "Perceptron, votes",
    "ROMMA",
    "OnlineSVM",
    "IELLIP",
    "IELLIP, selective",
    "AROW",
    "AROW, selective",
    "SOP",
)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=as_python if name.startswith("IELLIP") else ()) for name in LEARNERS]
)
def test_both_devices_learn_the_same(name, on_device):
    n = FEW if name.startswith("IELLIP") else len(X)
    here, there = copy.deepcopy(LEARNERS[name]), on(LEARNERS[name])
    agree(here.partial_fit(X[:n], y[:n], CLASSES), there.partial_fit(X[:n], y[:n], CLASSES))
    assert repr(here.certificates()[:1])[:30] == repr(there.certificates()[:1])[:30]


@cases(MIRA(**RBF), *SHAPED)
def test_chunks_copies_and_files_make_no_difference(start, on_device, tmp_path):
    whole, model = on(start).partial_fit(X, y, CLASSES), on(start)
    for begin, end in ((0, 1), (1, 12), (12, 95), (95, 200)):
        model = pickle.loads(pickle.dumps(copy.deepcopy(model)))
        model.partial_fit(X[begin:end], y[begin:end], CLASSES)
        path = tmp_path / "model"
        model.save(path)
        model = load(path)
        assert model.device == "cpu", "a file says nothing of devices"
        model.set_params(device="cuda")
    # What a covariance has lost of some directions multiplies the rounding of the others.
    rtol = 1e-10 if start in SHAPED[1:] else 1e-12
    agree(whole, model, rtol=rtol)
    np.testing.assert_allclose(model.dual_coef_, whole.dual_coef_, rtol=rtol, atol=rtol * abs(whole.dual_coef_).max())


@cases(MIRA(**POLY), *SHAPED)
def test_a_model_learned_on_one_device_goes_on_on_the_other(start, on_device):
    whole = copy.deepcopy(start).partial_fit(X[:80], y[:80], CLASSES)
    model = on(start).partial_fit(X[:40], y[:40], CLASSES)
    model.set_params(device="cpu").partial_fit(X[40:60], y[40:60], CLASSES)
    agree(whole, model.set_params(device="cuda").partial_fit(X[60:80], y[60:80], CLASSES))


@cases(
    MIRA(**RBF),
    PassiveAggressive(average=True, **RBF),
    Perceptron(average="vote", **RBF),
    *SHAPED,
    AROW(average=True, **RBF),
)
def test_predictions_before_learning_are_those_of_predict(start, on_device):
    here = copy.deepcopy(start).learn_predict(X[:FEW], y[:FEW], CLASSES)
    assert (on(start).learn_predict(X[:FEW], y[:FEW], CLASSES) == here).all()


@as_python
@pytest.mark.parametrize("start", [MIRA(**RBF), *SHAPED], ids=name_of)
def test_sparse_rows_are_made_dense_up_to_a_width(start, on_device, monkeypatch):
    rows, labels = sp.csr_matrix(np.where(np.abs(X) > 1.0, X, 0.0)[:FEW]), y[:FEW]
    here, there = (model.partial_fit(rows, labels, CLASSES) for model in (copy.deepcopy(start), on(start)))
    assert here.updates_ == there.updates_
    np.testing.assert_allclose(there.decision_function(rows), here.decision_function(rows), atol=1e-9)
    monkeypatch.setattr(device, "WIDEST_ON_DEVICE", 5)
    with pytest.raises(ValueError, match="sparse rows of up to 5 features"):
        on(start).partial_fit(rows, labels)


@cases(MIRA(**RBF), *SHAPED)
def test_single_precision_keeps_sums_double(start, on_device):
    here, there = copy.deepcopy(start), on(start, precision="single")
    for model in (here, there):
        model.partial_fit(X[:FEW], y[:FEW], CLASSES)
    assert abs(here.updates_ - there.updates_) <= 3
    assert there.decision_function(X).dtype == np.float64
    assert (here.predict(X) == there.predict(X)).mean() > 0.99


@as_python
@pytest.mark.parametrize("start", [MIRA(**RBF), *SHAPED], ids=name_of)
def test_new_labels_and_features(start, on_device):
    here, there = copy.deepcopy(start).set_params(grow_features=True), on(start, grow_features=True)
    for model in (here, there):
        model.partial_fit(X[:25, :8], np.minimum(y[:25], 1))
        model.partial_fit(X[25:FEW], y[25:FEW])
    agree(here, there)


@as_python
@pytest.mark.parametrize("start", SHAPED, ids=name_of)
def test_label_sets_orders_and_weights(start, on_device):
    rows, labels = X[:FEW], y[:FEW]
    agree(copy.deepcopy(start).partial_fit(rows, SETS[:FEW]), on(start).partial_fit(rows, SETS[:FEW]))
    twice = {"n_epochs": 2, "random_state": 3}
    agree(copy.deepcopy(start).set_params(**twice).fit(X[:30], y[:30]), on(start, **twice).fit(X[:30], y[:30]))
    if isinstance(start, AROW):
        given = rows, labels, CLASSES, RNG.uniform(0.5, 2.0, size=FEW)
        agree(copy.deepcopy(start).partial_fit(*given), on(start).partial_fit(*given))


@cases(*SHAPED)
def test_single_examples_are_blocks_of_one(start, on_device):
    here, there = (model.partial_fit(X[:45], y[:45], CLASSES) for model in (copy.deepcopy(start), on(start)))
    for x, label in zip(X[45:FEW], y[45:FEW], strict=True):
        assert here.predict_one(x) == there.predict_one(x)
        assert here.learn_one(x, label) is here
        assert there.learn_one(x, label) is there
    agree(here, there)


@cases(MIRA(**RBF), *SHAPED)
def test_inside_another_learner(start, on_device):
    for wrap in (Scaled, Calibrated, Conformal, lambda learner: Committee([learner, Perceptron()])):
        here, there = (
            wrap(copy.deepcopy(start)).partial_fit(X[:FEW], y[:FEW], CLASSES),
            wrap(on(start)).partial_fit(X[:FEW], y[:FEW], CLASSES),
        )
        assert (here.predict(X[:FEW]) == there.predict(X[:FEW])).all()
        inner = there.learners_[0] if isinstance(there, Committee) else there.learner_
        assert inner._core.table.device is not None


@as_python
def test_a_regressor(on_device):
    rows = X[:FEW]
    here, there = (
        PassiveAggressiveRegressor(device=where, **RBF).partial_fit(rows, rows[:, 0] * rows[:, 1])
        for where in ("cpu", "cuda")
    )
    assert here.updates_ == there.updates_
    values = here.predict(rows)
    np.testing.assert_allclose(there.predict(rows), values, rtol=0, atol=1e-10 * np.abs(values).max())


@pytest.mark.parametrize(
    "labels", [pytest.param("two", marks=as_python), "three", pytest.param("sets", marks=as_python)]
)
def test_confidence_is_the_same_of_either_device(labels, on_device):
    learned = {"two": np.minimum(y, 1), "three": y, "sets": SETS}[labels][:FEW]
    told = CLASSES if labels == "three" else None
    for start in SHAPED[1:]:
        here, there = (model.partial_fit(X[:FEW], learned, told) for model in (copy.deepcopy(start), on(start)))
        rows = RNG.normal(size=(20, 12))
        np.testing.assert_allclose(there.confidence(rows), here.confidence(rows), rtol=0, atol=1e-9)
        assert (there.query(rows) == here.query(rows)).all()
        assert there.confidence(rows).min() >= 0.5
        there.set_params(device="cpu")
        np.testing.assert_allclose(there.confidence(rows), here.confidence(rows), rtol=0, atol=1e-9)


@cases(*SHAPED[1:], LEARNERS["IELLIP, a shape that never stays"])
def test_a_large_shape_is_kept_on_the_device_and_certifies_the_same(start, on_device):
    here, there = (model.partial_fit(X[:FEW], y[:FEW], CLASSES) for model in (copy.deepcopy(start), on(start)))
    table = there._core.table
    assert table.shape.size == table.used > kernel_table.LARGE_SHAPE + kernel_table.MOST_WAITING, "more than may wait"
    assert table.arrays["S"].size == 0
    np.testing.assert_allclose(table.S(), here._core.table.S(), rtol=0, atol=1e-9 * abs(table.S()).max())
    for one, other in zip(here.certificates(), there.certificates(), strict=True):
        assert one.observed == pytest.approx(other.observed, rel=1e-9)
        assert one.bound == pytest.approx(other.bound, rel=1e-7)
        assert not other.observed > other.bound
    assert table.shape is not None
    twin = pickle.loads(pickle.dumps(there)).set_params(device="cpu")
    assert twin._core.table.shape is None
    agree_on_cpu = here.partial_fit(X[:20], 2 - y[:20], CLASSES), twin.partial_fit(X[:20], 2 - y[:20], CLASSES)
    assert agree_on_cpu[0].updates_ == agree_on_cpu[1].updates_


@pytest.mark.interpreted
@pytest.mark.parametrize("kind", [IELLIP, AROW, SecondOrderPerceptron])
def test_impossible_devices_are_refused_by_learners_with_a_shape(kind, monkeypatch):
    with pytest.raises(ValueError, match="device must be one of"):
        kind(device="gpu", **RBF).partial_fit(X[:5], y[:5])
    monkeypatch.setattr(device, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"ellipsoid\[cuda12\]"):
        kind(device="cuda", **RBF).partial_fit(X[:5], y[:5])
    assert kind(device="auto", **RBF).partial_fit(X[:50], y[:50])._core.table.device is None
    put_numpy_in_place(monkeypatch)
    with pytest.raises(ValueError, match="a linear learner has none"):
        kind(device="cuda").partial_fit(X[:5], y[:5])
    with pytest.raises(ValueError, match="kernel must be one of"):
        kind(device="cuda", kernel="precomputed").partial_fit(X[:5], y[:5])
    model = kind(**RBF).partial_fit(X[:50], y[:50])
    with pytest.raises(ValueError, match="precision must be one of"):
        model.set_params(device="cuda", precision="half").predict(X[:5])


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"device": "gpu"}, "device must be one of"),
        ({"device": "cuda"}, "a linear learner has none"),
        ({"device": "cuda", "kernel": "precomputed"}, "a function in Python, or given ones"),
        ({"device": "cuda", "kernel": lambda A, B: A @ B.T}, "a function in Python, or given ones"),
        ({"device": "cuda", "kernel": "rbf", "budget": 4}, "budget keeps inverse matrices, which are on the CPU"),
        ({"device": "cuda", "kernel": "rbf", "precision": "half"}, "precision must be one of"),
    ],
)
def test_impossible_devices_are_refused(parameters, told, monkeypatch):
    put_numpy_in_place(monkeypatch)
    with pytest.raises(ValueError, match=told):
        MIRA(**parameters).partial_fit(X[:5], y[:5])


@pytest.mark.interpreted
def test_without_cupy_the_sentence_names_the_extra(monkeypatch):
    monkeypatch.setattr(device, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"ellipsoid\[cuda12\]"):
        MIRA(device="cuda", **RBF).partial_fit(X[:5], y[:5])
    assert not device.cuda_present()
    assert MIRA(device="auto", **RBF).partial_fit(X[:50], y[:50])._core.table.device is None


@cases(MIRA(**RBF), *SHAPED)
def test_a_full_device_says_how_many_patterns_fit(start, monkeypatch, on_device):
    class Full:
        """NumPy with little memory."""

        def __getattr__(self, name):
            return getattr(np, name)

        @staticmethod
        def zeros(shape, dtype=float):
            if np.prod(shape) > 700:
                raise MemoryError
            return np.zeros(shape, dtype)

    for module in (device, device_learner):
        monkeypatch.setattr(module, "cuda_arrays", Full)
    monkeypatch.setattr(kernel_table, "LARGE_SHAPE", 1024)
    model = on(start)
    with pytest.raises(MemoryError, match=r"no memory left for .* support patterns of 12 features"):
        model.partial_fit(X[:100], y[:100], CLASSES)
    assert 0 < model.t_ < 100
    rest = model.set_params(device="cpu").partial_fit(X[model.t_ : 100], y[model.t_ : 100], CLASSES)
    assert rest.updates_ == copy.deepcopy(start).partial_fit(X[:100], y[:100], CLASSES).updates_
    with pytest.raises(MemoryError, match=r"no memory left for the matrix of 100 update examples"):
        DeviceShape(Full(), np.eye(100))


@cases(AROW(kernel="poly", degree=1, gamma=1.0, coef0=0.0, r=1e-9), IELLIP(b=1.0, c=0.9, **RBF))
def test_rows_that_come_again_and_again_leave_a_sound_shape(start, on_device):
    """A device multiplies S, whose digits are lost along them: what it cannot see, it does not learn."""
    rows, labels = X[:3][np.arange(FEW) % 3], np.random.default_rng(2).integers(0, 2, FEW)
    there = on(start).partial_fit(rows, labels, [0, 1])
    assert there.mistakes_ > 0
    assert np.abs(there.decision_function(rows)).max() < 100.0
    assert all(c.bound >= c.observed for c in there.certificates() if c.name == "mistakes")
