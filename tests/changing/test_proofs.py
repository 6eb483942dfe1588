"""Proofs of change: never one before the change, and soon after it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ellipsoid import CELLIP, DamagedModel, datasets, load
from ellipsoid.estimators import container

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
