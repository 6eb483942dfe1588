"""Threads that scan side by side: nothing but the time depends on how many there are."""

import gzip
import io
import threading
import time
import weakref

import numpy as np
import pytest

from ellipsoid.streams import threads as stream_threads
from ellipsoid.streams.opening import open_stream
from ellipsoid.streams.readers.blocks import Origin
from ellipsoid.streams.threads import IN_FLIGHT, default_threads, map_in_threads

from .conftest import read


def slow(job, earlier):
    # Later jobs are done sooner.
    time.sleep(0.002 * (job % 3 == 0))
    return job, None if earlier is None else earlier[0]


@pytest.mark.parametrize("threads", [0, 1, 2, IN_FLIGHT])
def test_results_come_in_the_order_of_the_jobs(threads):
    found = list(map_in_threads(iter(range(30)), slow, threads))
    assert found == [(job, job - IN_FLIGHT if job >= IN_FLIGHT else None) for job in range(30)]


@pytest.mark.parametrize("threads", [0, 1])
def test_only_notes_of_results_are_kept(threads):
    """A result is a chunk of megabytes."""

    class Result:
        def __init__(self, job):
            self.job = job

    gone = []

    def work(job, earlier):
        result = Result(job)
        weakref.finalize(result, gone.append, job)
        return result

    for result in map_in_threads(iter(range(20)), work, threads, note=lambda result: result.job):
        # The one before it may be held where this one is fetched, another where it was made.
        assert gone[: result.job - 1 - threads] == list(range(result.job - 1 - threads))


@pytest.mark.parametrize("threads", [0, 1, 2, IN_FLIGHT])
def test_no_job_is_asked_for_before_the_one_whose_buffer_it_takes_is_done(threads):
    done = set()

    def jobs():
        for job in range(40):
            assert job < IN_FLIGHT or job - IN_FLIGHT in done
            yield job

    def work(job, earlier):
        time.sleep(0.001 * (job % 4))
        done.add(job)
        return job

    assert list(map_in_threads(jobs(), work, threads)) == list(range(40))


@pytest.mark.parametrize("threads", [0, 1, 2, IN_FLIGHT])
@pytest.mark.parametrize("broken", ["jobs", "work"])
def test_an_error_comes_after_what_was_before_it(threads, broken):
    def jobs():
        for job in range(20):
            if job == 7 and broken == "jobs":
                raise ValueError("seven")
            yield job

    def work(job, earlier):
        if job == 7 and broken == "work":
            raise ValueError("seven")
        return job

    found = []
    with pytest.raises(ValueError, match="seven"):
        drain(map_in_threads(jobs(), work, threads), found)
    assert found == list(range(7))


def drain(results, found):
    for result in results:
        found.append(result)


def test_threads_end_when_reading_stops():
    before = threading.active_count()
    results = map_in_threads(iter(range(10**9)), lambda job, earlier: job, 3)
    assert next(results) == 0
    assert threading.active_count() == before + 3
    results.close()
    assert threading.active_count() == before


def chunks(text, **options):
    found = []
    try:
        for X, y, offset in open_stream(io.BytesIO(text), **options):
            dense = X.toarray() if hasattr(X, "toarray") else X
            found.append((dense.tolist(), y.tolist(), offset))
    except ValueError as error:
        found.append(str(error))
    return found


def sparse_lines(rng, n):
    # Now long lines, now short ones, so that the expected sizes are wrong.
    for i in range(n):
        width = 30 if i // 40 % 2 else 2
        yield f"{i % 3} " + " ".join(f"{j}:{rng.integers(1, 99) / 8}" for j in range(1, rng.integers(2, width + 2)))


def table_lines(rng, n):
    for i in range(n):
        yield f"{rng.integers(99) / 8},{'x' * (i // 40 % 2 * 30)}y,{i % 3}"


def vw_lines(rng, n):
    for i in range(n):
        yield f"{i % 3} |a " + " ".join(f"f{j}:{rng.integers(9)}" for j in range(rng.integers(1, 30)))


@pytest.mark.parametrize("flaw", [False, True])
@pytest.mark.parametrize(("kind", "lines"), [("svmlight", sparse_lines), ("csv", table_lines), ("vw", vw_lines)])
def test_chunks_and_errors_are_the_same_for_any_number_of_threads(block_size, kind, lines, flaw):
    block_size(500)
    parts = list(lines(np.random.default_rng(3), 400))
    if flaw:
        parts.insert(311, "0 no 1:x,a,b,c")
    text = "\n".join(parts).encode()
    options = {"bits": 5} if kind != "svmlight" else {}
    one, *more = (chunks(text, format=kind, threads=threads, **options) for threads in (1, 2, IN_FLIGHT))
    assert more == [one, one]
    assert len(one) > 10
    assert not flaw or "line 312: " in one[-1]


@pytest.mark.parametrize(("kind", "lines"), [("svmlight", sparse_lines), ("csv", table_lines)])
@pytest.mark.parametrize("rows", [2, 20, 60, 300])
def test_chunks_of_a_file_are_the_same_however_many_threads_its_size_calls_for(block_size, tmp_path, kind, lines, rows):
    block_size(500)
    path = tmp_path / "data"
    path.write_text("\n".join(lines(np.random.default_rng(3), rows)))
    found = [
        [
            (X.toarray() if hasattr(X, "toarray") else X, y)
            for X, y, _ in open_stream(path, format=kind, bits=5, **threads)
        ]
        for threads in ({}, {"threads": 1}, {"threads": IN_FLIGHT})
    ]
    assert len({len(chunks) for chunks in found}) == 1
    for chunks in zip(*found, strict=True):
        for X, y in chunks[1:]:
            np.testing.assert_array_equal(X, chunks[0][0])
            np.testing.assert_array_equal(y, chunks[0][1])


def test_threads_are_as_many_as_a_file_has_blocks_for(block_size, tmp_path, monkeypatch):
    monkeypatch.setattr(stream_threads.os, "sched_getaffinity", lambda _: set(range(3)), raising=False)
    assert [default_threads(blocks) for blocks in (None, 0, 1, 2, 3, 100)] == [3, 0, 0, 2, 3, 3]
    block_size(1000)
    text = b"1 1:0.5 2:1.5\n" * 250
    (tmp_path / "plain").write_bytes(text)
    (tmp_path / "packed").write_bytes(gzip.compress(text))

    def left(source):
        origin = Origin(source)
        return [origin.blocks_left for _ in origin.blocks()]

    assert left(tmp_path / "plain") == [3, 2, 1, 0]
    assert left(tmp_path / "packed") == [None] * 4
    assert left(io.BytesIO(text)) == [None] * 4


def test_comments_at_the_beginning_do_not_cut_the_rest_into_tiny_chunks():
    """The first bytes of the first block tell how much room its rows take."""
    comments = b"# nothing here\n" * 10_000
    rows = b"".join(b"%d %s\n" % (i % 3, b" ".join(b"%d:1" % j for j in range(1, 40))) for i in range(2000))
    sizes = [X.shape[0] for X, _, _ in open_stream(io.BytesIO(comments + rows))]
    assert sum(sizes) == 2000
    assert len(sizes) <= 4


def test_short_lines_after_a_long_one_are_read(block_size):
    block_size(100)
    long = " ".join(f"{j}:1" for j in range(1, 1000))
    X, y, _ = read(f"1 1:1\n2 {long}\n".encode() + b"3 2:1\n" * 500)
    assert X.shape == (502, 999)
    assert X.nnz == 1 + 999 + 500
    assert y.tolist() == [1, 2] + [3] * 500


def test_threads_must_not_be_negative():
    with pytest.raises(ValueError, match="threads must not be negative, got -1"):
        read(b"1 1:1\n", threads=-1)
