"""Blocks scored while the loop runs over the one before: the same model, in as many threads as there are."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest

from ellipsoid import MIRA, Perceptron
from ellipsoid.engine.native.counter import take_number
from ellipsoid.estimators.state import expansion as blocks
from ellipsoid.representation.kernel import expansion, threads
from ellipsoid.representation.kernel import prefetch as forerun

RNG = np.random.default_rng(8)
X = RNG.normal(size=(330, 4))
Y = (X[:, 0] * X[:, 1] > 0).astype(int) + 2 * (X[:, 2] > 0.5)


@pytest.fixture
def begun(monkeypatch):
    """Three threads for every product; returns the blocks that were begun."""
    noted = []

    class Counted(forerun.BlockPrefetch):
        def __init__(self, table, block, *args):
            noted.append(len(block.norms))
            super().__init__(table, block, *args)

    monkeypatch.setattr(blocks, "SCORED_AHEAD", 40)
    monkeypatch.setattr(forerun, "BlockPrefetch", Counted)
    for module in (threads, forerun):
        monkeypatch.setattr(module, "threads_for", lambda count, effort: 3)
    return noted


@pytest.mark.parametrize("average", [False, True])
def test_a_block_scored_meanwhile_makes_the_same_model_to_the_last_bit(begun, average, monkeypatch):
    def model():
        return MIRA(margin=0.3, kernel="rbf", gamma=0.4, average=average).partial_fit(X, Y, classes=range(4))

    found = model()
    assert begun == [40] * 6 + [10]
    monkeypatch.setattr(forerun, "threads_for", lambda count, effort: 1)
    monkeypatch.setattr(threads, "threads_for", lambda count, effort: 1)
    plain = model()
    assert len(begun) == 7
    assert np.array_equal(found.dual_coef_, plain.dual_coef_)
    assert np.array_equal(found.support_vectors_, plain.support_vectors_)
    assert np.array_equal(found.decision_function(X), plain.decision_function(X))
    assert found._core.table.numbers.tolist() == plain._core.table.numbers.tolist()


def test_examples_met_again_are_counted_in(begun, monkeypatch):
    """Their rows of coefficients change while the next block is scored with the old ones."""
    again = RNG.integers(0, 60, 330)

    def model(learner=MIRA):
        return learner(margin=0.5, kernel="rbf", gamma=0.4).partial_fit(X[again], Y[again], classes=range(4))

    found, steps = model(), model(Perceptron)
    assert found.updates_ > len(found.support_vectors_) > 0
    assert begun
    for module in (threads, forerun):
        monkeypatch.setattr(module, "threads_for", lambda count, effort: 1)
    assert model().dual_coef_.tobytes() == found.dual_coef_.tobytes()
    monkeypatch.setattr(blocks, "SCORED_AHEAD", 1)
    plain = model(Perceptron)
    assert plain.updates_ == steps.updates_
    np.testing.assert_allclose(steps.dual_coef_, plain.dual_coef_, rtol=0, atol=1e-12)


def test_a_number_is_claimed_once():
    @numba.njit(nogil=True)
    def take(counter, taken):
        while True:
            number = take_number(counter)
            if number >= taken.shape[0]:
                return
            taken[number] += 1

    counter, taken = np.zeros(1, dtype=np.int64), np.zeros(200_000, dtype=np.int64)
    take(np.array([1]), taken[:1])
    others = threads.aside(lambda: take(counter, taken), 4)
    take(counter, taken)
    for other in others:
        other.result()
    assert (taken == 1).all()
    assert take_number(counter) == 200_004


@pytest.mark.parametrize("zeros", [0.0, 0.8])
def test_a_model_may_be_asked_by_several_threads_at_once(zeros):
    """What is kept from call to call, and a new copy has not made yet, is made once."""
    wide = RNG.normal(size=(300, 80))
    wide[RNG.random(wide.shape) < zeros] = 0.0
    model = MIRA(margin=0.3, kernel="rbf", gamma=0.02, average=True).partial_fit(wide, Y[:300])
    expected = model.decision_function(wide)
    for copied in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        with ThreadPoolExecutor(4) as pool:
            found = pool.map(lambda count, copied=copied: copied.decision_function(wide[:count]), [300, 3] * 10)
            assert all(np.array_equal(scores, expected[: len(scores)]) for scores in found)


def test_a_model_that_is_asked_while_it_learns_learns_the_same(begun, monkeypatch):
    """Between two blocks: what was picked of the averages must not be taken for coefficients."""

    plain, found = (
        MIRA(margin=0.3, kernel="rbf", gamma=0.4, average=True).partial_fit(X[:40], Y[:40], classes=range(4))
        for _ in range(2)
    )
    plain.partial_fit(X[40:], Y[40:])
    asked = []

    class Asked(forerun.BlockPrefetch):
        def finish(self, following):
            asked.append(found.decision_function(X[:3]))
            return super().finish(following)

    monkeypatch.setattr(forerun, "BlockPrefetch", Asked)
    found.partial_fit(X[40:], Y[40:])
    assert len(asked) == 7
    assert np.array_equal(found.dual_coef_, plain.dual_coef_)


def test_a_model_may_be_asked_before_all_of_a_block_is_stored(monkeypatch):
    """Patterns come before their coefficients, and these before what averages need."""
    model, answers = MIRA(margin=0.3, kernel="rbf", gamma=0.4, average=True), []
    model.partial_fit(X[:100], Y[:100], classes=range(4))
    store = expansion.add_to

    def ask_and_store(coef, slots, moved):
        answers.append(model.decision_function(X[:3]))
        store(coef, slots, moved)

    monkeypatch.setattr(expansion, "add_to", ask_and_store)
    model.partial_fit(X[100:], Y[100:])
    assert len(answers) == 2
    assert all(np.isfinite(answer).all() for answer in answers)
