"""Rolling a learner back when a step is interrupted: by Ctrl-C, a full memory, an error in a user's function.

A step of many lines of Python may end after any of them. So it either replaces an object, and the old one is still
there, or saves what it is going to change. A mark holds the attributes of the objects to which a step may assign, the
content of the small arrays that it may write to, and those parts of large arrays that it saves.
"""

import copy
from collections.abc import Iterable
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray


class Mark:
    """The state of objects and small arrays now.

    >>> class Point:
    ...     pass
    >>> point, large = Point(), np.zeros(4)
    >>> point.at, point.seen = (0, 0), np.zeros(1)
    >>> mark = Mark([point], [point.seen])
    >>> mark.save(large, slice(1, 2))
    >>> point.at, point.name, point.seen[0], large[1] = (3, 4), "new", 7.0, 5.0
    >>> mark.restore()
    >>> vars(point), large
    ({'at': (0, 0), 'seen': array([0.])}, array([0., 0., 0., 0.]))
    """

    def __init__(self, objects: Iterable[Any], arrays: Iterable[NDArray[Any]]) -> None:
        self.attributes = [(each, each.__dict__.copy()) for each in objects]
        self.contents: list[tuple[NDArray[Any], Any, NDArray[Any]]] = [(array, ..., array.copy()) for array in arrays]

    def save(self, array: NDArray[Any], where: Any) -> None:
        """Save a part of an array that is going to be written to."""
        self.contents.append((array, where, np.array(array[where])))

    def restore(self) -> None:
        """Restore everything; doing so twice is harmless."""
        for array, where, content in reversed(self.contents):
            array[where] = content
        for each, attributes in self.attributes:
            each.__dict__ = attributes.copy()


class Marked(Protocol):
    """The interface of what can be rolled back; a part of every table."""

    def mutable_parts(self) -> list[Any]:
        """The objects to whose attributes a step may assign."""
        return [self]

    def step_arrays(self) -> list[NDArray[Any]]:
        """The arrays that a step may write to without saving them first: those of ``numbers``, where there are some."""
        return [self.numbers] if hasattr(self, "numbers") else []

    def block_arrays(self) -> list[NDArray[Any]]:
        """The arrays that the loop over a whole block may write to without saving them first."""
        return self.step_arrays()

    def after_rollback(self) -> None:
        """Make anew what is only derived from the state that was restored."""
        return

    def finish(self) -> None:
        """Finish what the loop has left to do after the last row, if that was interrupted."""
        return

    def twin(self) -> Self:
        """A copy that shares nothing but the kernel, which may be the user's own function."""
        kernel = getattr(self, "kernel", None)
        return copy.deepcopy(self, {id(kernel): kernel})
