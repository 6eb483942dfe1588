"""``--kinds``: what the columns of CSV text hold, where their first cells do not show it."""

import numpy as np
import pytest

from ellipsoid import distributed, load

from .conftest import run, stream_of

MIRA = ("--model", "MIRA", "--bits", 8)
CODES = ("--kinds", "zip=words")


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """Rows whose label depends on the code alone; the numbers of the codes do not tell."""
    monkeypatch.chdir(tmp_path)
    codes = np.random.default_rng(1).integers(10, 30, size=400)
    rows = [
        f"{code},{code % 3}.5,{'red' if i % 2 else 'blue'},{'odd' if code % 2 else 'even'}\n"
        for i, code in enumerate(codes)
    ]
    for name, part in (("all", rows), ("first", rows[:200]), ("second", rows[200:])):
        (tmp_path / f"{name}.csv").write_text("zip,a,colour,y\n" + "".join(part))
    (tmp_path / "bare.csv").write_text("".join(rows))
    return tmp_path


def error_of(report):
    line = next(line for line in report.splitlines() if line.startswith("online error"))
    return float(line.split()[2])


def test_codes_are_learned_as_words_and_predicted_alike(tables):
    """However many files hold the rows, and whichever command learns them."""
    codes = run("learn", "all.csv", *MIRA, *CODES, "--save", "m").stdout
    assert error_of(codes) < 15 < 30 < error_of(run("learn", "all.csv", *MIRA).stdout)
    assert "1 columns of numbers and 2 of words" in codes
    assert stream_of("m")["kinds"] == {"zip": "words", "a": "numbers", "colour": "words"}
    expected = run("predict", "m", "all.csv").stdout
    assert expected.split() == [line.split(",")[3] for line in (tables / "all.csv").read_text().splitlines()[1:]]
    run("learn", "first.csv", "second.csv", *MIRA, *CODES, "--save", "two")
    run("learn", "first.csv", *MIRA, *CODES, "--save", "on")
    run("learn", "second.csv", "--resume", "on", "--save", "on", "--validate", "all.csv")
    for name in ("two", "on"):
        assert np.array_equal(load(name).coef_, load("m").coef_)
    assert run("predict", "m", "all.csv", *CODES).stdout == expected
    run("learn", "bare.csv", *MIRA, "--no-header", "--kinds", "0=words", "--save", "bare")
    assert run("predict", "bare", "bare.csv").stdout == expected
    assert "MIRA" in run("compare", "all.csv", "--models", "MIRA", "--bits", 8, *CODES).stdout
    run("learn", "first.csv", "second.csv", *MIRA, *CODES, "--workers", 1, "--shards", 2, "--save", "shards")
    alone = distributed.fit(
        load("m"), ["first.csv", "second.csv"], client="here", shards=2, bits=8, kinds={"zip": "words"}
    )
    assert np.array_equal(load("shards").coef_, alone.coef_)
    assert run("predict", "shards", "all.csv").stdout == expected


def test_labels_are_words_where_it_is_said(tables):
    for name in ("all", "first", "second"):
        path = tables / f"{name}.csv"
        path.write_text(path.read_text().replace("odd", "1").replace("even", "0"))
    for data in (("all.csv",), ("first.csv", "second.csv")):
        run("learn", *data, *MIRA, "--kinds", "y=words", "--save", "m")
        assert load("m").classes_.tolist() in (["0", "1"], ["1", "0"])
    run("learn", "first.csv", *MIRA, "--kinds", "y=words", "--workers", 1, "--save", "m")
    assert sorted(load("m").classes_.tolist()) == ["0", "1"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("", "it must not be empty"),
        ("zip", "'zip' must be NAME=words or NAME=numbers"),
        ("zip=letters", "'zip=letters' must be NAME=words or NAME=numbers"),
        ("=words", "'=words' must be NAME=words or NAME=numbers"),
        ("zip=words,", "'' must be NAME=words or NAME=numbers"),
        ("zip=words,zip=numbers", "it names 'zip' twice"),
    ],
)
def test_what_names_no_kind_is_refused(tables, value, message):
    assert message in run("learn", "all.csv", *MIRA, "--kinds", value, code=2).stderr


def test_kinds_that_would_be_ignored_are_refused(tables):
    """Columns that are not there, files that know their kinds, and a model that has learned others."""
    unknown = "all.csv has no column 'zap' for kinds; it has zip, a, colour, y"
    zap = ("--kinds", "zap=words")
    for command in (
        ("learn", "all.csv", *MIRA, *zap),
        ("learn", "all.csv", *MIRA, *zap, "--workers", 1),
        ("compare", "all.csv", *zap),
        ("send", "http://127.0.0.1:1", "m", "all.csv", *zap),
    ):
        assert unknown in run(*command, code=1).stderr
    assert "has no column '4'" in run("learn", "bare.csv", *MIRA, "--no-header", "--kinds", "4=words", code=1).stderr
    (tables / "rows.svm").write_text("1 1:1\n0 2:1\n")
    for more in ((), ("--workers", 1)):
        said = run("learn", "rows.svm", "--model", "MIRA", *CODES, *more, code=1).stderr
        assert "--kinds names columns of CSV text, but" in said
    run("learn", "all.csv", *MIRA, "--save", "m")
    for command in (("predict", "m", "all.csv"), ("learn", "all.csv", "--resume", "m")):
        said = run(*command, *CODES, code=2).stderr
        assert "--kinds zip=words contradicts the model, which has learned numbers from that column." in said
    said = run("learn", "all.csv", *MIRA, "--kinds", "colour=numbers", code=1).stderr
    assert "line 2: 'blue' is not a number, and column 3 holds numbers, as --kinds or the first table says" in said
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"zip": [1, 2], "y": ["a", "b"]}), "t.parquet")
    said = run("learn", "t.parquet", *MIRA, *CODES, code=1).stderr
    assert "the column 'zip' of t.parquet holds numbers by its type: --kinds names columns of CSV text" in said
