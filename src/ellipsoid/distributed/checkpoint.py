"""A run on disk, after every round: a model file that also says of which run it is.

The driver holds what counts. If it is killed, or the scheduler, the same call with ``resume`` goes on after the last
round that was written.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

from ellipsoid.estimators import loading
from ellipsoid.estimators.files import saving
from ellipsoid.evaluate.position import KEPT, Position, mark_of


class Checkpoint(NamedTuple):
    """The file of a run, its digest, and what its position says of the data; ``path`` None: nothing is written."""

    path: Any
    digest: str
    position: Position

    def write(self, model: Any, done: int, rounds: int, history: list[dict[str, Any]]) -> None:
        """Write the model after so many rounds, atomically."""
        if self.path is not None:
            saving.save(model, self.path, self.record(done, rounds, model), self.run(done, history))

    def record(self, done: int, rounds: int, model: Any) -> dict[str, Any]:
        """Where the run stands, as a command that reads the file understands it."""
        position, rows = self.position, int(model.t_)
        position.epochs, position.epoch, position.rows = max(1, rounds), done, rows
        # For other commands what is there has been learned to its end.
        position.complete = True
        return position.record()

    def run(self, done: int, history: list[dict[str, Any]]) -> dict[str, Any]:
        """Of which run it is."""
        return {"digest": self.digest, "round": done, "history": history}

    def read(self) -> tuple[Any, int, list[dict[str, Any]]]:
        """The model of an earlier call, after how many rounds, and what each was; refused if it is another run's."""
        if not Path(self.path).exists():
            raise FileNotFoundError(f"there is no checkpoint {self.path} to resume; leave resume out to begin")
        model, content = loading.open_model(self.path)
        run = content.header.get("run")
        if not isinstance(run, dict):
            raise ValueError(f"{self.path} is a model, but no checkpoint of a run over shards")
        if run.get("digest") != self.digest:
            raise ValueError(
                f"{self.path} belongs to another run: the data, their blocks, the shards, the learner or its "
                "parameters have changed since; begin anew, or give what was given then (files with the time of "
                "modification that they had)"
            )
        return model, int(run["round"]), list(run["history"])


def position_of(names: list[str] | None, reading: Any, columns: Any) -> Position:
    """What a model file tells of the data that were learned."""
    inputs = ["Dask collection"] if names is None else names
    position = Position(inputs, [None if names is None else mark_of(name) for name in inputs])
    position.columns = columns
    for what in KEPT:
        setattr(position, what, reading.options.get(what))
    return position


def digest_of(*parts: Any) -> str:
    """A digest of what must not change between a run and its resumption."""
    return hashlib.sha256("\n".join(map(repr, parts)).encode()).hexdigest()
