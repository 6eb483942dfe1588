"""The checkpoint of a run, written after every round: a model file that also identifies the run.

If the driver or the scheduler is killed, the same call with ``resume`` continues after the last round that was written.
"""

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

from ellipsoid.estimators import loading
from ellipsoid.estimators.files import saving
from ellipsoid.evaluate.position import KEPT, Position, mark_of


class Checkpoint(NamedTuple):
    """The file of a run, the digest of the run, and the position in its data; with ``path`` None nothing is written."""

    path: Any
    digest: str
    position: Position

    def write(self, model: Any, done: int, rounds: int, history: list[dict[str, Any]]) -> None:
        """Write the model after so many rounds, atomically."""
        if self.path is not None:
            run = {"digest": self.digest, "round": done, "history": history}
            saving.save(model, self.path, self.record(done, rounds, model), run)

    def record(self, done: int, rounds: int, model: Any) -> dict[str, Any]:
        """The position in the data after so many rounds, in the form that the commands of the shell read."""
        position, rows = self.position, int(model.t_)
        position.epochs, position.epoch, position.rows = max(1, rounds), done, rows
        # Other commands must not go on with these data: after a round they have been learned to their end.
        position.complete = True
        return position.record()

    def read(self) -> tuple[Any, int, list[dict[str, Any]]]:
        """The model of an earlier call, its number of rounds, and its history; raises if it belongs to another run."""
        if not Path(self.path).exists():
            raise FileNotFoundError(
                f"there is no checkpoint {self.path} to resume; leave resume out to start a new run"
            )
        model, content = loading.open_model(self.path)
        run = content.header.get("run")
        if not isinstance(run, dict):
            raise ValueError(
                f"{self.path} is a model, but not a checkpoint of a run over shards; give the file of the checkpoint"
            )
        if run.get("digest") != self.digest:
            raise ValueError(
                f"{self.path} belongs to another run: the data, their blocks, the shards, the learner or its "
                "parameters have changed since; start a new run, or give the same as then (files with the time of "
                "modification that they had)"
            )
        return model, int(run["round"]), list(run["history"])


def position_of(names: list[str] | None, reading: Any, columns: Any) -> Position:
    """What a model file says about the data that were learned."""
    inputs = ["Dask collection"] if names is None else names
    position = Position(inputs, [None if names is None else mark_of(name) for name in inputs])
    position.columns = columns
    for what in KEPT:
        setattr(position, what, reading.options.get(what))
    position.missing = "zero" if reading.options.get("missing") == "zero" else None
    return position


def digest_of(*parts: Any) -> str:
    """A digest of everything that must be the same when a run is resumed."""
    return hashlib.sha256("\n".join(map(repr, parts)).encode()).hexdigest()
