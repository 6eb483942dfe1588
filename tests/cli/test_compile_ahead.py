"""What is compiled ahead of a first run is what the run then asks for."""

import os
import subprocess
import sys

import pytest

from ellipsoid.cli.compile_ahead import shape_of
from ellipsoid.streams.opening import open_stream

TEXTS = {
    "numbers.csv": "a,b,label\n" + "1,2.5,x\n3,4,y\n0,1,z\n" * 9,
    "two.csv": "a;b;label\n" + "1;2.5;1\n3;4;0\n" * 9,
    "words.csv": "a,b,label\n" + "1,red,x\n3,green,y\n" * 9,
    "sparse.svm": "1 1:0.5 9:2\n-1 2:1\n" * 9,
    "more.svm": "1 1:0.5 9:2\n2 2:1\n3 4:1\n" * 9,
    "names.vw": "1 |a x y:2\n-1 |a z\n" * 9,
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_look_at_the_head_tells_what_the_reader_will_give(name, tmp_path):
    path = tmp_path / name
    path.write_text(TEXTS[name])
    stream = open_stream(path)
    chunk = next(iter(stream))
    sparse, width, classes = shape_of(TEXTS[name], label=None)
    assert sparse == hasattr(chunk.X, "tocsr")
    assert classes == min(len(set(chunk.y)), 3)
    if stream.bits is None:
        assert width == chunk.X.shape[1]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["numbers.csv", "more.svm"])
@pytest.mark.parametrize("learner", ["MIRA", "CELLIP", "Winnow", "PassiveAggressiveRegressor"])
def test_all_that_a_first_run_needs_is_compiled_by_the_programs_that_run_ahead(learner, name, tmp_path):
    numbers = TEXTS[name].replace("x\n", "1\n").replace("y\n", "2\n").replace("z\n", "3\n")
    (tmp_path / name).write_text(numbers)
    labels = ["--classes", "1,2,3"] if learner in ("CELLIP", "Winnow") else []
    run_where_nothing_can_be_requested(tmp_path, "learn", name, "--model", learner, *labels)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [(), ("--scale", "unit", "--passes", "2", "--models", "Perceptron,MIRA:kernel=rbf")]
)
def test_all_that_a_first_comparison_needs_is_compiled_by_the_programs_that_run_ahead(options, tmp_path):
    run_where_nothing_can_be_requested(tmp_path, "compare", "digits", *options)


def run_where_nothing_can_be_requested(folder, *arguments):
    """Run a command with an empty cache. What was not compiled ahead is requested from a server, which refuses."""
    code = """
import sys
from ellipsoid.cli import main
from ellipsoid.engine.native import compile_server
def refuse(_, function, kinds, *__): sys.exit(f"asked for {function.__name__}{kinds}")
compile_server.CompileServer.request = refuse
main()
"""
    subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder, env={**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}, check=True,
    )  # fmt: skip
