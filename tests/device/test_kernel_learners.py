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
from ellipsoid.ellipsoids import device_shape, kernel_table
from ellipsoid.ellipsoids.device_shape import DeviceShape
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


def name_of(model):
    return type(model).__name__


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


@pytest.mark.parametrize("start", [MIRA(**RBF), *SHAPED], ids=name_of)
def test_chunks_copies_and_files_make_no_difference(start, on_device, tmp_path):
    whole, model = on(start).partial_fit(X, y), on(start)
    for begin, end in ((0, 1), (1, 40), (40, 333), (333, 700)):
        model = pickle.loads(pickle.dumps(copy.deepcopy(model)))
        model.partial_fit(X[begin:end], y[begin:end])
        path = tmp_path / "model"
        model.save(path)
        model = load(path)
        assert model.device == "cpu", "a file says nothing of devices"
        model.set_params(device="cuda")
    # What a covariance has lost of some directions multiplies the rounding of the others.
    rtol = 1e-10 if start in SHAPED[1:] else 1e-12
    agree(whole, model, rtol=rtol)
    np.testing.assert_allclose(model.dual_coef_, whole.dual_coef_, rtol=rtol, atol=rtol * abs(whole.dual_coef_).max())


@pytest.mark.parametrize("start", [MIRA(**POLY), *SHAPED], ids=name_of)
def test_a_model_learned_on_one_device_goes_on_on_the_other(start, on_device):
    whole, model = copy.deepcopy(start).partial_fit(X, y), on(start).partial_fit(X[:300], y[:300])
    model.set_params(device="cpu").partial_fit(X[300:500], y[300:500])
    agree(whole, model.set_params(device="cuda").partial_fit(X[500:], y[500:]))


def test_predictions_before_learning_are_those_of_predict(on_device):
    averaged = AROW(average=True, **RBF)
    for model in (
        MIRA(**RBF),
        PassiveAggressive(average=True, **RBF),
        Perceptron(average="vote", **RBF),
        *SHAPED,
        averaged,
    ):
        here = copy.deepcopy(model).learn_predict(X[:200], y[:200])
        assert (on(model).learn_predict(X[:200], y[:200]) == here).all()


@pytest.mark.parametrize("start", [MIRA(**RBF), *SHAPED], ids=name_of)
def test_sparse_rows_are_made_dense_up_to_a_width(start, on_device, monkeypatch):
    rows = sp.csr_matrix(np.where(np.abs(X) > 1.0, X, 0.0))
    here, there = copy.deepcopy(start).partial_fit(rows, y), on(start).partial_fit(rows, y)
    assert here.updates_ == there.updates_
    np.testing.assert_allclose(there.decision_function(rows), here.decision_function(rows), atol=1e-9)
    monkeypatch.setattr(device, "WIDEST_ON_DEVICE", 5)
    with pytest.raises(ValueError, match="sparse rows of up to 5 features"):
        on(start).partial_fit(rows, y)


@pytest.mark.parametrize("start", [MIRA(**RBF), *SHAPED], ids=name_of)
def test_single_precision_keeps_sums_double(start, on_device):
    here, there = copy.deepcopy(start).partial_fit(X, y), on(start, precision="single").partial_fit(X, y)
    assert abs(here.updates_ - there.updates_) <= 3
    assert there.decision_function(X).dtype == np.float64
    assert (here.predict(X) == there.predict(X)).mean() > 0.99


@pytest.mark.parametrize("start", [MIRA(**RBF), *SHAPED], ids=name_of)
def test_new_labels_and_features(start, on_device):
    here, there = copy.deepcopy(start).set_params(grow_features=True), on(start, grow_features=True)
    for model in (here, there):
        model.partial_fit(X[:250, :8], np.minimum(y[:250], 1))
        model.partial_fit(X[250:], y[250:])
    agree(here, there)


@pytest.mark.parametrize("start", SHAPED, ids=name_of)
def test_label_sets_orders_and_weights(start, on_device):
    sets = np.column_stack([X[:, 0] > 0, X[:, 1] * X[:, 2] > 0, X[:, 3] > 0.5]).astype(int)
    agree(copy.deepcopy(start).partial_fit(X, sets), on(start).partial_fit(X, sets))
    twice = {"n_epochs": 2, "random_state": 3}
    agree(copy.deepcopy(start).set_params(**twice).fit(X[:200], y[:200]), on(start, **twice).fit(X[:200], y[:200]))
    if isinstance(start, AROW):
        weights = RNG.uniform(0.5, 2.0, size=len(y))
        agree(copy.deepcopy(start).partial_fit(X, y, None, weights), on(start).partial_fit(X, y, None, weights))


@pytest.mark.parametrize("start", SHAPED, ids=name_of)
def test_single_examples_are_blocks_of_one(start, on_device):
    here, there = copy.deepcopy(start).partial_fit(X[:90], y[:90]), on(start).partial_fit(X[:90], y[:90])
    for x, label in zip(X[90:120], y[90:120], strict=True):
        assert here.predict_one(x) == there.predict_one(x)
        assert here.learn_one(x, label) is here
        assert there.learn_one(x, label) is there
    agree(here, there)


@pytest.mark.parametrize("start", [MIRA(**RBF), *SHAPED], ids=name_of)
def test_inside_another_learner(start, on_device):
    for wrap in (Scaled, Calibrated, Conformal, lambda learner: Committee([learner, Perceptron()])):
        here, there = (
            wrap(copy.deepcopy(start)).partial_fit(X[:150], y[:150]),
            wrap(on(start)).partial_fit(X[:150], y[:150]),
        )
        assert (here.predict(X) == there.predict(X)).all()
        inner = there.learners_[0] if isinstance(there, Committee) else there.learner_
        assert inner._core.table.device is not None


def test_a_regressor(on_device):
    here, there = (
        PassiveAggressiveRegressor(device=where, **RBF).partial_fit(X, X[:, 0] * X[:, 1]) for where in ("cpu", "cuda")
    )
    assert here.updates_ == there.updates_
    np.testing.assert_allclose(there.predict(X), here.predict(X), rtol=0, atol=1e-10 * np.abs(here.predict(X)).max())


@pytest.mark.parametrize("labels", ["two", "three", "sets"])
def test_confidence_is_the_same_of_either_device(labels, on_device):
    sets = np.column_stack([X[:, 0] > 0, X[:, 1] * X[:, 2] > 0, X[:, 3] > 0.5]).astype(int)
    learned = {"two": np.minimum(y, 1), "three": y, "sets": sets}[labels]
    for start in SHAPED[1:]:
        here, there = copy.deepcopy(start).partial_fit(X, learned), on(start).partial_fit(X, learned)
        rows = RNG.normal(size=(300, 12))
        np.testing.assert_allclose(there.confidence(rows), here.confidence(rows), rtol=0, atol=1e-9)
        assert (there.query(rows) == here.query(rows)).all()
        assert there.confidence(rows).min() >= 0.5
        there.set_params(device="cpu")
        np.testing.assert_allclose(there.confidence(rows), here.confidence(rows), rtol=0, atol=1e-9)


@pytest.mark.parametrize("start", [*SHAPED[1:], IELLIP(b=1.0, c=0.05, **RBF)], ids=name_of)
def test_a_large_shape_is_kept_on_the_device_and_certifies_the_same(start, on_device):
    here, there = copy.deepcopy(start).partial_fit(X, y), on(start).partial_fit(X, y)
    table = there._core.table
    assert table.shape.size == table.used > 64, "more than may wait"
    assert table.arrays["S"].size == 0
    np.testing.assert_allclose(table.S(), here._core.table.S(), rtol=0, atol=1e-9 * abs(table.S()).max())
    for one, other in zip(here.certificates(), there.certificates(), strict=True):
        assert one.observed == pytest.approx(other.observed, rel=1e-9)
        assert one.bound == pytest.approx(other.bound, rel=1e-7)
        assert not other.observed > other.bound
    assert table.shape is not None
    twin = pickle.loads(pickle.dumps(there)).set_params(device="cpu")
    assert twin._core.table.shape is None
    agree_on_cpu = here.partial_fit(X[:50], 2 - y[:50]), twin.partial_fit(X[:50], 2 - y[:50])
    assert agree_on_cpu[0].updates_ == agree_on_cpu[1].updates_


def test_a_row_whose_step_failed_on_the_device_was_never_there(on_device, monkeypatch):
    model, twin = on(AROW(**RBF)).partial_fit(X[:200], y[:200]), on(AROW(**RBF)).partial_fit(X[:200], y[:200])
    calls = []

    def failing(self, rows, real=DeviceShape.times):
        calls.append(1)
        if len(calls) == 40:
            raise MemoryError("no memory on the device")
        return real(self, rows)

    monkeypatch.setattr(DeviceShape, "times", failing)
    with pytest.raises(MemoryError):
        model.partial_fit(X[200:600], y[200:600])
    assert 200 < model.t_ < 600
    assert model.updates_ - twin.updates_ == 39
    twin.partial_fit(X[200 : model.t_], y[200 : model.t_])
    agree(twin, model)
    agree(twin.partial_fit(X[model.t_ :], y[model.t_ :]), model.partial_fit(X[model.t_ :], y[model.t_ :]))


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


class _Interrupt:
    """Lets one call of a function, the n-th from now on, end in an interrupt; ``late`` behind what it does."""

    def __init__(self, monkeypatch, owner, name, late):
        self.real, self.left, self.late = getattr(owner, name), 0, late

        def call(*args, **options):
            self.left -= 1
            found = self.real(*args, **options) if self.late or self.left else None
            if self.left == 0:
                raise KeyboardInterrupt
            return found

        monkeypatch.setattr(owner, name, call)


@pytest.mark.parametrize("step", ["_allocate", "_bound", "look_ahead"])
def test_an_interrupt_between_blocks_leaves_a_model_of_whole_rows(step, on_device, monkeypatch):
    interrupt = _Interrupt(monkeypatch, kernel_table.KernelTable, step, late=True)
    broken = 0
    for n in range(1, 30):
        model = on(AROW(**RBF)).partial_fit(X[:60], y[:60])
        interrupt.left = n
        try:
            model.partial_fit(X[60:400], y[60:400])
        except KeyboardInterrupt:
            broken += model.t_ > 60
        else:
            break
        finally:
            interrupt.left = 0
        twin = AROW(**RBF).partial_fit(X[: model.t_], y[: model.t_])
        agree(twin, model)
        np.testing.assert_allclose(model._core.table.S(), twin._core.table.S(), rtol=0, atol=1e-12)
        agree(twin.partial_fit(X[400:500], y[400:500]), model.partial_fit(X[400:500], y[400:500]))
    assert broken, "behind a block that was learned"


@pytest.mark.parametrize("step", ["_allocate", "_bound", "S"])
def test_an_interrupt_while_a_shape_leaves_the_device_leaves_it_whole(step, on_device, monkeypatch):
    model = on(AROW(**RBF)).partial_fit(X[:300], y[:300])
    rows, expected = X[300:320], AROW(**RBF).partial_fit(X[:300], y[:300]).confidence(X[300:320])
    interrupt = _Interrupt(monkeypatch, kernel_table.KernelTable, step, late=True)
    interrupt.left = 1
    with pytest.raises(KeyboardInterrupt):
        model.set_params(device="cpu").confidence(rows)
    np.testing.assert_allclose(model.confidence(rows), expected, rtol=0, atol=1e-9)


def test_to_read_a_shape_on_the_device_does_not_change_it_even_if_broken_off(on_device, monkeypatch, tmp_path):
    monkeypatch.setattr(device_shape, "STRIP", 16)
    model, twin = on(AROW(**RBF)), AROW(**RBF).partial_fit(X[:300], y[:300])
    for begin in range(0, 300, 100):
        model.partial_fit(X[begin : begin + 100], y[begin : begin + 100])
    shape = model._core.table.shape
    assert shape.count, "something waits"
    matrix, waiting = shape.matrix.copy(), shape.count
    real, broken = DeviceShape.strips, []

    def three(self):
        broken.append(1)
        for count, part in enumerate(real(self)):
            if count == 3:
                raise KeyboardInterrupt
            yield part

    table = model._core.table
    reads = (table.S, table.__getstate__, lambda: copy.deepcopy(model), model.certificates)
    for read in (*reads, lambda: model.save(tmp_path / "model")):
        with monkeypatch.context() as patch:
            patch.setattr(DeviceShape, "strips", three)
            with pytest.raises(KeyboardInterrupt):
                read()
        read()
        assert (shape.matrix == matrix).all()
        assert shape.count == waiting
    assert len(broken) == 5
    np.testing.assert_allclose(shape.whole(), twin._core.table.S(), rtol=0, atol=1e-12)


def test_room_for_a_shape_is_made_at_once(monkeypatch):
    shape = DeviceShape(np, np.eye(30))
    for _ in range(3):
        shape.reserve(shape.size + 1)
        shape.extend(-shape.times(shape.padded(np.ones(shape.size))), 0.5)
    before, zeros = shape.whole(), np.zeros
    for n in (1, 2):
        interrupt = _Interrupt(monkeypatch, np, "zeros", late=False)
        interrupt.left = n
        with pytest.raises(KeyboardInterrupt):
            shape.reserve(500)
        monkeypatch.setattr(np, "zeros", zeros)
        assert (shape.whole() == before).all()
    shape.reserve(500)
    assert (shape.whole() == before).all()
    shape.write()
    np.testing.assert_allclose(shape.whole(), before, rtol=0, atol=1e-12 * abs(before).max())


@pytest.mark.parametrize("kind", [IELLIP, AROW, SecondOrderPerceptron])
def test_what_cannot_be_is_said_of_learners_with_a_shape(kind, monkeypatch):
    with pytest.raises(ValueError, match="device must be one of"):
        kind(device="gpu", **RBF).partial_fit(X[:5], y[:5])
    monkeypatch.setattr(device, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"ellipsoid\[cuda12\]"):
        kind(device="cuda", **RBF).partial_fit(X[:5], y[:5])
    assert kind(device="auto", **RBF).partial_fit(X[:50], y[:50])._core.table.device is None
    _numpy(monkeypatch)
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
    monkeypatch.setattr(kernel_table, "LARGE_SHAPE", 1024)
    for start in (MIRA(**RBF), *SHAPED):
        model = on(start)
        with pytest.raises(MemoryError, match=r"no memory left for .* support patterns of 12 features"):
            model.partial_fit(X, y)
        assert 0 < model.t_ < len(y)
        rest = model.set_params(device="cpu").partial_fit(X[model.t_ :], y[model.t_ :])
        assert rest.updates_ == copy.deepcopy(start).partial_fit(X, y).updates_
    with pytest.raises(MemoryError, match=r"no memory left for the matrix of 100 update examples"):
        DeviceShape(Full(), np.eye(100))
