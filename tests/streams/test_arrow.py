"""Parquet and Arrow tables: the same rows as the CSV text that says the same."""

import io

import numpy as np
import pytest

from ellipsoid.streams.opening import open_stream

from .conftest import gather, read

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

WORDS = ["red", "blue", "naïve", "red"] * 5000
TABLE = {
    "size": np.arange(20_000) / 7,
    "colour": WORDS,
    "count": np.arange(20_000) % 11,
    "fresh": np.arange(20_000) % 2 == 0,
    "kind": ["x", "y"] * 10_000,
}


def table(**changes):
    return pa.table({**TABLE, **changes})


def write(path, content):
    if path.suffix == ".parquet":
        parquet.write_table(content, path, row_group_size=7000)
    elif path.suffix == ".arrow":
        with pa.ipc.new_file(str(path), content.schema) as file:
            file.write_table(content, max_chunksize=9000)
    else:
        with pa.ipc.new_stream(str(path), content.schema) as file:
            file.write_table(content, max_chunksize=9000)
    return path


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.ipc"])
def test_rows_are_those_of_the_same_table_as_csv_text(tmp_path, name):
    reader = open_stream(write(tmp_path / name, table()), bits=10)
    X, y = gather(reader)
    lines = zip(*(np.array(column).astype(object) for column in TABLE.values()), strict=True)
    text = "size,colour,count,fresh,kind\n" + "".join(f"{float(a)!r},{b},{c},{int(d)},{e}\n" for a, b, c, d, e in lines)
    expected, labels, _ = read(text.encode(), bits=10)
    assert (expected != X).nnz == 0
    np.testing.assert_array_equal(y, labels)
    assert reader.n_features == 3 + 2**10
    assert reader.bytes_total == (tmp_path / name).stat().st_size


def test_dictionary_columns_are_words(tmp_path):
    coded = table(colour=pa.array(WORDS).dictionary_encode(), kind=pa.array(TABLE["kind"]).dictionary_encode())
    X, y = gather(open_stream(write(tmp_path / "a.parquet", coded), bits=10))
    expected, labels = gather(open_stream(write(tmp_path / "b.parquet", table()), bits=10))
    assert (expected != X).nnz == 0
    np.testing.assert_array_equal(y, labels)


def test_an_arrow_stream_through_a_pipe(tmp_path):
    data = write(tmp_path / "a.ipc", table()).read_bytes()
    X, _, reader = read(data, columns=("size", "count"), label="kind")
    np.testing.assert_array_equal(X, np.column_stack([TABLE["size"], TABLE["count"]]))
    assert "Arrow IPC, 2 columns of numbers" in reader.description
    assert reader.columns == ["size", "count"]


def test_an_arrow_file_through_a_pipe_and_one_that_breaks_off(tmp_path):
    data = write(tmp_path / "a.arrow", table()).read_bytes()
    X, y, _ = read(data, bits=10)
    expected, labels = gather(open_stream(tmp_path / "a.arrow", bits=10))
    assert (expected != X).nnz == 0
    np.testing.assert_array_equal(y, labels)
    stream = write(tmp_path / "a.ipc", table()).read_bytes()
    with pytest.raises(ValueError, match=r"^the open file: not a readable arrow file"):
        read(stream[: len(stream) // 2])


def test_nulls_and_nan_are_missing(tmp_path):
    holes = {"n": [1.0, None, float("nan"), 4.0], "w": ["a", None, "c", "d"], "y": [0, 1, 0, 1]}
    path = write(tmp_path / "a.parquet", pa.table(holes))
    with pytest.raises(ValueError, match=r"row 1: column 'n' is missing; give missing='zero'"):
        gather(open_stream(path))
    with pytest.raises(ValueError, match=r"row 1: column 'w' is missing"):
        gather(open_stream(path, columns=("w",), label="y"))
    X, y = gather(open_stream(path, missing="zero", bits=8))
    assert X.toarray()[:, 0].tolist() == [1, 0, 0, 4]
    assert X.toarray()[:, 1:].sum(axis=1).tolist() == [1, 0, 1, 1]
    assert y.tolist() == [0, 1, 0, 1]
    unlabelled = write(tmp_path / "b.parquet", pa.table({**holes, "y": [0, 1, None, 1]}))
    with pytest.raises(ValueError, match="row 2: the label is missing"):
        gather(open_stream(unlabelled, missing="zero"))


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_rows_are_counted_across_batches(tmp_path, name):
    """Batches have at most 8192 rows."""
    size, labels = TABLE["size"].tolist(), np.zeros(20_000)
    for at in (8191, 8192, 19_999):
        holes = table(size=[*size[:at], None, *size[at + 1 :]])
        with pytest.raises(ValueError, match=f"row {at}: column 'size'"):
            gather(open_stream(write(tmp_path / name, holes)))
        unlabelled = table(kind=[*TABLE["kind"][:at], None, *TABLE["kind"][at + 1 :]])
        with pytest.raises(ValueError, match=f"row {at}: the label is missing"):
            gather(open_stream(write(tmp_path / name, unlabelled)))
        labels[at] = np.nan
        with pytest.raises(ValueError, match=f"row {at}: the label is missing"):
            gather(open_stream(write(tmp_path / name, table(kind=labels))))
        labels[at] = 0.0


@pytest.mark.parametrize("name", ["a.parquet", "a.ipc"])
@pytest.mark.parametrize(
    ("flaw", "message"),
    [
        ({"x": [0.0, 1.0, -np.inf, 3.0]}, "row 2: column 'x' is not a finite number"),
        ({"y": [0.0, 1.0, np.inf, np.nan]}, "row 2: the label is not a finite number"),
        ({"x": [0.0, 1.0, 2.0, np.inf], "y": ["u", "v", "w\0", "u"]}, "row 2: the label 'w.x00' ends with a NUL"),
        ({"w": [1.0, 1.0, None, 1.0], "y": ["u", "v", "w", "u" * 1001]}, "row 2: column 'w' is missing"),
        ({"y": ["u", "v", "u" * 1001, "u"]}, "row 2: a label must have at most 1,000 characters"),
    ],
)
def test_the_first_row_that_cannot_be_read_is_named_and_those_before_it_are_read(tmp_path, name, flaw, message):
    plain = {"x": [0.0, 1.0, 2.0, 3.0], "w": [1.0] * 4, "y": [0, 1, 0, 1]}
    stream = iter(open_stream(write(tmp_path / name, pa.table(plain | flaw)), weights="w"))
    assert next(stream).X.tolist() == [[0.0], [1.0]]
    with pytest.raises(ValueError, match=f"{name}, {message}"):
        next(stream)


def test_labels_that_are_not_utf8_name_the_file(tmp_path):
    text = [None, pa.py_buffer(np.array([0, 1, 2], dtype=np.int32)), pa.py_buffer(b"a\xff")]
    path = write(tmp_path / "a.parquet", pa.table({"x": [1.0, 2.0], "y": pa.Array.from_buffers(pa.string(), 2, text)}))
    with pytest.raises(ValueError, match=r"a\.parquet: not a readable parquet file: 'utf-8'"):
        gather(open_stream(path))


def test_places_outside_a_batch_are_refused(tmp_path):
    """Damaged bytes may point anywhere; whoever follows them reads memory that is not theirs, or dies."""
    far = pa.array([0, 1 << 30], pa.int32())
    words = pa.DictionaryArray.from_arrays(far, pa.array(["red"]), safe=False)
    ends = pa.py_buffer(np.array([0, 1 << 30, 3], dtype=np.int32))
    strings = pa.Array.from_buffers(pa.string(), 2, [None, ends, pa.py_buffer(b"abc")])
    for column in (words, strings):
        table = pa.record_batch({"a": column, "y": pa.array([0, 1])})
        path = tmp_path / "far.arrow"
        with pa.ipc.new_file(str(path), table.schema) as file:
            file.write(table)
        with pytest.raises(ValueError, match=r"far\.arrow: not a readable arrow file"):
            gather(open_stream(path))


def test_other_types_damage_and_pipes_are_refused(tmp_path):
    dated = pa.table({"t": pa.array([0], pa.timestamp("s")), "n": [1.0], "y": [1]})
    path = write(tmp_path / "a.parquet", dated)
    with pytest.raises(ValueError, match="column 't' of type timestamp"):
        gather(open_stream(path))
    assert gather(open_stream(path, columns=("n",)))[0].tolist() == [[1.0]]
    with pytest.raises(ValueError, match="has no column 'z'; it has t, n, y"):
        gather(open_stream(path, label="z"))
    with pytest.raises(ValueError, match="parquet can be read only from a file"):
        open_stream(io.BytesIO(path.read_bytes()))
    for name in ("b.parquet", "b.arrow"):
        (tmp_path / name).write_bytes(path.read_bytes()[:50])
        with pytest.raises(ValueError, match="not a readable"):
            gather(open_stream(tmp_path / name))
