"""For ``dask worker --preload ellipsoid.cli.worker``: a worker that starts as small as a command does.

It imports no pandas with scikit-learn, and compiles in a process of its own: 110 MB less. It is for workers that learn
from files and arrays and do nothing else; whoever wants scikit-learn to know data frames there leaves it out.
"""

from typing import Any

from .startup import import_libraries


def dask_setup(worker: Any) -> None:
    """Called by Dask when the worker starts."""
    import_libraries()
