"""A compiled reader of lines ``{"x": [numbers], "y": label}``, which is quick, and runs while other threads use Python.

It reads the usual form of such lines, with all rows as long as the first. For any other text it gives up, and the
ordinary decoder is used. Numbers are those that Python reads, to the last bit.
"""

from typing import Any

import numpy as np

from ellipsoid.streams.readers.blocks import SLACK
from ellipsoid.streams.scan.dense_json import GAVE_UP, scan_dense_lines

# Shorter text is read by the ordinary decoder.
SHORTEST_TEXT = 1 << 14


class _Switch:
    """Whether the machine code is loaded: until then the ordinary decoder is used, and nobody waits."""

    ready = False


def warm_up() -> None:
    """Load the machine code, compiling it where that was never done."""
    text = b"\n".join([b'{"x": [1.5, -2e-3], "y": 1}', b'{"x": [1, 20], "y": "a"}', b""])
    _Switch.ready = _scan(text) is not None


def scan_lines(text: bytes) -> tuple[Any, list[Any]] | None:
    """The matrix and the labels of lines, or None."""
    if len(text) < SHORTEST_TEXT or not _Switch.ready:
        return None
    return _scan(text)


def _scan(text: bytes) -> tuple[Any, list[Any]] | None:
    if not text.endswith(b"\n"):
        text += b"\n"
    head = text[: text.find(b"\n")]
    width = head.count(b",", 0, max(0, head.rfind(b"]"))) + 1
    rows = text.count(b"\n")
    if not head.startswith(b'{"x"') or rows * width > len(text):
        return None
    padded = np.zeros(len(text) + SLACK, dtype=np.uint8)
    padded[: len(text)] = np.frombuffer(text, dtype=np.uint8)
    x, y, spans = np.empty((rows, width)), np.empty(rows, dtype=np.int64), np.zeros((rows, 2), dtype=np.int64)
    hard = np.empty((64 + rows * width // 64, 4), dtype=np.int64)
    left = scan_dense_lines(padded, len(text), x, y, spans, hard)
    if left == GAVE_UP:
        return None
    for row, column, begin, end in hard[:left].tolist():
        x[row, column] = float(text[begin:end])
    labels: list[Any] = y.tolist()
    if spans.any():
        words = spans[:, 0] > 0
        for i in np.flatnonzero(words).tolist():
            labels[i] = text[spans[i, 0] : spans[i, 1]].decode("ascii")
    return x, labels
