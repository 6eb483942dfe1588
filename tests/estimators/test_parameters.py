"""Parameters of any kind end in a sentence or in a model that can be saved; input that asks for too much in one."""

import re
from decimal import Decimal
from inspect import signature

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from ellipsoid import (
    AROW,
    IELLIP,
    MIRA,
    BayesPointMachine,
    EllipsoidalSVC,
    OnlineEllipsoidalSVC,
    PassiveAggressive,
    Perceptron,
    QuasiAdditive,
    Scaled,
    StandardStream,
    UnitNorm,
    load,
)
from ellipsoid.estimators import LEARNERS
from ellipsoid.representation.scaled.tables import PowerTable

from .expected_failures import EXPECTED

pytestmark = pytest.mark.few_learners

HOSTILE = [
    10**400, -(10**400), True, np.float32(0.5), np.int64(3), np.nan, np.inf, -np.inf, "x", "1.0", b"1", None, [1.0],
    np.array(1.0), np.array([1.0, 2.0]), 1j, Decimal("0.5"), 10**10, 2**63, -1, 0, 2.5, object(), {}, (),
]  # fmt: skip

X = np.array([[0.5, 1.0], [-1.0, 0.25], [0.75, -0.5], [-0.5, -1.0]])
Y = np.array([0, 1, 0, 1])


def refusal(model):
    """What a model says to rows that nothing is wrong with; None if it learns them. No other error will do."""
    try:
        model.partial_fit(X, Y, classes=[0, 1])
    except ValueError as error:
        return str(error)
    return None


@pytest.mark.parametrize("name", [*LEARNERS, "OnlineEllipsoidalSVC"])
def test_a_parameter_is_refused_with_a_sentence_or_can_be_saved(name, tmp_path):
    kind = LEARNERS.get(name, OnlineEllipsoidalSVC)
    for parameter in list(signature(kind.__init__).parameters)[1:]:
        for value in HOSTILE:
            model = kind(**{parameter: value})
            if (sentence := refusal(model)) is not None:
                assert len(sentence.split()) >= 5, (parameter, value, sentence)
                assert "ambiguous" not in sentence, (parameter, value)
                assert not hasattr(model, "n_features_in_")
                continue
            model.save(tmp_path / "m")
            assert load(tmp_path / "m").decision_function(X).tolist() == model.decision_function(X).tolist()


@pytest.mark.parametrize("value", [10**400, "1.0", Decimal(1), None, np.nan])
def test_a_number_that_is_none_is_named(value):
    with pytest.raises(ValueError, match="margin must be"):
        MIRA(margin=value).partial_fit(X, Y)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (MIRA(n_epochs=True), "n_epochs"),
        (Perceptron(kernel="rbf", budget=True), "budget"),
        (EllipsoidalSVC(max_iter=True), "max_iter"),
        (BayesPointMachine(max_bounces=True), "max_bounces"),
    ],
)
def test_a_truth_value_is_no_count(model, name):
    with pytest.raises(ValueError, match=f"{name} must be .*got True"):
        model.fit(X, Y)


def test_a_power_that_kernels_do_not_have():
    with pytest.raises(ValueError, match="degree must be a positive integer"):
        IELLIP(kernel="poly", gamma=0.1, degree=2.5).partial_fit(X, Y)


@pytest.mark.parametrize("scaler", [StandardStream, UnitNorm])
@pytest.mark.parametrize("index", [-1, -5, 7])
def test_a_scaled_learner_meets_an_index_out_of_range(index, scaler):
    C = sp.csr_matrix(X)
    model = Scaled(MIRA(), scaler=scaler()).partial_fit(C, Y)
    before = model.decision_function(C)
    bad = C.copy()
    bad.indices[0] = index
    for call in (model.partial_fit, model.learn_predict):
        with pytest.raises(ValueError, match="row 0 of X has column indices"):
            call(bad, Y)
    assert model.decision_function(C).tobytes() == before.tobytes()
    assert model.t_ == 4


def test_rows_too_wide_for_the_memory(state):
    """A petabyte of weights: refused with a sentence, and nothing has grown."""
    wide = sp.csr_matrix((np.ones(1), np.array([2**46 - 1]), np.array([0, 1])), shape=(1, 2**46))
    for kind in (MIRA, lambda **o: Scaled(MIRA(**o)), lambda **o: Scaled(MIRA(**o), scaler=UnitNorm())):
        for learned in (False, True):
            model = kind(grow_features=True)
            if learned:
                model.partial_fit(sp.csr_matrix(X), Y)
            for call in (lambda m: m.partial_fit(wide, [0]), lambda m: m.learn_predict(wide, [0]),
                         lambda m: m.learn_one(wide, 0)):  # fmt: skip
                with pytest.raises(ValueError, match=r"X is too wide: .* hash the features into fewer columns"):
                    call(model)
            assert getattr(model, "n_features_in_", 2) == 2
            assert not learned or model.partial_fit(sp.csr_matrix(X), Y).t_ == 8


def test_classes_given_later_close_the_set():
    for kind in (MIRA, lambda: Scaled(MIRA())):
        model = kind().partial_fit(X, Y)
        with pytest.raises(ValueError, match="not in classes"):
            model.partial_fit(X, [0, 1, 2, 0], classes=[0, 1])
        assert model.t_ == 4
        model.partial_fit(X, Y, classes=[1, 0])
        with pytest.raises(ValueError, match="not in classes"):
            model.partial_fit(X, [0, 1, 2, 0])
        with pytest.raises(ValueError, match="not in classes"):
            model.learn_one(X[0], 2)


def test_scikit_learn_finds_nothing_in_a_scaled_learner_without_a_seed(monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    results = check_estimator(Scaled(MIRA()), expected_failed_checks=EXPECTED, on_fail=None, on_skip=None)
    assert len(results) > 40
    assert [r["check_name"] for r in results if r["status"] == "failed"] == []


def test_the_seed_of_a_scaled_learner(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    one, other = Scaled(MIRA(random_state=3)).fit(X, y), Scaled(MIRA(), random_state=3).fit(X, y)
    assert one.coef_.tobytes() == other.coef_.tobytes()
    other.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.coef_.tobytes() == other.coef_.tobytes()
    assert again.fit(X, y).coef_.tobytes() == other.coef_.tobytes()


def test_dual_weights_have_room_for_every_function_that_the_weights_have():
    table = PowerTable(by_class=False, average=False, power=4.0)
    for functions in range(1, 12):
        table.reserve(functions, 5)
        assert table.V.shape == table.W.shape
        assert table.V.shape[1] >= functions


PUBLIC = {**LEARNERS, "EllipsoidalSVC": EllipsoidalSVC, "BayesPointMachine": BayesPointMachine}

# Parameters whose default is another one in some learner, and why.
OWN_DEFAULTS = {
    "margin": "each paper's own unit: some scale rows to length one, and 0 means mistakes only",
    "p": "a p-norm link with p = 2 would be the euclidean one",
    "average": "the certificate of OnlineEllipsoidalSVC speaks of its average",
    "n_epochs": "OnlineEllipsoidalSVC stops by itself, at tol",
    "nu": "a price for each example of a stream, and one for all rows of a batch",
    "r": "None lets EllipsoidalSVC choose it by hard_margin",
    "tol": "an angle of the Bayes point machine, a duality gap of the ellipsoidal machines, a score elsewhere",
    "intercept_scaling": "OnlineEllipsoidalSVC takes the length of its rows",
    "variant": "each paper counts its own",
    "trigger": "IELLIP is mistake-driven, AROW is not",
    "diagonal": "each rule's best",
    "eta": "a learning rate of QuasiAdditive, a probability of confidence-weighted learners",
    "kernel": "batch machines are kernel machines, as sklearn.svm.SVC",
    "gamma": "'scale' needs the variance of all rows, which a stream does not tell",
}


def defaults():
    found = {}
    for kind in PUBLIC.values():
        for parameter in list(signature(kind.__init__).parameters.values())[1:]:
            found.setdefault(parameter.name, []).append(parameter.default)
    return found


def test_one_name_has_one_default():
    several = {name for name, values in defaults().items() if len({(type(v), v) for v in values}) > 1}
    assert several == set(OWN_DEFAULTS)


@pytest.mark.parametrize("name", [*PUBLIC, "Scaled", "StandardStream", "UnitNorm"])
def test_parameters_are_given_by_name(name):
    kind = {**PUBLIC, "Scaled": Scaled, "StandardStream": StandardStream, "UnitNorm": UnitNorm}[name]
    with pytest.raises(TypeError, match="positional"):
        kind(*([MIRA()] if kind is Scaled else []), 1.0)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_parameter_is_explained(name):
    for parameter in PUBLIC[name]().get_params():
        assert re.search(rf"^ *([\w]+, )*{parameter}\b[^.]*$", PUBLIC[name].__doc__, flags=re.MULTILINE), parameter


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", PUBLIC)
@pytest.mark.parametrize("labels", [2, 3])
def test_equal_scores_mean_the_first_label_everywhere(name, labels, monkeypatch):
    rows, y = np.vstack([X, X + 1.0, X - 1.0]), np.arange(12) % labels
    model = PUBLIC[name](random_state=0).fit(rows, y)
    monkeypatch.setattr(PUBLIC[name], "decision_function", lambda *_: np.zeros(4 if labels == 2 else (4, labels)))
    assert model.predict(X).tolist() == [model.classes_[0]] * 4


def test_old_names_are_accepted_with_a_warning_that_gives_the_new_ones():
    with pytest.warns(DeprecationWarning, match="Perceptron: use multiclass='proportional'"):
        model = Perceptron(update="prop")
    assert model.multiclass == "proportional"
    assert clone(model).get_params() == model.get_params()
    assert "update" not in model.get_params()
    with pytest.raises(ValueError, match="'multiclass' and also 'update'"):
        Perceptron(update="max", multiclass="max")


@pytest.mark.parametrize(
    ("model", "flag"),
    [
        (Perceptron(fit_intercept="no"), "fit_intercept"),
        (MIRA(shuffle="False"), "shuffle"),
        (BayesPointMachine(fit_intercept="no"), "fit_intercept"),
        (EllipsoidalSVC(hard_margin="no"), "hard_margin"),
        (QuasiAdditive(average="no"), "average"),
        (PassiveAggressive(average=3), "average"),
        (MIRA(shuffle=None), "shuffle"),
        (IELLIP(kernel="rbf", average="vote"), "average"),
        (AROW(kernel="rbf", average="vote"), "average"),
    ],
)
def test_what_is_neither_true_nor_false_is_refused(model, flag):
    with pytest.raises(ValueError, match=f"{flag} must be True or False, got"):
        model.fit(X, Y)
