"""What shards contribute to the merged model: weighted sums, plain sums, and maxima.

The contributions of shards are added in pairs by a fixed tree over the numbers of the shards, so that the result is the
same to the bit whoever adds them, and when.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ellipsoid.representation.table_protocol import Floats

Item = TypeVar("Item")


class Part(NamedTuple):
    """The contribution of ``shards`` shards whose weights sum to ``coefficient``.

    ``weighted`` are sums of arrays times the weights of their shards, ``added`` plain sums, ``largest`` maxima, and
    ``heaviest`` maxima of arrays times the weights.
    """

    shards: int
    coefficient: float
    weighted: dict[str, Floats]
    added: dict[str, Floats]
    largest: dict[str, Floats]
    heaviest: dict[str, Floats]

    def times(self, coefficient: float) -> "Part":
        """The contribution of a shard with another weight than 1."""
        return self._replace(
            coefficient=coefficient * self.coefficient,
            weighted={name: coefficient * array for name, array in self.weighted.items()},
            heaviest={name: coefficient * array for name, array in self.heaviest.items()},
        )

    def mean(self, name: str) -> Floats:
        """The weighted mean of an array."""
        return self.weighted[name] / self.coefficient


def add_two(left: Part, right: Part) -> Part:
    """The contribution of both."""
    return Part(
        left.shards + right.shards,
        left.coefficient + right.coefficient,
        _both(np.add, left.weighted, right.weighted),
        _both(np.add, left.added, right.added),
        _both(np.maximum, left.largest, right.largest),
        _both(np.maximum, left.heaviest, right.heaviest),
    )


def _both(function: Any, left: dict[str, Floats], right: dict[str, Floats]) -> dict[str, Floats]:
    return {name: function(left[name], right[name]) for name in left}


def in_pairs(items: Sequence[Item], join: Callable[[Item, Item], Item]) -> Item:
    """Join neighbours, then the results that are neighbours, until one is left.

    >>> in_pairs("abcde", lambda left, right: f"({left}{right})")
    '(((ab)(cd))e)'
    """
    while len(items) > 1:
        pairs = [items[i : i + 2] for i in range(0, len(items), 2)]
        items = [join(pair[0], pair[1]) if len(pair) == 2 else pair[0] for pair in pairs]
    return items[0]
