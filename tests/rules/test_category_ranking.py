"""Label sets: what a step of the additive learners promises to every pair of a right and a wrong label.

Steps are taken by the functions of the rules themselves, without compiling them; the last tests run learners.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from ellipsoid import (
    ALMA,
    MIRA,
    ROMMA,
    EllipsoidClassifier,
    OnlineEllipsoidalSVC,
    OnlineSVM,
    PassiveAggressive,
    Perceptron,
    QuasiAdditive,
    Scaled,
    Winnow,
    load,
)
from ellipsoid.engine.protocol import SCORES, TAU, WHO, WORK_ROWS, share_sets
from ellipsoid.rules import category_ranking  # noqa: F401 (it registers the rules for label sets)
from ellipsoid.rules.blame import MAX, PROPORTIONAL, UNIFORM
from ellipsoid.rules.mira import MIRARule
from ellipsoid.rules.passive_aggressive import PassiveAggressiveRule
from ellipsoid.rules.perceptron import PerceptronRule

numbers = st.one_of(st.integers(-3, 3).map(float), st.floats(-50.0, 50.0).map(lambda v: round(v, 6)))
energies = st.floats(0.05, 40.0).map(lambda v: round(v, 6))
margins = st.sampled_from([0.01, 1.0, 30.0])


@st.composite
def rounds(draw):
    """Scores, and which labels are right: some, not all."""
    scores = draw(st.lists(numbers, min_size=2, max_size=8))
    right = draw(
        st.lists(st.booleans(), min_size=len(scores), max_size=len(scores)).filter(lambda s: 0 < sum(s) < len(s))
    )
    return np.array(scores), np.array(right)


def tau_of(rule, scores, right, energy):
    """The moves of a rule as one vector."""
    work = np.zeros((WORK_ROWS, 2 * len(scores)))
    work[SCORES, : len(scores)] = scores
    moves = share_sets(rule, len(scores), right[np.newaxis].astype(np.uint8), 0, energy, work)
    tau = np.zeros(len(scores))
    tau[work[WHO, :moves].astype(int)] = work[TAU, :moves]
    assert moves == 0 or right[int(work[WHO, 0])]
    return tau


def gap(scores, right):
    return scores[right].min() - scores[~right].max()


@given(rounds(), st.sampled_from([UNIFORM, MAX, PROPORTIONAL]), st.sampled_from([0.0, 0.5, 30.0]))
def test_the_perceptron_moves_pairs_in_the_wrong_order_by_one_in_all(situation, sharing, margin):
    scores, right = situation
    tau = tau_of(PerceptronRule(sharing, margin, 1.0), scores, right, 1.0)
    if gap(scores, right) > margin:
        assert not tau.any()
        return
    assert (tau[right] >= 0.0).all()
    assert (tau[~right] <= 0.0).all()
    assert tau[right].sum() == pytest.approx(1.0)
    assert tau[~right].sum() == pytest.approx(-1.0)
    assert tau @ tau <= 2.0 + 1e-12
    # None moves that is in the right order with all of the other kind.
    assert (scores[right & (tau != 0.0)] - margin <= scores[~right].max()).all()
    assert (scores[~right & (tau != 0.0)] >= scores[right].min() - margin).all()
    # What a step gains is at most the margin, mean over its pairs.
    assert tau @ scores <= margin + 1e-9


@given(rounds(), energies, margins)
def test_mira_is_the_smallest_move_that_ranks_them(situation, energy, margin):
    """Karush, Kuhn and Tucker: a threshold on each side, apart by the margin, or by less after a whole step."""
    scores, right = situation
    tau = tau_of(MIRARule(margin), scores, right, energy)
    room = 1e-9 * (1.0 + np.abs(scores).max() + margin)
    after, whole = scores + energy * tau, tau[right].sum()
    assert abs(tau.sum()) * energy <= room
    assert (tau[right] >= 0.0).all()
    assert (tau[~right] <= 0.0).all()
    assert whole <= 1.0 + 1e-12
    if whole < 1.0 - 1e-9:
        assert gap(after, right) >= margin - room
    if whole > 0.0:
        risen, fallen = after[right & (tau > room)], after[~right & (tau < -room)]
        for moved, others in ((risen, after[right]), (-fallen, -after[~right])):
            if len(moved):
                assert np.ptp(moved) <= room
                assert (others >= moved.max() - room).all()
        if len(risen) and len(fallen):
            assert risen.min() - fallen.max() <= margin + room
    else:
        assert gap(scores, right) >= margin - room


@given(rounds(), energies, margins)
def test_passive_aggressive_puts_the_worst_pair_on_the_margin(situation, energy, margin):
    scores, right = situation
    tau = tau_of(PassiveAggressiveRule(margin, np.inf, 0.0), scores, right, energy)
    worst = np.flatnonzero(tau)
    if gap(scores, right) >= margin:
        assert not len(worst)
        return
    after = scores + energy * tau
    assert len(worst) == 2
    assert after[worst[right[worst]]] - after[worst[~right[worst]]] == pytest.approx(margin, abs=1e-9)
    assert scores[worst[right[worst]]] == scores[right].min()
    assert scores[worst[~right[worst]]] == scores[~right].max()


# -- learners ----------------------------------------------------------------------------------------------------

LEARNERS = {
    "perceptron": Perceptron(multiclass="uniform", margin=0.1),
    "PA": PassiveAggressive(),
    "MIRA": MIRA(margin=1.0),
    "SVM": OnlineSVM(window=8),
    "p-norm": QuasiAdditive(link="p-norm"),
    "balanced": QuasiAdditive(link="balanced", margin=0.1),
    "kernel": MIRA(margin=1.0, kernel="rbf"),
    "kernel SVM": OnlineSVM(window=8, kernel="rbf"),
}


@pytest.fixture(scope="module")
def sets():
    """Sixty rows with sets of four labels that weights can rank, some of them empty or full."""
    rng = np.random.default_rng(5)
    X, W = rng.normal(size=(60, 6)), rng.normal(size=(4, 6))
    return X, (X @ W.T > 0.0).astype(np.int64), W - W.mean(axis=0)


@pytest.fixture
def interpreted(interpret):
    """Loops run as the Python that they are, where their bits are not the point: nothing is compiled."""
    from ellipsoid.estimators import online_svm
    from ellipsoid.estimators.state import expansion, learner, one_row

    interpret(learner, expansion, one_row, online_svm)


@pytest.mark.parametrize("name", LEARNERS)
def test_one_right_label_a_row_is_the_multiclass_learner(name, sets, interpreted):
    X, Y, _ = sets
    y = np.argmax(Y + 0.1 * np.arange(4), axis=1)[:30]
    model, kind = LEARNERS[name], type(LEARNERS[name])
    one = kind(**model.get_params()).partial_fit(X[:30], np.eye(4, dtype=int)[y])
    other = kind(**model.get_params()).partial_fit(X[:30], y, classes=range(4))
    assert (one.mistakes_, one.updates_) == (other.mistakes_, other.updates_)
    assert np.allclose(one.decision_function(X), other.decision_function(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", LEARNERS)
def test_bounds_count_rounds_with_a_pair_in_the_wrong_order(name, sets, interpreted):
    X, Y, W = sets
    model = type(LEARNERS[name])(fit_intercept=False, **{
        key: value for key, value in LEARNERS[name].get_params().items() if key != "fit_intercept"})  # fmt: skip
    wrong, dual = 0, 0.0
    for i in range(40):
        if i:
            scores, right = model.decision_function(X[i : i + 1])[0], Y[i] == 1
            wrong += bool(right.any() and not right.all() and gap(scores, right) <= 0.0)
        else:
            wrong += bool(0 < Y[i].sum() < 4)
        model.partial_fit(X[i : i + 1], Y[i : i + 1])
        if hasattr(model, "dual_objective_"):
            assert model.dual_objective_ >= dual - 1e-9
            dual = model.dual_objective_
    assert model.mistakes_ == wrong
    linear = "kernel" not in name
    bounds = model.certificates() + (model.certificates(W) if linear else [])
    assert bounds
    assert all(bound.observed <= bound.bound for bound in bounds)
    if name in ("perceptron", "PA", "MIRA", "SVM"):  # no link bends the weights
        assert np.allclose(model.decision_function(X).sum(axis=1), 0.0, atol=1e-9)
    assert ((model.decision_function(X) > 0.0) == (model.predict(X) == 1)).all()
    assert (model.predict(X) == Y).mean() > 0.7


@pytest.mark.parametrize("model", [MIRA(margin=1.0), Scaled(Perceptron(multiclass="proportional"))], ids=repr)
def test_no_cut_changes_a_bit_and_files_go_on(model, sets, tmp_path):
    X, Y, _ = sets
    kind, params = type(model), model.get_params(deep=False)
    whole, cut = kind(**params).partial_fit(X, Y), kind(**params).partial_fit(X[:1], Y[:1])
    cut.partial_fit(X[1:20], Y[1:20]).save(tmp_path / "model")
    again = load(tmp_path / "model")
    for x, y in zip(X[20:], Y[20:], strict=True):
        again.learn_one(x, y)
    assert again.decision_function(X).tobytes() == whole.decision_function(X).tobytes()
    assert (again.mistakes_, again.updates_) == (whole.mistakes_, whole.updates_)


@pytest.mark.parametrize(
    "model",
    [ROMMA(), ALMA(), Winnow(), EllipsoidClassifier(), OnlineEllipsoidalSVC(), Perceptron(multiclass="ovr"),
     QuasiAdditive(multiclass="ovr"), QuasiAdditive(link="entropy")], ids=repr,
)  # fmt: skip
def test_learners_without_label_sets_refuse_them_with_an_error(model, sets):
    X, Y, _ = sets
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=r"y must be 1-D.*takes no label sets; MIRA, .* do"):
            learn(X, Y)
    assert not model.__sklearn_tags__().classifier_tags.multi_label


@pytest.mark.interpreted
@pytest.mark.parametrize("model", [MIRA(), QuasiAdditive(link="balanced"), Scaled(Perceptron())], ids=repr)
def test_sets_of_no_label_and_names_of_labels_are_refused_before_anything_has_changed(model, sets):
    X, Y, _ = sets
    for learn in (clone(model).fit, clone(model).partial_fit):
        with pytest.raises(ValueError, match=r"y has no columns: a matrix y must have one column per label"):
            learn(X, Y[:, :0])
    columns = list(range(Y.shape[1]))
    for classes in (["a", "b", "c", "d", "e"][: len(columns)], columns[1:], columns[::-1]):
        with pytest.raises(ValueError, match=r"the labels of label sets are the columns of y.*leave classes out"):
            model.partial_fit(X, Y, classes=classes)
        assert not hasattr(model, "classes_")
    assert model.partial_fit(X[:3], Y[:3], classes=columns).classes_.tolist() == columns
    with pytest.raises(ValueError, match="leave classes out"):
        model.partial_fit(X[:3], Y[:3], classes=columns[1:])
    assert model.t_ == 3
