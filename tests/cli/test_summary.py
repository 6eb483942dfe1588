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


def test_labels_that_models_asked_for_together(flipped, tmp_path):
    """`merge` and a run over shards say it of all their rows."""
    selective = ("--model", "AROW", "--param", "selective=true", "--classes", "no,yes")
    lines = flipped.read_text().splitlines(keepends=True)
    targets = [tmp_path / f"{i}.model" for i in range(2)]
    for i, target in enumerate(targets):
        (tmp_path / f"{i}.csv").write_text("".join(lines[i::2]))
        run("learn", tmp_path / f"{i}.csv", *selective, "--save", target)
    merged = run("merge", *targets, "--save", tmp_path / "m").stdout
    shards = run("learn", tmp_path / "0.csv", tmp_path / "1.csv", *selective, "--workers", 1).stdout
    asked = sum(load(target).asked_ for target in targets)
    for report in (merged, shards):
        line = next(shown.split() for shown in report.splitlines() if shown.startswith("labels"))
        assert (line[:3], line[4:]) == (["labels", "asked", "for"], ["of", "300"])
        assert int(line[3]) == asked
    space = run("learn", flipped, *VERSION_SPACE, "--param", "selective=true", "--workers", 1).stdout
    assert "asked" not in space  # the rows that cut are replayed, and no others


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


def test_a_proof_of_shards_is_named_and_kept_by_merge(flipped, tmp_path):
    """What the rows of one shard leave, those of another contradict."""
    other = tmp_path / "other.csv"
    other.write_text(flipped.read_text().replace("no", "ja").replace("yes", "no").replace("ja", "yes"))
    target = tmp_path / "m"
    report = run("learn", flipped, other, *VERSION_SPACE, "--workers", 1, "--save", target).stdout
    again = run("merge", target, "--save", tmp_path / "same").stdout
    proof = load(target).infeasible_round_
    for text in (report, run("inspect", target).stdout, again):
        assert f"Proof: no classifier of norm 1 has the margin 0.1 on the row of round {proof} and the" in text


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
