"""Which engine a run gets, by what it was told: a Dask client, the address of a scheduler, or nothing."""

from __future__ import annotations

import sys
from typing import Any

from .engine import Engine
from .in_process import InProcess


def engine_of(client: Any, workers: int | None = None) -> Engine:
    """The engine for a Dask client or the address of a scheduler, the word "here", or None: the current client of Dask,
    else processes here.
    """
    if client is not None and workers is not None:
        raise ValueError("client and workers are two ways to say who learns: give one")
    if isinstance(client, str) and client == "here":
        return InProcess()
    if client is not None and not hasattr(client, "scheduler_info") and "://" not in str(client):
        raise ValueError(
            f"client must be a Dask client, an address such as tcp://head:8786, 'here' or None, got {client!r}"
        )
    if client is None and workers is None:
        client = _current_client()
    if client is None:
        from .processes import Loky

        return Loky(workers)
    from .dask import Dask

    return Dask(client)


def _current_client() -> Any:
    """Dask's client of this process, if there is one; Dask is not imported for the question."""
    if "distributed" not in sys.modules:
        return None
    from distributed import get_client

    try:
        return get_client()
    except ValueError:
        return None
