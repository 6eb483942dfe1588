"""``ellipsoid merge``, and ``ellipsoid learn`` over shards."""

import numpy as np
import pytest
from click.testing import CliRunner

from ellipsoid import MIRA, distributed, load, merge
from ellipsoid.cli import main
from ellipsoid.distributed.engines.engine import LostWorkers, NoWorkers


@pytest.fixture
def halves(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = (X @ rng.normal(size=(3, 3))).argmax(axis=1)
    names = []
    for i in range(2):
        lines = (
            ",".join(map(str, [*row, label])) for row, label in zip(X[i::2].tolist(), y[i::2].tolist(), strict=True)
        )
        names.append(str(tmp_path / f"part{i}.csv"))
        (tmp_path / f"part{i}.csv").write_text("\n".join(lines) + "\n")
    return names, X, y


def run(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def test_two_files_become_one(halves, tmp_path):
    names, X, y = halves
    for i, name in enumerate(names):
        result = run("learn", name, "--model", "MIRA", "--classes", "0,1,2", "--save", tmp_path / f"{i}.model")
        assert result.exit_code == 0, result.output
    result = run(
        "merge", tmp_path / "0.model", tmp_path / "1.model", "--save", tmp_path / "both.model", "--validate", names[0]
    )
    assert result.exit_code == 0, result.output
    assert "error of merged" in result.output
    assert "sums weighted over 2 shards" in " ".join(result.output.split())
    both = load(tmp_path / "both.model")
    alone = merge([MIRA().partial_fit(X[i::2], y[i::2], classes=[0, 1, 2]) for i in range(2)])
    assert np.array_equal(both.coef_, alone.coef_)
    # The file tells where its rows came from.
    result = run("inspect", tmp_path / "both.model")
    assert result.exit_code == 0, result.output
    assert "120 rows" in result.output


def test_files_that_do_not_fit_are_refused_by_a_sentence(halves, tmp_path):
    X, y = halves[1:]
    MIRA().partial_fit(X, y, classes=[0, 1, 2]).save(tmp_path / "a.model")
    MIRA().partial_fit(X, y, classes=[2, 1, 0]).save(tmp_path / "b.model")
    result = run("merge", tmp_path / "a.model", tmp_path / "b.model", "--save", tmp_path / "c.model")
    assert result.exit_code == 1
    assert "announce them with --classes" in result.output
    assert not (tmp_path / "c.model").exists()


@pytest.mark.slow
def test_learning_over_shards_saves_and_resumes(halves, tmp_path):
    names = halves[0]
    kept, saved = tmp_path / "run.ckpt", tmp_path / "shards.model"
    words = [
        "learn",
        *names,
        "--model",
        "MIRA",
        "--workers",
        "1",
        "--shards",
        "2",
        "--validate",
        names[0],
        "--save",
        saved,
    ]
    result = run(*words, "--rounds", "2", "--checkpoint", kept)
    assert result.exit_code == 0, result.output
    assert load(saved).rounds_ == 2
    result = run(*words, "--rounds", "3", "--resume", kept)
    assert result.exit_code == 0, result.output
    assert load(saved).rounds_ == 3
    assert run("predict", saved, names[0]).exit_code == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--epochs", "2"], "--epochs is not for a run over shards"),
        (["--test-then-train"], "--test-then-train is not for a run over shards"),
        (["--task", "regression"], "--task regression contradicts the learner: MIRA is for classification"),
        (["--scheduler", "tcp://nowhere:1"], "give one"),
        (["--resume", "HERE", "--checkpoint", "there"], "leave --checkpoint out"),
    ],
)
def test_options_that_contradict_are_refused(halves, tmp_path, words, sentence):
    names = halves[0]
    words = [names[0] if word == "HERE" else word for word in words]
    result = run("learn", names[0], "--model", "MIRA", "--workers", "1", *words)
    assert result.exit_code == 2
    assert sentence in " ".join(result.output.split())


@pytest.mark.parametrize(
    "words",
    [["--checkpoint", "zz"], ["--rounds", "3"], ["--shards", "4"], ["--merge", "dual"]],
    ids=lambda words: words[0],
)
def test_options_of_shards_are_refused_without_workers(halves, words):
    result = run("learn", halves[0][0], "--model", "MIRA", *words)
    assert result.exit_code == 2
    sentence = f"{words[0]} is only for a run over shards: give --workers or --scheduler too, or leave it out"
    assert sentence in " ".join(result.output.split())


def test_regression_over_shards_needs_no_model(monkeypatch):
    def stop(chosen, *_, **options):
        raise ValueError(f"chosen: {chosen!r}")

    monkeypatch.setattr(distributed, "fit", stop)
    result = run("learn", "rows.csv", "--task", "regression", "--workers", "1")
    assert "chosen: PassiveAggressiveRegressor()" in result.output
    result = run("learn", "rows.csv", "--workers", "1")
    assert result.exit_code == 2
    assert "Missing option '--model'." in result.output


@pytest.mark.parametrize("kind", [LostWorkers, NoWorkers])
def test_lost_workers_are_reported_in_one_line(kind, halves, monkeypatch):
    def lost(*args, **options):
        error = kind("no worker came back")
        error.add_note("run.ckpt holds the model after the rounds before it")
        raise error

    monkeypatch.setattr(distributed, "fit", lost)
    result = run("learn", halves[0][0], "--model", "MIRA", "--workers", "1")
    assert result.exit_code == 1
    assert (
        result.output.splitlines()[-1]
        == "Error: no worker came back; run.ckpt holds the model after the rounds before it"
    )
