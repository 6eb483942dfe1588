"""The digest of kept machine code covers whatever that code can contain."""

import sys
from types import SimpleNamespace

import numba
import numpy as np
import pytest
import scipy.sparse as sp

from ellipsoid.engine import compile as keeping
from ellipsoid.engine import loop
from ellipsoid.engine.native import digest, inlining, intrinsics, memory, vector_sums
from ellipsoid.engine.rows import Dense
from ellipsoid.estimators import learner_named

generic = sys.modules["ellipsoid.engine.generic"]  # a function of that name hides the module


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kernel", [{}, {"kernel": "rbf"}], ids=["linear", "kernel"])
@pytest.mark.parametrize("rows", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("name", ["PassiveAggressive", "ALMA", "OnlineSVM", "IELLIP", "CELLIP", "AROW", "Winnow"])
def test_every_module_that_takes_part_is_in_it(name, rows, kernel, monkeypatch):
    if kernel and "kernel" not in learner_named(name)().get_params():
        pytest.skip("has no kernels")
    ran = set()

    def interpreted(function, args):
        """Python in place of machine code, which notes whose code runs."""
        kinds = tuple(map(numba.typeof, args))
        covered = digest._reachable(function.py_func, set(digest._parts_of(kinds)))

        def run(*given):
            seen = set()
            sys.setprofile(lambda frame, event, _: seen.add(frame.f_globals.get("__name__")))
            try:
                return function.py_func(*given)
            finally:
                sys.setprofile(None)
                mine = seen & {source.function.__module__ for source in digest.SOURCES}
                assert mine <= covered, (function.__name__, mine - covered)
                ran.update(mine)

        return SimpleNamespace(entry_point=run), kinds

    monkeypatch.setattr(keeping, "_compiled_for", interpreted)
    monkeypatch.setattr(keeping, "_entries", {})
    rng = np.random.default_rng(0)
    X, y = rows(rng.normal(size=(30, 3))), rng.integers(0, 3, 30)
    model = learner_named(name)(**kernel).partial_fit(X, y, classes=range(3))
    model.predict(X)
    assert len(ran) >= 5


def digest_of_the_loop():
    """For dense rows, as if nothing were known yet."""
    digest._known.clear()
    digest._module_digest.cache_clear()
    return digest.source_digest(loop.learn.py_func, (numba.typeof(Dense(np.zeros((1, 2)), 0.0)),))


@pytest.fixture
def unknown():
    """What a test changes is not remembered."""
    yield
    digest._known.clear()
    digest._module_digest.cache_clear()


@pytest.mark.usefixtures("unknown")
@pytest.mark.parametrize(
    ("module", "name", "value"),
    [
        (vector_sums, "_FLAGS", ()),
        (vector_sums, "LANES", 8),
        (memory, "ANOTHER", 1),
        (generic, "SUM", frozenset({"contract"})),
        (keeping, "ANOTHER", 1),
        (intrinsics, "ANOTHER", 1),
        (inlining, "ANOTHER", 1),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_how_code_is_made_is_part_of_it(module, name, value, monkeypatch):
    before = digest_of_the_loop()
    assert digest_of_the_loop() == before
    monkeypatch.setattr(module, name, value, raising=False)
    assert digest_of_the_loop() != before


@pytest.mark.usefixtures("unknown")
def test_bodies_of_an_example_in_a_docstring_are_no_part_of_it():
    before, known = digest_of_the_loop(), len(digest.SOURCES)
    exec("@generic(1)\ndef area(shape): ...\n@area.register(int)\ndef _(shape): return shape", {**vars(generic)})
    try:
        assert digest.SOURCES[known].function.__module__ == generic.__name__
        assert digest_of_the_loop() == before
    finally:
        del digest.SOURCES[known:]
