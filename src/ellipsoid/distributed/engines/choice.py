"""Chooses the engine of a run by its arguments ``client`` and ``workers``."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .engine import Engine
from .in_process import InProcess


@contextmanager
def engine_of(client: Any, workers: int | None = None) -> Iterator[Engine]:
    """The engine for a Dask client, the address of a scheduler, or "here"; it is closed at the end.

    None means the current client of Dask if there is one, else processes of this machine.
    """
    engine = _chosen(client, workers)
    try:
        yield engine
    finally:
        engine.forget()
        engine.close()


def _chosen(client: Any, workers: int | None) -> Engine:
    if client is not None and workers is not None:
        raise ValueError("client and workers exclude each other: give one of them")
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
    """Dask's client of this process, if there is one; Dask is not imported to find out."""
    if "distributed" not in sys.modules:
        return None
    from distributed import get_client

    try:
        return get_client()
    except ValueError:
        return None
