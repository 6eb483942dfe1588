"""Lazy factors: an update writes the features of its row and no others, and tables survive growth and files."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from ellipsoid import ALMA, ROMMA
from ellipsoid.representation.scaled.tables import PowerTable, ScaledTable

MODELS = [ROMMA(average=True), ROMMA(aggressive=True), ALMA(average=True), ALMA(p=5, average=True)]


def stream(n=300, width=400, classes=3):
    """Sparse rows of equal length, a dozen features each, that some weights separate."""
    rng = np.random.default_rng(1)
    X = normalize(sp.random(n, width, density=0.03, random_state=rng, format="csr"))
    return X, np.argmax(X @ rng.normal(size=(width, classes)), axis=1)


@pytest.mark.interpreted
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_an_update_touches_the_features_of_its_row_only(model):
    X, y = stream()
    model = type(model)(**{**model.get_params(), "fit_intercept": False})
    model.partial_fit(X[:200], y[:200], classes=range(3))
    seen = 0
    for t in range(200, 300):
        before, updates = model._core.table.state(3), model.updates_
        model.partial_fit(X[t : t + 1], y[t : t + 1])
        after = model._core.table.state(3)
        # Updates 256 and 512 sum the norm afresh, which reads every weight and writes none.
        outside = np.setdiff1d(np.arange(1 + X.shape[1]), 1 + X.indices[X.indptr[t] : X.indptr[t + 1]])
        for name in after.keys() & {"W", "U", "V"}:
            assert (after[name][:, outside] == before[name][:, outside]).all(), name
        if model.updates_ > updates:
            seen += 1
            assert (after["W"] != before["W"]).any()
            assert after["numbers"].tobytes() != before["numbers"].tobytes()
        else:
            assert after["W"].tobytes() == before["W"].tobytes()
    assert seen > 10


@pytest.mark.parametrize("by_class", [True, False])
@pytest.mark.parametrize("average", [True, False])
def test_what_a_table_gives_it_takes_back(by_class, average):
    tables = [PowerTable(by_class=by_class, average=average, power=3.0) for _ in range(2)]
    rng = np.random.default_rng(0)
    first, second = tables
    first.reserve(2, 3)
    for array in (first.W, first.V, *([first.U] if average else [])):
        # Only what is in use: room to spare is zero.
        used = (array if by_class else array.T)[:2]
        used[...] = rng.normal(size=used.shape)
    first.numbers[[0, 3, 4]] = 0.5, 2.0, 0.25
    first.reserve(4, 9)
    second.reserve(4, 9)
    second.restore(first.state(4))
    for mine, theirs in ((first.weights(4, 5), second.weights(4, 5)), (first.dual(4), second.dual(4))):
        assert mine.shape == (4, 10)
        assert (mine == theirs).all()
    assert first.dual(4)[:2, :4].any()
    assert not first.dual(4)[2:].any()


@pytest.mark.parametrize(
    "damage", [{"numbers": np.zeros(3)}, {"numbers": np.full(16, np.nan)}, {"numbers": np.zeros(16)}], ids=str
)
def test_numbers_that_cannot_be_are_refused(damage):
    table = ScaledTable(by_class=True, average=False)
    table.reserve(1, 2)
    with pytest.raises(ValueError, match="numbers"):
        table.restore({**table.state(1), **damage})
