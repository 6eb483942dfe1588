"""The centre of the version space: billiards, perceptrons, and who comes closest to it."""

import numpy as np
import pytest
from sklearn.svm import SVC

from ellipsoid.batch import BayesPointMachine, EllipsoidalSVC
from ellipsoid.batch.billiard import billiard, perceptrons


def separable(seed, n=14, d=4):
    """Points of very different lengths, separated by a plane through the origin."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.exp(rng.uniform(-1.5, 1.5, (n, 1)))
    w = rng.standard_normal(d)
    return X, np.where(X @ w > 0, 1, -1), w / np.linalg.norm(w)


def sampled_centre(signed, seed, n=400_000):
    """Centre of mass of the version space by rejection, widening the sample until it suffices."""
    rng = np.random.default_rng(seed)
    total, found = np.zeros(signed.shape[1]), 0
    for _ in range(40):
        W = rng.standard_normal((n, signed.shape[1]))
        W /= np.linalg.norm(W, axis=1)[:, None]
        inside = W[(W @ signed.T >= 0).all(axis=1)]
        total += inside.sum(axis=0)
        found += len(inside)
        if found > 4000:
            break
    assert found > 1000, "choose another seed: this version space is too small to sample"
    return total / np.linalg.norm(total)


def degrees(a, b):
    return float(np.degrees(np.arccos(np.clip(a @ b / np.linalg.norm(a) / np.linalg.norm(b), -1, 1))))


@pytest.mark.parametrize(("seed", "n", "d"), [(0, 8, 3), (1, 12, 3), (2, 10, 4)])
def test_billiard_finds_the_centre_of_mass(seed, n, d):
    X, y, w = separable(seed, n, d)
    signed = X * y[:, None] / np.linalg.norm(X, axis=1)[:, None]
    centre, bounces, _ = billiard(signed, w, max_bounces=200_000, tol=0.003, rng=np.random.default_rng(0))
    assert bounces > 1000
    assert degrees(centre, sampled_centre(signed, seed)) < 1.5
    assert (signed @ centre > 0).all()


def test_billiard_in_two_dimensions_is_the_middle_of_the_arc():
    angles = np.radians([10.0, 75.0])
    # The version space is the arc from -15 to 100 degrees... cut by the planes normal to these two directions.
    signed = np.column_stack([np.cos(angles), np.sin(angles)])
    start = np.array([np.cos(angles.mean()), np.sin(angles.mean())])
    centre, _, _ = billiard(signed, start, max_bounces=2000, tol=1e-6, rng=np.random.default_rng(0))
    assert np.degrees(np.arctan2(centre[1], centre[0])) == pytest.approx(42.5, abs=0.5)


def test_perceptrons_average_to_a_point_inside():
    X, y, _ = separable(3)
    signed = X * y[:, None] / np.linalg.norm(X, axis=1)[:, None]
    average, separating, passes = perceptrons(signed, count=50, max_iter=5000, rng=np.random.default_rng(0))
    assert separating == 50
    assert 1 < passes <= 5000
    assert (signed @ average > 0).all()


def test_estimator_agrees_with_the_sample():
    X, y, _ = separable(2, n=10)
    model = BayesPointMachine(
        kernel="linear", fit_intercept=False, regularization=0.0, tol=0.003, max_iter=100_000, random_state=0
    ).fit(X, y)
    centre = sampled_centre(X * y[:, None], 2)
    probe = np.eye(4)
    assert degrees(model.decision_function(probe), centre) < 1.5


def test_ellipsoid_is_closer_to_the_bayes_point_than_the_ball():
    angles = {"ball": [], "unit ball": [], "ellipsoid": [], "paper": []}
    for seed in range(100, 112):
        X, y, w = separable(seed)
        signed = X * y[:, None] / np.linalg.norm(X, axis=1)[:, None]
        bayes = billiard(signed, w, max_bounces=100_000, tol=0.002, rng=np.random.default_rng(seed))[0]
        # Every point with its mirror image: the bias is zero by symmetry, as in a version space of directions.
        both, labels = np.vstack([X, -X]), np.append(y, -y)
        unit = both / np.linalg.norm(both, axis=1)[:, None]
        angles["ball"].append(degrees(SVC(kernel="linear", C=1e9).fit(both, labels).coef_[0], bayes))
        angles["unit ball"].append(degrees(SVC(kernel="linear", C=1e9).fit(unit, labels).coef_[0], bayes))
        for name, scaling in (("ellipsoid", "unit"), ("paper", "paper")):
            model = EllipsoidalSVC(kernel="linear", hard_margin=True, margin_scaling=scaling, tol=1e-6)
            angles[name].append(degrees(model.fit(both, labels).coef_[0], bayes))
    mean = {name: np.mean(values) for name, values in angles.items()}
    assert mean["ellipsoid"] < 3.0 < mean["unit ball"] < mean["ball"]
    assert mean["ellipsoid"] < mean["paper"] < mean["ball"]


@pytest.mark.parametrize("method", ["billiard", "perceptrons"])
def test_soft_boundary_bears_contradictions(method):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
    y[0] = "same" if y[0] == "other" else "other"
    twice, labels = np.vstack([X, X[:1]]), np.append(y, "same" if y[0] == "other" else "other")
    model = BayesPointMachine(method=method, gamma=1.0, random_state=0).fit(twice, labels)
    assert model.score(X[1:], y[1:]) > 0.9
    with pytest.raises(ValueError, match="raise regularization"):
        BayesPointMachine(method=method, gamma=1.0, regularization=0.0, max_iter=50).fit(twice, labels)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"method": "dice"}, "method must be"),
        ({"regularization": -1.0}, "regularization must not be negative"),
        ({"tol": 0.0}, "tol must be positive"),
        ({"max_bounces": 0}, "max_bounces must be at least 1"),
    ],
)
def test_parameters_out_of_range(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        BayesPointMachine(**parameters).fit([[0.0], [1.0]], [0, 1])


def test_a_precomputed_kernel_with_a_constant_is_refused_and_without_one_is_the_kernel():
    rng = np.random.default_rng(3)
    X = 20.0 * rng.standard_normal((40, 3))
    y = np.sign(X @ [1.0, 0.5, -0.3])
    with pytest.raises(ValueError, match="set fit_intercept=False"):
        BayesPointMachine(kernel="precomputed").fit(X @ X.T, y)
    named, given = (
        BayesPointMachine(kernel=kernel, fit_intercept=False, random_state=0).fit(rows, y)
        for kernel, rows in (("linear", X), ("precomputed", X @ X.T))
    )
    assert (named.predict(X) == given.predict(X @ X.T)).all()
