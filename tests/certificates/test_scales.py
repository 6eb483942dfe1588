"""Certificates of rows of every size that the loop accepts: nothing is exceeded by rounding, nothing is NaN."""

from math import inf, isnan

import numpy as np
import pytest
from sklearn.base import clone

from ellipsoid import (
    ALMA,
    AROW,
    CELLIP,
    IELLIP,
    MIRA,
    NHERD,
    ROMMA,
    SCW,
    ConfidenceWeighted,
    OnlineEllipsoidalSVC,
    OnlineSVM,
    PassiveAggressive,
    Perceptron,
    QuasiAdditive,
    SecondOrderPerceptron,
    Winnow,
)

SETTINGS = {
    "Perceptron": Perceptron(),
    "Perceptron, uniform": Perceptron(multiclass="uniform", margin=0.7),
    "Perceptron, prop": Perceptron(multiclass="proportional", margin=0.1),
    "Perceptron, one-vs-rest": Perceptron(multiclass="ovr", margin=0.7),
    "PA": PassiveAggressive(variant="hard"),
    "PA-I": PassiveAggressive(C=0.03),
    "PA-I, high cap": PassiveAggressive(C=1e3),
    "PA-II": PassiveAggressive(variant="II", C=0.3, margin=0.1),
    "MIRA": MIRA(),
    "MIRA, wide": MIRA(margin=3.0),
    "MIRA at the cap": MIRA(margin=100.0),
    "ROMMA": ROMMA(),
    "ROMMA, aggressive": ROMMA(aggressive=True),
    "ROMMA, aggressive, uniform": ROMMA(aggressive=True, multiclass="uniform"),
    "ROMMA, aggressive, prop": ROMMA(aggressive=True, multiclass="proportional"),
    "ALMA": ALMA(),
    "ALMA, p = 5": ALMA(p=5, alpha=0.3),
    "OnlineSVM, 16": OnlineSVM(window=16, C=1e3),
    "OnlineSVM, hard": OnlineSVM(window=16, C=inf),
    "OnlineSVM, 2": OnlineSVM(window=2, C=10.0),
    "OnlineSVM, 1": OnlineSVM(window=1, C=10.0),
    "OnlineSVM, all": OnlineSVM(window=None),
    **{
        f"QuasiAdditive, {link}, {update}, {multiclass}": QuasiAdditive(
            link=link, update=update, multiclass=multiclass, C=1.0 if multiclass == "max" else 30.0
        )
        for link in ("euclidean", "entropy", "balanced", "p-norm")
        for update in ("fixed", "adaptive", "curvature", "exact")
        for multiclass in ("max", "ovr")
    },
    "QuasiAdditive, hard": QuasiAdditive(C=inf),
    "QuasiAdditive, p-norm, hard": QuasiAdditive(link="p-norm", C=inf),
    "Winnow": Winnow(),
    "Winnow, version 1": Winnow(version=1),
    "Winnow, version 1, positive": Winnow(balanced=False, version=1, eta=1.0),
    "Winnow, positive": Winnow(balanced=False, margin=0.1, multiclass="uniform"),
    "CELLIP": CELLIP(),
    "CELLIP, minvol": CELLIP(cut="minvol", a=0.5),
    "CELLIP, always": CELLIP(trigger="always", margin=0.01),
    "CELLIP, minvol, always": CELLIP(cut="minvol", trigger="always", a=0.5),
    "IELLIP": IELLIP(),
    "IELLIP, margin": IELLIP(trigger="margin"),
    "IELLIP, endless": IELLIP(b=1.0, c=0.5),
    "IELLIP, by round": IELLIP(decay="round", b=0.9, c=0.9),
    "AROW": AROW(),
    "AROW, gentle": AROW(r=1e4),
    "AROW, sketch": AROW(shape="sketch", size=3),
    "AROW, gram": AROW(shape="gram"),
    "SOP": SecondOrderPerceptron(a=0.01),
    "CW": ConfidenceWeighted(),
    "CW, variance": ConfidenceWeighted(variant="variance", eta=0.6),
    "SCW-I": SCW(),
    "SCW-II": SCW(variant="II", C=10.0),
    "NHERD": NHERD(),
    "OnlineEllipsoidalSVC": OnlineEllipsoidalSVC(),
    "OnlineEllipsoidalSVC, trace": OnlineEllipsoidalSVC(formulation="trace"),
}
# One of a kind, for every day: the others share their machine code, but not their numbers.
FEW = [
    "Perceptron", "Perceptron, one-vs-rest", "PA", "PA-II", "MIRA at the cap", "ROMMA, aggressive", "ALMA, p = 5",
    "OnlineSVM, 16", "OnlineSVM, hard", "QuasiAdditive, euclidean, exact, max", "QuasiAdditive, entropy, exact, ovr",
    "QuasiAdditive, balanced, curvature, max", "QuasiAdditive, p-norm, exact, max", "Winnow",
    "Winnow, version 1, positive", "CELLIP, minvol", "IELLIP", "IELLIP, by round", "AROW", "AROW, sketch", "CW",
    "OnlineEllipsoidalSVC",
]  # fmt: skip

POWERS = [-145, -140, -100, -75, -30, -12, -8, -6, -3, -1, 0, 0, 1, 3, 6, 7, 8, 12, 30, 75, 100, 140, 144]


def stream(rng):
    """Separable, noisy, tied rows, some of them zero or of very different sizes, times some power of ten."""
    n, classes, dim = int(rng.integers(1, 60)), int(rng.integers(2, 5)), int(rng.integers(1, 5))
    U = rng.normal(size=(1 if classes == 2 else classes, dim))
    X = rng.normal(size=(n, dim))
    scores = X @ U.T
    y = (scores[:, 0] > 0.0).astype(int) if classes == 2 else scores.argmax(axis=1)
    kind = rng.choice(["separable", "noisy", "tied", "zeros", "uneven"])
    if kind == "noisy":
        y = np.where(rng.random(n) < 0.3, rng.integers(0, classes, n), y)
    elif kind == "tied":
        X = np.round(X)
    elif kind == "zeros":
        X[rng.random(n) < 0.3] = 0.0
    elif kind == "uneven":
        X *= 10.0 ** rng.integers(-8, 9, size=(n, 1))
    scale = 10.0 ** float(rng.choice(POWERS))
    X *= scale
    X[(X**2).sum(axis=1) > 1e289] *= 1e-8
    return X, y, classes, U, scale


def comparators(model, U, scale, rng):
    shape = model.coef_.shape
    noise = rng.normal(size=shape)
    yield None
    for found in (model.coef_, noise, 0.0 * noise, 1e-300 * noise, 1e300 * noise, noise / scale, 1e8 * model.coef_):
        if np.isfinite(found).all():
            yield found
    if U.shape == shape:
        yield from (U, U / scale, -U)


def run(name, streams, seed):
    """No certificate of so many streams is exceeded; how many bounds there were, and how many finite ones."""
    rng, told, finite = np.random.default_rng(seed), 0, 0
    for number in range(streams):
        X, y, classes, U, scale = stream(rng)
        model = clone(SETTINGS[name]).set_params(fit_intercept=bool(rng.random() < 0.3))
        # Some learners want to know all labels beforehand.
        announced = rng.random() < 0.5 or isinstance(model, CELLIP | Winnow) or model.get_params().get("link") not in (
            None, "euclidean", "p-norm",
        )  # fmt: skip
        # The shape of an ellipsoidal SVM of the smallest rows overflows; what it tells must still be true.
        with np.errstate(over="ignore", invalid="ignore"):
            model.partial_fit(X, y, classes=range(classes) if announced else None)
        for comparator in comparators(model, U, scale, rng):
            for certificate in model.certificates(comparator):
                told, finite = told + 1, finite + (certificate.bound < inf)
                where = (number, scale, comparator, certificate)
                assert not isnan(certificate.observed), where
                assert not isnan(certificate.bound), where
                assert certificate.observed <= certificate.bound, where
    return told, finite


@pytest.mark.interpreted(*(name for name in FEW if not name.startswith("OnlineSVM")))
@pytest.mark.parametrize("name", FEW)
def test_rows_of_any_size(name):
    told, finite = run(name, 15, seed=7)
    assert finite > 0.1 * told > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_thousands_of_streams_of_any_size(name):
    told, finite = run(name, 120, seed=1)
    assert finite > 0.1 * told > 0


def learned(model, power, n=80, noise=0.2):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 4))
    y = np.where(rng.random(n) < noise, rng.integers(0, 2, n), (X[:, 0] > 0).astype(int))
    return model.partial_fit(10.0**power * X, y, classes=[0, 1])


@pytest.mark.parametrize(("C", "power"), [(1e3, 6), (1e3, 7), (inf, -140), (inf, -145), (1e3, 144), (1.0, 12)])
def test_gains_of_a_window_that_cancel(C, power):
    """Alphas at the cap make products of 1e15 that must add up to one: increases and mistakes are known by so much."""
    model = learned(OnlineSVM(window=16, C=C, fit_intercept=False), power)
    for certificate in model.certificates():
        assert not isnan(certificate.observed)
        assert certificate.observed <= certificate.bound, certificate


@pytest.mark.parametrize("power", [100, 140, -100, -140])
def test_gains_of_steps_whose_squares_vanish(power):
    """alpha^2 |x|^2 / 2 is half of alpha times the loss, however small alpha is."""
    model = learned(QuasiAdditive(C=inf, fit_intercept=False), power, noise=0.0)
    gained = next(c for c in model.certificates() if c.name == "dual increase on mistakes")
    plain = learned(QuasiAdditive(C=inf, fit_intercept=False), 0, noise=0.0)
    other = next(c for c in plain.certificates() if c.name == "dual increase on mistakes")
    assert gained.observed == pytest.approx(other.observed * 10.0 ** (-2 * power), rel=1e-9)


@pytest.mark.interpreted
@pytest.mark.parametrize("power", [-140, -60, 0, 60, 140])
def test_the_first_exact_step_behind_a_norm_ends_on_the_margin(power):
    """Whatever the unit of the rows: their powers may vanish, or overflow, before anything has been learned."""
    x = 10.0**power * np.array([[0.6, -0.8, 0.3]])
    model = QuasiAdditive(link="p-norm", C=inf, fit_intercept=False).partial_fit(x, [1], classes=[0, 1])
    assert model.decision_function(x)[0] == pytest.approx(1.0, rel=1e-9)
    assert all(c.observed <= c.bound for c in model.certificates())


@pytest.mark.parametrize("link", ["entropy", "balanced"])
@pytest.mark.parametrize("power", [6, 8, 12, 100])
def test_entropies_of_large_rows(link, power):
    model = learned(QuasiAdditive(link=link, update="curvature", fit_intercept=False), power)
    rng = np.random.default_rng(0)
    for comparator in (None, np.abs(rng.normal(size=(1, 4))), np.full((1, 4), 0.25), np.zeros((1, 4))):
        for certificate in model.certificates(comparator):
            assert certificate.observed <= certificate.bound, certificate


def test_weights_that_may_shrink_avoid_a_loss_that_distributions_suffer():
    """One-vs-rest over simplices: where all of theta is negative, smaller weights suffer less, and zero the least."""
    rng = np.random.default_rng(4)
    X, y = -np.abs(rng.normal(size=(60, 3))), rng.integers(0, 3, 60)
    model = QuasiAdditive(link="entropy", multiclass="ovr", update="fixed", fit_intercept=False)
    model.partial_fit(X, y, classes=range(3))
    small = np.full((3, 3), 1e-9)
    small[0] = 1.0 / 3.0
    for comparator in (small, np.zeros((3, 3))):
        for certificate in model.certificates(comparator):
            assert certificate.observed <= certificate.bound, certificate


@pytest.mark.parametrize("name", ["Perceptron", "PA", "MIRA", "QuasiAdditive, euclidean, exact, max", "OnlineSVM, all"])
def test_rows_of_ordinary_size_lose_next_to_nothing(name):
    """A bound is wider than in exact arithmetic by 1e-10 of itself at most: scaled by a power of two it is the same."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(1500, 20))
    u = rng.normal(size=20)
    y = (X @ u + 2.0 * rng.normal(size=1500) > 0.0).astype(int)
    model = clone(SETTINGS[name]).partial_fit(X, y, classes=[0, 1])
    for certificate in model.certificates(u / np.linalg.norm(u)):
        if certificate.name == "squared norm":
            size = (model.coef_**2).sum() + model.intercept_[0] ** 2
            assert size * (1.0 - 1e-10) <= certificate.observed <= size
        if certificate.name == "dual objective":
            theta = np.append(model.intercept_, model.coef_)
            weight = certificate.observed + 0.5 * theta @ theta
            inner = theta[1:] @ u / np.linalg.norm(u)
            assert certificate.bound == pytest.approx(0.5 - inner + weight, rel=2e-10)
        if certificate.name == "mistakes" and isinstance(model, PassiveAggressive):
            energy = ((X**2).sum(axis=1) + 1.0).max()
            theta = np.append(model.intercept_, model.coef_)
            push = float(model._core.tally[5])
            ground = 1.0 + 2.0 * (push - theta[1:] @ u / np.linalg.norm(u))
            assert certificate.bound <= energy * ground * (1.0 + 1e-10)


def test_a_run_that_overflows_its_losses_can_be_saved(tmp_path):
    from ellipsoid import load

    model = learned(Perceptron(fit_intercept=False), 120)
    model.save(tmp_path / "large.model")
    assert load(tmp_path / "large.model").certificates() == model.certificates()
