"""Proofs of change: never one before the change, and soon after it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ellipsoid import CELLIP, DamagedModel, datasets, load
from ellipsoid.estimators.files import container

OPTIONS = {"margin": 0.05, "cut": "minvol", "trigger": "always", "on_infeasible": "restart", "fit_intercept": False}


def turned(angle, seed, n=160, width=3, at=80):
    """Rows of length one, a turn of the truth after so many, no row nearer to it than 0.05; and when it turned."""
    rng = np.random.default_rng(seed)
    first, other = np.linalg.qr(rng.normal(size=(width, 2)))[0].T
    X = rng.normal(size=(4 * n, width))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    late = np.cos(angle) * first + np.sin(angle) * other
    X = X[(np.abs(X @ first) > 0.05) & (np.abs(X @ late) > 0.05)][:n]
    y = np.where(np.arange(len(X)) < at, X @ first > 0, X @ late > 0).astype(int)
    return X, y


@pytest.mark.interpreted
@settings(max_examples=15)
@given(st.integers(0, 10_000), st.sampled_from([0.3, 1.0, 3.0]))
def test_no_proof_comes_before_the_change(seed, angle):
    X, y = turned(angle, seed)
    model = CELLIP(**OPTIONS).partial_fit(X, y, classes=[0, 1])
    assert (model.changes_ > 80).all()
    assert len(model.changes_) == model.infeasible_
    assert (model.infeasible_round_ or 0) == (model.changes_[0] if len(model.changes_) else 0)


def test_a_turn_is_proved_soon_and_once():
    X, y = datasets.stream("turn", seed=1)
    model = CELLIP(**OPTIONS).partial_fit(X, y)
    assert len(model.changes_) == 1
    assert 2000 < model.changes_[0] < 2060


def test_cuts_and_files_keep_the_rounds_of_all_proofs(tmp_path):
    parts = [turned(3.0, seed, n=120, at=40) for seed in range(3)]
    X, y = np.vstack([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    whole, cut = CELLIP(**OPTIONS).partial_fit(X, y, classes=[0, 1]), CELLIP(**OPTIONS)
    for start in range(0, len(y), 17):
        cut.partial_fit(X[start : start + 17], y[start : start + 17], classes=[0, 1])
        cut.save(tmp_path / "cut")
        cut = load(tmp_path / "cut")
    assert len(whole.changes_) > 2
    assert cut.changes_.tolist() == whole.changes_.tolist()
    # A proof begins with the row after the one before: each alone contradicts what came since.
    for start, stop in zip([0, *whole.changes_], whole.changes_, strict=False):
        again = CELLIP(**{**OPTIONS, "on_infeasible": "skip"}).partial_fit(X[start:stop], y[start:stop], classes=[0, 1])
        assert again.infeasible_round_ == stop - start
    content = container.read(tmp_path / "cut")
    for forged in (content.arrays["changes"][::-1].copy(), np.arange(1.0, 1000.0)):
        container.write(tmp_path / "forged", content.header, {**content.arrays, "changes": forged})
        with pytest.raises(DamagedModel):
            load(tmp_path / "forged")


@pytest.mark.interpreted
def test_other_policies_list_no_restarts():
    X, y = turned(3.0, 0)
    for policy in ("skip", "freeze"):
        model = CELLIP(**{**OPTIONS, "on_infeasible": policy}).partial_fit(X, y, classes=[0, 1])
        assert model.infeasible_ > 0
        assert model.changes_.tolist() == []


# -- a truth that moves ------------------------------------------------------------------------------------------


def walking(seed, drift, n=80, width=3):
    """Rows of length one and a truth that moves by ``drift`` in length from row to row, with margin 0.1."""
    rng = np.random.default_rng(seed)
    place, rows, truths = rng.normal(size=width), [], []
    place *= 0.9 / np.linalg.norm(place)
    while len(rows) < n:
        x = rng.normal(size=width)
        x /= np.linalg.norm(x)
        if abs(x @ place) < 0.1:
            continue
        rows.append(x)
        truths.append(place)
        step = rng.normal(size=width)
        moved = place + drift * step / np.linalg.norm(step)
        # Not so near to zero that no row has the margin any more.
        place = moved if 0.5 <= np.linalg.norm(moved) <= 1.0 else place
    X, U = np.array(rows), np.array(truths)
    return X, (np.einsum("ij,ij->i", X, U) > 0).astype(int), U


@pytest.mark.interpreted
@settings(max_examples=15)
@given(st.integers(0, 10_000), st.sampled_from([1e-3, 0.02, 0.1]), st.sampled_from(["mistake", "margin", "always"]))
def test_a_truth_that_moves_is_never_lost(seed, drift, trigger):
    X, y, U = walking(seed, drift)
    options = {**OPTIONS, "margin": 0.1, "radius": 1.0, "trigger": trigger, "drift": drift}
    model = CELLIP(**options)
    for i in range(len(y)):
        if i > 1:
            (sure,) = model.certain(X[i : i + 1])
            assert not sure or model.predict(X[i : i + 1])[0] == y[i]
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])
        assert model.version_space_.contains(U[i : i + 1], tol=1e-9).all()
    assert model.changes_.tolist() == []
    assert model.certificates() == []


@pytest.mark.interpreted
def test_a_turn_refutes_a_drift_that_is_too_small_and_nothing_else_does(tmp_path):
    X, y = datasets.stream("turn", seed=1)
    options = {**OPTIONS, "radius": 1.0, "drift": 1e-4}
    model = CELLIP(**options).partial_fit(X, y)
    assert len(model.changes_) == 1
    assert 2000 < model.changes_[0] < 2100
    assert 0.0 < model.certain(X[-500:]).mean() < 1.0
    single = CELLIP(**options)
    for start in range(1980, 2080, 9):
        single.partial_fit(X[start : start + 9], y[start : start + 9], classes=[0, 1])
        single.save(tmp_path / "single")
        single = load(tmp_path / "single")
    whole = CELLIP(**options).partial_fit(X[1980:2088], y[1980:2088], classes=[0, 1])
    assert single.coef_.tobytes() == whole.coef_.tobytes()
    assert single.changes_.tolist() == whole.changes_.tolist()


@pytest.mark.interpreted
def test_what_a_drift_cannot_be_combined_with_is_refused():
    X, y = turned(1.0, 0)
    for options, sentence in (
        ({"cut": "paper"}, "needs cut='minvol'"), ({"selective": True}, "needs selective=False"),
        ({"average": True}, "needs average=False"), ({"drift": -0.1}, "drift must be non-negative"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=sentence):
            CELLIP(**{**OPTIONS, "drift": 0.1, **options}).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="takes two labels only"):
        CELLIP(**{**OPTIONS, "drift": 0.1}).partial_fit(X, np.arange(len(y)) % 3)
