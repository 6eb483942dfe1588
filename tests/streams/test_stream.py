"""Every kind of stream becomes the same chunks, and can be gathered; each way to be wrong has its sentence."""

import gzip
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from ellipsoid.streams.opening import open_stream

X = np.arange(14.0).reshape(7, 2)
y = np.array([0, 1, 2, 0, 1, 2, 0])


def kinds():
    csr = sparse.csr_matrix(X)
    return {
        "pair": (X, y),
        "sparse": (csr, y),
        "chunks": [(X[:3], y[:3]), (X[3:], y[3:])],
        "examples": list(zip(X, y, strict=True)),
        "sparse examples": [(csr[i], y[i]) for i in range(7)],
        "generator": ((x, label) for x, label in zip(X, y, strict=True)),
    }


@pytest.mark.parametrize("kind", kinds())
@pytest.mark.parametrize("chunk_size", [1, 2, 3, 100])
def test_chunks_join_to_the_whole_stream(kind, chunk_size):
    parts = list(open_stream(kinds()[kind]).chunks(chunk_size))
    assert all(len(labels) <= chunk_size for _, labels, _ in parts)
    rows = [part.toarray() if sparse.issparse(part) else part for part, _, _ in parts]
    np.testing.assert_array_equal(np.concatenate(rows), X)
    np.testing.assert_array_equal(np.concatenate([labels for _, labels, _ in parts]), y)


def test_dicts_can_be_kept():
    stream = open_stream([({"rain": 1.0}, "wet"), ({"sun": 2.0}, "dry"), ({}, "dry")], dicts="keep")
    assert [(X, y.tolist()) for X, y, _ in stream.chunks(2)] == [
        ([{"rain": 1.0}, {"sun": 2.0}], ["wet", "dry"]),
        ([{}], ["dry"]),
    ]
    assert stream.n_features is None
    with pytest.raises(ValueError, match="dicts cannot become arrays"):
        stream.arrays()
    with pytest.raises(ValueError, match="row 1: every example must be a dict"):
        list(open_stream([({"a": 1}, 0), ([1.0], 1)], dicts="keep"))
    with pytest.raises(ValueError, match="give one of the two"):
        open_stream([], dicts="keep", bits=4)


def test_an_open_stream_passes_through_with_the_options_it_has():
    stream = open_stream((X, y))
    assert open_stream(stream) is stream
    with pytest.raises(ValueError, match="arrays is already open: give skip when opening it"):
        open_stream(stream, skip=3)


def test_rows_and_classes_in_memory_are_known_before_reading():
    for stream in (open_stream((X, y), skip=2), open_stream(list(zip(X, y, strict=True)), skip=2).in_memory()):
        assert (stream.n_rows, stream.n_features, stream.classes.tolist()) == (5, 2, [0, 1, 2])
        np.testing.assert_array_equal(stream.arrays()[0], X[2:])
        assert sum(len(labels) for _, labels, _ in stream) == 5
    assert open_stream((X, np.column_stack([y, y]))).classes is None
    unread = open_stream(list(zip(X, y, strict=True)))
    assert (unread.n_rows, unread.classes) == (None, None)


def test_a_data_set_brings_its_test_part():
    stream = open_stream("chess-board")
    assert (stream.n_rows, len(stream.test[1])) == (10_000, 10_000)
    assert stream.classes.tolist() == list(range(8))
    assert open_stream("digits").test is None


def test_rows_that_widen_are_gathered_as_wide_as_the_widest(block_size):
    block_size(16)
    stream = open_stream(io.BytesIO(b"".join(b"1 %d:1\n" % (1 + i // 5) for i in range(20))), format="svmlight")
    whole, _ = stream.arrays()
    assert whole.shape == (20, 4)
    assert whole.indices.tolist() == [i // 5 for i in range(20)]


def test_gathered_labels_do_not_become_words():
    _, labels = open_stream([(X[:1], [1]), (X[1:2], ["a"])]).arrays()
    assert labels.tolist() == [1, "a"]
    assert open_stream((X[:2], [1, "a"])).arrays()[1].tolist() == [1, "a"]


def test_arrays_gathers_dense_and_sparse():
    for matrix in (X, sparse.csr_matrix(X)):
        gathered, labels = open_stream([(matrix[:3], y[:3]), (matrix[3:], y[3:])]).arrays()
        assert (gathered != matrix).sum() == 0
        assert labels.tolist() == y.tolist()


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        ((X, y[:3]), "the same number of rows, got 7 and 3"),
        ((X[0], y), "X must have two dimensions"),
        ([1, 2], r"pair \(X, y\)"),
    ],
)
def test_bad_streams_are_explained(stream, message):
    with pytest.raises(ValueError, match=message):
        list(open_stream(stream))


@pytest.mark.parametrize("nothing", [[], (X[:0], y[:0]), [(X[:0], y[:0])]])
def test_an_empty_stream_has_no_arrays(nothing):
    with pytest.raises(ValueError, match="has no rows"):
        open_stream(nothing).arrays()
    with pytest.raises(ValueError, match="has no rows"):
        list(open_stream(nothing))


@given(st.integers(1, 50), st.integers(1, 60))
def test_a_stream_can_be_read_again(n, chunk_size):
    stream = open_stream((np.ones((n, 1)), np.zeros(n)))
    first = [len(labels) for _, labels, _ in stream.chunks(chunk_size)]
    assert first == [len(labels) for _, labels, _ in stream.chunks(chunk_size)]
    assert sum(first) == n


def write(path, text):
    path.write_text(text)
    return str(path)


def test_csv_without_header_takes_the_last_column_as_label(tmp_path):
    X, y = open_stream(write(tmp_path / "a.csv", "1,2,0\n3,4,1\n")).arrays()
    assert X.tolist() == [[1, 2], [3, 4]]
    assert y.tolist() == [0, 1]


def test_csv_label_column_by_name(tmp_path):
    X, y = open_stream(write(tmp_path / "a.csv", "kind,a,b\nx,1,2\ny,3,4\n"), label="kind").arrays()
    assert X.tolist() == [[1, 2], [3, 4]]
    assert y.tolist() == ["x", "y"]


def test_csv_without_labels_keeps_every_column(tmp_path):
    X, _ = open_stream(write(tmp_path / "a.csv", "1,2\n3,4\n"), labelled=False).arrays()
    assert X.tolist() == [[1, 2], [3, 4]]


def test_svmlight_labels_and_width(tmp_path):
    path = write(tmp_path / "a.svm", "+1 1:0.5 3:2\n-1 2:1\n")
    X, y = open_stream(path, n_features=5).arrays()
    assert X.toarray().tolist() == [[0.5, 0, 2, 0, 0], [0, 1, 0, 0, 0]]
    assert y.tolist() == [1, -1]


def test_npz_holds_x_and_y(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.eye(3), y=np.arange(3))
    X, y = open_stream(str(tmp_path / "a.npz")).arrays()
    np.testing.assert_array_equal(X, np.eye(3))
    assert y.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "1,2,0\n3,oops,1\n", "line 2: 'oops' is not a number"),
        ("a.csv", "1,2,0\n3,1\n", "line 2: 2 columns, but the first line has 3"),
        ("a.csv", "", "has no rows"),
        ("a.csv", "a,b,label\n", "has no rows"),
        ("a.svm", "1 one:2\n", "line 1: a feature must be written index:value"),
        ("a.npz", "not an archive", "not a readable .npz archive"),
        ("a.parquet", "", "not a readable parquet file"),
    ],
)
def test_damaged_files_are_explained(tmp_path, name, text, message):
    with pytest.raises(ValueError, match=message):
        open_stream(write(tmp_path / name, text)).arrays()


def test_archive_without_labels_is_explained(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.eye(3))
    with pytest.raises(ValueError, match="must hold the array 'y'; it has X"):
        open_stream(str(tmp_path / "a.npz"))
    assert open_stream(str(tmp_path / "a.npz"), labelled=False).arrays()[1] is None


def test_archive_of_objects_is_not_unpickled(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.array([{}], dtype=object), y=np.zeros(1))
    with pytest.raises(ValueError, match="allow_pickle"):
        open_stream(str(tmp_path / "a.npz"))


def test_missing_column_lists_the_columns(tmp_path):
    path = write(tmp_path / "a.csv", "a,b,kind\n1,2,x\n")
    with pytest.raises(ValueError, match="no column 'sort' for label; it has a, b, kind"):
        open_stream(path, label="sort").arrays()


def test_label_suits_csv_only(tmp_path):
    with pytest.raises(ValueError, match="label names a column of a table"):
        open_stream("digits", label="kind")


def test_missing_file_is_not_taken_for_a_data_set(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file"):
        open_stream(str(tmp_path / "a.csv"))


def test_compression_is_known_by_its_bytes_not_by_the_name(tmp_path):
    (tmp_path / "a.csv").write_bytes(gzip.compress(b"1,2\n"))
    assert open_stream(str(tmp_path / "a.csv")).arrays()[1].tolist() == [2]
