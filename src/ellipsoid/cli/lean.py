"""Scikit-learn without what it never uses here, for commands that learn from files longer than memory.

Where pandas is installed, scikit-learn 1.9 imports it with its first module, and pandas imports pyarrow: 90 MB and a
third of a second, for one function that fills the gaps of a data frame. No data frame reaches a learner from the
command line, so these commands import scikit-learn as if pandas were not installed. Whoever imports pandas afterwards
gets it.

Most of the rest of its import are modules of which no learner calls anything, ``scipy.stats`` above all: they wait
until somebody does (`ellipsoid.cli.later`).
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from ellipsoid.cli.later import put_off

# Imported by scikit-learn, SciPy, joblib and numba as whole modules, and looked at only inside of functions.
SELDOM = (
    "asyncio",
    "narwhals",
    "narwhals.stable",
    "narwhals.stable.v2",
    "numpy.f2py",
    "numpy.testing",
    "scipy.special",
    "scipy.stats",
    "yaml",
)


def import_libraries() -> None:
    """Import learners and readers with what they need; nothing happens where scikit-learn or pandas has been imported
    already.
    """
    if "sklearn" in sys.modules or "pandas" in sys.modules:
        return
    with _uncollected():
        _import_scikit_learn()
        import_module("ellipsoid.estimators.base")
        import_module("ellipsoid.streams.opening")
        import_module("ellipsoid.engine.apart").workshop.open = True


def _import_scikit_learn() -> None:
    put_off(SELDOM)
    # None makes the import statement fail as for a module that is not there.
    sys.modules["pandas"] = None  # type: ignore[assignment]
    try:
        import_module("sklearn.base")
    finally:
        del sys.modules["pandas"]


@contextmanager
def _uncollected() -> Iterator[None]:
    """Make a hundred thousand objects without looking for garbage among them: modules hold theirs to the end. They are
    left out of every later search too, the one at the end of the process included.
    """
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if before:
            gc.enable()
