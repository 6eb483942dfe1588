"""The digest of kept machine code covers whatever that code can contain."""

import sys
from types import SimpleNamespace

import numba
import numpy as np
import pytest
import scipy.sparse as sp

from ellipsoid.engine import compile as keeping
from ellipsoid.engine.native import digest
from ellipsoid.estimators import learner_named


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
