"""NumPy files that are mapped, not loaded, and iterables of named features."""

import numpy as np
import pytest
from scipy import sparse

from ellipsoid.streams.opening import open_stream
from ellipsoid.streams.options import Options
from ellipsoid.streams.readers.arrays import ArrayRows, npz
from ellipsoid.streams.readers.blocks import Origin
from ellipsoid.streams.scan.hashing import hash_name

from .conftest import gather

X = np.random.default_rng(0).standard_normal((3000, 300))
y = np.arange(3000) % 5


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_archives_hold_x_and_y(tmp_path, save, order):
    save(tmp_path / "a.npz", X=np.asarray(X, order=order), y=y)
    reader = open_stream(tmp_path / "a.npz")
    found, labels = gather(reader)
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(labels, y)
    assert ("mapped" in reader.description) == (save is np.savez)


def test_an_archive_is_mapped_so_that_its_size_costs_no_memory(tmp_path):
    np.savez(tmp_path / "a.npz", other=np.zeros(17), X=X, y=y)
    mapped = npz(Origin(tmp_path / "a.npz"), Options())
    assert isinstance(mapped.whole[0].base, np.memmap)
    np.testing.assert_array_equal(mapped.whole[0], X)


def test_a_matrix_whose_last_column_is_the_label(tmp_path):
    np.save(tmp_path / "a.npy", np.column_stack([X, y]))
    found, labels = gather(open_stream(tmp_path / "a.npy"))
    np.testing.assert_array_equal(found, X)
    assert labels.dtype == np.int64
    np.testing.assert_array_equal(labels, y)
    assert gather(open_stream(tmp_path / "a.npy", labelled=False))[0].shape == (3000, 301)


def test_labels_in_a_file_beside(tmp_path):
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", np.where(y > 2, "many", "few"))
    found, labels = gather(open_stream(tmp_path / "X.npy", label="y.npy", skip=1000))
    np.testing.assert_array_equal(found, X[1000:])
    assert labels[0] == "few"
    with pytest.raises(FileNotFoundError, match="with the labels of"):
        open_stream(tmp_path / "X.npy", label="z.npy")


def test_damaged_and_dangerous_files_are_refused(tmp_path):
    (tmp_path / "a.npy").write_bytes(b"\x93NUMPY nonsense")
    with pytest.raises(ValueError, match=r"not a readable \.npy file"):
        open_stream(tmp_path / "a.npy")
    np.save(tmp_path / "b.npy", X)
    np.savez(tmp_path / "b.npz", X=X, y=y)
    for name, kind in (("b.npy", "file"), ("b.npz", "archive")):
        # An opening parenthesis that no other closes: a header is written as Python writes dicts.
        damaged = (tmp_path / name).read_bytes().replace(b"), }", b" , }", 1)
        (tmp_path / name).write_bytes(damaged)
        with pytest.raises(ValueError, match=rf"not a readable \.{name[2:]} {kind}"):
            open_stream(tmp_path / name)
    np.savez_compressed(tmp_path / "c.npz", X=X, y=y)
    packed = bytearray((tmp_path / "c.npz").read_bytes())
    packed[200:300] = bytes(100)
    (tmp_path / "c.npz").write_bytes(packed)
    with pytest.raises(ValueError, match=r"not a readable \.npz archive"):
        open_stream(tmp_path / "c.npz")
    np.save(tmp_path / "o.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"not a readable \.npy file"):
        open_stream(tmp_path / "o.npy")
    np.savez(tmp_path / "a.npz", X=X, y=y)
    whole = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "b.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"not a readable \.npz archive"):
        open_stream(tmp_path / "b.npz")
    np.save(tmp_path / "flat.npy", y)
    with pytest.raises(ValueError, match="must hold a matrix"):
        open_stream(tmp_path / "flat.npy")
    for other in (X[:5] + 1j, X[:5].astype("U")):
        np.save(tmp_path / "other.npy", other)
        with pytest.raises(ValueError, match=r"other\.npy must hold real numbers, got an array of type"):
            open_stream(tmp_path / "other.npy")


def test_arrays_must_fit():
    with pytest.raises(ValueError, match="the same number of rows, got 3000 and 2"):
        ArrayRows(X, y[:2])
    with pytest.raises(ValueError, match="two dimensions"):
        ArrayRows(y, y)


def test_named_features_are_hashed_in_any_cut():
    examples = [({"rain": 1.5, "sky": "grey", 7: True}, "wet"), ({}, "dry"), ({"sky": "blue"}, "dry")] * 900
    for chunk_rows in (None, 1, 100):
        reader = open_stream(examples, bits=9, chunk_rows=chunk_rows)
        found, labels = gather(reader)
        assert found.shape == (2700, 512)
        expected = np.zeros(512)
        expected[hash_name("rain") % 512] += 1.5
        expected[hash_name("sky") % 512] += 0
        expected[hash_name("grey", hash_name("sky")) % 512] += 1
        expected[hash_name("7") % 512] += 1
        np.testing.assert_array_equal(found.toarray()[0], expected)
        assert labels[:3].tolist() == ["wet", "dry", "dry"]
    assert reader.description == "stream: an iterable of named features, hashed to 9 bits"


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([({"a": 1}, 0), ({"a": None}, 1)], "row 1: feature 'a' is missing; give missing='zero'"),
        ([({"a": float("nan")}, 0)], "row 0: feature 'a' is nan; leave a missing feature out"),
        ([({"a": 1}, 0), ([1.0], 1)], "row 1: every example must be a dict of features"),
        ([3], "row 0: each item of a stream must be a pair"),
        ([({"a": 1}, 0), 3], "row 1: each item of a stream must be a pair"),
        ([({"a": 1}, 0), ({"a": 1}, 0, 1)], "row 1: each item of a stream must be a pair"),
        ([([1.0], 0), ([1.0, 2.0], 1)], "row 1: every example must be a dict or a row as long as the first"),
        ([("ab", 0)], "row 0: every example must be a dict or a row"),
    ],
)
def test_bad_examples_are_explained(items, message):
    with pytest.raises(ValueError, match=message):
        gather(open_stream(items))


def test_rows_of_an_iterable_are_counted_across_chunks():
    for bad, message in ((({"a": None}, 0), "row 2047: feature 'a'"), (3, "row 2047: each item")):
        items = [({"a": 1.0}, 0)] * 2047 + [bad]
        for chunk_rows in (None, 10):
            with pytest.raises(ValueError, match=message):
                gather(open_stream(items, chunk_rows=chunk_rows))


def test_labels_do_not_depend_on_their_neighbours_and_an_iterator_is_read_once():
    items = [({"a": 1.0}, 1), ({"a": 2.0}, "x")]
    for chunk_rows in (None, 1):
        assert [y for chunk in open_stream(items, chunk_rows=chunk_rows) for y in chunk.y.tolist()] == [1, "x"]
    reader = open_stream(iter(items))
    assert sum(len(chunk.y) for chunk in reader) == 2
    with pytest.raises(ValueError, match="an iterator can be read only once"):
        list(reader)


def test_sparse_rows_one_by_one():
    S = sparse.random(10, 6, density=0.5, format="csr", random_state=0)
    found, _ = gather(open_stream((S[[i]], i % 2) for i in range(10)))
    assert (found != S).nnz == 0
