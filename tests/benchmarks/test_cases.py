"""Every kind of job once, on rows few enough to show only that it runs."""

import numpy as np
import pytest
from benchmarks import changing, data, dense_iellip, growth, harness, iellip, kernels, peers, single
from sklearn.datasets import load_digits

from ellipsoid import PassiveAggressive
from ellipsoid.estimators import LEARNERS

ONCE = harness.Effort(repeats=1, seconds=0.0, least=1)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return data.Data("digits", X[:300], y[:300], X[300:], y[300:])


@pytest.fixture(scope="module")
def parity(digits):
    return digits._replace(y=2 * (digits.y % 2) - 1, y_test=2 * (digits.y_test % 2) - 1)


def learned(contender):
    if contender.unavailable:
        pytest.skip(contender.unavailable)
    return contender.error(contender.job(contender.setup()))


@pytest.mark.parametrize(
    "contender",
    [
        lambda rows: peers.epoch("ours", PassiveAggressive, rows),
        lambda rows: peers.epoch("ours, second pass", PassiveAggressive, rows, before=1),
        lambda rows: peers.epoch("scikit-learn", peers.sklearn_pa, rows),
        lambda rows: peers.vowpal_wabbit(rows, bits=18),
        peers.river_multiclass,
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_multiclass_contender_learns_digits(contender, digits):
    assert learned(contender(digits)) < 0.3


@pytest.mark.parametrize(
    "contender",
    [
        lambda rows: peers.epoch("ours", PassiveAggressive, rows),
        lambda rows: peers.vowpal_wabbit(rows, bits=18),
        peers.river_binary,
        lambda rows: peers.olpy_epoch(rows, "PA_I"),
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_binary_contender_learns_parity(contender, parity):
    assert learned(contender(parity)) < 0.3


def test_one_row_cases_compare():
    for case in (single.one_example(data.made(30, 50)), single.one_row(data.made(30, 50))):
        found = harness.compare(case, ONCE)
        assert found["rows"] == 30
        assert found["ours"]["wall_min"] > 0


def test_committees_and_regressors_compare():
    rows = data.made(30, changing.WIDTH)
    for case in (changing.beside_river(rows), changing.one_by_one(rows), changing.numbers(30), changing.intervals(30)):
        assert harness.compare(case, ONCE)["rows"] == 30
    for found in (changing.beside_members(rows, ONCE, quick=True), changing.two_threads(rows, ONCE)):
        assert found.get("value", 1.0) > 0


def test_growth_has_a_point_for_every_size():
    found = growth.fitted("toy", "", [8, 16, 32], lambda d: data.made(40, d, classes=3), PassiveAggressive, ONCE)
    assert list(found["details"]["seconds"]) == ["8", "16", "32"]


def test_one_read_reads_every_number():
    X = np.arange(12.0).reshape(3, 4)
    assert data.read_once(X) == X.sum()


def test_thrifty_dense_matrix_is_the_dense_matrix(digits):
    X, y = digits.X[:60] / 16.0, digits.y[:60].astype(np.int64)
    runs = [dense_iellip.learn(X, y, 10, c=0.1, b=0.3, thrifty=thrifty) for thrifty in (False, True)]
    assert (runs[0].mistaken == runs[1].mistaken).all()
    np.testing.assert_allclose(runs[0].W, runs[1].W, rtol=0, atol=1e-9 * abs(runs[0].W).max())


def test_dense_update_ends_on_the_margin():
    x, y = np.array([[0.6, 0.8, 0.0]]), np.array([1])
    run = dense_iellip.learn(x, y, 2, c=0.5, b=0.5)
    assert run.mistaken.all()
    assert (run.W[1] - run.W[0]) @ x[0] == pytest.approx(1.0, abs=1e-14)


@pytest.mark.skipif("IELLIP" not in LEARNERS, reason="there is no learner IELLIP yet")
def test_we_and_the_dense_matrix_make_the_same_mistakes(digits):
    small = digits._replace(X=digits.X[:60, 16:32] / 16.0, y=digits.y[:60], X_test=digits.X_test[:, 16:32] / 16.0)
    assert "the same" in harness.compare(iellip.beside_dense(small, quick=True), ONCE)["agreement"]


@pytest.mark.long
def test_one_by_one_makes_the_updates_of_the_blocks(digits):
    settings = {"kernel": "rbf", "gamma": 0.002}
    found = kernels.learned(digits, settings)
    assert kernels.stretches(found, count=3)[2] == 0
    assert kernels.stretches(found, kernels.one_by_one.Regrouped, count=3)[2] == 0
    kernels.products(found, np.empty(300 * 1024), 1024)
    kernels.kernel_values(found, 100)
    assert found.values == sum((stop - start) * used for start, stop, used in found.blocks)
