"""Files as the commands open them: several formats, and a sentence for each way they can be wrong."""

import gzip
import os

import numpy as np
import pytest

from ellipsoid.streams.atomic import atomic_write
from ellipsoid.streams.files import open_data


def write(path, text):
    path.write_text(text)
    return str(path)


def test_csv_without_header_takes_the_last_column_as_label(tmp_path):
    X, y = open_data(write(tmp_path / "a.csv", "1,2,0\n3,4,1\n")).arrays()
    assert X.tolist() == [[1, 2], [3, 4]]
    assert y.tolist() == [0, 1]


def test_csv_label_column_by_name(tmp_path):
    X, y = open_data(write(tmp_path / "a.csv", "kind,a,b\nx,1,2\ny,3,4\n"), label="kind").arrays()
    assert X.tolist() == [[1, 2], [3, 4]]
    assert y.tolist() == ["x", "y"]


def test_csv_without_labels_keeps_every_column(tmp_path):
    X, _ = open_data(write(tmp_path / "a.csv", "1,2\n3,4\n"), labelled=False).arrays()
    assert X.tolist() == [[1, 2], [3, 4]]


def test_svmlight_labels_and_width(tmp_path):
    path = write(tmp_path / "a.svm", "+1 1:0.5 3:2\n-1 2:1\n")
    X, y = open_data(path, n_features=5).arrays()
    assert X.toarray().tolist() == [[0.5, 0, 2, 0, 0], [0, 1, 0, 0, 0]]
    assert y.tolist() == [1, -1]


def test_npz_holds_x_and_y(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.eye(3), y=np.arange(3))
    X, y = open_data(str(tmp_path / "a.npz")).arrays()
    np.testing.assert_array_equal(X, np.eye(3))
    assert y.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "1,2,0\n3,oops,1\n", "line 2: 'oops' is not a number"),
        ("a.csv", "1,2,0\n3,1\n", "line 2: 2 columns where the first line has 3"),
        ("a.csv", "", "has no rows"),
        ("a.csv", "a,b,label\n", "has no rows"),
        ("a.svm", "1 one:2\n", "line 1: a feature must be written index:value"),
        ("a.npz", "not an archive", "not a readable .npz archive"),
        ("a.parquet", "", "not a readable parquet file"),
    ],
)
def test_damaged_files_are_explained(tmp_path, name, text, message):
    with pytest.raises(ValueError, match=message):
        open_data(write(tmp_path / name, text)).arrays()


def test_archive_without_labels_is_explained(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.eye(3))
    with pytest.raises(ValueError, match="must hold the array 'y'; it has X"):
        open_data(str(tmp_path / "a.npz"))
    assert len(open_data(str(tmp_path / "a.npz"), labelled=False).arrays()[1]) == 3


def test_archive_of_objects_is_not_unpickled(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.array([{}], dtype=object), y=np.zeros(1))
    with pytest.raises(ValueError, match="allow_pickle"):
        open_data(str(tmp_path / "a.npz"))


def test_missing_column_lists_the_columns(tmp_path):
    path = write(tmp_path / "a.csv", "a,b,kind\n1,2,x\n")
    with pytest.raises(ValueError, match="no column 'sort' for label; it has a, b, kind"):
        open_data(path, label="sort").arrays()


def test_label_suits_csv_only(tmp_path):
    with pytest.raises(ValueError, match="label names a column of a table"):
        open_data("digits", label="kind")


def test_missing_file_is_not_taken_for_a_data_set(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file"):
        open_data(str(tmp_path / "a.csv"))


def test_failure_leaves_the_old_file(tmp_path):
    path = tmp_path / "labels.txt"
    path.write_text("old")

    def fail():
        with atomic_write(path) as file:
            file.write("half of the n")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_missing_folder_is_named(tmp_path):
    with (
        pytest.raises(FileNotFoundError, match=r"the folder of .* does not exist"),
        atomic_write(tmp_path / "no" / "a"),
    ):
        pass


def test_compression_is_known_by_its_bytes_not_by_the_name(tmp_path):
    (tmp_path / "a.csv").write_bytes(gzip.compress(b"1,2\n"))
    assert open_data(str(tmp_path / "a.csv")).arrays()[1].tolist() == [2]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_a_file_is_as_readable_as_any_other_new_one(tmp_path, mask):
    before = os.umask(mask)
    try:
        with atomic_write(tmp_path / "a") as file:
            file.write("1")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o666 & ~mask
