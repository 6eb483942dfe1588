"""What the reports of `ellipsoid learn` and `ellipsoid inspect` say beside errors and bounds."""

import numpy as np
import pytest

from ellipsoid import Calibrated, load

from .conftest import run

VERSION_SPACE = ("--model", "CELLIP", "--param", "cut=minvol", "--param", "trigger=always")


@pytest.fixture
def flipped(tmp_path):
    """Rows of two features, of which a tenth have the wrong label."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = (X[:, 0] > 0) ^ (np.arange(300) % 10 == 0)
    text = "".join(f"{a!r},{b!r},{'no' if label else 'yes'}\n" for (a, b), label in zip(X.tolist(), y, strict=True))
    (tmp_path / "flipped.csv").write_text(text)
    return tmp_path / "flipped.csv"


def test_labels_that_a_selective_learner_asked_for(flipped, tmp_path):
    target = tmp_path / "m"
    report = run("learn", flipped, "--model", "AROW", "--param", "selective=true", "--save", target).stdout
    model = load(target)
    line = ["labels", "asked", "for", str(model.asked_), "of", "300"]
    assert model.asked_ < 300
    for text in (report, run("inspect", target).stdout):
        assert line in [shown.split() for shown in text.splitlines()]
    wrapped = Calibrated(model).partial_fit(model.coef_.repeat(2, axis=0), ["yes", "no"])
    wrapped.save(target)
    assert "labels asked for" in run("inspect", target).stdout


def test_no_such_line_where_every_label_is_used(flipped, tmp_path):
    for model in ("AROW", "Perceptron"):
        report = run("learn", flipped, "--model", model, "--save", tmp_path / "m").stdout
        assert "asked" not in report + run("inspect", tmp_path / "m").stdout


def test_rows_that_prove_an_empty_version_space_are_named(flipped, tmp_path):
    target = tmp_path / "m"
    report = run("learn", flipped, *VERSION_SPACE, "--save", target).stdout
    model = load(target)
    proof = model.infeasible_round_
    before = int((model.update_rounds_ < proof).sum())
    assert proof is not None
    assert 0 < before < len(model.update_rounds_)
    said = f"has the margin 0.1 on the row of round {proof} and the {before} updates before it."
    for text in (report, run("inspect", target).stdout):
        assert text.split("Proof: no classifier of norm 1 ")[1].split("\n")[0] == said


@pytest.mark.parametrize("options", [("on_infeasible=restart",), ("drift=0.0001",)])
def test_a_proof_whose_rows_are_not_kept_names_its_round(flipped, tmp_path, options):
    settings = [part for option in options for part in ("--param", option)]
    report = run("learn", flipped, *VERSION_SPACE, *settings, "--save", tmp_path / "m").stdout
    proof = load(tmp_path / "m").infeasible_round_
    assert f"Round {proof} is the first whose row contradicts rows before it: a proof." in report


def test_no_proof_where_something_is_left(flipped, tmp_path):
    for model in (("--model", "CELLIP", "--param", "margin=0.0001"), ("--model", "Perceptron")):
        report = run("learn", flipped, *model).stdout
        assert "Proof:" not in report
        assert "a proof" not in report
