"""Certificates with parameters of every size: a step that vanishes, or a sum that does, leaves no bound too small."""

import numpy as np
import pytest
from sklearn.base import clone

from ellipsoid import (
    AROW,
    CELLIP,
    IELLIP,
    NHERD,
    EllipsoidClassifier,
    OnlineEllipsoidalSVC,
    OnlineSVM,
    QuasiAdditive,
    SecondOrderPerceptron,
)

pytestmark = pytest.mark.interpreted

# The step on the first row would be 1e-160 / 1e288.
LONG = np.array([[1e144, 1.0], [1e-10, -1.0], [1.0, -1.0], [1.0, -1e20]])


def check(model):
    for certificate in model.certificates():
        assert certificate.observed <= certificate.bound


@pytest.mark.parametrize("rows", [LONG, LONG[:1]])
@pytest.mark.parametrize(
    "model",
    [
        *(OnlineSVM(margin=1e-160, window=window, C=C) for window in (1, 2) for C in (1.0, 1e160)),
        *(QuasiAdditive(margin=1e-160, link=link) for link in ("euclidean", "p-norm")),
        *(QuasiAdditive(margin=1e-160, multiclass="ovr", update=update) for update in ("curvature", "exact")),
        IELLIP(margin=1e-160),
        IELLIP(margin=1e-308, trigger="margin"),
    ],
)
def test_a_mistake_whose_step_vanishes_is_not_forgotten(model, rows):
    for classes in ([0, 1], [0, 1, 2]):
        fresh = clone(model).set_params(fit_intercept=False)
        check(fresh.partial_fit(rows, [0, 1, 1, 1][: len(rows)], classes=classes))


@pytest.mark.parametrize("options", [{"C": 1e-300, "damping": 1e50}, {"C": 1e-308}, {"C": 1e-200, "damping": 1e200}])
def test_a_gain_that_vanishes_is_not_forgotten(options):
    model = EllipsoidClassifier(**options)
    check(model.partial_fit(np.arange(12.0).reshape(6, 2), [0, 1, 0, 1, 0, 1], classes=[0, 1]))


@pytest.mark.parametrize("model", [OnlineSVM(), *(QuasiAdditive(link=q) for q in ("euclidean", "p-norm", "balanced"))])
def test_multipliers_too_small_for_their_products_are_not_taken_at_their_word(model):
    """Of alpha x, of size 1e-323, much is lost; some weights have no loss, and the unit weight has the margin x."""
    model = clone(model).set_params(C=1e-320, fit_intercept=False).partial_fit([[1.2e-3]], [1], classes=[0, 1])
    assert model.least_loss(834.0) == 0.0
    (margin,) = (c for c in model.certificates(np.ones((1, 1))) if c.name.startswith("average margin"))
    assert margin.bound >= 1.2e-3


def test_a_power_without_a_curvature_is_refused():
    with pytest.raises(ValueError, match=r"p must be at most 1e\+09"):
        QuasiAdditive(link="p-norm", p=1e300).partial_fit([[1.0]], [1], classes=[0, 1])


@pytest.mark.parametrize(
    "model",
    [
        AROW(r=1e300), NHERD(C=1e-300), SecondOrderPerceptron(a=1e300), QuasiAdditive(C=1e-310, update="fixed"),
        CELLIP(margin=1e-320, radius=1e-320, cut="minvol", trigger="always"),
        *(OnlineEllipsoidalSVC(nu=nu, r=r) for nu in (1e-320, 1e-308) for r in (0.5, 0.9)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("x", [1e-140, 1.2e-10, 77.0])
def test_what_vanishes_or_overflows_is_allowed_for(model, x):
    """The unit vector has the margin x on every row."""
    model = clone(model).set_params(fit_intercept=False).partial_fit([[x], [1.5 * x], [x]], [1, 1, 1], classes=[0, 1])
    for certificate in model.certificates(np.ones((1, 1))):
        assert certificate.observed <= certificate.bound
        if "unit" in certificate.name and model.updates_:
            assert certificate.bound >= x


@pytest.mark.parametrize(
    ("model", "unit"),
    [
        (AROW(kernel="poly", r=1e-250), 1.0), (AROW(kernel="rbf", r=1e-186), 1.0),
        (AROW(shape="sketch", size=2, r=1e-55), 1e-100),
    ],
)  # fmt: skip
def test_a_shape_that_overflows_is_no_bound_and_no_warning(model, unit):
    model.partial_fit(unit * np.array([[1, 0], [1, 1], [0, 1]]), [0, 1, 1], classes=[0, 1])
    assert {certificate.bound for certificate in model.certificates()} == {np.inf}


def test_the_cost_of_a_moving_classifier_is_never_nothing():
    """One row costs r / (v + r) at the least, here 1e-400."""
    model = AROW(r=1e-300, drift=0.01, fit_intercept=False).partial_fit([[1e50]], [1], classes=[0, 1])
    (certificate,) = model.certificates()
    assert certificate.observed == 0.0 < certificate.bound < 1e-200
