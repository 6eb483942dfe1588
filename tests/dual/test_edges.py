"""Extreme input and states: huge exponents, many features, zero rows, a hard margin, sums that must not drift."""

from math import inf

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from ellipsoid import OnlineSVM, PassiveAggressive, Perceptron, QuasiAdditive, Winnow, load
from ellipsoid.engine import tally as tallies

from ..estimators.expected_failures import EXPECTED

LINKED = ["entropy", "balanced", "p-norm"]


def finite(model):
    core = model._core
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(core.table.V).all()
    assert np.isfinite(core.table.numbers).all()
    assert np.isfinite(core.link.conjugate(core.theta()))


def exact_weights(model):
    """Weights from theta alone, with every digit numpy has."""
    core = model._core
    theta, link = core.theta().astype(np.longdouble).ravel(), core.link
    if model.link == "p-norm":
        norm = (np.abs(theta) ** link.p).sum() ** (1 / np.longdouble(link.p))
        return np.sign(theta) * np.abs(theta) ** (link.p - 1) / norm ** (link.p - 2)
    if model.link == "entropy":
        up = np.exp(theta - theta.max())
        return up / up.sum()
    top = np.abs(theta).max()
    up, down = np.exp(theta - top), np.exp(-theta - top)
    return (up - down) / (up + down).sum()


@pytest.mark.parametrize("link", LINKED)
def test_dual_vectors_of_a_thousand(link):
    """theta of size 1e3 and back again: weights are those of theta, to rounding, all the time."""
    rng = np.random.default_rng(2)
    signs = np.r_[np.ones(40), -np.ones(80), np.ones(40)]
    X = np.sign(rng.normal(size=6)) * 30.0 + rng.normal(size=(160, 6))
    model = QuasiAdditive(link=link, update="fixed", C=1.0, p=6.0, fit_intercept=False)
    largest = 0.0
    for x, sign in zip(X, signs, strict=True):
        # Turned so that each is a mistake.
        score = x @ model.coef_[0] if largest else 0.0
        y = int(sign > 0)
        x = x if score * sign <= 0.0 else -x
        model.partial_fit(x[None], [y], classes=[0, 1])
        largest = max(largest, np.abs(model._core.theta()).max())
        finite(model)
        np.testing.assert_allclose(model.coef_[0], exact_weights(model).astype(float), rtol=1e-11, atol=1e-13)
    huge = QuasiAdditive(link=link, update="fixed", C=1e4, p=6.0, fit_intercept=False)
    huge.partial_fit([[1.0, -0.5], [0.2, -1.0], [-1.0, -1.0]], [1, 0, 1], classes=[0, 1])
    finite(huge)
    assert np.abs(huge._core.theta()).max() >= 1e3
    np.testing.assert_allclose(huge.coef_[0], exact_weights(huge).astype(float), rtol=1e-11, atol=1e-13)
    assert all(c.observed <= c.bound for c in huge.certificates())


@pytest.mark.gate("p-norm")
@pytest.mark.parametrize("link", LINKED)
def test_a_million_features(link):
    # Every step of so many weights takes its time, and after a dozen of them nothing new comes.
    rng = np.random.default_rng(4)
    X = sp.random(12, 1_000_000, density=2e-5, format="csr", random_state=4)
    X.data = rng.normal(size=X.nnz)
    y = rng.integers(0, 2, 12)
    for update in ("fixed", "exact"):
        model = QuasiAdditive(link=link, update=update, C=5.0, margin=0.01, p=2.0 * np.log(1e6))
        model.partial_fit(X, y, classes=[0, 1])
        finite(model)
        total = np.abs(model.coef_).sum() + abs(model.intercept_[0])
        assert total <= 1.0 + 1e-9 if link != "p-norm" else total > 0.0
        if link == "entropy":
            assert total == pytest.approx(1.0, rel=1e-12)
        assert update == "fixed" or model.dual_objective_ > 0.0


@pytest.mark.parametrize("link", ["euclidean", *LINKED])
def test_a_zero_row_is_a_mistake_that_every_classifier_makes(link):
    worth = {"fixed": 0.4, "adaptive": 0.4, "curvature": 0.4, "exact": 0.4}
    for update, alpha in worth.items():
        model = QuasiAdditive(link=link, update=update, C=0.4, margin=0.5, fit_intercept=False)
        model.partial_fit([[0.0, 0.0]], [1], classes=[0, 1])
        assert (model.mistakes_, model.updates_) == (1, 0)
        assert not model._core.theta().any()
        assert model.dual_objective_ == pytest.approx(0.5 * alpha)
        assert model.least_loss(1e9) == pytest.approx(0.5)
        assert all(c.observed <= c.bound for c in model.certificates())
    capped = QuasiAdditive(link=link, update="adaptive", C=3.0, margin=0.5, fit_intercept=False)
    assert capped.partial_fit([[0.0, 0.0]], [1], classes=[0, 1]).dual_objective_ == pytest.approx(0.25)


def test_a_constant_row_under_a_distribution():
    """It scores the constant whatever the weights are: they stay, theta moves, the dual gains C times the loss."""
    model = QuasiAdditive(link="entropy", update="curvature", C=0.4, margin=0.5, fit_intercept=False)
    model.partial_fit([[0.3, 0.3, 0.3]], [1], classes=[0, 1])
    np.testing.assert_allclose(model.coef_, 1.0 / 3.0, rtol=1e-15)
    np.testing.assert_allclose(model._core.theta(), 0.12, rtol=1e-15)
    assert model.dual_objective_ == pytest.approx(0.4 * 0.2, rel=1e-12)


@pytest.mark.interpreted
@pytest.mark.parametrize("model", [OnlineSVM(margin=1e-300, C=4.0), QuasiAdditive(margin=1e-300, C=4.0)])
def test_a_theta_whose_square_is_no_number_any_more(model):
    """Along the ray a factor of 1e303 makes it as large as any: the conjugate there is not the 0 of its beginning."""
    X = 1e3 * np.random.default_rng(0).normal(size=(8, 3))
    model = clone(model).partial_fit(X, np.arange(8) % 2)
    assert 0.0 < np.abs(model.coef_).max() < 1e-160
    for comparator in (model.coef_ / np.abs(model.coef_).max(), -model.coef_ / np.abs(model.coef_).max()):
        for certificate in model.certificates(comparator):
            assert certificate.observed <= certificate.bound, certificate


@pytest.mark.parametrize("link", ["euclidean", "p-norm"])
def test_a_hard_margin(link):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(40, 3))
    y = (X[:, 0] > 0.0).astype(int)
    model = QuasiAdditive(link=link, update="exact", C=inf, margin=0.7, fit_intercept=False)
    for t in range(40):
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=[0, 1])
        # The exact step without a cap ends on the margin.
        assert (2 * y[t] - 1) * model.decision_function(X[t : t + 1])[0] >= 0.7 - 1e-9
    assert all(c.observed <= c.bound for c in model.certificates())
    named = {c.name: c for c in model.certificates(np.array([1.0, 0.0, 0.0]))}
    assert named["rescaled dual objective"].observed >= model.dual_objective_ - 1e-12
    unit = "average margin of the unit comparator on the updates"
    assert 0.0 < named[unit].observed <= named[unit].bound
    # A zero row cannot have a margin: no multiplier stands for it.
    before = model.dual_objective_
    model.partial_fit(np.zeros((1, 3)), [1])
    assert model.dual_objective_ == before
    assert {c.name: c.bound for c in model.certificates()}["mistakes"] == inf


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"link": "entropic"}, "link must be one of 'euclidean', 'entropy', 'balanced', 'p-norm'"),
        ({"update": "last-k"}, "update must be one of 'fixed', 'adaptive', 'curvature', 'exact'"),
        ({"multiclass": "all"}, "multiclass must be one of 'max', 'ovr'"),
        ({"C": 0.0}, "C must be positive"),
        ({"C": inf, "link": "balanced"}, "C must be finite with link='balanced'"),
        ({"C": inf, "update": "fixed"}, "C must be finite with update='fixed'"),
        ({"C": inf, "update": "adaptive"}, "C must be finite with update='adaptive'"),
        ({"C": 1e300, "update": "fixed"}, "C must be at most 1e60 with update='fixed'"),
        ({"margin": 0.0}, "margin must be positive and finite, got 0"),
        ({"p": 1.5}, "p must be at least 2, got 1.5"),
    ],
)
def test_bad_parameters_are_refused_with_a_sentence(settings, message):
    with pytest.raises(ValueError, match=message):
        QuasiAdditive(**settings).partial_fit([[1.0]], [0])


@pytest.mark.parametrize("link", ["entropy", "balanced"])
def test_steps_as_long_as_any_cap_behind_an_entropy_are_finite(link):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)) * np.array([[1.0], [1e135]])[np.arange(40) % 2], rng.integers(0, 2, 40)
    for C in (1e60, 1e300):
        model = QuasiAdditive(link=link, C=C).partial_fit(X, y, classes=[0, 1], sample_weight=np.full(40, 9e15))
        assert np.isfinite(model.decision_function(X)).all()
        assert all(c.observed <= c.bound for c in model.certificates())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"version": 3}, "version must be 1 or 2, got 3"),
        ({"eta": 0.0}, "eta must be positive"),
        ({"multiclass": "ovr"}, "multiclass must be one of 'uniform', 'max', 'proportional'"),
        ({"margin": -1.0}, "margin must be non-negative"),
    ],
)
def test_bad_parameters_of_winnow(settings, message):
    with pytest.raises(ValueError, match=message):
        Winnow(**settings).partial_fit([[1.0]], [0])


@pytest.mark.interpreted
def test_a_third_label_must_be_announced_to_the_entropies():
    X, y = np.eye(3), np.array([0, 1, 2])
    for model in (QuasiAdditive(link="balanced"), Winnow()):
        with pytest.raises(ValueError, match=r"y brings the label 2, number 3.*pass classes="):
            model.partial_fit(X, y)
        assert not hasattr(model, "classes_")
        model.partial_fit(X[:2], y[:2])
        with pytest.raises(ValueError, match="pass classes="):
            model.partial_fit(X, y)
        assert model.t_ == 2
    assert len(QuasiAdditive(link="p-norm").partial_fit(X, y).classes_) == 3


@pytest.mark.parametrize("link", LINKED)
@pytest.mark.parametrize("average", [False, True])
def test_chunks_and_files_change_nothing(link, average, tmp_path):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(90, 5))
    y = np.argmax(X[:, :3] + rng.normal(size=(90, 3)), axis=1)
    settings = {"link": link, "margin": 0.1, "average": average, "update": "exact"}
    whole = QuasiAdditive(**settings).partial_fit(X, y, classes=[0, 1, 2])
    for size in (1, 7):
        model = QuasiAdditive(**settings)
        for start in range(0, 90, size):
            model.partial_fit(X[start : start + size], y[start : start + size], classes=[0, 1, 2])
            if start == 42:
                model.save(tmp_path / "m")
                model = load(tmp_path / "m")
        assert model.coef_.tobytes() == whole.coef_.tobytes()
        assert model.dual_objective_ == whole.dual_objective_
        assert model._core.table.numbers.tobytes() == whole._core.table.numbers.tobytes()


@pytest.mark.parametrize("link", LINKED)
def test_the_average_is_the_mean_of_all_hypotheses(link):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(40, 5))
    y = np.argmax(X[:, :3] + rng.normal(size=(40, 3)), axis=1)
    settings = {"link": link, "margin": 0.1, "update": "exact"}
    plain, averaged, total = QuasiAdditive(**settings), QuasiAdditive(average=True, **settings), 0.0
    for t in range(40):
        plain.partial_fit(X[t : t + 1], y[t : t + 1], classes=[0, 1, 2])
        total = total + plain.coef_
    averaged.partial_fit(X, y, classes=[0, 1, 2])
    np.testing.assert_allclose(averaged.coef_, total / 40, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(
        averaged.decision_function(X), X @ averaged.coef_.T + averaged.intercept_, rtol=1e-12, atol=1e-14
    )


@pytest.mark.interpreted
def test_which_learner_is_which():
    """The Perceptron and PA-I are two settings of the template, to the last bit, also when a third label appears."""
    rng = np.random.default_rng(10)
    X = rng.normal(size=(150, 4))
    y = np.argmax(X[:, :3] + rng.normal(size=(150, 3)), axis=1)
    y[:50] %= 2
    for ours, theirs in [
        (QuasiAdditive(update="fixed", C=1.0), Perceptron(multiclass="max")),
        (QuasiAdditive(update="fixed", C=1.0, multiclass="ovr"), Perceptron(multiclass="ovr")),
        (QuasiAdditive(update="exact", C=0.1), PassiveAggressive(variant="I", C=0.1)),
        (QuasiAdditive(update="curvature", C=inf), PassiveAggressive(variant="hard")),
    ]:
        for rows in (X, sp.csr_matrix(X)):
            ours.partial_fit(rows, y)
            theirs.partial_fit(rows, y)
            assert ours.coef_.tobytes() == theirs.coef_.tobytes()
            assert (ours.mistakes_, ours.updates_) == (theirs.mistakes_, theirs.updates_)


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        QuasiAdditive(link="balanced", update="exact", margin=0.1),
        QuasiAdditive(link="entropy", update="curvature", multiclass="ovr"),
        QuasiAdditive(link="p-norm", average=True),
        Winnow(version=1, balanced=False, multiclass="proportional"),
    ],
    ids=repr,
)
def test_scikit_learn_finds_nothing_behind_a_link(model, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    results = check_estimator(model, expected_failed_checks=EXPECTED, on_fail=None, on_skip=None)
    assert len(results) > 40
    assert [r["check_name"] for r in results if r["status"] == "failed"] == []


@pytest.mark.parametrize("rows", [np.array, sp.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("link", LINKED)
def test_exact_steps_along_rows_of_all_scales(link, rows):
    """What dominates a sum before a step may be nothing after it: a step that is not cut short ends on the margin."""
    steps = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(40, 4)) * 10.0 ** rng.integers(-3, 6, size=(40, 1))
        X[rng.random(X.shape) < 0.3] = 0.0
        y = rng.integers(0, 2, 40)
        model, weight = QuasiAdditive(link=link, update="exact", p=3.0, fit_intercept=False), 0.0
        for x, label in zip(X, y, strict=True):
            model.partial_fit(rows(x[None]), [label], classes=[0, 1])
            finite(model)
            alpha, weight = model._core.tally[tallies.WEIGHT] - weight, model._core.tally[tallies.WEIGHT]
            if 1e-9 < alpha < 1.0 - 1e-9:
                steps += 1
                margin = (1.0 if label else -1.0) * float(exact_weights(model) @ x)
                # theta is rounded, and the margin moves by so much with it.
                rounding = np.abs(model._core.theta()).max() * np.abs(x).max()
                assert margin == pytest.approx(1.0, abs=1e-9 + 1e-13 * rounding)
        assert all(c.observed <= c.bound for c in model.certificates())
    assert steps > 60


@pytest.mark.long
def test_features_that_come_after_very_long_rows_find_finite_weights(tmp_path):
    """All known coordinates lie far below zero, where a new one begins."""
    model = Winnow(fit_intercept=False, version=1, balanced=False, grow_features=True)
    model.partial_fit(np.array([[1e36, 2e36]]), [1], classes=[0, 1]).partial_fit(np.array([[1e36, 2e36]]), [0])
    model.partial_fit(np.array([[0.0, 0.0, 1.0]]), [1])
    assert np.isfinite(model.coef_).all()
    model.save(tmp_path / "m")
    assert (load(tmp_path / "m").coef_ == model.coef_).all()


@pytest.mark.interpreted
@pytest.mark.parametrize("update", ["fixed", "adaptive", "curvature", "exact"])
@pytest.mark.parametrize("dicts", [False, True])
def test_a_distribution_over_features_that_come_later_exceeds_no_bound(update, dicts):
    """G is a mean over all features, and one more may lower the dual."""
    model = QuasiAdditive(link="entropy", update=update, C=1.0, fit_intercept=False, grow_features=not dicts)
    for j in range(20):
        row = {f"f{j}": -10.0, "f0": -10.0} if dicts else sp.csr_matrix(([-10.0], ([0], [j])), shape=(1, j + 1))
        model.partial_fit([row] if dicts else row, [1 if j else 0], classes=[0, 1] if j == 0 else None)
        assert all(c.observed <= c.bound for c in model.certificates())


@pytest.mark.interpreted
@pytest.mark.parametrize("model", [QuasiAdditive(), OnlineSVM()], ids=repr)
def test_a_common_margin_says_that_it_counts_zero_rows_in(model):
    trained = clone(model).set_params(fit_intercept=False).partial_fit([[1.0], [0.0]], [1, 0], [0, 1])
    bound = {each.name: each for each in trained.certificates()}["average margin of the unit comparator on the updates"]
    # The row that moved has margin 1; the zero row has an alpha, and margin 0 under everything.
    assert bound.bound == pytest.approx(0.5)
    assert trained.updates_ == 1
    assert "zero rows" in bound.holds_if
