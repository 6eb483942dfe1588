"""Who runs the tasks of a run: this process, processes of this machine, or the workers of a Dask cluster.

An engine is asked to ``submit`` a function, to ``send`` a model to who needs it, to give the ``result`` of what was
submitted, and to say what is done as it comes, ``as_done``. What was submitted may be an argument of what is submitted
next. A task is a function of its arguments alone, so that a task whose worker died is run once more, elsewhere, with
the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol


class LostWorkers(RuntimeError):
    """A task whose workers died, several times: the task may be what kills them."""


class Engine(Protocol):
    """What a run asks of whoever runs its tasks. ``folder``: where large models may be left for workers to read."""

    folder: Any

    def submit(self, function: Callable[..., Any], *args: Any, key: str, turn: int | None = None) -> Any:
        """Begin a task; what comes back stands for its result. Tasks of different turns go to different workers, as far
        as there are enough of them and they live.
        """

    def send(self, value: Any, key: str) -> Any:
        """What stands for a value that many tasks are given."""

    def result(self, future: Any) -> Any:
        """The result of a task, or its exception; `LostWorkers` where it got none."""

    def as_done(self, futures: Iterable[Any]) -> Iterator[Any]:
        """The same futures, each when it is done."""

    def forget(self) -> None:
        """Nothing that was submitted is needed any more."""

    def everywhere(self, function: Callable[..., Any], *args: Any) -> dict[str, Any]:
        """The results of a function on every worker, by its name."""

    def close(self) -> None:
        """Let go of what this engine has started itself."""


class LocalTask:
    """A task of this process: run when somebody asks for its result, once."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.function, self.args, self.done = function, args, False

    def result(self) -> Any:
        """Its result."""
        if not self.done:
            self.value = self.function(*(arg.result() if isinstance(arg, LocalTask) else arg for arg in self.args))
            # What it was made of is no longer needed.
            self.done, self.args = True, ()
        return self.value


class InProcess:
    """Every task is run here, when its result is wanted."""

    folder: Any = None

    def submit(self, function: Callable[..., Any], *args: Any, key: str, turn: int | None = None) -> Any:
        """Note it."""
        return LocalTask(function, args)

    def send(self, value: Any, key: str) -> Any:
        """It is here."""
        return value

    def result(self, future: Any) -> Any:
        """Run it."""
        return future.result()

    def as_done(self, futures: Iterable[Any]) -> Iterator[Any]:
        """One after another."""
        yield from futures

    def forget(self) -> None:
        """Results go with who asked for them."""

    def everywhere(self, function: Callable[..., Any], *args: Any) -> dict[str, Any]:
        """There is this process alone."""
        return {"this process": function(*args)}

    def close(self) -> None:
        """Nothing was started."""


def engine_of(client: Any, workers: int | None = None) -> Engine:
    """The engine for a Dask client or the address of a scheduler, the word "here", or None: the current client of Dask,
    else processes here.
    """
    if isinstance(client, str) and client == "here":
        return InProcess()
    if isinstance(client, str) and "://" not in client:
        raise ValueError(
            f"client must be a Dask client, an address such as tcp://head:8786, 'here' or None, got {client!r}"
        )
    if client is None and workers is None:
        client = _current_client()
    if client is None:
        from .engine_loky import Loky

        return Loky(workers)
    from .engine_dask import Dask

    return Dask(client)


def _current_client() -> Any:
    """Dask's client of this process, if there is one; Dask is not imported for the question."""
    import sys

    if "distributed" not in sys.modules:
        return None
    from distributed import get_client

    try:
        return get_client()
    except ValueError:
        return None


def need_dask() -> None:
    """Say what to install where Dask is missing."""
    from importlib.util import find_spec

    if find_spec("distributed") is None:
        raise ImportError("a cluster is run by Dask: pip install 'ellipsoid[distributed]'")
