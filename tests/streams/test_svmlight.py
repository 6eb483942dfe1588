"""Svmlight text: what is read, what is passed over, and what each flaw is called."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from ellipsoid.streams.opening import open_stream
from ellipsoid.streams.readers import blocks, scanned_text
from ellipsoid.streams.scan.hashing import hash_name

from .conftest import gather, read


def as_text(X, y, **options):
    file = io.BytesIO()
    dump_svmlight_file(X, y, file, **options)
    return file.getvalue()


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 30), st.booleans())
def test_reads_what_another_reader_reads(seed, n, d, zero_based):
    X = sparse.random(n, d, density=0.3, format="csr", random_state=seed % 2**31)
    # A first feature that is there tells the base.
    X = sparse.hstack([np.ones((n, 1)), X], format="csr")
    y = np.random.default_rng(seed).integers(-3, 4, size=n)
    text = as_text(X, y, zero_based=zero_based)
    found, labels, reader = read(text, n_features=d + 1)
    expected, floats = load_svmlight_file(io.BytesIO(text), n_features=d + 1, zero_based=zero_based)
    assert (found != expected).nnz == 0
    assert labels.dtype == np.int64
    np.testing.assert_array_equal(labels, floats)
    assert f"count from {int(not zero_based)} (detected)" in reader.description


@pytest.mark.parametrize("size", [1, 7, 16, 100, 1 << 20])
@pytest.mark.parametrize("chunk_rows", [None, 1, 3])
def test_blocks_and_chunks_change_nothing(block_size, size, chunk_rows):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((50, 5)).round(3), rng.integers(3, size=50)
    text = b"# head\n" + as_text(X, y, zero_based=False).replace(b"\n", b" # why\r\n\n") + b"2.5 1:1"
    block_size(size)
    found, labels, _ = read(text, chunk_rows=chunk_rows)
    np.testing.assert_array_equal(found.toarray()[:50], X)
    assert labels.tolist() == [*y.tolist(), 2.5]


def test_comments_blank_lines_rankings_and_odd_blanks_are_passed_over():
    text = b"\n  # 0:1 nobody reads this\n+1\tqid:7  2:0.5\t4:1   # 0:7\r\n\n-1 # none\n3 1:1e0"
    X, y, reader = read(text)
    assert X.toarray().tolist() == [[0, 0.5, 0, 1], [0, 0, 0, 0], [1, 0, 0, 0]]
    assert y.tolist() == [1, -1, 3]
    assert reader.description == "the open file: svmlight text, features count from 1 (detected)"


FLAWS = [
    (b"one 1:2", "line 3: a line must begin with its label, a number, got 'one'"),
    (b"1:2 2:3", "line 3: a line must begin with its label"),
    (b"1,3 2:3", "line 3: a line must have one label, got '1,3'; give sets of labels as arrays"),
    (b"nan 1:2", "line 3: a line must begin with its label"),
    (b"1 2", "line 3: a feature must be written index:value, got '2'"),
    (b"1 2 :3", "line 3: a feature must be written index:value, got '2'"),
    (b"1 x:3", "line 3: a feature must be written index:value, got 'x:3'"),
    (b"1 -1:3", "line 3: a feature must be written index:value, got '-1:3'"),
    (b"1 2:x", "line 3: the value of a feature must be a number, got '2:x'"),
    (b"1 2:3;4:5", "line 3: the value of a feature must be a number, got '2:3;4:5'"),
    (b"1 2:\x003", "line 3: the value of a feature must be a number"),
    (b"1 2:3 \x00", "line 3: a feature must be written index:value"),
    (b"1 2:3 2:4", "line 3: the indices of the features must increase along a line, but '2:4'"),
    (b"1 3:3 2:4", "line 3: the indices of the features must increase along a line, but '2:4'"),
    (b"1 16777217:1", "line 3: '16777217:1' is beyond 16777216 features, the most that are read without being told"),
    (b"1 18446744073709551617:1", "line 3: '18446744073709551617:1' is beyond 16777216"),
]


@pytest.mark.parametrize(("line", "message"), FLAWS)
@pytest.mark.parametrize("size", [8, 1 << 20])
def test_flaws_are_named_with_their_line_after_the_rows_before(block_size, line, message, size):
    block_size(size)
    met = []
    reader = open_stream(io.BytesIO(b"1 1:1 2:3\n# comment\n" + line + b"\n2 1:1\n"), format="svmlight")
    with pytest.raises(ValueError, match=message):
        met.extend(reader)
    assert [(chunk.X.toarray().tolist(), chunk.y.tolist()) for chunk in met] == [([[1, 3]], [1])]


def test_a_feature_0_after_the_first_block_contradicts_what_was_detected(block_size):
    block_size(16)
    text = b"1 1:1 2:1 3:1\n1 1:1 2:1 3:1\n1 0:5\n"
    with pytest.raises(
        ValueError,
        match=r"line 3: '0:5' is feature 0, but features count in the first lines from 1; give zero_based=True",
    ):
        read(text)
    X, _, reader = read(text, zero_based=True)
    assert X.toarray()[2].tolist() == [5, 0, 0, 0]
    assert reader.description.endswith("count from 0")
    with pytest.raises(ValueError, match="features count from 1"):
        read(text, zero_based=False)


def test_features_beyond_the_width_are_refused_or_dropped():
    text = b"1 1:1 4:1\n"
    with pytest.raises(ValueError, match=r"line 1: '4:1' is beyond n_features=3 \(features count from 1\)"):
        read(text, n_features=3)
    assert read(text, n_features=3, extra="drop")[0].toarray().tolist() == [[1, 0, 0]]
    assert read(text, n_features=6)[0].shape == (1, 6)


def test_hashed_features_are_those_of_their_names_and_collisions_add_up():
    X, _, _ = read(b"1 1:2 007:3\n1 7:3\n", bits=10)
    expected = np.zeros(1024)
    expected[hash_name("1") % 1024] += 2
    expected[hash_name("7") % 1024] += 3
    assert X.toarray()[0].tolist() == expected.tolist()
    assert X[1, hash_name("7") % 1024] == 3
    assert read(b"1 1:2 2:3 3:4 4:5\n", bits=1)[0].sum() == 14
    assert read(b"1 99999999999999999999:2\n", bits=4)[0].sum() == 2


def test_many_hard_numerals_in_one_line_find_room(monkeypatch):
    monkeypatch.setattr(scanned_text, "HARD_ROOM", 1)
    line = b"1 " + b" ".join(b"%d:5e-324" % i for i in range(1, 30))
    X, _, _ = read(b"2 1:1\n" + line + b"\n5e-324 3:1\n")
    assert X.shape == (3, 29)
    assert (X.toarray()[1] == 5e-324).all()


def test_fractions_among_labels_begin_a_new_piece():
    pieces = [y.tolist() for _, y, _ in open_stream(io.BytesIO(b"1 1:1\n2 1:1\n2.5 1:1\n3 1:1\n"))]
    assert pieces == [[1, 2], [2.5, 3.0]]


def test_skipped_rows_are_counted():
    text = b"".join(b"%d 1:%d\n" % (i, i) for i in range(10))
    for chunk_rows in (None, 1, 4):
        chunks = list(open_stream(io.BytesIO(text), skip=7, chunk_rows=chunk_rows))
        assert chunks[0].offset == 7
        assert np.concatenate([chunk.y for chunk in chunks]).tolist() == [7, 8, 9]


def test_a_line_beyond_the_limit_is_refused(monkeypatch, block_size):
    block_size(16)
    monkeypatch.setattr(blocks, "LONGEST_LINE", 64)
    with pytest.raises(ValueError, match="the line after byte 6 is longer than"):
        read(b"1 1:1\n1 " + b" " * 300 + b"1:1\n")


def test_labelled_false_leaves_out_the_labels():
    assert gather(open_stream(io.BytesIO(b"1 1:1\n"), labelled=False))[1] is None


def test_labels_from_2_to_the_53_on_are_floats():
    for text, kind in ((b"9007199254740991 1:1\n", int), (b"9007199254740992 1:1\n", float), (b"-1e16 1:1\n", float)):
        _, y, _ = read(text)
        assert isinstance(y.tolist()[0], kind), text
