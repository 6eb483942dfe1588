"""What a model file keeps of the streams it learned: names of columns, where features count from, bits of hashes."""

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

from ellipsoid import distributed, load
from ellipsoid.cli import main
from ellipsoid.estimators.files import container

from .conftest import learned, run, stream_of


@pytest.fixture
def tables(tmp_path):
    """The same rows with their columns in two orders, and without labels."""
    X = np.random.default_rng(5).normal(size=(200, 2)).round(3)
    y = np.where(X @ [2.0, -1.0] > 0, "up", "down")
    frames = {"ab": ("a,b,y", X, y), "ba": ("b,a,y", X[:, ::-1], y), "bare": ("a,b", X, None), "nameless": (None, X, y)}
    for name, (header, rows, labels) in frames.items():
        lines = [",".join(map(str, row)) for row in rows.tolist()]
        if labels is not None:
            lines = [f"{line},{label}" for line, label in zip(lines, labels, strict=True)]
        (tmp_path / f"{name}.csv").write_text("\n".join(([header] if header else []) + lines) + "\n")
    return tmp_path


def test_columns_of_tables_are_told_apart_by_their_names(tables):
    """Learned in one order and read in another they would give wrong answers, and nobody would notice."""
    model = tables / "m"
    run("learn", tables / "ab.csv", "--model", "MIRA", "--save", model)
    expected = run("predict", model, tables / "ab.csv").stdout
    assert len(set(expected.split())) == 2
    for command in (
        ("predict", model, tables / "ba.csv"),
        ("learn", tables / "ba.csv", "--resume", model),
        ("learn", tables / "ab.csv", tables / "ba.csv", "--model", "MIRA"),
        ("learn", tables / "ab.csv", "--model", "MIRA", "--validate", tables / "ba.csv"),
    ):
        assert "ba.csv are b, a, where the model learned a, b; name" in run(*command, code=1).stderr
    assert run("predict", model, tables / "ba.csv", "--columns", "a,b").stdout == expected
    # A table with exactly the columns that were learned has none for a label; of a pipe that must be said.
    assert run("predict", model, tables / "bare.csv").stdout == expected
    assert run("predict", model, tables / "bare.csv", "--no-label").stdout == expected
    piped = CliRunner().invoke(main, ["predict", str(model), "-"], input=(tables / "bare.csv").read_text())
    assert piped.exit_code == 1
    assert "give --no-label" in piped.stderr
    # Nothing is known of columns without names.
    assert run("predict", model, tables / "nameless.csv").stdout == expected


def test_text_without_labels_is_predicted_with_no_label(tmp_path):
    for name, lines in (("a.vw", "1 |a x\n2 |a y\n" * 5), ("bare.vw", "|a x\n|a y\n"), ("b.jsonl", '{"x": 1}\n')):
        (tmp_path / name).write_text(lines)
    model = tmp_path / "m"
    run("learn", tmp_path / "a.vw", "--model", "MIRA", "--save", model)
    assert "got '|a'; give --no-label where" in run("predict", model, tmp_path / "bare.vw", code=1).stderr
    assert "by --label, or give --no-label" in run("predict", model, tmp_path / "b.jsonl", code=1).stderr
    assert run("predict", model, tmp_path / "bare.vw", "--no-label").stdout.split() == ["1", "2"]


def test_names_of_columns_stay_with_a_model_that_learns_on(tables):
    run("learn", tables / "ab.csv", "--model", "MIRA", "--save", tables / "m", "--save-every", 50)
    shown = run("inspect", tables / "m").stdout
    assert "2: a, b" in shown
    assert re.search(r"a \+\S+, b -", shown), shown
    assert "counted from 0" not in shown
    for data in ("nameless.csv", "ab.csv"):
        run("learn", tables / data, "--resume", tables / "m", "--save", tables / "m")
        assert stream_of(tables / "m")["columns"] == ["a", "b"]
    load(tables / "m").save(tables / "saved")
    assert "learned a, b; name" in run("predict", tables / "saved", tables / "ba.csv", code=1).stderr
    assert "2: a, b" in (shown := run("inspect", tables / "saved").stdout)
    assert "stream" not in shown
    record = container.read(tables / "m")
    older = {
        key: value
        for key, value in record.header["stream"].items()
        if key not in ("columns", "zero_based", "bits", "kinds")
    }
    container.write(tables / "m", {**record.header, "stream": older}, record.arrays)
    assert run("predict", tables / "m", tables / "ba.csv").stdout, "a file from before there were names"


def test_words_are_known_by_the_name_of_their_column(tmp_path):
    """A second half without the header has the same words, and other features."""
    rows = ["red,1,u\n", "blue,2,v\n", "red,3,u\n", "blue,4,v\n"]
    for name, lines in (("first", ["c,n,y\n", *rows[:2]]), ("second", rows[2:])):
        (tmp_path / f"{name}.csv").write_text("".join(lines))
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    run("learn", first, "--model", "MIRA", "--bits", 6, "--save", tmp_path / "m")
    again = ("learn", second, "--resume", tmp_path / "m")
    assert "second.csv are 3, where the model learned n; name" in run(*again, code=1).stderr
    assert "second.csv has words but no header" in run(*again, "--no-header", code=1).stderr
    assert "second.csv has words but no header" in run("predict", tmp_path / "m", second, "--no-header", code=1).stderr
    second.write_text("c,n,y\n" + "".join(rows[2:]))
    run(*again)


ZEROS = ("1 0:1 3:2\n2 1:1 2:1\n", "1 1:2 3:1\n2 2:1 3:-1\n")


def test_where_features_count_from_stays_with_the_model(tmp_path):
    """The second half of a file that counts from 0 need not have a feature 0."""
    files = {"whole": "".join(ZEROS), "first": ZEROS[0], "second": ZEROS[1]}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    whole, first, second = (tmp_path / name for name in files)
    model, half = tmp_path / "m", tmp_path / "h"
    run("learn", whole, "--model", "Perceptron", "--save", model)
    run("learn", first, second, "--model", "Perceptron", "--save", tmp_path / "both")
    run("learn", first, "--model", "Perceptron", "--save", half)
    run("learn", second, "--resume", half, "--save", half)
    assert learned(half) == learned(tmp_path / "both") == learned(model)
    assert run("predict", model, second).stdout.split() == run("predict", model, whole).stdout.split()[2:]
    assert "0.00 % (of 2 rows)" in run("learn", whole, "--resume", model, "--validate", second).stdout
    # What was learned from 1 goes on so, and says where that cannot be.
    run("learn", second, "--model", "Perceptron", "--save", half)
    assert "line 1: '0:1' is feature 0" in run("learn", first, "--resume", half, code=1).stderr
    # Unless an option says otherwise.
    run("predict", half, first, "--first-feature", "0")


def test_hashed_features_stay_hashed(svm, tmp_path):
    """Read as they are, or hashed otherwise, they would be other features of the same numbers."""
    model = tmp_path / "m"
    run("learn", svm / "first.svm", "--model", "MIRA", "--bits", 9, "--save", model)
    expected = run("predict", model, svm / "second.svm", "--bits", 9).stdout
    assert run("predict", model, svm / "second.svm").stdout == expected
    run("learn", svm / "second.svm", "--resume", model, "--save", model)
    run("learn", svm / "all.svm", "--model", "MIRA", "--bits", 9, "--save", tmp_path / "whole")
    assert learned(model) == learned(tmp_path / "whole")
    assert "hashed to 9 bits" in run("predict", model, svm / "second.svm", "--bits", 8, code=2).stderr
    run("learn", svm / "first.svm", "--model", "MIRA", "--save", model)
    assert "are not hashed" in run("learn", svm / "second.svm", "--resume", model, "--bits", 9, code=2).stderr
    words = tmp_path / "words.csv"
    words.write_text("a,b,y\nred,1,u\nblue,2,v\n")
    run("learn", words, "--model", "MIRA", "--bits", 5, "--save", model)
    assert run("predict", model, words).stdout == run("predict", model, words, "--bits", 5).stdout


def test_names_are_not_hashed_into_features_that_are_numbered(svm, tmp_path):
    """Feature 3 of svmlight text is not whatever name has the hash 3."""
    names, model = tmp_path / "names.jsonl", tmp_path / "m"
    names.write_text('{"a": 1, "label": 1}\n{"b": 1, "label": 2}\n')
    run("learn", svm / "first.svm", "--model", "MIRA", "--save", model)
    for command in (
        ("predict", model, names),
        ("learn", names, "--resume", model),
        ("learn", svm / "first.svm", names, "--model", "MIRA"),
    ):
        assert f"{names} are hashed, and those learned before it are numbered" in run(*command, code=1).stderr
    run("learn", names, svm / "first.svm", "--model", "MIRA", "--save", model)  # all are hashed
    run("predict", model, names)


def test_a_command_with_bits_and_a_first_feature_can_be_repeated(svm, tmp_path):
    command = ("learn", svm / "first.svm", "--model", "MIRA", "--bits", 9, "--first-feature", 1)
    run(*command, "--save", tmp_path / "m")
    run(*command, "--resume", tmp_path / "m")


def test_a_stream_record_that_makes_no_sense_is_refused(svm):
    run("learn", svm / "first.svm", "--model", "MIRA", "--save", svm / "m")
    content = container.read(svm / "m")
    record = content.header["stream"]
    wrong = ({"row": -1}, {"inputs": 3}, {"columns": "ab"}, {"columns": [1]}, {"columns": 3}, {"zero_based": "a"})
    wrong = (*wrong, {"bits": -1}, {"bits": "a"}, {"bits": []}, {"inputs": [3]}, {"heads": [3]}, {"complete": 3})
    wrong = (*wrong, {"kinds": []}, {"kinds": "a"}, {"kinds": {"a": 3}})
    for stream in ({}, {"row": 1}, *({**record, **change} for change in wrong)):
        container.write(svm / "m", {**content.header, "stream": json.loads(json.dumps(stream))}, content.arrays)
        assert (
            "record of its stream cannot be read"
            in run("learn", svm / "first.svm", "--resume", svm / "m", code=1).stderr
        )


def test_what_becomes_of_empty_cells_stays_with_the_model(tmp_path):
    """Rows that were learned are predicted, also by a model that was merged, loaded and saved, or learned in shards."""
    table, model, other = tmp_path / "t.csv", tmp_path / "m", tmp_path / "other"
    table.write_text("a,b,y\n1,,u\n,2,v\n3,,u\n,4,v\n")
    full = tmp_path / "full.csv"
    full.write_text("a,b,y\n1,0,u\n0,2,v\n3,0,u\n0,4,v\n")
    told = ("--model", "MIRA", "--missing", "zero", "--classes", "u,v")
    run("learn", table, *told, "--save", model)
    expected = run("predict", model, full).stdout
    assert expected.split() == ["u", "v", "u", "v"]
    run("learn", table, *told, "--workers", 1, "--save", other)
    run("merge", other, model, "--save", tmp_path / "both", "--validate", table)
    run("learn", table, "--resume", model, "--save", tmp_path / "on")
    load(model).save(tmp_path / "again")
    for name in (model, other, tmp_path / "both", tmp_path / "on", tmp_path / "again"):
        assert run("predict", name, table).stdout == expected
        assert "give --missing zero" in run("predict", name, table, "--missing", "error", code=1).stderr
    assert distributed.predict(load(other), str(table), client="here").tolist() == expected.split()
    run("learn", full, "--model", "MIRA", "--save", model)
    assert "missing" not in stream_of(model), "files of models that know nothing of it stay as they were"
    assert "give --missing zero" in run("predict", model, table, code=1).stderr
    header = container.read(other)
    forged = {**header.header, "stream": {**header.header["stream"], "missing": "guess"}}
    container.write(other, forged, header.arrays)
    assert "is not a sound model" in run("predict", other, table, code=1).stderr
