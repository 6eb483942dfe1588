"""Bad input, degenerate data and limits: a clear sentence, never silence."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ellipsoid.batch import BayesPointMachine, EllipsoidalSVC
from ellipsoid.batch.problem import NotSeparable
from ellipsoid.batch.proof import proves_inseparable
from ellipsoid.batch.proximal import _DualPoint

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))
NOISY = np.where(X[:, 0] + 0.7 * RNG.standard_normal(60) > 0, 1, -1)
CLEAN = np.where(X[:, 0] > 0, 1, -1)
WIDE = np.random.default_rng(1).standard_normal((60, 37))
APART = X + 2.0 * CLEAN[:, None] * np.array([1.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"nu": 0.0}, "nu must be positive, got 0"),
        ({"nu": -1.0}, "nu must be positive, got -1"),
        ({"nu": np.nan}, "nu must be positive, got nan"),
        ({"nu": "tenth"}, "nu must be positive or 'auto', got 'tenth'"),
        ({"r": 0.0}, "r must lie strictly between 0 and 1, got 0"),
        ({"r": 1.0}, "r must lie strictly between 0 and 1, got 1"),
        ({"margin_scaling": "both"}, "margin_scaling must be 'unit' or 'paper', got 'both'"),
        ({"formulation": "loose"}, "formulation must be"),
        ({"solver": "magic"}, "solver must be one of"),
        ({"kernel": "sigmoid"}, "kernel must be one of"),
        ({"gamma": -1.0}, "gamma must be"),
        ({"gamma": None}, "gamma must be"),
        ({"gamma": np.inf}, "gamma must be"),
        ({"kernel": "poly", "coef0": np.nan}, "coef0 must be a finite number, got nan"),
        ({"kernel": "poly", "coef0": "1"}, "coef0 must be a finite number, got '1'"),
        ({"degree": 2.5}, "degree must be at least 1 and an integer, got 2.5"),
        ({"tol": 0.0}, "tol must be positive"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"n_components": 0}, "n_components must be at least 1"),
        ({"solver": "features", "features": "fourier"}, "features must be"),
    ],
)
def test_parameters_out_of_range(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        EllipsoidalSVC(**parameters).fit(X, NOISY)


def test_one_class():
    with pytest.raises(ValueError, match="1 class only"):
        EllipsoidalSVC().fit(X, np.ones(60))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_not_a_number(bad):
    broken = X.copy()
    broken[3, 1] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        EllipsoidalSVC().fit(broken, NOISY)


@pytest.mark.parametrize("solver", ["smo", "block", "features"])
def test_hard_margin_without_separation(solver):
    with pytest.raises(NotSeparable, match="hard_margin=True needs separable classes"):
        EllipsoidalSVC(kernel="linear", hard_margin=True, solver=solver).fit(X, NOISY)


def test_hard_margin_out_of_passes_claims_nothing_about_the_classes():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((300, 20))
    labels = np.where(points @ rng.standard_normal(20) > 0.0, 1, -1)
    with pytest.raises(NotSeparable, match="max_iter=1 passes found no separating hyperplane; raise max_iter"):
        EllipsoidalSVC(kernel="linear", hard_margin=True, solver="features", max_iter=1).fit(points, labels)


STEP = np.arange(6.0)[:, None]
HALF = np.array([0, 0, 0, 1, 1, 1])


@pytest.mark.parametrize("solver", ["smo", "block"])
@pytest.mark.parametrize(
    "rows",
    [1998.0 + STEP, 1e6 + STEP, 1e9 + STEP, 1.0 + np.array([[1.0, 2, 3, 3 + 1e-6, 5, 6]]).T, 5.0 + 1e-8 * STEP],
    ids=["years", "million", "billion", "close", "closer"],
)
def test_a_hard_margin_with_a_gap_separates_every_row(rows, solver):
    model = EllipsoidalSVC(kernel="linear", hard_margin=True, solver=solver).fit(rows, HALF)
    assert model.score(rows, HALF) == 1.0
    assert 0.0 <= model.duality_gap_ < 0.1
    # In one dimension the best ellipsoid touches the nearest point: nothing else bounds it.
    assert model.margin_ratio(rows).min() == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("solver", ["smo", "block", "features"])
@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_the_scale_of_the_data_does_not_matter_to_a_hard_margin(scale, solver):
    plain = EllipsoidalSVC(kernel="linear", hard_margin=True, solver=solver, random_state=0).fit(APART, CLEAN)
    model = EllipsoidalSVC(kernel="linear", hard_margin=True, solver=solver, random_state=0).fit(scale * APART, CLEAN)
    assert model.coef_ == pytest.approx(plain.coef_, abs=1e-4)


@pytest.mark.parametrize("solver", ["smo", "block"])
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_inseparability_is_claimed_only_with_a_proof(scale, solver):
    with pytest.raises(NotSeparable, match="the convex hulls of the classes meet") as caught:
        EllipsoidalSVC(kernel="linear", hard_margin=True, solver=solver, max_iter=200).fit(scale * X, NOISY)
    assert caught.value.proven
    # The same multipliers are no proof where a hyperplane exists.
    assert not proves_inseparable(scale * APART, CLEAN.astype(float), caught.value.alpha)


def test_rows_with_both_labels_are_a_proof_for_every_kernel():
    with pytest.raises(NotSeparable, match="a row of X has both labels") as caught:
        EllipsoidalSVC(hard_margin=True, gamma=0.5).fit(np.vstack([X[:8], X[:1]]), np.append(CLEAN[:8], -CLEAN[0]))
    assert caught.value.proven


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_rows_whose_squares_overflow_are_refused(kernel):
    huge = X.copy()
    huge[3] *= 1e200
    with pytest.raises(ValueError, match="row 3 of X is too large"):
        EllipsoidalSVC(kernel=kernel).fit(huge, NOISY)


@pytest.mark.parametrize("solver", ["smo", "block", "features"])
def test_contradictory_labels(solver):
    twice, labels = np.vstack([X[:8], X[:1]]), np.append(CLEAN[:8], -CLEAN[0])
    model = EllipsoidalSVC(nu=0.1, gamma=0.5, solver=solver).fit(twice, labels)
    assert model.duality_gap_ <= 1e-3 * max(1.0, abs(model.dual_objective_)) + 0.05
    with pytest.raises(NotSeparable):
        EllipsoidalSVC(hard_margin=True, gamma=0.5, solver=solver).fit(twice, labels)


@pytest.mark.parametrize("solver", ["smo", "block", "features"])
def test_hard_margin_separates(solver):
    model = EllipsoidalSVC(kernel="linear", hard_margin=True, solver=solver).fit(APART, CLEAN)
    assert (CLEAN * model.decision_function(APART) > 0).all()
    assert model.norm_ == pytest.approx(1.0)
    # Every point lies beyond the ellipsoid, to within the gap.
    assert model.margin_ratio(APART).min() > 0.95


def test_points_at_the_origin_are_left_out_with_a_warning():
    padded, labels = np.vstack([np.zeros((2, 3)), X]), np.append([1, -1], NOISY)
    with pytest.warns(UserWarning, match="2 rows lie at the origin"):
        model = EllipsoidalSVC(kernel="linear", nu=1.0).fit(padded, labels)
    plain = EllipsoidalSVC(kernel="linear", nu=1.0).fit(X, NOISY)
    assert model.coef_ == pytest.approx(plain.coef_)
    assert model.decision_function(np.zeros((1, 3))) == pytest.approx(plain.intercept_)


@pytest.mark.parametrize("model", [EllipsoidalSVC, BayesPointMachine])
def test_only_the_origin_is_left(model):
    with pytest.warns(UserWarning, match="origin"), pytest.raises(ValueError, match="fewer than two classes are left"):
        model(kernel="linear").fit(np.vstack([np.zeros(3), X[:3]]), [1, 0, 0, 0])


def test_weight_zero_means_absent():
    weights = np.r_[np.zeros(20), np.ones(40)]
    model = EllipsoidalSVC(gamma=0.5, nu=0.1).fit(X, NOISY, sample_weight=weights)
    without = EllipsoidalSVC(gamma=0.5, nu=0.1).fit(X[20:], NOISY[20:])
    assert model.decision_function(X) == pytest.approx(without.decision_function(X))
    with pytest.raises(ValueError, match="sample_weight must not be negative"):
        EllipsoidalSVC().fit(X, NOISY, sample_weight=-weights)


REFUSED = {
    "separa": (X, np.array(["no", "yes"])[RNG.integers(0, 2, 60)], {}),
    "1 class": (WIDE, np.ones(60), {}),
    "too large": (1e200 * WIDE, CLEAN, {}),
    "gamma": (WIDE, CLEAN, {"gamma": -1.0}),
    "negative diagonal": (WIDE, CLEAN, {"kernel": lambda A, B: -(A @ B.T)}),
}


@pytest.mark.parametrize("why", REFUSED)
@pytest.mark.parametrize(
    "model",
    [
        EllipsoidalSVC(kernel="linear", hard_margin=True),
        BayesPointMachine(kernel="linear", regularization=0, max_iter=50),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_fit_that_is_refused_leaves_the_model_of_before(model, why):
    rows, labels, parameters = REFUSED[why]
    model = clone(model).set_params(random_state=0).fit(APART, CLEAN)
    before, values = {**vars(model), **parameters}, model.decision_function(X)
    with pytest.raises(ValueError, match=why):
        model.set_params(**parameters).fit(rows, labels)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is held for name, held in before.items())
    assert np.array_equal(model.decision_function(X), values)
    assert set(model.predict(X)) == {-1, 1}


def test_matrices_that_are_not_kernels_are_refused():
    gram = X @ X.T
    with pytest.raises(ValueError, match="must be square"):
        EllipsoidalSVC(kernel="precomputed").fit(gram[:, :5], NOISY)
    lopsided = gram + np.triu(np.ones_like(gram), 1)
    with pytest.raises(ValueError, match="not symmetric"):
        EllipsoidalSVC(kernel="precomputed").fit(lopsided, NOISY)
    with pytest.raises(ValueError, match="negative diagonal"):
        EllipsoidalSVC(kernel="precomputed").fit(-gram, NOISY)
    indefinite = gram - np.mean(gram.diagonal())
    indefinite[np.diag_indices_from(indefinite)] = gram.diagonal()
    with pytest.raises(ValueError, match="not positive semi-definite"):
        EllipsoidalSVC(kernel="precomputed").fit(indefinite, NOISY)


@pytest.mark.parametrize("solver", ["smo", "block", "features"])
def test_reaching_the_iteration_limit_gives_a_warning(solver):
    with pytest.warns(ConvergenceWarning, match="max_iter=1 passes left a duality gap"):
        model = EllipsoidalSVC(kernel="linear", nu=0.01, solver=solver, max_iter=1, tol=1e-9).fit(X, NOISY)
    assert model.duality_gap_ > 0


def test_what_rounding_leaves_is_not_blamed_on_the_passes():
    with pytest.warns(ConvergenceWarning, match="rounding left a duality gap of .*: raise tol"):
        model = EllipsoidalSVC(kernel="linear", nu=0.3, tol=1e-16, max_iter=5000).fit(X, NOISY)
    assert model.n_iter_ < 5000


def test_degenerate_nu_gives_a_warning():
    with pytest.warns(UserWarning, match="reduce nu"):
        EllipsoidalSVC(gamma=0.5, nu=100.0).fit(X[:40], np.r_[1, 1, 1, -np.ones(37)])


def test_warm_start_continues_and_extends():
    model = EllipsoidalSVC(kernel="linear", nu=0.05, solver="features", warm_start=True, max_iter=5000, tol=1e-6)
    cold = model.fit(X, NOISY).n_iter_
    again = model.fit(X, NOISY).n_iter_
    assert again < cold
    kernel = EllipsoidalSVC(gamma=0.5, nu=0.1, warm_start=True).fit(X[:50], NOISY[:50])
    extended = kernel.fit(X, NOISY).decision_function(X)
    fresh = EllipsoidalSVC(gamma=kernel.kernel_.gamma, nu=0.1).fit(X, NOISY).decision_function(X)
    assert extended == pytest.approx(fresh, abs=1e-5)


def test_progress_bar_goes_to_standard_error(capsys):
    EllipsoidalSVC(gamma=0.5, nu=0.1, verbose=True).fit(X, NOISY)
    out, err = capsys.readouterr()
    assert out == ""
    assert "gap" in err


def test_the_margin_that_is_asked_is_that_of_the_features():
    # X X' by another name: the same features, but for a rotation, and so the same margins.
    direct = EllipsoidalSVC(kernel="linear", nu=1.0, tol=1e-4, solver="features").fit(3.0 * X, NOISY)
    given = EllipsoidalSVC(kernel="precomputed", nu=1.0, tol=1e-4, solver="features").fit(9.0 * X @ X.T, NOISY)
    assert given.margin_ratio(9.0 * X @ X.T) == pytest.approx(direct.margin_ratio(3.0 * X), rel=0.02, abs=0.02)


@pytest.mark.parametrize("classes", [["a", "b"], ["b", "a"]])
def test_a_tie_of_two_classes_goes_to_the_first(classes):
    y = np.where(CLEAN > 0, classes[0], classes[1])
    model = EllipsoidalSVC(kernel="linear").fit(X, y)
    model.intercept_[:] = 0.0
    without = BayesPointMachine(kernel="linear", fit_intercept=False).fit(X, y)
    for tied in (model, without):
        assert tied.decision_function(np.zeros((1, 3))) == [0.0]
        assert tied.predict(np.zeros((1, 3))) == ["a"]


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 60])
@pytest.mark.parametrize(
    "model", [EllipsoidalSVC(kernel="linear"), EllipsoidalSVC(gamma=0.5), BayesPointMachine(gamma=0.5)], ids=repr
)
def test_equal_weights_score_exactly_equal_and_the_first_class_wins(model, rows):
    y = np.arange(60) % 9
    model = clone(model).set_params(random_state=0).fit(WIDE, y)
    weights = model.coef_ if hasattr(model, "coef_") else model.dual_coef_
    weights[3:] = weights[3]
    if hasattr(model, "intercept_"):
        model.intercept_[3:] = 10.0
    values = model.decision_function(WIDE[:rows])
    assert (values[:, 3:] == values[:, [3]]).all()
    assert set(model.predict(WIDE[:rows]).tolist()) <= {0, 1, 2, 3}


@pytest.mark.parametrize("solver", ["smo", "block"])
def test_a_gap_is_proven_once(solver, monkeypatch):
    """A proof factors a matrix of the size of the data: two of them were a tenth of a small fit."""
    proofs, certified = [], _DualPoint.certified
    monkeypatch.setattr(
        _DualPoint, "certified", lambda self, *point: proofs.append(certified(self, *point)) or proofs[-1]
    )
    model = EllipsoidalSVC(solver=solver).fit(X, NOISY)
    assert [proof.gap for proof in proofs] == [model.duality_gap_]
    assert proofs[0].converged


@pytest.mark.parametrize("model", [EllipsoidalSVC(), BayesPointMachine(max_iter=20)], ids=lambda m: type(m).__name__)
def test_dates_texts_and_masked_entries_are_no_numbers(model):
    pd = pytest.importorskip("pandas")
    rows, labels = APART[:20], CLEAN[:20]
    model = clone(model).set_params(random_state=0).fit(rows, labels)
    dates = np.full(rows.shape, np.datetime64("2020-01-01"))
    for bad, sentence in (
        (dates, "X must hold numbers, got an array of type datetime64"),
        (dates - dates, "X must hold numbers, got an array of type timedelta64"),
        (rows.astype(str), "X must hold numbers, got an array of type <U"),
        (pd.DataFrame(dates, columns=["a", "b", "c"]), "column 'a' of X must hold numbers"),
        (pd.DataFrame({"a": rows[:, 0], "b": dates[:, 0], "c": 0.0}), "column 'b' of X must hold numbers"),
        (pd.DataFrame({"a": rows[:, 0], "b": ["word"] * 20, "c": 0.0}), "row 0 of X holds 'word' in the column 'b'"),
        (np.ma.masked_array(rows, mask=rows > 0.0), "masked entries"),
    ):
        for call in (lambda bad=bad: model.fit(bad, labels), lambda bad=bad: model.predict(bad)):
            with pytest.raises(ValueError, match=sentence):
                call()
    assert model.score(rows, labels) > 0.5
