"""Kernel learners: any cutting of a stream gives the same model, to the last bit, also where examples come again."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from ellipsoid import ALMA, MIRA, ROMMA, OnlineSVM, PassiveAggressive, Perceptron, load
from ellipsoid.estimators.state import expansion as blocks

RBF = {"kernel": "rbf", "gamma": 0.4}
LEARNERS = {
    "MIRA": MIRA(margin=0.3, **RBF),
    "PA, averaged": PassiveAggressive(average=True, kernel="poly", gamma=0.3, degree=2),
    "voted": Perceptron(margin=5.0, average="vote", **RBF),
    "ROMMA": ROMMA(aggressive=True, average=True, **RBF),
    "ALMA": ALMA(**RBF),
    "PA in a budget": PassiveAggressive(budget=20, **RBF),
    "OnlineSVM": OnlineSVM(window=7, average=True, **RBF),
}
LATE = "labels that come late"
RNG = np.random.default_rng(5)
X = RNG.normal(size=(90, 4))
Y = (X[:, 0] * X[:, 1] > 0).astype(int) + 2 * (X[:, 2] > 0.5)
STREAMS = {
    "again and again": RNG.integers(0, 8, 200),
    "some again": RNG.integers(0, 70, 200),
    "three passes": np.tile(np.arange(70), 3),
    LATE: np.concatenate([np.flatnonzero(Y < 2)[:30], np.flatnonzero(Y < 3)[:50], np.arange(90)]),
}


@pytest.fixture(autouse=True, scope="module")
def small_blocks():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "SCORED_AHEAD", 32)
        yield


# A third label turns one function into two; some learners are enough to try that.
CASES = [
    (name, stream) for name in LEARNERS for stream in STREAMS if stream != LATE or name in ("MIRA", "ALMA", "OnlineSVM")
]


@pytest.mark.gate("MIRA", "PA in a budget")
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize(("name", "stream"), CASES)
@settings(max_examples=3)
@given(data=st.data())
def test_a_stream_cut_saved_and_resumed_gives_the_same_model(name, stream, kind, data, state, tmp_path_factory):
    picks = STREAMS[stream]
    rows, labels = (X[picks] if kind == "dense" else sp.csr_matrix(X[picks])), Y[picks]
    classes = None if stream == LATE else range(4)
    whole = clone(LEARNERS[name]).partial_fit(rows, labels, classes=classes)
    assert whole.updates_ > 8
    ends = data.draw(st.lists(st.sampled_from([1, 31, 32, 33, 64, 65, 100, 149, 165]), min_size=1, unique=True))
    path = tmp_path_factory.mktemp("cut") / "model"
    model, begin = clone(LEARNERS[name]), 0
    for end in [*sorted(ends), len(picks)]:
        if end == begin + 1 > 1 and kind == "dense":
            model.learn_one(rows[begin], labels[begin])
        else:
            model.partial_fit(rows[begin:end], labels[begin:end], classes=classes)
        begin = end
        model.save(path)
        model = load(path)
    assert state(model) == state(whole)


def measured(A, B):
    """Not symmetric, and the same for a pair of rows in whatever matrices they come."""
    distances = sum(np.abs(A[:, j : j + 1] - B[:, j]) for j in range(A.shape[1]))
    return (1.0 + 0.1 * A[:, :1]) / (1.0 + distances)


def spread_out(zeros):
    """Rows near the origin and, ten by ten, so far from it that their Gaussians are made from differences."""
    rows, levels = np.zeros((90, 70)), np.array([1.0, 30.0, 1000.0])[np.arange(90) // 10 % 3]
    rows[:, :4] = X
    rows[:, 4 if zeros else slice(4, 70)] = levels if zeros else levels[:, None] / 8.0
    return rows


def wide(X):
    """Sparse rows of more features than are laid out."""
    rows = sp.lil_matrix((len(X), 9000))
    rows[:, [0, 17, 4000, 8999]] = X
    return rows.tocsr()


GIVEN = measured(X, X)
OTHERS = {
    "precomputed": (GIVEN, {"kernel": "precomputed"}),
    "function": (X, {"kernel": measured}),
    "wide, Gaussian": (wide(X), {"kernel": "rbf", "gamma": 0.4}),
    "wide, power": (wide(X), {"kernel": "poly", "gamma": 0.3, "degree": 2}),
    "wide, dense": (wide(X).toarray() + np.linspace(0.0, 0.01, 9000), {"kernel": "rbf", "gamma": 0.4}),
    "far": (spread_out(zeros=False), {"kernel": "rbf", "gamma": 0.7}),
    "far, with zeros": (spread_out(zeros=True), {"kernel": "rbf", "gamma": 0.7}),
}


@pytest.mark.gate("MIRA")
@pytest.mark.parametrize("learner", ["MIRA", "PA in a budget", "OnlineSVM"])
@pytest.mark.parametrize("name", OTHERS)
def test_values_depend_on_their_two_rows_alone_in_every_kind_of_kernel(name, learner, state, tmp_path):
    rows, kernel = OTHERS[name]
    # Rows of given values must come in the order of their columns, pass after pass.
    picks = (
        np.tile(np.arange(90), 2) if name == "precomputed" else np.concatenate([np.arange(90), STREAMS["some again"]])
    )
    fresh = clone(LEARNERS[learner]).set_params(**kernel)
    passes = [picks[:90], picks[90:]] if name == "precomputed" else [picks]
    whole = clone(fresh)
    for part in passes:
        whole.partial_fit(rows[part], Y[part], classes=range(4))
    assert whole.updates_ > 60
    for cuts in ([1, 47, 90], [33, 39, 61, 68, 90, 96, 165]):
        model = clone(fresh)
        for part in np.split(picks, cuts):
            model.partial_fit(rows[part], Y[part], classes=range(4))
            if name != "function":
                model.save(tmp_path / "model")
                model = load(tmp_path / "model")
        assert state(model) == state(whole)


def test_an_update_of_its_own_is_summed_by_itself_until_the_grid_has_moved_on():
    """Sums in another order would differ in their last bits: the order is that of rounds, and known to the file."""
    model = MIRA(margin=0.3, **RBF).partial_fit(X, Y).partial_fit(X, Y)
    delayed = model._core.table.delayed
    slots, moved = delayed.updates(4)
    assert model.t_ == 180
    assert delayed.log.when[0] > 128  # the beginning of the block before that of the last row, 160
    coef = np.zeros((len(model.support_vectors_), 4))
    coef[: delayed.settled] = delayed.base[: delayed.settled, :4]
    assert len(slots) > len(np.unique(slots)) or (coef[slots] != 0.0).any()
    for slot, change in zip(slots, moved, strict=True):
        coef[slot] += change
    assert coef.T.tobytes() == model.dual_coef_.tobytes()


@pytest.mark.parametrize("name", ["MIRA", "PA in a budget", "OnlineSVM"])
def test_a_file_between_features_that_come_later_changes_no_bit(name, tmp_path):
    """Norms are made when a row comes and again when it is read from a file, which has the features of today."""
    rng = np.random.default_rng(9)
    rows, labels = rng.normal(size=(60, 13)), rng.integers(0, 2, 60)
    straight = clone(LEARNERS[name]).set_params(grow_features=True)
    saved = clone(straight)
    for begin, width in zip(range(0, 60, 6), (1, 2, 3, 5, 7, 9, 11, 12, 13, 13), strict=True):
        part = slice(begin, begin + 6)
        for model in (straight, saved):
            model.partial_fit(rows[part, :width], labels[part], classes=[0, 1] if begin == 0 else None)
        saved.save(tmp_path / "model")
        saved = load(tmp_path / "model")
    assert straight.decision_function(rows).tobytes() == saved.decision_function(rows).tobytes()
    assert straight.certificates() == saved.certificates()
