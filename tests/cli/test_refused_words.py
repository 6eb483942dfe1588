"""Words that a command can make nothing of are refused in one sentence, before anything is learned or written."""

import os

import pytest

from ellipsoid import load

from .conftest import run

ROWS = "a,b,y\n" + "1,2,u\n2,1,v\n" * 20


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(ROWS)
    run("learn", "t.csv", "--model", "MIRA", "--save", "m")
    return tmp_path


EMPTY = "empty; is the variable that should hold it set?"


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        (("learn", "", "--model", "MIRA"), 2, EMPTY),
        (("predict", "m", ""), 2, EMPTY),
        (("compare", ""), 2, EMPTY),
        (("compare", "t.csv", "--models", "MIRA", "--output", ""), 2, EMPTY),
        (("merge", "m", "--save", "both", "--validate", ""), 2, EMPTY),
        (("learn", "t.csv", "--model", "MIRA", "--classes", "u,u"), 2, "it names 'u' twice"),
        (("compare", "t.csv", "--models", "MIRA,AROW,MIRA"), 2, "it names MIRA twice"),
        (("learn", "t.csv", "--model", "MIRA", "--save", "-"), 2, "it is not written to standard output; name a file"),
        (("merge", "m", "--save", "-"), 2, "it is not written to standard output; name a file"),
        (("predict", "m", "t.csv", "--device", "cuda"), 2, "but this model has none: leave --device out."),
        (("merge", "m", "--save", "both", "--validate", "none"), 1, "no data set 'none'"),
        (
            ("learn", "t.csv", "--model", "MIRA", "--scheduler", "head"),
            1,
            "--scheduler must be an address such as tcp://head:8786, got 'head'",
        ),
    ],
)
def test_what_means_nothing_is_refused(folder, command, code, message):
    there = sorted(os.listdir(folder))
    assert message in run(*command, code=code).stderr
    assert sorted(os.listdir(folder)) == there


def test_a_file_may_have_the_name_of_standard_output(folder):
    run("learn", "t.csv", "--model", "MIRA", "--save", "./-")
    assert load("./-").t_ == 40
    assert run("predict", "m", "t.csv", "--output", "-").stdout == run("predict", "m", "t.csv").stdout


def test_numbers_that_are_no_labels_are_refused_by_merge(folder):
    (folder / "bad.csv").write_text("a,b,y\n1,2,0.5\n")
    said = run("merge", "m", "--save", "both", "--validate", "bad.csv", code=1).stderr
    assert "bad.csv, row 0: the last column, 'y', holds 0.5" in said
    assert said.endswith(": the labels must stand in the last column\n")


def test_numbers_are_validated_by_their_distance(folder):
    (folder / "numbers.csv").write_text("a,b,y\n" + "1,2,0.5\n2,1,1.5\n" * 20)
    regression = ("--task", "regression", "--save", "r")
    alone = run("learn", "numbers.csv", *regression, "--validate", "numbers.csv").stdout
    merged = run("merge", "r", "--save", "both", "--validate", "numbers.csv").stdout
    said = next(line for line in alone.splitlines() if line.startswith("validation error")).split(None, 2)[2].strip()
    assert said.endswith("the mean absolute one of 40 rows")
    assert merged.count(said) == 2


@pytest.mark.parametrize("name", [b"d\xff.csv", b"d$x^{$.csv"])
def test_names_that_are_no_words_are_drawn(folder, name):
    """They are the title of the plot."""
    pytest.importorskip("matplotlib")
    os.rename("t.csv", name)
    run("learn", os.fsdecode(name), "--model", "MIRA", "--plot", "p.png")
    assert (folder / "p.png").read_bytes().startswith(b"\x89PNG")
