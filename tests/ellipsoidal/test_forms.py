"""What every form of the shape owes its table, whatever arrays it is made of."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone

from ellipsoid import AROW, IELLIP
from ellipsoid.ellipsoids.state import LOG_SCALE
from ellipsoid.ellipsoids.tables.table import FORMS

NAMES = {"column": "column", "product": "product", "gram": "gram", "full": "dense", "sparse": "auto"}
# Only learners with a confidence keep a sketch; one that is large enough gives up nothing.
MODELS = {
    **{name: IELLIP(c=0.4, b=0.6, shape=shape, grow_features=True) for name, shape in NAMES.items()},
    "sketch": AROW(shape="sketch", size=50, grow_features=True),
}
every_form = pytest.mark.parametrize("name", FORMS)
tasks = pytest.mark.parametrize("classes", [2, 4])


def learned(name, classes, d=6):
    """A table in this form, after fifty rows."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(50, d)) * (rng.random((50, d)) < 0.7)
    y = (X @ rng.normal(size=(d, classes))).argmax(axis=1)
    rows = sp.csr_matrix(X) if name == "sparse" else X
    table = clone(MODELS[name]).partial_fit(rows, y, classes=range(classes))._core.table
    assert table.form_name == name
    assert table.form.stored > 3
    return table


def shape_of(table):
    """B as a matrix."""
    return table.ellipsoid().shape_matrix() * np.exp(-table.numbers[LOG_SCALE])


@every_form
@tasks
def test_shape_takes_the_preimage_to_the_weights(plain, name, classes):
    table = learned(name, classes)
    assert_allclose(shape_of(table) @ table.preimage().ravel(), table.weights(table.scores, 0).ravel(), atol=1e-12)


@every_form
@tasks
def test_new_features_and_functions_leave_the_old_block_alone_and_begin_as_the_identity(plain, name, classes):
    table = learned(name, classes)
    before, functions, columns = shape_of(table), *table.extent
    table.reserve(5, table.width + 3)
    after = shape_of(table).reshape(5, columns + 3, 5, columns + 3)
    expected = np.eye(5 * (columns + 3)).reshape(after.shape)
    expected[:functions, :columns, :functions, :columns] = before.reshape(functions, columns, functions, columns)
    assert_allclose(after, expected, atol=1e-14)


@every_form
def test_two_opposite_functions_give_the_scores_and_widths_of_one(plain, name):
    table = learned(name, 2)
    rows = np.random.default_rng(6).normal(size=(20, 1 + table.width))
    score, width = rows @ table.weights(1, 0)[0], table.ellipsoid().width(rows)
    table.split(0.5)
    pairs = np.concatenate([-rows, rows], axis=1)
    low, high = table.weights(2, 0)
    assert_allclose(rows @ (high - low), score, atol=1e-12)
    # The direction is sqrt(2) times as long.
    assert_allclose(table.ellipsoid().width(pairs), np.sqrt(2.0) * width, rtol=1e-12)


@every_form
@tasks
def test_arrays_of_other_shapes_are_refused(plain, name, classes):
    table = learned(name, classes)
    arrays = table.state(table.scores)
    table.check(arrays, name)
    assert {key.removeprefix("form_") for key in arrays if key.startswith("form_")} == set(table.form.arrays)
    for key in arrays:
        if key.startswith("form_"):
            for axis in range(arrays[key].ndim):
                if (name, key, axis) == ("sparse", "form_Z", 0):
                    continue  # there may be room for any number of features
                with pytest.raises(ValueError, match="its array"):
                    table.check({**arrays, key: np.delete(arrays[key], -1, axis)}, name)
