"""Snapshots: model files from which a restarted service goes on, `snapshots/NAME-T.model` after T examples.

Beside each lies `NAME-T.record`, the errors of the learner on its stream; without it the window of errors begins anew.
Learners other than the model's first one are part of the name: `NAME.LEARNER-T.model`.
"""

import json
import logging
import os
import re
from pathlib import Path
from typing import NamedTuple

from ellipsoid.estimators.files.container import DamagedModel
from ellipsoid.streams.atomic import atomic_write

from .learning import StreamLearner
from .published import Published
from .record import RunRecord

_log = logging.getLogger("ellipsoid.service")

FIRST = "first"
# How many are kept; examples are deleted from the journal only when the second newest holds them.
KEPT_SNAPSHOTS = 3
NAME_AND_T = re.compile(r"^(.+)-(\d+)\.model$")


class Snapshot(NamedTuple):
    """A file, and the number of examples in it."""

    t: int
    path: Path


class Snapshots:
    """The snapshots of one learner of a model, in the folder of all."""

    def __init__(self, folder: Path, model: str, learner: str) -> None:
        self.folder = folder
        self.stem = model if learner == FIRST else f"{model}.{learner}"

    def all(self) -> list[Snapshot]:
        """Newest first."""
        found = []
        # The folder has the files of all models; the first test is quick.
        for name in os.listdir(self.folder) if self.folder.is_dir() else ():
            if name.startswith(self.stem) and (parts := NAME_AND_T.match(name)) and parts[1] == self.stem:
                found.append(Snapshot(int(parts[2]), self.folder / name))
        return sorted(found, reverse=True)

    def write(self, published: Published) -> Snapshot:
        """Write a snapshot, and remove those that are not needed any more."""
        path, content = self.folder / f"{self.stem}-{published.t}.model", published.file()
        with atomic_write(path.with_suffix(".record")) as file:
            json.dump(published.learner.record.to_dict(), file)
        with atomic_write(path, "wb") as file:
            file.write(content)
        for old in self.all()[KEPT_SNAPSHOTS:]:
            self.remove(old)
        return Snapshot(published.t, path)

    def remove(self, snapshot: Snapshot) -> None:
        """Delete a snapshot."""
        snapshot.path.unlink(missing_ok=True)
        snapshot.path.with_suffix(".record").unlink(missing_ok=True)

    def restore(self, learner: StreamLearner, most: int) -> Snapshot | None:
        """Have a learner go on from the newest readable snapshot of at most so many examples; None if there is none."""
        for snapshot in self.all():
            if snapshot.t > most or snapshot.t < learner.first:
                continue
            try:
                learner.load(snapshot.path, snapshot.t, _record(snapshot.path.with_suffix(".record")))
            except (DamagedModel, OSError, ValueError) as error:
                _log.warning("the snapshot %s cannot be used and is skipped: %s", snapshot.path, error)
                continue
            return snapshot
        return None


def _record(path: Path) -> RunRecord | None:
    try:
        return RunRecord.from_dict(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        _log.warning("the record %s cannot be used and is skipped: %s", path, error)
        return None
