"""One door: what a source is, from where it comes, how it is packed."""

import bz2
import gzip
import io
import lzma
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from ellipsoid import MIRA, prequential
from ellipsoid.streams.opening import open_stream, sniff
from ellipsoid.streams.readers import compression
from ellipsoid.streams.stream import Stream
from ellipsoid.streams.threads import read_ahead

from .conftest import gather

TEXT = b"".join(b"%d 1:%d 2:0.5\n" % (i % 3, i) for i in range(1000))


def zstd(data):
    zstandard = pytest.importorskip("zstandard")
    compressor = zstandard.ZstdCompressor(write_checksum=True)
    return compressor.compress(data[:3000]) + compressor.compress(data[3000:])


PACKERS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstd}


@pytest.mark.parametrize("suffix", PACKERS)
def test_packed_files_are_read_again_and_again_with_progress(tmp_path, suffix):
    path = tmp_path / f"a.svm{suffix}"
    path.write_bytes(PACKERS[suffix](TEXT))
    reader = open_stream(path)
    assert isinstance(reader, Stream)
    assert reader.bytes_total == path.stat().st_size
    for _ in range(2):
        X, y = gather(reader)
        assert X.toarray()[:, 0].tolist() == list(range(1000))
        assert y.tolist() == [i % 3 for i in range(1000)]
        assert reader.bytes_read == reader.bytes_total


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
@pytest.mark.parametrize("damage", ["cut", "flip"])
def test_damaged_packed_files_are_refused(tmp_path, suffix, damage):
    path = tmp_path / f"a.svm{suffix}"
    packed = bytearray(PACKERS[suffix](TEXT))
    if damage == "cut":
        del packed[-30:]
    else:
        packed[len(packed) // 2] ^= 0xFF
    path.write_bytes(packed)
    with pytest.raises(ValueError, match=rf"a.svm{suffix}(: the bytes cannot be read|, line )"):
        gather(open_stream(path))


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, zstd])
def test_what_follows_the_first_packed_part_is_not_passed_over(pack):
    """Programs that pack on several processors write many parts, and damage may be in any of them."""
    first, second = pack(TEXT), pack(TEXT)
    for whole in (first + second, first + bytes(8) + second + bytes(4) if pack is lzma.compress else first + second):
        assert len(gather(open_stream(io.BytesIO(whole)))[1]) == 2000
    for behind in (b"junk", second[:5], second[:-5], b"x" + second[1:], second[:1]):
        with pytest.raises(ValueError, match="the bytes cannot be read"):
            gather(open_stream(io.BytesIO(first + behind), format="svmlight"))


def test_a_few_bytes_of_zstandard_that_hold_a_lot_are_unpacked_in_parts():
    frame, data = compression._ZstandardFrame(), bytes(1 << 25)
    found = [frame.decompress(pytest.importorskip("zstandard").compress(data), 1)]
    while not frame.eof:
        found.append(frame.decompress(b"", 1))
    assert b"".join(found) == data
    assert max(map(len, found)) <= 1 << 21


@pytest.mark.parametrize("portion", [1, 7, 1 << 18])
def test_frames_of_zstandard_may_hold_something_else(monkeypatch, portion):
    monkeypatch.setattr(compression, "_PORTION", portion)
    other = b"\x5a\x2a\x4d\x18\x03\0\0\0abc"
    X, y = gather(open_stream(io.BytesIO(other + zstd(TEXT) + other + other)))
    assert (X.shape[0], y[:3].tolist()) == (1000, [0, 1, 2])


def test_several_labels_are_no_table_and_nothing_has_no_rows():
    assert sniff(b"1,3 qid:2 1:0.5 # a, b\n") == "csv"
    assert sniff(b"1,3,4 1:0.5 2:1\n") == "svmlight"
    assert sniff(b"1,20200131 12:30,2\n") == "csv"
    with pytest.raises(ValueError, match=r"line 1: .*1,3"):
        gather(open_stream(io.BytesIO(b"1,3 1:1\n")))
    for nothing in (b"", b"\n\n"):
        with pytest.raises(ValueError, match="the open file has no rows"):
            open_stream(io.BytesIO(nothing))


class Drip(io.RawIOBase):
    """A pipe that gives a few bytes at a time."""

    def __init__(self, data, most=7):
        self.data, self.most = io.BytesIO(data), most

    def readable(self):
        return True

    def readinto(self, buffer):
        part = self.data.read(min(self.most, len(buffer)))
        buffer[: len(part)] = part
        return len(part)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_pipe_is_read_once_whatever_it_gives_at_a_time(pack):
    reader = open_stream(Drip(pack(TEXT)))
    assert gather(reader)[0].shape == (1000, 2)
    assert reader.bytes_total is None
    assert reader.bytes_read == len(pack(TEXT))
    with pytest.raises(ValueError, match="can be read only once"):
        gather(reader)


TEXTS = {
    "svmlight": b"\n# people, and pets\n1 3:0.5\n2 1:1\n",
    "csv": b"\n \na, name;b;c\n1;2;3\n4;5;6\n",
    "vw": b"1 2.0 'a,tag|words to be\n2 |or not\n",
    "jsonl": b'\n{"a": 1, "label": "x"}\n{"a": 2, "label": "y"}\n',
}


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("format", TEXTS)
@pytest.mark.parametrize("most", [1, 5])
def test_what_is_detected_does_not_depend_on_what_a_pipe_gives_at_a_time(format, pack, most):
    reader, whole = open_stream(Drip(pack(TEXTS[format]), most)), open_stream(io.BytesIO(TEXTS[format]))
    (X, y), (all_X, all_y) = gather(reader), gather(whole)
    assert abs(X - all_X).sum() == 0
    assert y.tolist() == all_y.tolist()
    assert reader.description == whole.description


def test_an_arrow_stream_need_not_end_before_its_rows_are_known():
    pyarrow = pytest.importorskip("pyarrow")
    table, sink = pyarrow.table({"a": [1.0, 2.0], "y": [0, 1]}), pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as file:
        file.write_table(table)
    given, taken = os.pipe()
    with open(given, "rb", buffering=0) as pipe, open(taken, "wb", buffering=0) as end:
        end.write(sink.getvalue().to_pybytes()[:-8])
        assert next(iter(open_stream(pipe))).y.tolist() == [0, 1]
        end.write(bytes(8))


@pytest.mark.parametrize("most", [1, 1000])
@pytest.mark.parametrize("format", TEXTS)
def test_a_byte_order_mark_is_passed_over(format, most):
    X, y = gather(open_stream(Drip(b"\xef\xbb\xbf" + TEXTS[format].lstrip(), most)))
    all_X, all_y = gather(open_stream(io.BytesIO(TEXTS[format])))
    assert abs(X - all_X).sum() == 0
    assert y.tolist() == all_y.tolist()


def test_standard_input():
    code = (
        "from ellipsoid.streams.opening import open_stream\n"
        "reader = open_stream('-')\n"
        "print(sum(X.shape[0] for X, _, _ in reader), reader.description)"
    )
    done = subprocess.run([sys.executable, "-c", code], input=gzip.compress(TEXT), capture_output=True, check=True)
    assert done.stdout == b"1000 standard input: svmlight text, features count from 1 (detected)\n"
    assert done.stderr == b""


def test_waiting_for_a_pipe_can_be_interrupted():
    code = (
        "from ellipsoid.streams.opening import open_stream\n"
        "for chunk in open_stream('-'):\n    print('read', flush=True)"
    )
    text = TEXT * 200
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdin.write(text)
        process.stdin.flush()
        assert process.stdout.readline() == b"read\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) != 0
        assert b"KeyboardInterrupt" in process.stderr.read()


def test_a_named_pipe(tmp_path):
    path = tmp_path / "pipe.svm"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_bytes(TEXT))
    writer.start()
    reader = open_stream(path)
    assert gather(reader)[0].shape == (1000, 2)
    writer.join()
    assert reader.bytes_total is None


@pytest.mark.parametrize(
    ("head", "format"),
    [
        (b"\n# c\n-1 qid:3 1:2\n", "svmlight"),
        (b"+1.5e3 1:2\n", "svmlight"),
        (b"1 'tag |a b:2\n", "vw"),
        (b"1|a b,c\n", "vw"),
        (b"a;b;c\n1;2;3\n", "csv"),
        (b"1\t2\t3\n", "csv"),
        (b"ARROW1\0\0", "arrow"),
        (b"\xff\xff\xff\xff\0", "arrow"),
        (b"PAR1\0", "parquet"),
    ],
)
def test_first_bytes_tell_the_format(head, format):
    assert sniff(head) == format


@pytest.mark.parametrize("head", [b"1\n", b"hello\n", bytes(100)])
def test_an_unknown_format_must_be_given(head):
    with pytest.raises(ValueError, match="give format, one of svmlight"):
        open_stream(io.BytesIO(head))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "json"}, "format must be one of svmlight"),
        ({"extra": "keep"}, "extra must be error or drop, got 'keep'"),
        ({"missing": 0}, "missing must be error or zero, got 0"),
        ({"bits": 0}, "bits must be from 1 to 30, got 0"),
        ({"n_features": 0}, "n_features must be positive, got 0"),
        ({"skip": -1}, "skip must not be negative, got -1"),
        ({"chunk_rows": 0}, "chunk_rows must be positive, got 0"),
    ],
)
def test_bad_options_are_explained(options, message):
    with pytest.raises(ValueError, match=message):
        open_stream(io.BytesIO(TEXT), **options)


def test_missing_files_folders_and_other_things(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file"):
        open_stream(tmp_path / "none.svm")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        open_stream(tmp_path)
    with pytest.raises(ValueError, match="no data set 'nonesuch'"):
        open_stream("nonesuch")
    with pytest.raises(TypeError, match="got int"):
        open_stream(3)
    with pytest.raises(TypeError, match="open as text: open it with 'rb'"):
        open_stream(io.StringIO("1 1:2\n"))
    with pytest.raises(ValueError, match="has no rows"):
        gather(open_stream(io.BytesIO(b"# nothing\n"), format="svmlight"))


def test_arrays_data_sets_and_iterables_can_be_opened():
    X, y = gather(open_stream("digits", chunk_rows=100))
    assert X.shape == (1797, 64)
    pair = gather(open_stream((sparse.csr_matrix(X), y), skip=1700))
    assert pair[0].shape == (97, 64)
    rows = gather(open_stream(zip(X, y, strict=True)))
    np.testing.assert_array_equal(rows[0], X)
    chunks = gather(open_stream([(X[:1000], y[:1000]), (X[1000:], y[1000:])]))
    np.testing.assert_array_equal(chunks[0], X)


def test_dicts_may_come_with_their_labels_apart():
    rows, labels = [{"rain": 1.0}, {"sun": 2.0, "sky": "blue"}, {"rain": 0.5}], np.array(["wet", "dry", "wet"])
    apart, pairs = (gather(open_stream(given, bits=8)) for given in ((rows, labels), zip(rows, labels, strict=True)))
    assert apart[0].shape == (3, 256)
    assert (apart[0] != pairs[0]).nnz == 0
    assert apart[1].tolist() == pairs[1].tolist() == ["wet", "dry", "wet"]
    with pytest.raises(ValueError, match="y has 2 labels for the 3 rows of X"):
        open_stream((rows, labels[:2]))


def test_prequential_takes_a_reader(tmp_path):
    (tmp_path / "a.svm").write_bytes(TEXT)
    reader = open_stream(tmp_path / "a.svm", n_features=2)
    X, y = gather(reader)
    found, expected = prequential(MIRA(), reader), prequential(MIRA(), (X, y))
    assert (found.rows, found.errors, found.updates) == (1000, expected.errors, expected.updates)


def test_reading_ahead_hands_errors_over_and_ends_its_thread():
    def pairs():
        yield 1, 1
        yield 2, 2
        raise ValueError("line 3")

    before = threading.active_count()
    ahead = read_ahead(pairs())
    assert [next(ahead), next(ahead)] == [(1, 1), (2, 2)]
    with pytest.raises(ValueError, match="line 3"):
        next(ahead)
    left = read_ahead((i, i) for i in range(10**9))
    assert [next(left), next(left)] == [(0, 0), (1, 1)]
    left.close()
    assert threading.active_count() == before


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize(
    ("text", "options"), [(b"neither this nor that\n", {}), (b"1 1:2\n", {"label": "a"}), (b"", {})]
)
def test_a_file_that_is_refused_is_closed(text, options, suffix, tmp_path):
    path = tmp_path / f"a.xyz{suffix}"
    path.write_bytes(PACKERS[suffix](text))
    # The error is kept, and with it all that its traceback refers to.
    with pytest.raises(ValueError, match=r"a\.xyz") as refused:
        open_stream(path, **options)
    opened = [Path(f"/dev/fd/{file}").resolve() for file in os.listdir("/dev/fd")]
    assert path.resolve() not in opened, refused
