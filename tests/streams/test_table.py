"""CSV text: what each column is, how cells are written, and what each flaw is called."""

import csv
import io
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ellipsoid.streams.opening import open_stream
from ellipsoid.streams.readers import table
from ellipsoid.streams.readers.errors import LineError
from ellipsoid.streams.scan.hashing import hash_name

from .conftest import gather, read


def csv_of(rows, **how):
    file = io.StringIO()
    csv.writer(file, **how).writerows(rows)
    return file.getvalue().encode()


numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(st.integers(1, 5).flatmap(lambda d: st.lists(st.lists(numbers, min_size=d + 1, max_size=d + 1), min_size=1)))
def test_numbers_are_read_as_python_writes_them(rows):
    X, y, _ = read(csv_of(rows), header=False, format="csv")
    np.testing.assert_array_equal(X, np.array(rows)[:, :-1])
    np.testing.assert_array_equal(y, np.array(rows)[:, -1])


@pytest.mark.parametrize("size", [3, 20, 1 << 20])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_blocks_and_delimiters_change_nothing(block_size, size, delimiter):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), rng.integers(3, size=40)
    rows = [["a", "b", "c", "y"], *([*map(repr, x), int(label)] for x, label in zip(X.tolist(), y, strict=True))]
    block_size(size)
    found, labels, _ = read(b"\xef\xbb\xbf\n" + csv_of(rows, delimiter=delimiter), format="csv")
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(labels, y)


words = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), min_size=1, max_size=6).filter(
    lambda word: word.strip(" \t") == word and word.lower() not in ("?", "na", "n/a", "nan", "null", "none")
)


@given(st.lists(st.tuples(words, numbers, words), min_size=1, max_size=20))
def test_words_are_hashed_and_labels_kept_whatever_they_hold(rows):
    # A first row of plain words settles the purposes: what looks like a number later stays a word.
    rows = [("red", 1.0, "yes"), *rows]
    X, y, reader = read(csv_of([("colour", "size", "kind"), *rows]), bits=12, format="csv")
    assert reader.n_features == 1 + 2**12 == X.shape[1]
    expected = np.zeros(X.shape)
    for i, (colour, size, kind) in enumerate(rows):
        expected[i, 0] = size
        expected[i, 1 + (hash_name(colour, hash_name("colour")) & (2**12 - 1))] = 1.0
        assert y[i] == kind
    np.testing.assert_array_equal(X.toarray(), expected)


def test_cells_may_be_quoted_padded_and_doubly_quoted():
    X, y, _ = read(b'"a ""b""", c ,"k"\r\n "1.5" , 2 , "x ""y"""\r\n\r\n3,"4"  ,z\n')
    assert X.tolist() == [[1.5, 2], [3, 4]]
    assert y.tolist() == ['x "y"', "z"]


@pytest.mark.parametrize("empty", [b"", b"  ", b"NA", b"nan", b"NaN", b"NULL", b"None", b"?", b"n/a", b'""'])
def test_missing_cells_are_refused_or_zero(empty):
    text = b"c,n,y\nred,1," + b"0\n" + empty + b"," + empty + b",1\n"
    shown = re.escape(f": '{empty.decode()}' stands for that") if empty.strip() else ""
    with pytest.raises(ValueError, match=rf"line 3: column 1 is missing{shown}; give missing='zero'"):
        read(text)
    X, _, _ = read(text, missing="zero")
    assert (X[[0]].sum(), X[[1]].nnz) == (2, 0)
    with pytest.raises(ValueError, match=rf"line 2: the label \(column 2\) is missing{shown}$"):
        read(b"1,2\n1," + empty + b"\n", missing="zero")


def test_a_last_column_of_texts_is_not_taken_for_the_label():
    lines = b"kind,text\n" + b"".join(b"%s,text number %d\n" % (b"no" if i % 3 else b"yes", i) for i in range(1200))
    with pytest.raises(ValueError, match="last column holds 1200 different words in 1200 rows"):
        read(lines)
    assert set(read(lines, label="kind")[1]) == {"no", "yes"}
    assert len(set(read(lines, label="text")[1])) == 1200


@pytest.mark.parametrize(
    "word", [b"n/x", b"no", b"nab", b"n1l", b"nul1", b"nope", b"nulls", b"!", b"a/a", b"ban", b"-n"]
)
def test_words_that_resemble_a_missing_cell_are_words(word):
    X, y, _ = read(b"c,y\n" + word + b"," + word + b"\n", bits=4)
    assert X.sum() == 1
    assert y.tolist() == [word.decode()]


@pytest.mark.parametrize("cell", ["inf", "-inf", "+Infinity", " INF ", '"inf"'])
def test_an_infinity_is_no_word_where_a_column_begins_with_it(cell):
    for header in ("a,b,y\n", ""):
        with pytest.raises(ValueError, match=rf"(?i)line {1 + bool(header)}: .*inf.* is not a finite number"):
            read(f"{header}1,{cell},0\n1,2,1\n".encode(), format="csv")
    with pytest.raises(ValueError, match="is not a finite number"):
        read(f"a,b\n1,{cell}\n".encode(), labelled=False)
    X, y, _ = read(f"a,b,y\n1,{cell},inf\n".encode(), kinds={"b": "words"}, bits=3)
    assert (X.sum(), y.tolist()) == (2, ["inf"])


@pytest.mark.parametrize("word", [b"in", b"infantry", b"infirmly", b"inf.", b"-in", b"--inf", b"info"])
def test_words_that_resemble_an_infinity_are_words(word):
    X, y, _ = read(b"c,y\n" + word + b"," + word + b"\n", bits=4)
    assert X.sum() == 1
    assert y.tolist() == [word.decode()]


def test_a_column_may_begin_with_missing_cells():
    X, _, _ = read(b",,0\n,,1\n3,x,0\n", missing="zero", bits=3, header=False)
    assert X.shape == (3, 1 + 8)
    assert X.toarray()[2].sum() == 4


def test_columns_and_label_by_name():
    text = b"id,kind,a,b\n7,x,1,2\n8,y,3,4\n"
    X, y, reader = read(text, label="kind", columns=("b", "a"))
    assert X.tolist() == [[2, 1], [4, 3]]
    assert reader.columns == ["b", "a"]
    assert y.tolist() == ["x", "y"]
    X, y, _ = read(text, labelled=False, columns=("a",))
    assert X.tolist() == [[1], [3]]
    assert y is None
    for options in ({"label": "z"}, {"columns": ("z",)}):
        with pytest.raises(ValueError, match="has no column 'z' for .*; it has id, kind, a, b"):  # noqa: RUF043
            read(text, **options)
    with pytest.raises(ValueError, match="has no header line"):
        read(b"1,2,3\n", label="a")
    with pytest.raises(ValueError, match="must not name 'a' twice"):
        read(text, columns=("a", "b", "a"))
    with pytest.raises(ValueError, match="two columns of one name"):
        read(b"a,a,y\n1,2,3\n", label="y")


def test_names_of_features_are_those_of_columns_of_numbers():
    assert read(b"a,w,b,y\n1,x,2,0\n", bits=3)[2].columns == ["a", "b"]
    assert read(b"1,2,0\n3,4,1\n")[2].columns is None


def test_header_option_allows_names_that_are_numbers_and_rows_of_words():
    assert read(b"1,2,y\n3,4,5\n", header=True)[0].tolist() == [[3, 4]]
    X, y, _ = read(b"red,1,0\nblue,2,1\n", header=False, bits=4)
    assert X.shape == (2, 1 + 16)
    assert y.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"1,oops,0", "'oops' is not a number, as the first cell of column 2 is"),
        (b"1,2 3,0", "'2 3' is not a number"),
        (b"1,2,three", "'three' is not a number, as the first cell of column 3 is"),
        (b"1,inf,0", "'inf' is not a finite number"),
        (b"1,2", "2 columns, but the first line has 3"),
        (b"1,2,3,4", "more than the 3 columns of the first line"),
        (b'1,"2,3', "the quotation marks of column 2 do not enclose all of it on this line"),
        (b'1,"2"x,3', "the quotation marks of column 2 do not enclose all of it on this line"),
        (b"1,1e999,3", "'1e999' is too large for a float64"),
        (b"1,2,1e999", "'1e999' is too large for a float64"),
    ],
)
@pytest.mark.parametrize("size", [6, 1 << 20])
def test_flaws_are_named_with_their_line(block_size, size, line, message):
    block_size(size)
    with pytest.raises(ValueError, match="line 5: " + message):
        read(b"a,b,y\n1,2,0\n\n1,2,1\n" + line + b"\n1,2,0\n", format="csv")


@pytest.mark.parametrize(
    ("label", "message"),
    [
        (b"w\0", r"the label 'w\\x00' ends with a NUL"),
        (b"b" * 1001, "a label must have at most 1,000 characters, got one of 1,001"),
        (b"w", "the column of labels has more than 2 different words; is it the right column"),
    ],
)
@pytest.mark.parametrize("size", [6, 1 << 20])
def test_labels_that_cannot_be_one_are_named_and_the_rows_before_them_are_read(
    block_size, monkeypatch, size, label, message
):
    monkeypatch.setattr(table, "_MOST_LABELS", 2)
    block_size(size)
    # Threads that scan later blocks know more words.
    stream, found = open_stream(io.BytesIO(b"a,y\n1,u\n\n2,v\n3," + label + b"\n4,u\n"), threads=0), []
    with pytest.raises(LineError, match="line 5: " + message):
        found.extend(y for _, labels, _ in stream for y in labels)
    assert found == ["u", "v"]


def test_one_long_label_widens_few_others():
    stream = open_stream(io.BytesIO(b"a,y\n" + 20_000 * b"1,a\n" + b"2," + b"b" * 1000 + b"\n" + 9000 * b"3,c\n"))
    chunks = list(stream)
    assert max(chunk.y.nbytes for chunk in chunks) <= 1 << 25
    assert [y for chunk in chunks for y in chunk.y] == ["a"] * 20_000 + ["b" * 1000] + ["c"] * 9000
    assert [x for chunk in chunks for x in chunk.X[:, 0]] == [1] * 20_000 + [2] + [3] * 9000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a,b,y\r1,2,0\r3,4,1\r", r"a carriage return follows 'a,b,y': end the lines with line feeds"),
        (b"a,b\rc,y\n1,2,0\n", r"a carriage return follows 'a,b': end the lines"),
        (b"1,2," + b"x" * 200_000 + b"\n", "a cell has more than 131,072 characters: shorten it"),
    ],
)
@pytest.mark.parametrize("size", [1, 1 << 20])
def test_flaws_of_the_first_line_are_named_with_their_line(block_size, size, text, message):
    block_size(size)
    with pytest.raises(ValueError, match="line 3: " + message):
        read(b"\n\n" + text, format="csv")


def test_tables_without_features_or_rows_are_refused():
    with pytest.raises(ValueError, match="has no column of features"):
        read(b"y\n1\n", format="csv")
    for text in (b"a,b,y\n", b"\n\n", b""):
        with pytest.raises(ValueError, match="has no rows"):
            read(text, format="csv")


@pytest.mark.parametrize("header", [b"zip,b,y\n", b""])
def test_kinds_option_overrides_what_the_first_cells_show(header):
    """Whatever the first cells look like, also where they are the only ones."""
    text = header + b"07,,1\n7,2,u\n"
    key = "zip" if header else "0"
    told = {"kinds": {key: "words", "other": "numbers"}, "word_labels": True, "missing": "zero", "bits": 4}
    stream = open_stream(io.BytesIO(text), format="csv", **told)
    X, y = stream.arrays()
    seed = hash_name(key)
    rows = np.zeros((2, 17))
    rows[1, 0] = 2.0
    rows[[0, 1], [1 + hash_name(word, seed) % 16 for word in ("07", "7")]] = 1.0
    assert np.array_equal(X.toarray(), rows)
    assert (y.tolist(), stream.kinds) == (["1", "u"], {key: "words", "b" if header else "1": "numbers"})
    with pytest.raises(ValueError, match="line 1: 'red' is not a number, and column 1 holds numbers, as kinds or the"):
        read(b"red,1\n", format="csv", header=False, kinds={"0": "numbers"})
    with pytest.raises(ValueError, match="kinds must be numbers or words for a column, got 'letters' for 'a'"):
        open_stream("digits", kinds={"a": "letters"})


def test_numbers_alone_stay_dense_and_of_the_width_of_the_table():
    reader = open_stream(io.BytesIO(b"1,2,0\n"))
    X, _ = gather(reader)
    assert isinstance(X, np.ndarray)
    assert reader.n_features == 2
    assert reader.description == "the open file: CSV text between commas, no header (detected), 2 columns of numbers"
