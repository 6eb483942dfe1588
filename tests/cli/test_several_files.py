"""Several files are learned and labelled as one that holds the rows of all, and so is a file after a saved model."""

import gzip

import pytest
from click.testing import CliRunner

from ellipsoid.cli import main

from .conftest import learned, run, stream_of

# How a stream is cut shows in which rows are read, not in machine code.
pytestmark = pytest.mark.interpreted

HEAD = "a,b,y\n"
ZERO = ("--missing", "zero")
# What it is called: the suffix of the files, their texts without the header, the header, options.
STREAMS = {
    "a label that looks like a number": (".csv", ["1,2,u\n2,1,v\n", "3,1,7\n4,2,u\n"], HEAD, ()),
    "a label without a header": (".csv", ["1,2,u\n2,1,v\n", "3,1,7\n4,2,u\n"], "", ()),
    "a word that looks like a number": (".csv", ["red,2,u\nblue,1,v\n", "3,1,u\n4,2,v\nred,1,u\n"], HEAD, ()),
    "words that all do": (".csv", ["red,2,u\nblue,1,v\n", "3,1,u\n4,2,v\n"], HEAD, ()),
    "words without a header": (".csv", ["red,2,u\nblue,1,v\n", "3,1,u\n4,2,v\n"], "", ("--no-header",)),
    "a word first, which is no header": (".csv", ["1,,u\n2,red,v\n", "3,blue,u\n4,2,v\n5,red,v\n"], "", ZERO),
    "two columns of one name": (".csv", ["x,1,u\ny,2,v\n", "1,1,u\nx,3,v\n"], "a,a,y\n", ()),
    "words only": (".csv", ["x,1z,u\ny,2z,v\n", "1,1,u\nx,3,v\n"], HEAD, ()),
    "rows that a header lacks": (".csv", ["1,2,u\n2,1,v\n", "", "3,1,v\n", ""], HEAD, ()),
    "an empty table first": (".csv", ["", "1,2,u\n2,1,v\n", "3,1,v\n"], HEAD, ()),
    "an empty file of unknown format": ("", ["", "1,2,u\n2,1,v\n", "", "3,1,v\n"], "", ()),
    "svmlight text": (".svm", ["1 1:2 5:1\n2 2:1\n", "", "1 1:1\n2 2:3\n", "# none\n", "3 9:1\n"], "", ()),
    "Vowpal Wabbit text": (".vw", ["1 |a x:1 y\n2 |a y\n", "", "3 0 |a z\n1 |a x\n"], "", ()),
    "JSON lines": (".jsonl", ['{"a":1,"label":"u"}\n', "", '{"a":"2","label":"7"}\n{"b":true,"label":"u"}\n'], "", ()),
}  # fmt: skip
# What only a look at the files behind the first tells: a saved model cannot know it.
AHEAD = {
    "a column that is empty at first": (".csv", ["1,,u\n2,,v\n", "3,red,u\n4,blue,v\n"], HEAD, ZERO),
    "the same without a header": (".csv", ["2,,v\n1,,u\n", "1,red,v\n2,7,v\n"], "", ZERO),
    "a feature 0 that comes later": (".svm", ["1 1:2 5:1\n2 2:1\n", "1 0:1\n2 2:3\n"], "", ()),
}


def write(folder, stream, pack=False):
    """One file with all rows, and the files."""
    suffix, texts, header, options = stream
    names = [f"{name}{suffix}{'.gz' if pack else ''}" for name in ("whole", *range(len(texts)))]
    for name, text in zip(names, ["".join(texts), *texts], strict=True):
        data = (header + text).encode()
        (folder / name).write_bytes(gzip.compress(data) if pack else data)
    whole, *parts = [folder / name for name in names]
    return whole, parts, (*options, *(() if "svm" in suffix else ("--bits", "6")))


@pytest.mark.parametrize("pack", [False, True])
@pytest.mark.parametrize("stream", [*STREAMS, *AHEAD])
def test_several_files_are_learned_as_one(stream, pack, tmp_path):
    whole, parts, options = write(tmp_path, {**STREAMS, **AHEAD}[stream], pack)
    for name, data in (("one", [whole]), ("several", parts)):
        run("learn", *data, "--model", "MIRA", *options, "--save", tmp_path / name)
    assert learned(tmp_path / "several") == learned(tmp_path / "one")
    expected = run("predict", tmp_path / "one", whole, *options).stdout
    assert run("predict", tmp_path / "one", *parts, *options).stdout == expected


@pytest.mark.parametrize("stream", STREAMS)
def test_a_file_after_a_saved_model_is_learned_as_its_end(stream, tmp_path):
    whole, parts, options = write(tmp_path, STREAMS[stream])
    run("learn", whole, "--model", "MIRA", *options, "--save", tmp_path / "one")
    saved = ()
    for part in parts:
        if part.read_text() not in ("", HEAD, "# none\n"):
            run("learn", part, *(saved or ("--model", "MIRA")), *options, "--save", tmp_path / "m")
            saved = ("--resume", tmp_path / "m")
    assert learned(tmp_path / "m") == learned(tmp_path / "one")


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_a_table_without_rows_is_passed_over(suffix, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    write = parquet.write_table if suffix == ".parquet" else feather.write_feather
    rows = pyarrow.table({"a": [1.0, 2.0, 3.0, 1.5], "w": ["7", "x", "8", "9"], "y": ["u", "v", "7", "u"]})
    files = []
    for start, stop in ((0, 4), (0, 2), (2, 2), (2, 4)):
        files.append(tmp_path / f"{start}-{stop}{suffix}")
        write(rows.slice(start, stop - start), str(files[-1]))
    for name, data in (("one", files[:1]), ("several", files[1:])):
        run("learn", *data, "--model", "MIRA", "--bits", 6, "--save", tmp_path / name)
    assert learned(tmp_path / "several") == learned(tmp_path / "one")


@pytest.mark.parametrize("texts", [[""], ["", HEAD], [HEAD, ""]])
def test_files_without_any_rows_are_refused(texts, tmp_path):
    for i, text in enumerate(texts):
        (tmp_path / f"{i}.csv").write_text(text)
    files = [tmp_path / f"{i}.csv" for i in range(len(texts))]
    result = run("learn", *files, "--model", "MIRA", "--save", tmp_path / "m", code=1)
    assert f"{files[0]} has no rows" in result.stderr
    assert not (tmp_path / "m").exists()


def test_a_row_that_looks_like_a_header_is_not_passed_over(tmp_path):
    """A file of one row, without the header of the others, would be taken for one without rows."""
    for name, text in (("first", "c,n,y\nred,1,u\nblue,2,v\n"), ("row", "blue,3,u\n"), ("nameless", "1,2,u\n2,1,v\n")):
        (tmp_path / f"{name}.csv").write_text(text)
    first, row, nameless = (tmp_path / f"{name}.csv" for name in ("first", "row", "nameless"))
    for files in ((first, row), (row, first), (nameless, row), (row, nameless)):
        result = run("learn", *files, "--model", "MIRA", "--bits", 6, code=1)
        assert f"{row} has no rows, and its first line is not the header of the other tables" in result.stderr


@pytest.mark.parametrize("stop", range(1, 6))
def test_a_run_killed_in_any_file_goes_on_to_the_same_bytes(stop, tmp_path, monkeypatch):
    from ellipsoid.estimators.files import saving

    class Killed(BaseException):
        pass

    def save(model, path, stream=None):
        real(model, path, stream)
        if stream["rows"] == stop:
            raise Killed

    _, parts, options = write(tmp_path, (".csv", ["red,,u\nblue,,v\n", "", "3,z,7\n4,1,u\nred,2,7\n"], HEAD, ZERO))
    command = [str(word) for word in ("learn", *parts, "--model", "MIRA", *options, "--save-every", 1, "--save")]
    run(*command, tmp_path / "never")
    real = saving.save
    monkeypatch.setattr(saving, "save", save)
    with pytest.raises(Killed):
        CliRunner().invoke(main, [*command, str(tmp_path / "m")], standalone_mode=False, catch_exceptions=False)
    monkeypatch.undo()
    run(*command, tmp_path / "m", "--resume", tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "never").read_bytes()
    assert stream_of(tmp_path / "m")["kinds"] == {"a": "words", "b": "words"}


def test_columns_of_words_are_told_apart_by_their_names(tmp_path):
    """No column of numbers shows that a second half has no header: its words would be other features."""
    for name, text in (("first", "c,y\nred,u\nblue,v\n"), ("second", "red,u\nblue,v\n"), ("bare", "c\nred\nblue\n")):
        (tmp_path / f"{name}.csv").write_text(text)
    first, second, bare = (tmp_path / f"{name}.csv" for name in ("first", "second", "bare"))
    sentence = "the columns of words in " + str(second) + " are red, where the model learned c; name its columns"
    assert sentence in run("learn", first, second, "--model", "MIRA", "--bits", 6, code=1).stderr
    run("learn", first, "--model", "MIRA", "--bits", 6, "--save", tmp_path / "m")
    assert sentence in run("predict", tmp_path / "m", second, code=1).stderr
    # The label is no word of the row.
    labels = run("predict", tmp_path / "m", bare, "--no-label").stdout
    assert run("predict", tmp_path / "m", first).stdout == labels


def test_a_word_that_was_learned_is_no_label(tmp_path):
    """Of a table without labels whose last column is one of words all columns are features, as with numbers."""
    for name, text in (("all", "n,c,d,y\n1,r,s,u\n1,r,t,v\n"), ("bare", "n,c,d\n1,r,s\n1,r,t\n")):
        (tmp_path / f"{name}.csv").write_text(text)
    run("learn", tmp_path / "all.csv", "--model", "MIRA", "--bits", 6, "--epochs", 9, "--save", tmp_path / "m")
    for name in ("all", "bare"):
        assert run("predict", tmp_path / "m", tmp_path / f"{name}.csv").stdout == "u\nv\n"
