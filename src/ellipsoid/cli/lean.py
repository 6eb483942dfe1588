"""Scikit-learn without pandas, for commands that learn from files longer than memory.

Where pandas is installed, scikit-learn 1.9 imports it with its first module, and pandas imports pyarrow: 90 MB and a
third of a second, for one function that fills the gaps of a data frame. No data frame reaches a learner from the
command line, so these commands import scikit-learn as if pandas were not installed. Whoever imports pandas afterwards
gets it.
"""

from __future__ import annotations

import sys
from importlib import import_module


def import_scikit_learn() -> None:
    """Import scikit-learn's base, pandas left out; nothing happens where either has been imported already."""
    if "sklearn" in sys.modules or "pandas" in sys.modules:
        return
    # None makes the import statement fail as for a module that is not there.
    sys.modules["pandas"] = None  # type: ignore[assignment]
    try:
        import_module("sklearn.base")
    finally:
        del sys.modules["pandas"]
