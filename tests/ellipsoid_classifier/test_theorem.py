"""What is proved of large-margin steps in a learned ellipsoid: identity, bound, energies."""

from math import inf, log, sqrt

import numpy as np
import pytest

from ellipsoid import EllipsoidClassifier

from .hostile import flipped, learner, stream
from .replay import allowance, replay, sides


def check_run(seed):
    """Every promise on one stream; returns mistakes over their bound, or None where no step was made."""
    X, y, classes = stream(seed)
    model = learner(seed)
    if seed % 3 == 0:
        y = flipped(model, X, classes)
    steps, unanswered, W, metric = replay(model, X, y, classes)
    if not steps:
        return None
    rng = np.random.default_rng([seed, 2])
    comparators = [np.zeros_like(W), W, *(scale * rng.normal(size=W.shape) for scale in (0.1, 3.0))]
    for V in comparators:
        left, right = sides(steps, W, V)
        assert left == pytest.approx(right, rel=1e-6, abs=1e-6 * (1.0 + abs(right)))
    mistakes = sum(step.mistake for step in steps)
    c = (2.0 if classes == 2 else 4.0) / min(model.C, 1.0)
    price = sum(step.divisor / step.margin**2 for step in steps if step.mistake)
    gain = allowance(steps, W, np.zeros_like(W))
    for V in comparators:
        bound = allowance(steps, W, V)
        assert bound >= gain - 1e-7 * (1.0 + abs(bound)), "V = 0 has the smallest bound"
        assert mistakes <= sqrt(max(0.0, bound) * c * price) * (1.0 + 1e-7)
    (certificate,) = model.certificates()
    assert certificate.observed == model.mistakes_ == mistakes + unanswered
    assert certificate.bound == pytest.approx(sqrt(max(0.0, gain) * c * price) + unanswered, rel=1e-5, abs=1e-5)
    assert certificate.observed <= certificate.bound
    check_energies(steps, metric)
    return mistakes / certificate.bound if certificate.bound else None


def check_energies(steps, metric):
    seen = metric.first != 0.0
    energies = [step.energy for step in steps]
    if metric.full:
        _, volume = np.linalg.slogdet(metric.matrix()[np.ix_(seen, seen)])
        assert sum(map(np.log1p, energies)) == pytest.approx(
            volume - np.log(metric.prior[seen]).sum(), rel=1e-6, abs=1e-6
        )
    else:
        ends = np.sqrt(metric.largest**2 + metric.squares)[seen] / np.abs(metric.first[seen])
        assert sum(energies) <= 2.0 * sqrt(2.0) * ends.sum()


def test_hostile_streams():
    shares = [check_run(seed) for seed in range(60)]
    assert max(share for share in shares if share is not None) < 1.0
    assert sum(share is not None for share in shares) > 45


@pytest.mark.slow
def test_ten_thousand_hostile_streams():
    for seed in range(10_000):
        check_run(seed)


def test_three_speeds_have_a_bound_each():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 5)), rng.integers(0, 3, 400)
    model = EllipsoidClassifier().partial_fit(X, y, classes=range(3))
    found = model.certificates()
    assert [certificate.name for certificate in found] == [
        "mistakes",
        "mistakes, careful speed",
        "mistakes, bold speed",
    ]
    assert found[0].observed == model.mistakes_
    assert all(100 < c.observed <= c.bound < inf for c in found)


def test_a_step_without_cap_and_damping_ends_on_the_margin():
    """The smallest move that puts all rivals behind: those that moved are exactly one behind."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 4, 60)
    for shape in ("full", "diagonal"):
        model = EllipsoidClassifier(speeds=1, C=inf, damping=0.0, margin="unit", shape=shape, average=False)
        model.partial_fit(X[:1], y[:1], classes=range(4))
        for x, label in zip(X[1:], y[1:], strict=True):
            before = model.decision_function(x[np.newaxis])[0]
            model.learn_one(x, label)
            after = model.decision_function(x[np.newaxis])[0]
            lead = after[label] - np.delete(after, label)
            assert lead.min() >= 1.0 - 1e-9
            rivals = np.delete(after - before, label)
            np.testing.assert_allclose(lead[rivals < 0.0], 1.0, rtol=1e-9)


def test_mistakes_on_zero_rows_are_added_to_the_bound():
    model = EllipsoidClassifier(speeds=1, fit_intercept=False).partial_fit(np.zeros((7, 2)), [0, 1, 0, 1, 1, 0, 1])
    (certificate,) = model.certificates()
    assert model.updates_ == 0
    assert 6 <= certificate.observed <= certificate.bound < 7.5


def test_the_full_shape_is_the_inverse_of_prior_and_gram_matrix():
    X, y, classes = stream(6)
    model = EllipsoidClassifier(speeds=1, shape="full")
    _, _, _, metric = replay(model, X, y, classes)
    P = model._core.table.P
    assert (P == P.T).all()
    np.testing.assert_allclose(P @ metric.matrix(), np.eye(len(P)), atol=1e-6)
    assert log(abs(np.linalg.det(P))) < 0.0 or len(P) < 2
