"""Damaged texts: an error that names the right line, or the right rows; never a crash, nor half a row learned."""

import faulthandler
import io
import os
import random
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from ellipsoid import PassiveAggressive
from ellipsoid.streams.opening import open_stream

from .fuzzing import BLOCKS, SEEDS, Undecided, campaign, disagreement, expected, mutated

# Texts that were once read wrongly, or would have been.
KEPT = [
    ("svmlight", b"1 qid:3#c 2:3\n"),
    ("svmlight", b"1 1:1\n2 1:1e999\n3 1:1\n"),
    ("svmlight", b"1 1:2\n1e999 1:1\n"),
    ("svmlight", b"1 1:1\n1 9:9 2:4\n"),
    ("svmlight", b"1 1:1\n1 2:1e400 x\n"),
    ("svmlight", b"1 1:" + b"1" * 400 + b"e-399\n"),
    ("svmlight", b"1 1:0." + b"0" * 400 + b"1e401\n"),
    ("vw", b"1 |a:2 x:1e-320\n"),
    ("vw", b"1 |a:2 x:1e308\n"),
    ("vw", b"-1 2 0.5 'x |user age:31 |item:2e-999 id7 price:9.99\n1 |f 1:2 2:3 3:4\n"),
    ("vw", b"1 |a x y:2 |b:0.5e-999 z:3.25 w\n2 1.0 'tag |a x\n\n3 'tag| q r:-1e:3\n"),
    ("vw", b"1 |a x |b:3.25e-999 w\n"),
    ("vw", b"1 |a :2\n"),
    ("vw", b"1 2 3 4 |a x\n1 2 3 4 5 |a x\n"),
    ("vw", b"1 |a x:1e308 x:1e308\n"),
]


@pytest.mark.parametrize(("kind", "text"), KEPT)
@pytest.mark.parametrize("size", BLOCKS)
def test_texts_that_were_once_read_wrongly(kind, text, size):
    assert disagreement(kind, text, size) is None


@pytest.mark.parametrize("kind", SEEDS)
def test_damage_of_every_kind_is_drawn(kind):
    rng = random.Random(0)
    outcomes = Counter()
    for _ in range(400):
        with suppress(Undecided):
            outcomes["read" if expected(kind, mutated(kind, rng))[1] is None else "refused"] += 1
    assert min(outcomes["read"], outcomes["refused"]) > 30


@pytest.mark.parametrize(("kind", "count"), [("svmlight", 600), ("vw", 600), ("csv", 300)])
def test_some_damaged_texts(kind, count):
    assert list(campaign(kind, count, seed=0)) == []


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "count"), [("svmlight", 5_000), ("vw", 5_000), ("csv", 1_000)])
@pytest.mark.parametrize("seed", range(1, 11))
def test_a_hundred_thousand_damaged_texts(kind, count, seed):
    # A hang is ended, with a trace of where it was.
    faulthandler.dump_traceback_later(900, exit=True)
    try:
        assert list(campaign(kind, count, seed)) == []
    finally:
        faulthandler.cancel_dump_traceback_later()


def test_no_scanner_reads_outside_its_arrays():
    # Without the compiler an index out of bounds is an IndexError, which is no disagreement but a crash.
    code = (
        "from tests.streams.fuzzing import campaign\n"
        "print(*campaign('svmlight', 60, 5), *campaign('vw', 60, 5), *campaign('csv', 30, 5))"
    )
    root = Path(__file__).parents[2]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join([str(root), *sys.path])}
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("\n", "", 0)


def test_a_flaw_leaves_the_model_of_the_rows_before_it():
    good = b"".join(b"%d 1:%d 2:0.5 3:%d\n" % (i % 3, i % 7, i % 5) for i in range(3000))
    for flaw in (b"1 2:x\n", b"1 1:1e999\n", b"1 3:1 2:1\n", b"\xff\n"):
        model, rows = PassiveAggressive(), 0
        stream = iter(open_stream(io.BytesIO(good + flaw + good), n_features=3, chunk_rows=700))
        with pytest.raises(ValueError, match="line 3001: "):
            rows = _learn(model, stream)
        assert model.t_ == 3000
        whole = PassiveAggressive()
        for X, y, _ in open_stream(io.BytesIO(good), n_features=3):
            whole.partial_fit(X, y)
        np.testing.assert_array_equal(model.coef_, whole.coef_)
        assert rows == 0


def _learn(model, stream):
    for X, y, _ in stream:
        model.partial_fit(X, y)
    return model.t_
