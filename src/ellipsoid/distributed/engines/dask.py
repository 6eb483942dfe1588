"""The engine of the workers of a Dask cluster, by Dask's futures.

Arguments travel inside the tasks, so that the scheduler can run every task again, whichever worker died; scattered data
would be lost with their worker. A large model travels as a file, if the run has a folder that all workers can read.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

from .engine import Engine, LostWorkers, NoWorkers
from .parcel import can_read, is_large, with_parcels

# How often workers are checked for life while all are asked.
LOOK_SECONDS = 1.0
# After how long without a finished task it is checked whether there are workers at all, and for how long there may be
# none: new ones may be starting.
IDLE_SECONDS, PATIENCE_SECONDS = 5.0, 300.0
# How long to wait for the first worker.
START_SECONDS = 60


class Dask(Engine):
    """An engine around a client, which stays open."""

    def __init__(self, client: Any) -> None:
        super().__init__()
        if find_spec("distributed") is None:
            raise ImportError("running on a cluster needs Dask; install it with: pip install 'ellipsoid[distributed]'")
        from distributed import Client

        self._own = isinstance(client, str)
        self.client = Client(client, set_as_default=False) if self._own else client
        self._held: list[Any] = []
        self._warned = False
        self._workers()

    def submit(self, function: Callable[..., Any], *args: Any, key: str, turn: int | None = None) -> Any:
        """Submit a task to the scheduler, preferably to the worker whose turn it is.

        By itself the scheduler gives most tasks to the worker that has the model; the others have to steal them, to
        which that worker does not respond while it learns: they waited for a second. Any worker may still help out.
        """
        function, args = with_parcels(function, args)
        preferred: dict[str, Any] = {}
        if turn is not None and self._known:
            preferred = {"workers": [self._known[turn % len(self._known)]], "allow_other_workers": True}
        with warnings.catch_warnings():
            # The model is in the task on purpose: the scheduler can send it again after a loss.
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            try:
                future = self.client.submit(function, *args, key=key, pure=False, **preferred)
            except Exception as error:
                if self.client.status in ("running", "connecting"):
                    raise
                raise ConnectionError(
                    "the scheduler of the cluster cannot be reached: start it again and resume from a checkpoint"
                ) from error
        self._held.append(future)
        return future

    def _workers(self) -> list[str]:
        """Addresses of the workers that take tasks; one whose memory is full is paused, perhaps for ever."""
        found = self.client.scheduler_info(n_workers=-1)["workers"]
        self._known = [name for name, info in found.items() if info.get("status", "running") == "running"]
        return self._known

    def send(self, value: Any, key: str) -> Any:
        """A task that returns the value, and can run again; a parcel if it is large and all can read the folder."""
        self._workers()
        if is_large(value) and self.folder is not None:
            parcel = self._as_parcel(value, self.folder, key)
            if all(self.everywhere(can_read, parcel.path).values()):
                return parcel
            self._warn(f"not every worker can read the folder {self.folder} of the checkpoint")
        elif is_large(value):
            self._warn("the run has no checkpoint, whose folder could be used instead")
        return self.submit(identity, value, key=key)

    def _warn(self, why: str) -> None:
        """Warn once that a large model is sent through the scheduler."""
        if not self._warned:
            self._warned = True
            warnings.warn(f"a model of more than 32 MB is sent to workers through the scheduler: {why}", stacklevel=2)

    def result(self, future: Any) -> Any:
        from concurrent.futures import CancelledError

        from distributed import KilledWorker
        from distributed.client import FutureCancelledError

        for _ in self.as_done([future]):
            pass
        try:
            return future.result()
        except KilledWorker as error:
            raise LostWorkers(str(error)) from error
        except (CancelledError, FutureCancelledError) as error:
            raise LostWorkers(f"the task {future.key} failed: {error}") from error

    def as_done(self, futures: Iterable[Any]) -> Iterator[Any]:
        """Yield the futures as they are done, successfully or not; raise `NoWorkers` if there are no workers."""
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
                with suppress(OSError):  # if the scheduler is gone, Dask cancels its tasks
                    gone = None if self._workers() else gone or monotonic()
                if gone is not None and monotonic() - gone > PATIENCE_SECONDS:
                    raise NoWorkers(
                        f"no worker has taken a task for {PATIENCE_SECONDS:.0f} seconds: start "
                        "workers, or give them more "
                        "memory if they are paused, and resume from a checkpoint"
                    ) from None

    def forget(self) -> None:
        """Release all futures now: results of past rounds would fill the memory of the workers."""
        held, self._held = self._held, []
        for future in held:
            future.release()
        super().forget()

    def everywhere(self, function: Callable[..., Any], *args: Any) -> dict[str, Any]:
        """Call the function on every present worker by a task of its own.

        A worker that dies is not waited for: no other worker may run its task, which would never end.
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
                "the cluster has no worker that answers: start workers with this version of ellipsoid by dask "
                "worker ADDRESS"
            )
        return found

    def close(self) -> None:
        """Close the client if this engine opened it, for an address."""
        if self._own:
            self.client.close()


def identity(value: Any) -> Any:
    """The value itself, as the result of a task."""
    return value
