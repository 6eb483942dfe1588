"""Vowpal Wabbit's text: what the scanner finds, put into matrices and words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ellipsoid.streams.blocks import Block, Origin
from ellipsoid.streams.labels import Numbers
from ellipsoid.streams.options import Options
from ellipsoid.streams.scan import vw as scan
from ellipsoid.streams.scan.svmlight import Rows
from ellipsoid.streams.sparse_text import SparseText, matrix
from ellipsoid.streams.words import token

_SENTENCES = {
    scan.NO_LABEL: "a line must begin with its label, a number, got {}",
    scan.NO_BAR: "numbers and a tag must be followed by |, got {}",
    scan.NO_VALUE: "what follows a colon must be a number, got {}",
    scan.NO_NAME: "a feature must have a name, got {}",
    scan.TOO_LARGE: "a value times the scale of its namespace must fit a float64 easily, got {}",
}


class VowpalWabbit(SparseText):
    """``label |namespace feature:value …``, one example a line, hashed to ``2**bits`` columns."""

    shortest = 2

    def __init__(self, origin: Origin, options: Options) -> None:
        super().__init__(origin, options)
        self.n_features: int | None = 1 << options.hash_bits
        self._important = 0

    @property
    def description(self) -> str:
        """What is read, with what was passed over."""
        weights = f"; {self._important} importance weights ignored" if self._important else ""
        return f"Vowpal Wabbit text, features hashed to {self.options.hash_bits} bits{weights}"

    def pairs(self) -> Iterator[tuple[Any, Any]]:
        """Rows and labels, block by block."""
        self.lines = self._important = 0
        numbers, width = Numbers(), 1 << self.options.hash_bits
        for block in self.origin.blocks():
            for out, found in self.scans(block):
                self._important += found.important
                X = matrix(out, found, width, hashed=True)
                for part, y in numbers.pieces(out.labels[: found.rows]):
                    yield (X if len(y) == found.rows else X[part]), y

    def run(self, text: Any, position: int, stop: int, out: Rows) -> Any:
        """Scan lines from a position on."""
        rules = scan.Rules((1 << self.options.hash_bits) - 1, self.options.labelled)
        return scan.Stop(*scan.scan(text, position, stop, rules, out))

    def flaw(self, block: Block, found: Any) -> str:
        """The sentence for the flaw at which a scan stopped."""
        return _SENTENCES[found.reason].format(token(block, found.position))
