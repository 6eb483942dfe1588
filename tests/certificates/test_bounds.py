"""No certificate is ever exceeded, whatever the stream and the comparator; none is worse than its theorem."""

from math import inf, isinf, isnan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from ellipsoid import ALMA, MIRA, ROMMA, Certificate, PassiveAggressive, Perceptron, QuasiAdditive, Winnow
from ellipsoid.estimators import LEARNERS

pytestmark = pytest.mark.interpreted

SETTINGS = {
    "uniform": Perceptron(multiclass="uniform"),
    "max, margin": Perceptron(multiclass="max", margin=0.7),
    "prop": Perceptron(multiclass="proportional", margin=0.1, average=True),
    "one-vs-rest": Perceptron(multiclass="ovr"),
    "one-vs-rest, margin": Perceptron(multiclass="ovr", margin=0.7),
    "PA": PassiveAggressive(variant="hard"),
    "PA, margin": PassiveAggressive(variant="hard", margin=0.1, average=True),
    "PA-I": PassiveAggressive(variant="I", C=0.03),
    "PA-II": PassiveAggressive(variant="II", C=0.3),
    "MIRA": MIRA(margin=0.01),
    "MIRA, wide": MIRA(margin=3.0),
    "MIRA at the cap": MIRA(margin=100.0),
    "ROMMA, uniform": ROMMA(multiclass="uniform"),
    "ROMMA, aggressive": ROMMA(aggressive=True, average=True),
    "ROMMA, aggressive, uniform": ROMMA(aggressive=True, multiclass="uniform"),
    "ROMMA, aggressive, prop": ROMMA(aggressive=True, multiclass="proportional"),
    "ALMA, p = 5": ALMA(p=5, alpha=0.3, average=True),
    **{name: learner() for name, learner in LEARNERS.items()},
}


def separable(rng, n, classes, dim):
    """Examples that a unit comparator (a vector for two classes, else a matrix) separates; its least margin."""
    rows = 1 if classes == 2 else classes
    U = rng.normal(size=(rows, dim))
    U /= np.linalg.norm(U)
    X = rng.normal(size=(4 * n, dim)) * rng.uniform(0.3, 3.0)
    scores = X @ U.T
    if classes == 2:
        y, margins = (scores[:, 0] > 0.0).astype(int), np.abs(scores[:, 0])
    else:
        y, ordered = scores.argmax(axis=1), np.sort(scores, axis=1)
        margins = ordered[:, -1] - ordered[:, -2]
    keep = np.argsort(-margins)[:n]
    keep = rng.permutation(keep)
    return X[keep], y[keep], U, margins[keep].min()


@st.composite
def streams(draw):
    """Separable, noisy, tied or broken by zero rows; two to four classes, known before or not."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, classes, dim = draw(st.integers(1, 50)), draw(st.integers(2, 4)), draw(st.integers(1, 4))
    X, y, U, _ = separable(rng, n, classes, dim)
    kind = draw(st.sampled_from(["separable", "noisy", "tied", "zeros"]))
    if kind == "noisy":
        y = np.where(rng.random(n) < 0.3, rng.integers(0, classes, n), y)
    elif kind == "tied":
        X = np.round(X)
    elif kind == "zeros":
        X[rng.random(n) < 0.4] = 0.0
    return X, y, classes, U, rng


@pytest.mark.parametrize("name", SETTINGS)
@settings(max_examples=40)
@given(
    stream=streams(), intercept=st.booleans(), announced=st.booleans(), scale=st.sampled_from([1e-3, 0.1, 1.0, 30.0])
)
def test_nothing_observed_exceeds_its_bound(name, stream, intercept, announced, scale):
    X, y, classes, U, rng = stream
    announced |= name in CLOSED
    model = clone(SETTINGS[name]).set_params(fit_intercept=intercept)
    model.partial_fit(X, y, classes=range(classes) if announced else None)
    shape = model.coef_.shape
    comparators = [None, scale * rng.normal(size=shape), model.coef_, scale * model.coef_, np.zeros(shape)]
    comparators.append(scale * rng.normal(size=(shape[0], shape[1] + 1)))
    if U.shape == shape:
        comparators += [U, scale * U, -U]
    for comparator in comparators:
        certificates = model.certificates(comparator)
        assert len({certificate.name for certificate in certificates}) == len(certificates) > 0
        for certificate in certificates:
            assert isinstance(certificate, Certificate)
            assert certificate.holds_if
            assert not isnan(certificate.bound)
            assert certificate.observed <= certificate.bound, (certificate, comparator)


@pytest.mark.parametrize(
    "model", [PassiveAggressive(variant="hard"), PassiveAggressive(C=1.0), MIRA(margin=1.0)], ids=repr
)
def test_zero_rows_among_many_updates_do_not_hide(model):
    """A zero row is a mistake that updates nothing: a bound on mistakes must not be met by counting other updates."""
    model = clone(model).set_params(fit_intercept=False)
    # The examples turn slowly, so that each is right at once, by too small a margin: many updates, one mistake.
    angles = np.linspace(0.0, 1.2, 12)
    X, y = np.column_stack([np.cos(angles), np.sin(angles)]), np.ones(12, dtype=int)
    model.partial_fit(X, y, classes=[0, 1])
    assert (model.mistakes_, model.updates_) == (1, 12)
    before = bounds(model)["mistakes"]
    zeros = int(before)
    assert zeros < 8
    model.partial_fit(np.zeros((zeros, 2)), y[:zeros])
    assert before < model.mistakes_ <= model.updates_
    assert bounds(model)["mistakes"] == inf


@pytest.mark.parametrize("model", [QuasiAdditive(C=inf, multiclass="ovr"), Perceptron(multiclass="ovr")], ids=repr)
def test_zero_rows_do_not_hide_from_one_vs_rest(model):
    """There no function can move for them, and one that moves for another row must not be counted in their place."""
    model = clone(model).set_params(fit_intercept=False)
    model.partial_fit([[1.0], [0.0], [0.0], [-1.0], [1.0], [-1.0]], [0, 1, 2, 3, 1, 2], classes=range(4))
    found = bounds(model)
    assert model.mistakes_ >= 4
    assert found["mistakes"] == inf


@pytest.mark.parametrize(("version", "balanced"), [(1, True), (1, False), (2, True), (2, False)])
def test_bounds_of_winnow_hold_where_features_come_later(version, balanced):
    """With one feature, in a group of its own, weights cannot move and exponents do: it is they that a second meets."""
    for eta in (0.1, 1.0):
        model = Winnow(version=version, balanced=balanced, eta=eta, fit_intercept=False, grow_features=True)
        model.partial_fit([[1.0]] * 8, [1, 0, 1, 1, 1, 1, 1, 1], classes=[0, 1])
        model.partial_fit([[1.0, 0.5], [0.0, 1.0], [1.0, -1.0]], [1, 0, 1])
        assert model.updates_ > 0
        for comparator in (None, [[0.5, 0.1]], [[1.0, 0.0]]):
            for certificate in model.certificates(comparator):
                assert certificate.observed <= certificate.bound, (certificate, comparator)


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("classes", [2, 3])
def test_comparators_of_any_size_give_numbers(name, classes):
    rng = np.random.default_rng(1)
    X, y, U, _ = separable(rng, 40, classes, 3)
    model = clone(SETTINGS[name]).partial_fit(X, y, classes=range(classes))
    for size in (1e-320, 1e-200, 1e-100, 1e100, 1e160, 1e308):
        for comparator in (size * U, -size * U):
            for certificate in model.certificates(comparator):
                assert not isnan(certificate.bound), size
                assert certificate.observed <= certificate.bound, size


@pytest.mark.parametrize("learner", [Perceptron, PassiveAggressive, MIRA])
@pytest.mark.parametrize("margin", [1e-300, 1e-160, 1e150, 1e160, 1e300])
def test_margins_of_any_size_give_bounds_that_hold(learner, margin):
    """With 1e160 a square overflows: what is left of a difference of infinities bounds nothing."""
    rng = np.random.default_rng(1)
    X, y, _, _ = separable(rng, 40, 3, 3)
    model = learner(margin=margin).partial_fit(X, y, classes=range(3))
    assert model.mistakes_
    for certificate in model.certificates():
        assert certificate.observed <= certificate.bound, certificate.name


def bounds(model, comparator=None):
    return {certificate.name: certificate.bound for certificate in model.certificates(comparator)}


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    classes=st.integers(2, 5),
    beta=st.sampled_from([0.0, 0.1, 2.0]),
    multiclass=st.sampled_from(["uniform", "max", "proportional"]),
)
def test_perceptron_is_within_the_theorem(seed, classes, beta, multiclass):
    """Novikoff's (R^2 + 2 beta) / gamma^2, and (2 R^2 + 2 beta) / gamma^2 for the multiclass family."""
    X, y, U, gamma = separable(np.random.default_rng(seed), 60, classes, 3)
    model = Perceptron(multiclass=multiclass, margin=beta, fit_intercept=False).partial_fit(
        X, y, classes=range(classes)
    )
    theorem = ((1 if classes == 2 else 2) * (X**2).sum(axis=1).max() + 2.0 * beta) / gamma**2
    bound = bounds(model, U)
    assert model.updates_ <= bound["updates"] <= theorem * (1.0 + 1e-6)
    assert model.mistakes_ <= bound["mistakes"] <= theorem * (1.0 + 1e-6)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    classes=st.integers(3, 5),
    beta=st.sampled_from([0.0, 0.1, 2.0]),
    multiclass=st.sampled_from(["uniform", "max", "proportional"]),
    gamma=st.sampled_from([0.05, 0.5, 3.0]),
)
def test_perceptron_with_label_noise_is_within_the_theorem(seed, classes, beta, multiclass, gamma):
    """2 (sqrt(R^2 + beta) + D)^2 / gamma^2 for any unit matrix and any gamma, D^2 the sum of its squared losses."""
    rng = np.random.default_rng(seed)
    X, y, U, _ = separable(rng, 80, classes, 3)
    y = np.where(rng.random(80) < 0.2, rng.integers(0, classes, 80), y)
    model = Perceptron(multiclass=multiclass, margin=beta, fit_intercept=False).partial_fit(
        X, y, classes=range(classes)
    )
    scores = X @ U.T
    right = scores[np.arange(80), y].copy()
    scores[np.arange(80), y] = -inf
    losses = np.maximum(0.0, gamma - (right - scores.max(axis=1)))
    R2 = (X**2).sum(axis=1).max()
    assert model.updates_ <= 2.0 * (np.sqrt(R2 + beta) + np.linalg.norm(losses)) ** 2 / gamma**2


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), classes=st.integers(2, 5), beta=st.sampled_from([0.001, 0.1, 2.0, 50.0]))
def test_mira_is_within_the_theorem(seed, classes, beta):
    """Mistakes <= 2 R^2 / gamma^2, or beta^2 / (2 gamma^2 (beta - R^2)) if beta > 2 R^2; sum tau <= 2 beta/gamma^2."""
    X, y, U, gamma = separable(np.random.default_rng(seed), 60, classes, 3)
    model = MIRA(margin=beta, fit_intercept=False).partial_fit(X, y, classes=range(classes))
    # A unit vector with margin g stands for a unit matrix with margin sqrt(2) g; a comparator w for the rows -w, w.
    matrix_gamma = gamma * (np.sqrt(2.0) if classes == 2 else 1.0)
    comparator = U * beta / (2.0 * gamma if classes == 2 else gamma)
    R2 = (X**2).sum(axis=1).max()
    theorem = 2.0 * R2 / matrix_gamma**2 if beta <= 2.0 * R2 else beta**2 / (2.0 * matrix_gamma**2 * (beta - R2))
    bound = bounds(model, comparator)
    assert model.mistakes_ <= bound["mistakes"] <= theorem * (1.0 + 1e-6)
    assert bound["sum of tau"] <= 2.0 * beta / matrix_gamma**2 * (1.0 + 1e-6)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    classes=st.integers(2, 5),
    margin=st.sampled_from([0.1, 1.0]),
    variant=st.sampled_from(["hard", "I", "II"]),
    C=st.sampled_from([0.05, 10.0]),
)
def test_passive_aggressive_is_within_the_theorem(seed, classes, margin, variant, C):
    X, y, U, gamma = separable(np.random.default_rng(seed), 60, classes, 3)
    model = PassiveAggressive(variant=variant, C=C, margin=margin, fit_intercept=False)
    model.partial_fit(X, y, classes=range(classes))
    comparator = U * margin / gamma
    energy = (1 if classes == 2 else 2) * (X**2).sum(axis=1).max() + (0.5 / C if variant == "II" else 0.0)
    squares = energy * (margin / gamma) ** 2
    mistakes = max(energy / margin**2, 1.0 / (C * margin) if variant == "I" else 0.0) * (margin / gamma) ** 2
    bound = bounds(model, comparator)
    assert model.mistakes_ <= bound["mistakes"] <= mistakes * (1.0 + 1e-6)
    if variant == "I":
        assert isinf(bound["sum of squared losses"])
    else:
        assert bound["sum of squared losses"] <= squares * (1.0 + 1e-6)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), classes=st.integers(2, 5), aggressive=st.booleans())
def test_romma_is_within_the_theorem(seed, classes, aggressive):
    """R^2 |u|^2 for two labels, 2 R^2 |M*|^2 for more, of a comparator with margin one."""
    X, y, U, gamma = separable(np.random.default_rng(seed), 60, classes, 3)
    model = ROMMA(aggressive=aggressive, fit_intercept=False).partial_fit(X, y, classes=range(classes))
    theorem = (1 if classes == 2 else 2) * (X**2).sum(axis=1).max() / gamma**2
    bound = bounds(model, U)
    assert model.mistakes_ <= bound["mistakes"] <= theorem * (1.0 + 1e-6)
    # Never longer than the shortest vector with margin one on what it has seen.
    assert np.linalg.norm(model.coef_) <= (1.0 + 1e-9) / gamma


# Learners that want to know all labels beforehand.
CLOSED = ("CELLIP", "Winnow")

LINEAR = ["uniform", "max, margin", "one-vs-rest, margin", "PA", "PA-I", "PA-II", "MIRA", "MIRA, wide"]
LINEAR += ["ROMMA", "ROMMA, aggressive", "ROMMA, uniform", "ALMA", "ALMA, p = 5"]


@pytest.mark.parametrize("name", LINEAR)
def test_labels_that_appear_one_after_another_leave_the_bounds_finite(name):
    X, y, U, _ = separable(np.random.default_rng(8), 60, 3, 3)
    order = np.argsort(y == 2, kind="stable")
    model = clone(SETTINGS[name]).set_params(fit_intercept=False).partial_fit(X[order], y[order])
    assert model._core.split
    finite = [certificate for certificate in model.certificates(3.0 * U[model.classes_]) if certificate.bound < inf]
    assert "mistakes" in {certificate.name for certificate in finite}
    assert all(certificate.observed <= certificate.bound for certificate in finite)


def test_infinite_rather_than_wrong():
    X, y, U, _ = separable(np.random.default_rng(3), 60, 2, 3)
    for model in (Perceptron(fit_intercept=False), MIRA(fit_intercept=False)):
        model.partial_fit(X, y, classes=[0, 1])
        hopeless = bounds(model, -U)
        assert isinf(hopeless["updates" if isinstance(model, Perceptron) else "sum of tau"])
        model.partial_fit(np.zeros((1, 3)), [0])
        assert isinf(bounds(model, U)["mistakes"])


def test_shapes_of_comparators():
    X, y, U, _ = separable(np.random.default_rng(4), 60, 3, 4)
    model = MIRA().partial_fit(X, y, classes=range(3))
    assert model.certificates(U) == model.certificates(np.column_stack([np.zeros(3), U]))
    assert model.certificates(U.tolist()) == model.certificates(U)
    for bad in (U[:2], U[:, :3], U[0], U.T, 5.0, np.zeros((3, 4, 2)), np.zeros((0, 4))):
        with pytest.raises(ValueError, match=r"comparator must have shape \(3, 5\) or \(3, 4\)"):
            model.certificates(bad)
    for bad in (U * np.nan, np.where(U > 0, np.inf, U)):
        with pytest.raises(ValueError, match="comparator holds NaN or inf"):
            model.certificates(bad)
    two = PassiveAggressive().partial_fit(X, y % 2, classes=[0, 1])
    assert two.certificates(U[0]) == two.certificates(U[:1]) == two.certificates([0.0, *U[0]])
    with pytest.raises(ValueError, match=r"comparator must have shape \(1, 5\) or \(1, 4\)"):
        two.certificates(U)


def test_observed_is_what_the_learner_reports():
    X, y, _, _ = separable(np.random.default_rng(5), 60, 3, 4)
    for model in (Perceptron(), PassiveAggressive(), MIRA()):
        model.partial_fit(X, y, classes=range(3))
        observed = {certificate.name: certificate.observed for certificate in model.certificates()}
        assert observed["mistakes"] == model.mistakes_
        if isinstance(model, Perceptron):
            assert observed["updates"] == model.updates_
            weights = np.column_stack([model.intercept_, model.coef_])
            assert observed["squared norm"] == pytest.approx((weights**2).sum())
    parts = Perceptron(multiclass="ovr").partial_fit(X, y, classes=range(3))
    assert {c.name: c.observed for c in parts.certificates()}["updates"] >= parts.updates_
