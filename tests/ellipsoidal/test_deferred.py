"""The column form puts off half of an update where B stays: the run must not show it, by numbers or by bits."""

import numpy as np
import pytest
import scipy.sparse as sp

import ellipsoid
from ellipsoid import IELLIP
from ellipsoid.ellipsoids.forms.column import FEATURES_AT_ONCE, LONG_COLUMN, ROWS_AHEAD
from ellipsoid.ellipsoids.state import DEFERRED

PARAMETERS = {"c": 0.1, "b": 0.3, "margin": 0.5, "trigger": "margin"}


def stream(width=LONG_COLUMN, loud=200, calm=300, seed=0):
    """Rows in general position, half of them mislabelled, then one row again and again: updates often, then never."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(loud, width)) / np.sqrt(width)
    y = np.where((X[:, 0] > 0) ^ (rng.random(loud) < 0.5), 1, 0)
    y[:2] = 0, 1
    return np.vstack([X, np.tile(X[-1], (calm, 1))]), np.concatenate([y, np.full(calm, y[-1])])


def deferred(model):
    table = model._core.table
    assert table.form.name == "column"
    return bool(table.numbers[DEFERRED])


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "mixed"])
def test_every_round_is_that_of_the_matrix(dense, average, sparse):
    X, y = stream(loud=150, calm=60)
    model = IELLIP(**PARAMETERS, fit_intercept=False, average=average)
    truth = dense.run(model, X, np.where(y == 1, 1, -1).tolist())
    sums, states, changes = np.zeros(LONG_COLUMN), [False], 0
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        # The first chunk chooses the table; sparse rows may come later.
        rows = sp.csr_matrix(x[None]) if sparse and t % 3 == 2 else x[None]
        model.partial_fit(rows, [label], classes=[0, 1])
        sums += truth[t].w
        want = sums / (t + 1) if average else truth[t].w
        np.testing.assert_allclose(model.coef_[0], want, rtol=0, atol=1e-12 * max(1.0, np.abs(truth[t].w).max()))
        np.testing.assert_allclose(model.decision_function(X[:5]), X[:5] @ want, rtol=0, atol=1e-11)
        changes += deferred(model) != states[-1]
        states.append(deferred(model))
    assert True in states
    assert not states[-1]
    assert changes == 2


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("width", [LONG_COLUMN, FEATURES_AT_ONCE + 100])
def test_chunks_leave_no_trace(width, average, tmp_path):
    """Nor does a file between two rows, while something is owed and after it was paid."""
    X, y = stream(width)
    whole = IELLIP(**PARAMETERS, average=average).partial_fit(X, y, classes=[0, 1])
    for sizes in ([1], [ROWS_AHEAD + 1, 2], [199, 3, 1]):
        model, start, k, owing = IELLIP(**PARAMETERS, average=average), 0, 0, 0
        while start < len(y):
            stop = start + sizes[k % len(sizes)]
            model.partial_fit(X[start:stop], y[start:stop], classes=[0, 1])
            owing += deferred(model)
            if k % 40 == 20 or start == 199:
                model.save(tmp_path / "m")
                model = ellipsoid.load(tmp_path / "m")
            start, k = stop, k + 1
        assert owing
        assert not deferred(model)
        for found, want in zip(model._core.table.state(1).items(), whole._core.table.state(1).items(), strict=True):
            if not found[0].startswith("form_"):
                assert (found[0], found[1].tobytes()) == (want[0], want[1].tobytes()), found[0]
        assert model.coef_.tobytes() == whole.coef_.tobytes()


def test_rows_in_another_order_are_foreseen_one_by_one():
    """A pass in an order of its own is a pass over rows laid in that order."""
    X, y = stream(loud=150, calm=0)
    order = np.random.RandomState(5).permutation(len(y))
    laid = IELLIP(**PARAMETERS).partial_fit(X[order], y[order], classes=[0, 1])
    drawn = IELLIP(**PARAMETERS, n_epochs=1, shuffle=True, random_state=5).fit(X, y)
    assert deferred(drawn)
    assert drawn.coef_.tobytes() == laid.coef_.tobytes()


def test_reading_changes_nothing():
    X, y = stream(calm=0)
    model, other = IELLIP(**PARAMETERS), IELLIP(**PARAMETERS)
    for t in range(len(y)):
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=[0, 1])
        other.partial_fit(X[t : t + 1], y[t : t + 1], classes=[0, 1])
        if t % 7 == 0:
            other.predict(X[:20]), other.coef_, other.certificates(), other.predict_one(X[t])
    assert deferred(model)
    assert model.coef_.tobytes() == other.coef_.tobytes()


def test_a_wider_row_and_a_third_label_meet_deferred_updates(dense):
    X, y = stream(calm=0)
    wide = np.hstack([X, np.zeros((len(y), 10))])
    model = IELLIP(**PARAMETERS, fit_intercept=False).partial_fit(X, y)
    assert deferred(model)
    before = model.coef_.copy()
    model._core.table.reserve(1, LONG_COLUMN + 10)
    assert deferred(model)
    assert model._core.table.weights(1, 0)[0, 1 : 1 + LONG_COLUMN].tobytes() == before[0].tobytes()
    model = IELLIP(**PARAMETERS, fit_intercept=False).partial_fit(wide, y)
    score = model.decision_function(wide[:9])
    model._core.add_label(2)
    assert not model._core.table.numbers[DEFERRED]
    scores = model.decision_function(wide[:9])
    np.testing.assert_allclose(scores[:, 1] - scores[:, 0], score, rtol=0, atol=1e-12)


def test_a_file_with_incomplete_deferred_updates_is_refused():
    X, y = stream(calm=0)
    table = IELLIP(**PARAMETERS).partial_fit(X, y, classes=[0, 1])._core.table
    arrays = table.state(1)
    table.check(arrays, "column")
    without = {name: array for name, array in arrays.items() if name != "form_debt"}
    with pytest.raises(ValueError, match="its deferred updates are incomplete"):
        table.check(without, "column")
    arrays["form_debt"] = arrays["form_debt"][:, :-1]
    with pytest.raises(ValueError, match="debt"):
        table.check(arrays, "column")
