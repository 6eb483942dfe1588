"""The interface of the tables in which learners keep their hypotheses.

A table owns arrays that grow and hands them to compiled code as ``rep``. A new kind of table subclasses ``Table`` and
writes the methods that have no body here; the others it overrides where it has something to do.
"""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .rollback import Marked

Floats = NDArray[np.float64]
StoredArrays = dict[str, NDArray[Any]]


class Table(Marked, Protocol):
    """Functions of a row, one for each score, over features that may become more."""

    # What compiled code reads and writes; None for an expansion, which makes one for every block of rows.
    rep: Any
    # Number of features, the constant one not counted.
    width: int
    # Do the weights of one function lie together? It is settled by the first rows, and written to files.
    by_class: bool
    # Can the loop itself predict with the average, before it learns a row?
    predicts_in_loop: bool = False

    # -- growing -----------------------------------------------------------------------------------------------

    def reserve(self, scores: int, width: int) -> bool:
        """Make room for this many functions and features; True if arrays moved, so that ``rep`` is another one."""

    def split(self, factor: float) -> None:
        """Turn one binary function w into the two of a run with two rows: ``-factor w`` and ``factor w``."""

    # -- around the loop ---------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Make the choices that must wait until the first row; may be called again."""
        return

    def grow(self, rows: Any, t: int) -> None:
        """Make the room for which the loop stopped at row t of the rows; with most tables it never does."""
        return

    def settle(self) -> None:
        """Finish what a run of the loop has left to Python."""
        return

    # -- reading -----------------------------------------------------------------------------------------------

    def weights(self, scores: int, rounds: int) -> Floats:
        """The first functions as rows, the constant feature first; their average over the rounds where one is kept.

        With ``rounds`` 0 it is the last hypothesis in any case.
        """

    def predictor(self, rounds: int) -> Any:
        """What predictions are scored with: ``rep``, or one like it of the average over the rounds."""
        return self.rep

    # -- files -------------------------------------------------------------------------------------------------

    def state(self, scores: int) -> StoredArrays:
        """Arrays that hold everything, without the room to spare."""

    def restore(self, arrays: StoredArrays) -> None:
        """Restore what ``state`` returned; damaged arrays, which compiled code must not see, are a ``ValueError``."""

    def _bind(self) -> None:
        """Make ``rep`` from the arrays."""
        return

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "rep"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(owning(state))
        self._bind()


def owning(held: Any) -> Any:
    """The same with copies of read-only arrays: joblib maps those of a pickle from a file.

    >>> frozen = np.frombuffer(bytes(8))
    >>> owning({"W": frozen, "more": [frozen]})["more"][0].flags.writeable
    True
    """
    if isinstance(held, np.ndarray):
        return held if held.flags.writeable else np.array(held)
    if isinstance(held, tuple):
        parts = [owning(part) for part in held]
        return type(held)(*parts) if hasattr(held, "_fields") else tuple(parts)
    if isinstance(held, list):
        held[:] = [owning(part) for part in held]
    elif isinstance(held, dict):
        held.update([(name, owning(part)) for name, part in held.items()])
    elif type(held).__module__.startswith("ellipsoid.") and hasattr(held, "__dict__"):
        owning(held.__dict__)
    return held
