"""Early stopping of ``fit``: which rows it learns, when it ends, and what it refuses."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedShuffleSplit

from ellipsoid import (
    AROW,
    ROMMA,
    OnlineEllipsoidalSVC,
    PassiveAggressive,
    PassiveAggressiveRegressor,
    Perceptron,
    Scaled,
)

PATIENT = {"early_stopping": True, "n_epochs": 60, "n_iter_no_change": 3, "random_state": 0}


def split(y, fraction=0.1):
    return next(StratifiedShuffleSplit(1, test_size=fraction, random_state=0).split(y[:, None], y))


@pytest.mark.parametrize("shuffle", [False, True])
def test_it_is_the_fit_of_the_other_rows_with_fewer_passes(shuffle, blobs):
    X, y = blobs
    model = Perceptron(shuffle=shuffle, validation_fraction=0.2, **PATIENT).fit(X, y)
    learned, _ = split(y, 0.2)
    assert 3 <= model.n_iter_ < 60
    assert model.t_ == model.n_iter_ * len(learned)
    again = Perceptron(shuffle=shuffle, n_epochs=model.n_iter_, random_state=0).fit(X[learned], y[learned])
    assert model.coef_.tolist() == again.coef_.tolist()


def test_it_ends_when_the_held_out_rows_have_not_improved(blobs):
    """The score after each number of passes, found one by one, tells when to stop."""
    X, y = blobs
    learned, held = split(y)
    scores = [
        Perceptron(n_epochs=n, random_state=0).fit(X[learned], y[learned]).score(X[held], y[held]) for n in range(1, 20)
    ]
    model = Perceptron(**{**PATIENT, "n_epochs": 19}, tol=0.0).fit(X, y)
    ends = [n for n in range(4, 20) if max(scores[n - 3 : n]) <= max(scores[: n - 3])]
    assert model.n_iter_ == (ends[0] if ends else 19)


def test_without_it_there_are_all_passes(blobs):
    X, y = blobs
    assert Perceptron(n_epochs=7).fit(X, y).n_iter_ == 7


@pytest.mark.parametrize("learner", [PassiveAggressive, AROW])
def test_kernels_and_weights_go_with_it(learner, blobs):
    X, y = blobs
    weights, options = 1.0 + np.arange(120) % 3, {"kernel": "rbf", "gamma": 0.02}
    model = learner(**options, **PATIENT).fit(X, y, sample_weight=weights)
    learned, _ = split(y)
    again = learner(**options, n_epochs=model.n_iter_, random_state=0)
    again.fit(X[learned], y[learned], sample_weight=weights[learned])
    np.testing.assert_allclose(model.decision_function(X), again.decision_function(X), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("kind", ["frame", "dicts"])
def test_words_and_names_that_only_held_out_rows_have_are_passed_over(kind, blobs):
    X, y = blobs
    words = [f"only here {i}" if i % 7 else "often" for i in range(len(y))]
    frame = pd.DataFrame({"a": X[:, 0], "word": words, "b": X[:, 1]})
    rows = frame if kind == "frame" else frame.to_dict("records")
    learned, _ = split(y)
    model = Perceptron(**PATIENT).fit(rows, y)
    assert model.n_iter_ < 60
    part = frame.iloc[learned] if kind == "frame" else [rows[i] for i in learned]
    again = Perceptron(n_epochs=model.n_iter_, random_state=0).fit(part, y[learned])
    assert np.array_equal(again.decision_function(rows), model.decision_function(rows))


def test_a_scaler_knows_the_held_out_rows_too(blobs):
    X, y = blobs
    model = Scaled(Perceptron(**PATIENT)).fit(X, y)
    assert model.n_iter_ < 60
    np.testing.assert_allclose(model.scaler_.transform(X).mean(axis=0), 0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"validation_fraction": 1.0}, "validation_fraction must lie between 0 and 1"),
        ({"validation_fraction": 0}, "validation_fraction must be positive"),
        ({"n_iter_no_change": 0}, "n_iter_no_change must be at least 1"),
        ({"tol": -1.0}, "tol must be non-negative"),
        ({"kernel": "precomputed"}, "precomputed"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        Perceptron(**{**PATIENT, **parameters}).fit(np.eye(6), [0, 1] * 3)


def test_a_bad_row_is_named_whether_it_is_held_out_or_not(blobs):
    X, y = blobs
    for row in (*split(y)[1][:2], *split(y)[0][:2]):
        spoiled = X.copy()
        spoiled[row, 3] = np.nan
        with pytest.raises(ValueError, match=f"row {row} of X holds NaN"):
            Perceptron(**PATIENT).fit(spoiled, y)


@pytest.mark.interpreted
def test_what_is_refused_later_is_named_by_its_row_too(blobs):
    """Row 7 of what the user has given, wherever it is among the rows that are learned or held out."""
    X, y = blobs
    # Rows without weight are not there, and still counted.
    weights = np.where(np.arange(len(y)) < 5, 0.0, 1.0)
    numbers, sets, large = y.astype(float), (y[:, None] == [0, 1, 2]).astype(int), X.copy()
    numbers[7], sets[7, 1], large[7] = np.nan, 2, 1e60
    heavy = np.where(np.arange(len(y)) == 7, 0.5, weights)
    refused = (
        (Perceptron(kernel="poly", degree=3), large, y, weights, "too large"),
        (PassiveAggressiveRegressor(kernel="poly", degree=3), large, X[:, 0], weights, "too large"),
        (PassiveAggressiveRegressor(), X, numbers, weights, "of y holds nan"),
        (PassiveAggressive(), X, sets, weights, "of y holds something other than 0 and 1"),
        (ROMMA(), X, y, heavy, "has weight 0.5"),
    )
    for seed in range(4):
        for learner, rows, labels, own, told in refused:
            learner.set_params(early_stopping=True, validation_fraction=0.4, random_state=seed)
            with pytest.raises(ValueError, match=f"^row 7 .*{told}"):
                learner.fit(rows, labels, sample_weight=own)


@pytest.mark.interpreted
@pytest.mark.parametrize("kind", ["array", "frame", "dicts"])
def test_numbers_are_learned_until_they_are_met_no_better(kind, blobs):
    X, _ = blobs
    y = X[:, 0] - 2.0 * X[:, 1]
    frame = pd.DataFrame(X).add_prefix("x")
    rows = {"array": X, "frame": frame, "dicts": frame.to_dict("records")}[kind]
    model = PassiveAggressiveRegressor(**PATIENT).fit(rows, y)
    assert 3 <= model.n_iter_ < 60
    assert model.score(rows, y) > 0.9


def test_early_stopping_is_refused_by_fits_that_end_with_a_certificate(blobs):
    with pytest.raises(ValueError, match="fit stops by its own certificate"):
        OnlineEllipsoidalSVC(early_stopping=True).fit(*blobs)
