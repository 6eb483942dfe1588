"""Blocks of lines: whoever cuts a file at whatever bytes, every line is in one block."""

import gzip
import pickle

import pytest

from ellipsoid.distributed.blocks import BlockReading, FileBlock, LineRange
from ellipsoid.distributed.plan import make_plan
from ellipsoid.streams.readers.errors import LineError

# Empty lines, comments, both kinds of line ends, a line that is longer than the others, and no end of the last.
TEXT = (
    b"\n1 1:2\r\n\n# a comment\n-1 2:3 # another\n\r\n"
    + b"1 "
    + b" ".join(b"%d:1" % i for i in range(1, 13))
    + b"\n\n1 3:1"
)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "lines.svm"
    path.write_bytes(TEXT)
    return str(path)


def test_the_lines_of_all_byte_ranges_are_those_of_the_file(file):
    whole = [LineRange(file, 0, stop).read() for stop in range(len(TEXT) + 1)]
    assert whole[-1] == TEXT
    for start in range(len(TEXT) + 1):
        before = LineRange(file, 0, start).read()
        for stop in range(start, len(TEXT) + 1):
            assert before + LineRange(file, start, stop).read() == whole[stop]
        # What begins nowhere is nobody's.
        assert LineRange(file, start, start).is_empty


def test_small_blocks_are_read_whole_by_small_reads(file):
    pieces = []
    for start in range(0, len(TEXT), 7):
        lines, buffer = LineRange(file, start, start + 7), bytearray(3)
        while got := lines.readinto(buffer):
            pieces.append(bytes(buffer[:got]))
    assert b"".join(pieces) == TEXT


@pytest.mark.parametrize("block_bytes", [1, 10, 40, 1000])
def test_rows_of_all_blocks_are_the_rows_of_the_file(file, block_bytes):
    plan = make_plan(file, block_bytes, {"zero_based": False, "n_features": 40})
    labels = [y for block in plan.blocks for chunk in block.chunks(plan.reading) for y in chunk.y.tolist()]
    assert labels == [1, -1, 1, 1]


def test_a_bad_line_is_named_by_its_place_in_the_file(tmp_path):
    path = tmp_path / "bad.svm"
    path.write_text("1 1:1\n-1 2:1\n\n1 one:1\n")
    with pytest.raises(LineError, match=r"bad.svm, line 4: a feature must be written") as told:
        list(FileBlock(str(path), 8, 30).chunks(BlockReading({"zero_based": False, "format": "svmlight"})))
    # It travels from worker to driver.
    assert str(pickle.loads(pickle.dumps(told.value))) == str(told.value)


def test_a_table_is_read_from_its_middle_as_from_its_beginning(tmp_path):
    path = tmp_path / "words.csv"
    rows = [f"{i % 7},{'red' if i % 3 else ''},{i},{i % 2}" for i in range(100)]
    path.write_text("a,colour,c,y\n" + "\n".join(rows) + "\n")
    plan = make_plan(str(path), 64, {"missing": "zero", "bits": 4})
    whole = make_plan(str(path), 1 << 20, {"missing": "zero", "bits": 4})
    cut, uncut = (
        [(X.toarray().tolist(), y.tolist()) for block in each.blocks for X, y, _ in block.chunks(each.reading)]
        for each in (plan, whole)
    )
    assert len(plan.blocks) > 10
    assert [row for X, _ in cut for row in X] == [row for X, _ in uncut for row in X]
    assert [label for _, y in cut for label in y] == [label for _, y in uncut for label in y]


@pytest.mark.parametrize("header", [b"a,b,y\n", b""])
@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf\n", b"\xef\xbb\xbf", b"\n \r\n"])
def test_a_table_may_begin_with_a_byte_order_mark_and_empty_lines(tmp_path, mark, header):
    path = tmp_path / "marked.csv"
    path.write_bytes(mark + header + b"".join(b"%d,2,%d\n" % (i, i % 2) for i in range(60)))
    plan = make_plan(str(path), 64, {})
    found = [x for block in plan.blocks for chunk in block.chunks(plan.reading) for x in chunk.X[:, 0].tolist()]
    assert len(plan.blocks) > 5
    assert found == list(range(60))


def test_row_groups_are_blocks(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"a": list(range(50)), "y": [i % 2 for i in range(50)]})
    parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=8)
    plan = make_plan(str(tmp_path / "rows.parquet"), 1, {})
    assert len(plan.blocks) == 7
    found = [x for block in plan.blocks for chunk in block.chunks(plan.reading) for x in chunk.X[:, 0].tolist()]
    assert found == list(range(50))


def test_a_changed_file_is_another_plan(file, tmp_path):
    before = make_plan(file, 16, {}).digest
    assert make_plan(file, 17, {}).digest != before
    (tmp_path / "lines.svm").write_bytes(TEXT + b"\n1 1:1\n")
    assert make_plan(file, 16, {}).digest != before


def test_a_file_that_was_written_anew_is_another_plan(tmp_path):
    """As long as before, and with the same first rows."""
    path, digests = tmp_path / "long.svm", set()
    for late in (b"1 1:1\n", b"1 1:2\n"):
        path.write_bytes(3000 * b"0 1:1\n" + 3000 * late + 3000 * b"0 1:1\n")
        digests.add(make_plan(str(path), 1 << 20, {}).digest)
    assert len(digests) == 2


def test_another_file_of_the_same_name_is_refused(file, tmp_path):
    """On another machine, say, or because somebody goes on writing it."""
    pytest.importorskip("pyarrow")
    from pyarrow import parquet, table

    packed, groups = tmp_path / "rows.csv.gz", tmp_path / "rows.parquet"
    packed.write_bytes(gzip.compress(b"1,2,0\n2,1,1\n"))
    parquet.write_table(table({"a": [1.0, 2.0], "y": [0, 1]}), groups)
    for path in (file, packed, groups):
        plan = make_plan(str(path), 1 << 10, {})
        with open(path, "ab") as more:
            more.write(b"1 1:1\n")
        with pytest.raises(OSError, match="when the run began"):
            list(plan.blocks[0].chunks(plan.reading))


def test_blocks_are_dealt_in_turn(file):
    plan = make_plan(file, 20, {})
    dealt = plan.deal(3)
    assert [block.start for block in dealt[1]] == [block.start for block in plan.blocks[1::3]]
    assert len(plan.deal(1000)) == len(plan.blocks)


@pytest.mark.parametrize("data", [[], "nowhere.svm"])
def test_data_that_are_none_are_refused(data):
    with pytest.raises((ValueError, FileNotFoundError), match=r"no file|give at least one file"):
        make_plan(data, 10, {})


def test_files_of_two_formats_are_refused(file, tmp_path):
    (tmp_path / "other.csv").write_text("1,2,0\n2,3,1\n")
    with pytest.raises(ValueError, match="different formats"):
        make_plan([file, str(tmp_path / "other.csv")], 100, {})


def test_tables_of_other_columns_are_refused(tmp_path):
    for name, head in (("a", "x,z,y"), ("b", "z,x,y")):
        (tmp_path / f"{name}.csv").write_text(f"{head}\n1,2,0\n2,3,1\n")
    with pytest.raises(
        ValueError, match="are z, x, where the model learned x, z; name its columns in that order by columns"
    ):
        make_plan([str(tmp_path / "a.csv"), str(tmp_path / "b.csv")], 100, {})
