"""What a call leaves that is broken off on a device, by an interrupt or a full memory: a model of whole rows."""

import copy
from contextlib import suppress

import numpy as np
import pytest

from ellipsoid import AROW, MIRA
from ellipsoid.ellipsoids.shapes import device as device_shape
from ellipsoid.ellipsoids.shapes.device import DeviceShape
from ellipsoid.ellipsoids.tables import kernel as kernel_table
from ellipsoid.representation.kernel import device

from .conftest import CLASSES, RBF, X, agree, on, put_numpy_in_place, y


def test_a_row_whose_step_failed_on_the_device_was_never_there(on_device, monkeypatch):
    model, twin = (on(AROW(**RBF)).partial_fit(X[:60], y[:60], CLASSES) for _ in range(2))
    calls = []

    def failing(self, rows, real=DeviceShape.times):
        calls.append(1)
        if len(calls) == 40:
            raise MemoryError("no memory on the device")
        return real(self, rows)

    monkeypatch.setattr(DeviceShape, "times", failing)
    with pytest.raises(MemoryError):
        model.partial_fit(X[60:180], y[60:180])
    assert 60 < model.t_ < 180
    assert model.updates_ - twin.updates_ == 39
    twin.partial_fit(X[60 : model.t_], y[60 : model.t_])
    agree(twin, model)
    agree(twin.partial_fit(X[model.t_ :], y[model.t_ :]), model.partial_fit(X[model.t_ :], y[model.t_ :]))


def test_an_error_in_mid_block_leaves_the_model_that_was(on_device, monkeypatch):
    model, twin = (on(MIRA(**RBF)).partial_fit(X[:60], y[:60], CLASSES) for _ in range(2))
    calls = []

    def failing(self, *args, real=device.DevicePatterns.sums_of):
        calls.append(1)
        if len(calls) == 4:
            raise MemoryError("no memory on the device")
        return real(self, *args)

    monkeypatch.setattr(device.DevicePatterns, "sums_of", failing)
    with pytest.raises(MemoryError):
        model.partial_fit(X[60:180], y[60:180])
    monkeypatch.undo()
    if "cuda" not in str(type(model._core.table.device.arrays)):
        put_numpy_in_place(monkeypatch)
    assert 60 <= model.t_ < 180
    twin.partial_fit(X[60 : model.t_], y[60 : model.t_]) if model.t_ > 60 else None
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
        model = on(AROW(**RBF)).partial_fit(X[:20], y[:20], CLASSES)
        interrupt.left = n
        try:
            model.partial_fit(X[20:110], y[20:110])
        except KeyboardInterrupt:
            broken += model.t_ > 20
        else:
            break
        finally:
            interrupt.left = 0
        twin = AROW(**RBF).partial_fit(X[: model.t_], y[: model.t_], CLASSES)
        agree(twin, model)
        np.testing.assert_allclose(model._core.table.S(), twin._core.table.S(), rtol=0, atol=1e-12)
        agree(twin.partial_fit(X[110:150], y[110:150]), model.partial_fit(X[110:150], y[110:150]))
    assert broken, "behind a block that was learned"


@pytest.mark.parametrize("step", ["_allocate", "_bound", "S"])
def test_an_interrupt_while_a_shape_leaves_the_device_leaves_it_whole(step, on_device, monkeypatch):
    model = on(AROW(**RBF)).partial_fit(X[:90], y[:90], CLASSES)
    rows, expected = X[90:110], AROW(**RBF).partial_fit(X[:90], y[:90], CLASSES).confidence(X[90:110])
    interrupt, broken = _Interrupt(monkeypatch, kernel_table.KernelTable, step, late=True), 0
    model.set_params(device="cpu")
    while model._core.table.shape is not None:
        broken += 1
        interrupt.left = broken
        with suppress(KeyboardInterrupt):
            model.confidence(rows)
    interrupt.left = 0
    assert broken > 1
    np.testing.assert_allclose(model.confidence(rows), expected, rtol=0, atol=1e-9)


def test_to_read_a_shape_on_the_device_does_not_change_it_even_if_broken_off(on_device, monkeypatch, tmp_path):
    monkeypatch.setattr(device_shape, "STRIP", 8)
    model, twin = on(AROW(**RBF)), AROW(**RBF).partial_fit(X[:90], y[:90], CLASSES)
    for begin in range(0, 90, 30):
        model.partial_fit(X[begin : begin + 30], y[begin : begin + 30], CLASSES)
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
