"""What a weight means: copies of a row, a row that was never there, and a class that counts more."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.class_weight import compute_sample_weight

from ellipsoid import (
    AROW,
    CELLIP,
    MIRA,
    SCW,
    OnlineSVM,
    PassiveAggressive,
    Perceptron,
    QuasiAdditive,
    Scaled,
    load,
)  # fmt: skip
from ellipsoid.estimators import LEARNERS
from ellipsoid.estimators.files import saving

pytestmark = pytest.mark.interpreted

# Its labels must be announced.
ANNOUNCED = QuasiAdditive(C=0.1, link="balanced")
# Their step for weight k is the same as k steps in a row.
AS_COPIES = [
    PassiveAggressive(C=0.1),
    PassiveAggressive(C=0.1, kernel="rbf", gamma=0.5),
    QuasiAdditive(C=0.1),
    QuasiAdditive(C=0.1, link="p-norm"),
    ANNOUNCED,
    OnlineSVM(window=1, C=0.1),
    OnlineSVM(window=None, C=0.1),
    AROW(),
    AROW(shape="gram"),
    AROW(kernel="rbf", gamma=0.5),
]
# In the others a row of weight k pays k times for its loss.
WEIGHED = [
    *AS_COPIES,
    PassiveAggressive(variant="II", C=0.1),
    PassiveAggressive(kernel="rbf", gamma=0.5, budget=4),
    Perceptron(),
    Perceptron(multiclass="uniform", margin=0.2, average=True),
    Perceptron(multiclass="ovr"),
    Perceptron(kernel="poly", degree=2, average="vote"),
    QuasiAdditive(update="adaptive"),
    AROW(shape="diagonal"),
    AROW(shape="sketch", size=2),
    OnlineSVM(window=2, C=0.3),
    OnlineSVM(window=5, C=0.3, average=True),
    OnlineSVM(window=4, C=0.3, kernel="rbf", gamma=0.5),
    Scaled(PassiveAggressive()),
]
KERNELS = [model for model in WEIGHED if getattr(model, "kernel", "linear") != "linear"]
BALANCED = [
    PassiveAggressive(class_weight="balanced"),
    PassiveAggressive(class_weight={"wet": 3.0}, C=0.2),
    Scaled(AROW(class_weight="balanced")),
]
GEOMETRY = [
    "MIRA", "ROMMA", "ALMA", "Winnow", "CELLIP", "IELLIP", "EllipsoidClassifier", "SCW", "NHERD", "ConfidenceWeighted",
    "SecondOrderPerceptron", "OnlineEllipsoidalSVC",
]  # fmt: skip


def learned(model):
    """All that a model file would hold of a learner."""
    header, arrays = saving.describe(model)
    return header, {name: array.tolist() for name, array in arrays.items()}


def test_the_golden_run():
    X = np.array([[1, 2], [2, -1], [-1, 1], [1, 1], [-2, 1]]) / 2.0
    model = PassiveAggressive(C=0.1, fit_intercept=False)
    model.partial_fit(X, [1, 1, -1, 1, -1], classes=[-1, 1], sample_weight=[1, 2, 1, 0.5, 3])
    np.testing.assert_allclose(model.coef_, [[0.625, -0.175]], rtol=1e-14)
    found = {each.name: each for each in model.certificates()}["weighted mistakes"]
    assert found.observed == pytest.approx(3.0)
    assert found.observed <= found.bound
    assert model.mistakes_ == 2


@pytest.mark.parametrize("model", AS_COPIES, ids=repr)
def test_a_weight_is_so_many_copies_in_a_row(model, noisy):
    X, y, k = noisy
    once = clone(model).partial_fit(X, y, classes=[-1, 1], sample_weight=k)
    again = clone(model).partial_fit(np.repeat(X, k, axis=0), np.repeat(y, k), classes=[-1, 1])
    np.testing.assert_allclose(once.decision_function(X), again.decision_function(X), rtol=1e-10, atol=1e-12)
    assert once.t_ == np.count_nonzero(k)


def test_a_perceptron_takes_a_step_as_long_as_the_weight():
    model = Perceptron(fit_intercept=False).partial_fit([[1.0, 2.0]], [1], classes=[0, 1], sample_weight=[2.5])
    assert model.coef_.tolist() == [[2.5, 5.0]]


def test_the_slack_of_pa_ii_costs_as_often_as_the_weight():
    """Weight 4 at C is weight 1 at 4 C."""
    X, y = [[1.0, 2.0]], [1]
    one = PassiveAggressive(variant="II", C=0.1).partial_fit(X, y, classes=[0, 1], sample_weight=[4])
    other = PassiveAggressive(variant="II", C=0.4).partial_fit(X, y, classes=[0, 1])
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-15)


@pytest.mark.parametrize(
    "model", [model for model in [*WEIGHED, *BALANCED] if model not in (*KERNELS, ANNOUNCED)], ids=repr
)
def test_cuts_doors_files_and_zeros_change_nothing(model, noisy, tmp_path):
    check_cuts_doors_files_and_zeros(model, noisy, tmp_path)


@pytest.mark.parametrize("model", KERNELS, ids=repr)
def test_they_change_nothing_with_kernels(model, noisy, tmp_path, compiled):
    """Whose values are made for blocks of rows, and by other code in Python than alone.

    A row without weight names the labels: the loop of two labels need not be compiled.
    """
    check_cuts_doors_files_and_zeros(model, noisy, tmp_path, classes=["dry", "ice", "wet"])


def check_cuts_doors_files_and_zeros(model, noisy, tmp_path, classes=None):
    X, _, k = noisy

    def fresh():
        return clone(model).partial_fit(X[:1], ["dry"], classes=classes, sample_weight=[0.0])

    y, weights = np.array(["wet", "dry", "ice"])[np.arange(36) * 7 % 3], 0.7 * k
    y[k == 0] = "never"
    whole = fresh()
    told = whole.learn_predict(X, y, sample_weight=weights)
    expected = learned(whole)
    assert "never" not in whole.classes_
    assert whole.t_ == np.count_nonzero(k)
    assert learned(fresh().partial_fit(X[k > 0], y[k > 0], sample_weight=weights[k > 0])) == expected
    one = fresh()
    for i in range(36):
        one.learn_one(X[i], y[i], weight=weights[i])
    assert learned(one) == expected
    cut, said = fresh(), []
    for i in range(0, 36, 7):
        said += cut.learn_predict(X[i : i + 7], y[i : i + 7], sample_weight=weights[i : i + 7]).tolist()
        cut.save(tmp_path / "cut.model")
        cut = load(tmp_path / "cut.model")
    assert learned(cut) == expected
    assert said == told.tolist()


@pytest.mark.parametrize("model", [PassiveAggressive(class_weight="balanced"), Scaled(AROW())], ids=repr)
def test_dicts_and_sparse_rows_are_weighted_alike(model, noisy):
    X, y, k = noisy
    named, sparse = clone(model), clone(model).partial_fit(sp.csr_matrix(X), y, sample_weight=k)
    for row, label, weight in zip(X, y, k, strict=True):
        named.learn_one(dict(zip("abc", row, strict=True)), label, weight=weight)
    np.testing.assert_allclose(named.coef_, sparse.coef_, rtol=1e-12)


def test_balanced_looks_at_the_rows_so_far_and_at_itself():
    """Labels a, a, b: the third row is one of three, of two labels, one of its own: 3 / (2 * 1)."""
    X, y = np.eye(3), ["a", "a", "b"]
    model = PassiveAggressive(C=0.1, class_weight="balanced", fit_intercept=False).partial_fit(X, y)
    by_hand = PassiveAggressive(C=0.1, fit_intercept=False).partial_fit(X, y, sample_weight=[1, 1, 1.5])
    assert model.coef_.tolist() == by_hand.coef_.tolist()


@pytest.mark.parametrize("class_weight", ["balanced", {-1: 0.5, 1: 3.0}], ids=str)
def test_fit_weighs_classes_as_scikit_learn_does(class_weight, noisy):
    X, y, k = noisy
    options = {"C": 0.1, "random_state": 0}
    kept = k > 0
    # What scikit-learn computes is that of all rows it is given.
    weights = k[kept] * compute_sample_weight(class_weight, y[kept])
    model = PassiveAggressive(class_weight=class_weight, **options).fit(X, y, sample_weight=k)
    by_hand = PassiveAggressive(**options).fit(X[kept], y[kept], sample_weight=weights)
    np.testing.assert_allclose(model.coef_, by_hand.coef_, rtol=1e-12)


def test_a_third_label_in_mid_stream_meets_weighted_sums(noisy):
    X, y, k = noisy
    labels = np.where(np.arange(36) < 20, y, 2)
    model = PassiveAggressive(C=0.3).partial_fit(X, labels, sample_weight=k + 0.5)
    assert len(model.classes_) == 3
    assert all(each.observed <= each.bound for each in model.certificates())


@pytest.mark.parametrize("name", GEOMETRY)
def test_learners_whose_step_is_geometry_say_that_they_take_0_and_1(name, noisy):
    X, y, _ = noisy
    X, model = np.abs(X) / 9.0, LEARNERS[name]()
    with pytest.raises(ValueError, match=f"row 2 has weight 2, but {name} takes only the weights 0 and 1"):
        model.partial_fit(X[:3], y[:3], sample_weight=[1, 1, 2])
    assert not hasattr(model, "t_")


@pytest.mark.parametrize("model", [MIRA(), SCW(), CELLIP(), PassiveAggressive(variant="hard")], ids=repr)
def test_they_leave_out_rows_of_weight_0(model, noisy):
    X, y, k = noisy
    model.partial_fit(X, y, sample_weight=k > 0)
    assert learned(model) == learned(clone(model).partial_fit(X[k > 0], y[k > 0]))


@pytest.mark.parametrize("model", [PassiveAggressive(variant="hard"), AROW(trigger="mistake"), QuasiAdditive(C=np.inf)])
def test_variants_without_a_price_take_0_and_1(model):
    with pytest.raises(ValueError, match="takes only the weights 0 and 1"):
        model.partial_fit([[1.0]], [1], sample_weight=[2.0])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2, -1], "row 2 of sample_weight holds -1.0"),
        ([1, np.nan, 1], "row 1 of sample_weight holds nan"),
        ([np.inf, 1, 1], "row 0 of sample_weight holds inf"),
        ([1, 1], "2 weights for the 3 rows"),
        ([[1], [1], [1]], "must be 1-D"),
        (["heavy", 1, 1], "a number for each row"),
        (np.array([1, 1j, 1]), "a real number for each row"),
        (np.ma.array([1.0, 5.0, 1.0], mask=[False, True, False]), "row 1 of sample_weight has masked entries"),
    ],
)
@pytest.mark.parametrize("method", ["fit", "partial_fit", "learn_predict"])
@pytest.mark.parametrize("model", [PassiveAggressive(), Scaled(PassiveAggressive())], ids=repr)
def test_bad_weights_change_nothing(model, method, weights, message):
    X, y = np.eye(3), [0, 1, 0]
    model = clone(model).partial_fit(X, y)
    before = learned(model)
    with pytest.raises(ValueError, match=message):
        getattr(model, method)(X, y, sample_weight=weights)
    assert learned(model) == before


@pytest.mark.parametrize(
    ("class_weight", "message"), [("even", "must be None"), ({1: 0.0}, "must be positive"), ({1: -2.0}, "positive")]
)
def test_bad_class_weights_are_refused(class_weight, message):
    with pytest.raises(ValueError, match=message):
        PassiveAggressive(class_weight=class_weight).partial_fit([[1.0]], [1])


@pytest.mark.interpreted
@pytest.mark.parametrize("model", [PassiveAggressive(), AROW(), Perceptron()], ids=repr)
def test_a_product_of_weights_that_is_0_in_floating_point_is_refused(model):
    """It is no row of weight 0, and a learner would divide by it."""
    X, y = np.eye(3), [0, 1, 0]
    model = clone(model).set_params(class_weight={0: 1.0, 1: 1e-200})
    with pytest.raises(ValueError, match="row 1 of sample_weight times class_weight is too small for a float: 1e-200"):
        model.partial_fit(X, y, classes=[0, 1], sample_weight=[1.0, 1e-200, 1.0])
    assert not hasattr(model, "t_")
    assert model.partial_fit(X, y, classes=[0, 1], sample_weight=[1.0, 1e-100, 1.0]).t_ == 3


def test_rows_of_weight_0_alone_are_no_rows():
    model = PassiveAggressive()
    assert model.partial_fit([[1.0], [np.nan]], [0, 1], sample_weight=[0, 0]) is model
    assert not hasattr(model, "t_")
    assert model.learn_predict([[1.0]], [0], sample_weight=[0]).tolist() == [None]
    with pytest.raises(ValueError, match="nothing to learn"):
        model.fit([[1.0], [2.0]], [0, 1], sample_weight=[0, 0])


@pytest.mark.parametrize("form", ["csc", "coo", "bsr", "dia", "lil", "dok"])
def test_rows_of_weight_0_are_left_out_of_every_kind_of_matrix(form):
    X, y, weights = np.eye(4) + np.tri(4), [0, 1, 0, 1], [1.0, 0.0, 1.0, 1.0]
    plain, other, watched = (PassiveAggressive() for _ in range(3))
    plain.partial_fit(sp.csr_matrix(X), y, sample_weight=weights)
    other.partial_fit(sp.csr_matrix(X).asformat(form), y, sample_weight=weights)
    watched.learn_predict(sp.csr_matrix(X).asformat(form), y, sample_weight=weights)
    assert learned(other) == learned(watched) == learned(plain)
    stopped = PassiveAggressive(early_stopping=True, validation_fraction=0.5, n_epochs=2, random_state=0)
    assert stopped.fit(sp.csr_matrix(X).asformat(form), y).n_iter_ >= 1


@pytest.mark.parametrize(("C", "weight"), [(1e-300, 1e-30), (1e300, 1e9)], ids=["0", "infinite"])
def test_a_cap_that_a_weight_leads_beyond_float64_is_saved(C, weight, tmp_path):
    model = OnlineSVM(C=C).partial_fit(np.eye(2), [0, 1], classes=[0, 1], sample_weight=[weight, 1.0])
    model.save(tmp_path / "model")
    assert learned(load(tmp_path / "model")) == learned(model)


def test_a_precomputed_kernel_has_a_column_for_every_row():
    model = PassiveAggressive(kernel="precomputed")
    with pytest.raises(ValueError, match="leave out both"):
        model.fit(np.eye(3), [0, 1, 0], sample_weight=[1, 0, 1])


def test_machine_code_weighs_as_python_does(noisy, compiled):
    X, y, k = noisy
    model = PassiveAggressive(C=0.1).partial_fit(X, y, classes=[-1, 1], sample_weight=k)
    again = PassiveAggressive(C=0.1).partial_fit(np.repeat(X, k, axis=0), np.repeat(y, k), classes=[-1, 1])
    np.testing.assert_allclose(model.coef_, again.coef_, rtol=1e-10)
    ones = PassiveAggressive(C=0.1).partial_fit(X, y, sample_weight=np.ones(36))
    assert learned(ones) == learned(PassiveAggressive(C=0.1).partial_fit(X, y))
