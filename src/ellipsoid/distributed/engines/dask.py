"""The workers of a Dask cluster: native futures, no scattered data, no collective communication.

Arguments travel inside the tasks, so that the scheduler can run any task again, whoever has died: scattered data would
die with their worker. A large model travels as a file, where the run has a folder for it that all workers see.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

from .engine import LostWorkers, NoWorkers
from .parcel import Parcel, can_read, is_large, with_parcels, wrap

# How often it is looked whether a worker that is waited for still lives.
LOOK_SECONDS = 1.0
# How long a task is waited for that nobody ends before it is looked whether there are workers at all, and how long
# there may be none: others may be on their way.
IDLE_SECONDS, PATIENCE_SECONDS = 5.0, 300.0
# How long the first worker may take to come.
START_SECONDS = 60


class Dask:
    """An engine around a client, which stays open."""

    folder: Any = None

    def __init__(self, client: Any) -> None:
        _need_dask()
        from distributed import Client

        self._own = isinstance(client, str)
        self.client = Client(client, set_as_default=False) if self._own else client
        self._held: list[Any] = []
        self._parcels: list[Parcel] = []
        self._told = False
        self._workers()

    def submit(self, function: Callable[..., Any], *args: Any, key: str, turn: int | None = None) -> Any:
        """Hand a task to the scheduler.

        Left to itself it gives most tasks to the worker that has the model, and the others must steal them, for which
        that worker has no time while it learns: they waited for a second. A wish, so that any worker may help out.
        """
        function, args = with_parcels(function, args)
        wish: dict[str, Any] = {}
        if turn is not None and self._known:
            wish = {"workers": [self._known[turn % len(self._known)]], "allow_other_workers": True}
        with warnings.catch_warnings():
            # The model is meant to be in the task: from there the scheduler sends it again after a loss.
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            try:
                future = self.client.submit(function, *args, key=key, pure=False, **wish)
            except Exception as error:
                if self.client.status in ("running", "connecting"):
                    raise
                raise ConnectionError(
                    "the scheduler of the cluster is gone: start it again, and resume from a checkpoint"
                ) from error
        self._held.append(future)
        return future

    def _workers(self) -> list[str]:
        """Addresses of the workers that take tasks now: one whose memory is full is paused, and may be so for ever."""
        found = self.client.scheduler_info(n_workers=-1)["workers"]
        self._known = [name for name, told in found.items() if told.get("status", "running") == "running"]
        return self._known

    def send(self, value: Any, key: str) -> Any:
        """A task that returns it: the scheduler has it in the task, and can send it on whoever dies. A large one is
        left in the folder, if all workers see it there.
        """
        self._workers()
        if is_large(value) and self.folder is not None:
            parcel = wrap(value, self.folder, key)
            self._parcels.append(parcel)
            if all(self.everywhere(can_read, parcel.path).values()):
                return parcel
            self._tell(f"not every worker sees the folder {self.folder} of the checkpoint")
        elif is_large(value):
            self._tell("the run has no checkpoint, in whose folder it could be left for them")
        return self.submit(hold, value, key=key)

    def _tell(self, why: str) -> None:
        """Say once why a large model takes the slow way."""
        if not self._told:
            self._told = True
            warnings.warn(f"a model of more than 32 MB is sent to workers through the scheduler: {why}", stacklevel=2)

    def result(self, future: Any) -> Any:
        """Wait for a result."""
        from concurrent.futures import CancelledError

        from distributed.client import FutureCancelledError

        from distributed import KilledWorker

        for _ in self.as_done([future]):
            pass
        try:
            return future.result()
        except KilledWorker as error:
            raise LostWorkers(str(error)) from error
        except (CancelledError, FutureCancelledError) as error:
            raise LostWorkers(f"the task {future.key} was given up: {error}") from error

    def as_done(self, futures: Iterable[Any]) -> Iterator[Any]:
        """Futures as they are done, well or badly; without workers they never would be."""
        done: SimpleQueue[Any] = SimpleQueue()
        left, gone = 0, None
        for future in futures:
            future.add_done_callback(done.put)
            left += 1
        while left:
            try:
                yield done.get(timeout=IDLE_SECONDS)
                left, gone = left - 1, None
            except Empty:
                with suppress(OSError):  # where the scheduler is gone its tasks are given up by Dask itself
                    gone = None if self._workers() else gone or monotonic()
                if gone is not None and monotonic() - gone > PATIENCE_SECONDS:
                    raise NoWorkers(
                        f"no worker has taken a task for {PATIENCE_SECONDS:.0f} seconds: start some, or give them more "
                        "memory if they are paused, and resume from a checkpoint"
                    ) from None

    def forget(self) -> None:
        """Let workers drop what they hold, at once: results of a round that is over would fill their memory."""
        held, self._held = self._held, []
        for future in held:
            future.release()
        parcels, self._parcels = self._parcels, []
        for parcel in parcels:
            parcel.discard()

    def everywhere(self, function: Callable[..., Any], *args: Any) -> dict[str, Any]:
        """Ask every worker that is there now, by a task each; one that dies on it is not asked again, nor waited for:
        its task may be run by nobody else, and would never end.
        """
        from distributed import wait

        function, args = with_parcels(function, args)
        names = self._workers()
        if not names:
            with suppress(TimeoutError):
                self.client.wait_for_workers(1, timeout=START_SECONDS)
            names = self._workers()
        futures = {
            name: self.client.submit(function, *args, pure=False, workers=[name], allow_other_workers=False)
            for name in names
        }
        there = set(names)
        while pending := [f for name, f in futures.items() if f.status == "pending" and name in there]:
            with self.client.as_current(), suppress(TimeoutError):
                wait(pending, timeout=LOOK_SECONDS)
            there &= set(self._workers())
        found = {name: future.result() for name, future in futures.items() if future.status == "finished"}
        for future in futures.values():
            future.release()
        if not found:
            raise NoWorkers(
                "the cluster has no worker that can be asked: start some, with this version of ellipsoid, by dask "
                "worker ADDRESS"
            )
        return found

    def close(self) -> None:
        """Close a client that was opened for an address."""
        if self._own:
            self.client.close()


def hold(value: Any) -> Any:
    """The value that a task was given."""
    return value


def _need_dask() -> None:
    """Say what to install where Dask is missing."""
    if find_spec("distributed") is None:
        raise ImportError("a cluster is run by Dask: pip install 'ellipsoid[distributed]'")
