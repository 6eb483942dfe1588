"""How a learner goes back to where it stood, when a step is broken off: by an interrupt, a full memory, a user's error.

A step that takes many lines of Python may end behind any of them. So what it changes must be either replaced, and then
the object that was is still there, or noted before. A mark holds the attributes of the objects that a step may give
new values, the content of the small arrays it may write to, and whatever part of a large one it says it is about to.
"""

import copy
from collections.abc import Iterable
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray


class Mark:
    """Objects and small arrays as they are now.

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
        """Note a part of an array that is going to be written to."""
        self.contents.append((array, where, np.array(array[where])))

    def restore(self) -> None:
        """Back to what was; to do it twice does no harm."""
        for array, where, content in reversed(self.contents):
            array[where] = content
        for each, attributes in self.attributes:
            each.__dict__ = attributes.copy()


class Marked(Protocol):
    """What is asked of something that can be marked; a part of every table."""

    def mutable_parts(self) -> list[Any]:
        """The objects whose attributes a step may give new values."""
        return [self]

    def step_arrays(self) -> list[NDArray[Any]]:
        """The arrays that a step may write to without saving them first."""
        return []

    def block_arrays(self) -> list[NDArray[Any]]:
        """The arrays that the loop over a whole block may write to without saving them first."""
        return self.step_arrays()

    def after_rollback(self) -> None:
        """Make anew what is only derived from the state that was restored."""
        return

    def finish(self) -> None:
        """Do what the loop has left to be done after the last row, if that was broken off."""
        return

    def twin(self) -> Self:
        """A copy that shares nothing but the kernel, which may be the user's own function."""
        kernel = getattr(self, "kernel", None)
        return copy.deepcopy(self, {id(kernel): kernel})
