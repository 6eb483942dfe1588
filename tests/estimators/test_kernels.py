"""Kernel models as users meet them: kinds of kernels and rows, chunks, averages, votes, files, labels, bad input."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from ellipsoid import MIRA, PassiveAggressive, Perceptron, load

RNG = np.random.default_rng(5)
X = RNG.normal(size=(130, 5))
X[:, :4][RNG.random((130, 4)) < 0.3] = 0.0
y = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 0.5)
RBF = {"kernel": "rbf", "gamma": 0.3}
GRAM = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=2))


def gaussian(A, B):
    A, B = (M.toarray() if sp.issparse(M) else M for M in (A, B))
    return np.exp(-0.3 * ((A[:, None] - B) ** 2).sum(axis=2))


@pytest.fixture(scope="module")
def whole():
    return MIRA(margin=0.1, **RBF).partial_fit(X, y, classes=[0, 1, 2])


@pytest.mark.parametrize(
    ("settings", "rows"),
    [
        (RBF, sp.csr_matrix(X)),
        ({"kernel": gaussian}, X),
        ({"kernel": gaussian}, sp.csr_matrix(X)),
        ({"kernel": "precomputed"}, GRAM),
        ({"kernel": "precomputed"}, sp.csr_matrix(GRAM)),
    ],
    ids=["csr", "function", "function of csr", "given", "given as csr"],
)
def test_the_same_kernel_in_any_guise_gives_the_same_model(whole, settings, rows):
    model = MIRA(margin=0.1, **settings)
    for start, stop in ((0, 50), (50, 51), (51, 130)):
        model.partial_fit(rows[start:stop], y[start:stop], classes=[0, 1, 2])
    assert (model.mistakes_, model.updates_) == (whole.mistakes_, whole.updates_)
    np.testing.assert_allclose(model.dual_coef_, whole.dual_coef_, rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.decision_function(rows), whole.decision_function(X), rtol=0, atol=1e-11)
    if settings["kernel"] == "precomputed":
        assert (X[model.support_] == whole.support_vectors_).all()
    else:
        patterns = model.support_vectors_
        assert (patterns == whole.support_vectors_).sum() == whole.support_vectors_.size


def test_the_decision_is_the_sum_over_support_patterns(whole):
    K = gaussian(X, whole.support_vectors_) + 1.0
    np.testing.assert_allclose(whole.decision_function(X), K @ whole.dual_coef_.T, rtol=0, atol=1e-13)
    for name in ("coef_", "intercept_"):
        with pytest.raises(AttributeError, match=f"a kernel model has no .*{name}.*; use support_vectors_"):
            getattr(whole, name)


@pytest.mark.parametrize("size", [1, 7])
def test_chunks_give_the_same_updates_and_counts(whole, size):
    model = MIRA(margin=0.1, **RBF)
    for start in range(0, 130, size):
        model.partial_fit(X[start : start + size], y[start : start + size], classes=[0, 1, 2])
    assert model.support_vectors_.tobytes() == whole.support_vectors_.tobytes()
    assert (model.t_, model.mistakes_, model.updates_) == (130, whole.mistakes_, whole.updates_)
    np.testing.assert_allclose(model.dual_coef_, whole.dual_coef_, rtol=0, atol=1e-14)


def test_single_examples_and_predictions_before_learning(whole):
    one, watched = MIRA(margin=0.1, **RBF), MIRA(margin=0.1, **RBF)
    foreseen = []
    for row, label in zip(X, y, strict=True):
        foreseen.append(one.predict_one(row) if one.__sklearn_is_fitted__() else None)
        one.learn_one(row, label)
    assert watched.learn_predict(X, y).tolist() == foreseen
    np.testing.assert_allclose(one.dual_coef_, watched.dual_coef_, rtol=0, atol=1e-14)


def hypotheses(settings):
    """Scores of all rows by the hypothesis after each round."""
    model, scores = Perceptron(**settings), []
    for row, label in zip(X, y, strict=True):
        model.partial_fit(row[None], [label], classes=[0, 1, 2])
        scores.append(model.decision_function(X))
    return np.array(scores)


def test_averages_and_votes_are_those_of_all_hypotheses():
    scores = hypotheses({"multiclass": "uniform", "margin": 0.05, **RBF})
    mean = Perceptron(multiclass="uniform", margin=0.05, average=True, **RBF)
    vote = Perceptron(multiclass="uniform", margin=0.05, average="vote", **RBF)
    for model in (mean, vote):
        model.partial_fit(X[:40], y[:40], classes=[0, 1, 2]).partial_fit(X[40:], y[40:])
    np.testing.assert_allclose(mean.decision_function(X), scores.mean(axis=0), rtol=0, atol=1e-12)
    votes = np.eye(3)[scores.argmax(axis=2)].mean(axis=0)
    np.testing.assert_allclose(vote.decision_function(X), votes, rtol=0, atol=1e-12)
    assert (vote.predict(X) == votes.argmax(axis=1)).all()
    assert (votes.argmax(axis=1) != scores[-1].argmax(axis=1)).any()


def test_one_label_has_all_votes():
    """Before a second label comes there is nothing to lead."""
    for rows, kernel in ((X, RBF), (GRAM, {"kernel": "precomputed"})):
        model = Perceptron(average="vote", **kernel).partial_fit(rows[:9], np.full(9, 7))
        assert model.predict(rows[:5]).tolist() == [7] * 5
        assert model.predict_one(rows[0]) == 7
        assert model.decision_function(rows[:5]).tolist() == [[1.0]] * 5
        assert model.learn_predict(rows[9:12], [7, 8, 7])[:2].tolist() == [7, 7]


def test_two_labels_vote_by_the_lead_of_the_second():
    two = (y > 0).astype(int)
    model = MIRA(margin=0.1, average="vote", **RBF)
    votes = np.zeros((130, 2))
    plain = MIRA(margin=0.1, **RBF)
    for row, label in zip(X, two, strict=True):
        plain.partial_fit(row[None], [label], classes=[0, 1])
        votes[np.arange(130), (plain.decision_function(X) > 0).astype(int)] += 1
    model.partial_fit(X, two, classes=[0, 1])
    np.testing.assert_allclose(model.decision_function(X), (votes[:, 1] - votes[:, 0]) / 130, rtol=0, atol=1e-12)


@pytest.mark.parametrize("average", [False, True, "vote"])
@pytest.mark.parametrize("kind", ["dense", "sparse", "given"])
def test_files_and_pickles_go_on_as_if_nothing_had_happened(tmp_path, average, kind):
    rows = {"dense": X, "sparse": sp.csr_matrix(X), "given": GRAM}[kind]
    settings = {"kernel": "precomputed"} if kind == "given" else RBF
    model = MIRA(margin=0.1, average=average, **settings).partial_fit(rows[:70], y[:70], classes=[0, 1, 2])
    model.save(tmp_path / "kernel.model")
    copies = [load(tmp_path / "kernel.model"), pickle.loads(pickle.dumps(model)), model]
    for copy in copies:
        copy.partial_fit(rows[70:], y[70:])
    assert len({copy.dual_coef_.tobytes() for copy in copies}) == 1
    assert len({copy.decision_function(rows).tobytes() for copy in copies}) == 1


def test_a_function_cannot_be_written_to_a_file(tmp_path):
    model = MIRA(margin=0.1, kernel=gaussian).partial_fit(X, y)
    with pytest.raises(ValueError, match=r"kernel=.* cannot be written to a model file"):
        model.save(tmp_path / "function.model")


@pytest.mark.parametrize("learner", [MIRA(margin=0.1), PassiveAggressive(), Perceptron(multiclass="max")], ids=repr)
def test_labels_that_come_late_join_as_in_the_linear_learner(learner):
    """A polynomial of degree one is the linear kernel: the open-label run must be that of the linear learner."""
    order = np.argsort(y != 0, kind="stable")[20:]
    linear = learner.partial_fit(X[order], y[order])
    kernel = type(learner)(**{**learner.get_params(), "kernel": "poly", "degree": 1, "gamma": 1.0})
    kernel.partial_fit(X[order], y[order])
    assert kernel.classes_.tolist() == linear.classes_.tolist()
    assert (kernel.mistakes_, kernel.updates_) == (linear.mistakes_, linear.updates_)
    scale = np.abs(linear.coef_).max()
    np.testing.assert_allclose(kernel.dual_coef_ @ kernel.support_vectors_, linear.coef_, rtol=0, atol=1e-10 * scale)
    for ours, theirs in zip(kernel.certificates(), linear.certificates(), strict=True):
        assert ours.observed == pytest.approx(theirs.observed, rel=1e-9)
        assert ours.bound == pytest.approx(theirs.bound, rel=1e-6)


def test_rows_without_a_kernel_value_are_mistakes_and_no_patterns():
    model = Perceptron(kernel="poly", degree=2, gamma=1.0, fit_intercept=False)
    model.partial_fit(np.zeros((3, 2)), [0, 1, 2], classes=[0, 1, 2])
    assert (model.mistakes_, model.updates_, len(model.support_vectors_)) == (3, 0, 0)
    assert (model.decision_function(np.ones((2, 2))) == 0.0).all()


def test_features_may_be_added():
    dense = MIRA(margin=0.1, grow_features=True, **RBF).partial_fit(X[:60, :3], y[:60], classes=[0, 1, 2])
    dense.partial_fit(X[60:], y[60:])
    padded = np.where(np.arange(130)[:, None] < 60, X * (np.arange(5) < 3), X)
    start = MIRA(margin=0.1, **RBF).partial_fit(padded, y, classes=[0, 1, 2])
    np.testing.assert_allclose(dense.dual_coef_, start.dual_coef_, rtol=0, atol=1e-13)


def test_bad_values_are_refused_before_anything_changes():
    model = MIRA(kernel="poly", degree=9, gamma=1.0).partial_fit(X, y)
    before = model.dual_coef_.tobytes()
    bad = X.copy()
    bad[60] = 1e20
    with pytest.raises(ValueError, match="row 60 of X is too large"):
        model.partial_fit(bad, y)
    assert (model.dual_coef_.tobytes(), model.t_) == (before, 130)

    broken = MIRA(kernel=lambda A, B: gaussian(A, B) / (A[:, :1] != 9.0)).partial_fit(X, y)
    bad[60] = 9.0
    before = broken.dual_coef_.tobytes()
    with pytest.raises(ValueError, match="kernel returned NaN or inf"), np.errstate(divide="ignore"):
        broken.partial_fit(bad, y)
    assert (broken.dual_coef_.tobytes(), broken.t_) == (before, 130)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kernel": "cosine"}, "kernel must be one of 'linear', 'poly', 'rbf', 'precomputed'"),
        ({"kernel": "rbf", "gamma": -1.0}, "gamma must be positive"),
        ({"kernel": "poly", "degree": 1.5}, "degree must be a positive integer"),
        ({"kernel": "linear", "average": "vote"}, "needs a kernel"),
        ({"kernel": "rbf", "average": "mode"}, "average must be one of 'vote'"),
        ({"kernel": lambda A, B: np.ones(3)}, "must return a matrix of shape"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        MIRA(**settings).partial_fit(X, y)


def test_a_given_kernel_needs_a_column_for_every_example():
    with pytest.raises(ValueError, match="a column for every training example"):
        MIRA(kernel="precomputed").fit(GRAM[:, :50], y)
    with pytest.raises(AttributeError, match="see support_"):
        _ = MIRA(kernel="precomputed").fit(GRAM, y).support_vectors_
