"""Send a file of any format to a service in batches, each row exactly once, and resume where sending stopped.

The key of an example is the digest of its file and the number of its row among those of weight 1, so that nothing is
learned twice when a file is sent again. Because batches are learned as a whole and in order, the keys that the service
knows show where sending stopped.
"""

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ellipsoid.streams.stream import Stream

from .client import Client, batches


def file_digest(path: Path) -> str:
    """A digest of the content of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:32]


def row_key(digest: str, row: int) -> str:
    """The key of a row; the keys of a file sort in the order of its rows."""
    return f"{digest}-{row:012d}"


def first_unsent(client: Client, name: str, digest: str) -> int:
    """The number of the first row that the service does not have."""
    if not client.has_key(name, row_key(digest, 0)):
        return 0
    low, high = 0, 1
    while client.has_key(name, row_key(digest, high)):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if client.has_key(name, row_key(digest, middle)) else (low, middle)
    return high


def examples_of(stream: Stream, start: int) -> Iterator[tuple[int, Any, Any]]:
    """Numbers, features and labels of rows, from number ``start`` on.

    A row of weight 0 is left out and gets no number, since `first_unsent` needs numbers without gaps.
    """
    number = 0
    for chunk in stream:
        if chunk.y is None:
            raise ValueError(f"{stream.name} has no labels to learn from")
        labels = chunk.y.tolist()
        weights = [1.0] * len(labels) if chunk.weights is None else chunk.weights.tolist()
        for i, weight in enumerate(weights):
            if weight not in (0.0, 1.0):
                raise ValueError(
                    f"row {chunk.offset + i + 1} of {stream.name} has the weight {weight:g}, but a service learns "
                    "each row once: leave out weights other than 0 and 1, or learn the file with ellipsoid learn"
                )
        for i in (i for i, weight in enumerate(weights) if weight):
            if number >= start:
                yield number, _example(chunk.X, i, stream), labels[i]
            number += 1


def _example(X: Any, i: int, stream: Stream) -> Any:
    if isinstance(X, list):
        return X[i]
    if not hasattr(X, "indptr"):
        return X[i].tolist()
    # Features without names are named by their numbers in the file.
    shift = 0 if stream.zero_based or stream.bits is not None else 1
    span = slice(X.indptr[i], X.indptr[i + 1])
    return {
        str(column + shift): value
        for column, value in zip(X.indices[span].tolist(), X.data[span].tolist(), strict=True)
    }


def send(
    client: Client,
    name: str,
    stream: Stream,
    digest: str,
    *,
    rows: int = 1000,
    tick: Callable[[int], None] | None = None,
) -> dict[str, int]:
    """Send the rows that the service does not have; how many it had before, learned now, and found twice."""
    start = first_unsent(client, name, digest)
    total = {"resumed": start, "learned": 0, "duplicates": 0}
    for batch in batches(examples_of(stream, start), rows):
        lines = [{"x": x, "y": y, "key": row_key(digest, row)} for row, x, y in batch]
        answer = client.learn_many(name, lines, rows)
        for count in ("learned", "duplicates"):
            total[count] += answer[count]
        if tick is not None:
            tick(start + total["learned"] + total["duplicates"])
    return total
