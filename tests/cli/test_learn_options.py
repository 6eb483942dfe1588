"""Options of `ellipsoid learn` that would have no effect are refused, with what to give instead."""

import pytest

from .conftest import run


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "(or '--resume', to go on with a saved model). To begin with, try EllipsoidClassifier."),
        (("--model", "MIRA", "--param", "n_epochs=5"), "rows are learned as they come: use --epochs."),
        (("--model", "MIRA", "--param", "shuffle=true"), "rows are learned as they come: use --shuffle."),
        (("--model", "MIRA", "--param", "early_stopping=true"), "rows are learned as they come: leave it out."),
    ],
)
def test_parameters_of_fit_are_refused(options, message):
    assert message in run("learn", "digits", *options, code=2).stderr


@pytest.mark.parametrize(
    ("first", "options", "where"),
    [
        ("", (), "the last column, column 3, holds 0.5"),
        ("a,b,price\n", (), "the last column, 'price', holds 0.5"),
        ("a,price,b\n", ("--label", "b"), "column 'b' holds 0.5"),
    ],
)
def test_numbers_that_are_no_labels_are_named_by_file_row_and_column(tmp_path, monkeypatch, first, options, where):
    """Every command that takes labels says so, and what to do."""
    monkeypatch.chdir(tmp_path)
    good, bad = (
        first + "".join(f"{i}.5,1,{label}\n" for i, label in enumerate(labels)) for labels in ((1, 0), (1, 0.5))
    )
    (tmp_path / "good.csv").write_text(good)
    (tmp_path / "bad.csv").write_text(bad)
    advice = ", and a label is a word or a whole number below 2^53: name the column of the labels by --label, or"
    found = f"Error: bad.csv, row 1: {where}{advice} learn numbers with"
    mira = ("--model", "MIRA", *options)
    assert f"{found} --task regression" in run("learn", "bad.csv", *mira, code=1).stderr
    assert f"{found} --task regression" in run("learn", "good.csv", *mira, "--validate", "bad.csv", code=1).stderr
    assert f"{found} a regressor" in run("compare", "bad.csv", "--models", "MIRA", *options, code=1).stderr
    sharded = run("learn", "bad.csv", *mira, "--workers", 1, code=1).stderr
    assert f"{tmp_path}/bad.csv, bytes 0 to {len(bad)}: {' '.join(where.split()[:2])}" in sharded
    assert f"holds 0.5{advice} learn numbers with --task regression" in sharded
    run("learn", "bad.csv", "--task", "regression", *options)
    run("learn", "good.csv", *mira, "--save", "m")
    run("predict", "m", "bad.csv")
