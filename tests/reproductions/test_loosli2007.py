"""The run over deformed digits: what it counts, and what its report says of a part and of the whole."""

import numpy as np
import pytest
from reproductions import loosli2007, named, reproduce
from reproductions.results import Results

from ellipsoid import datasets

RNG = np.random.default_rng(0)
X, y = RNG.integers(0, 256, size=(90, 784)), np.arange(90) % 10


@pytest.fixture
def results(monkeypatch, tmp_path):
    digits = datasets.Dataset("mnist", X_train=X, y_train=y, X_test=X[:40], y_test=y[:40])
    monkeypatch.setattr(loosli2007, "_digits", lambda: digits)
    monkeypatch.setattr(loosli2007, "PART", 250)
    moved = []
    reproduce(named("loosli2007"), tmp_path, progress=lambda done, total: moved.append((done, total)))
    assert moved[-1] == (250, 250)
    return Results.read(tmp_path)


def test_a_part_says_that_it_is_one(results):
    report = named("loosli2007").report(results)
    assert "250 digits, a part of the 8,100,000" in report.verdicts[0]
    assert any("were not checked" in choice for choice in report.choices)
    setting = results.setting(loosli2007.STREAM)
    assert (setting["rows"], setting["checkpoints"], setting["test_rows"]) == (250, [250], 40)
    (updates,) = results.values(loosli2007.STREAM, loosli2007.LEARNER, "updates")
    (mistakes,) = results.values(loosli2007.STREAM, loosli2007.LEARNER, "mistakes")
    assert 0 < mistakes <= updates <= 250


def test_the_whole_says_nothing_of_parts(results, monkeypatch):
    monkeypatch.setattr(loosli2007, "WHOLE", 250)
    assert "part" not in named("loosli2007").report(results).verdicts[0]
