"""The common form of all formats of a stream: rows and labels in pieces, and what is known of them beforehand."""

from collections.abc import Iterator
from typing import Any

RowPieces = Iterator[tuple[Any, Any, Any]]


class Format:
    """How the bytes of an origin become rows and labels. What a format does not have, or not know yet, is None.

    ``whole`` are all rows and labels where they are in memory, to be handed out ``rows_at_once``; `Stream` describes
    the others.
    """

    n_features: int | None = None
    n_rows: int | None = None
    classes: Any = None
    header: list[str] | None = None
    columns: list[str] | None = None
    label_column: str | None = None
    kinds: dict[str, str | None] | None = None
    zero_based: bool | None = None
    bits: int | None = None
    whole: tuple[Any, Any] | None = None
    rows_at_once: int | None = None

    def describe(self) -> str:
        """The format in words, with what was detected."""
        raise NotImplementedError

    def pieces(self) -> RowPieces:
        """Rows, labels and weights (None: there are none) from the beginning, in pieces of bounded size."""
        raise NotImplementedError
