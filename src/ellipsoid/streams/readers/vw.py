"""Vowpal Wabbit's text: what the scanner finds, as sparse matrices and labels, and its flaws as error messages."""

from typing import Any

from ..format import RowPieces
from ..options import Options
from ..scan import reasons
from ..scan import vw as scan
from ..scan.svmlight import SparseRows
from .blocks import Origin, TextBlock
from .errors import after_return, token
from .sparse_text import SparseText, matrix

_SENTENCES = {
    reasons.NO_LABEL: "a line must begin with its label, a number, got {}; give labelled=False where none has one",
    reasons.NO_BAR: "numbers and a tag must be followed by |, got {}",
    reasons.NO_WEIGHT: "an importance must not be negative, got {}",
    reasons.NO_VALUE: "what follows a colon must be a number, got {}",
    reasons.NO_NAME: "a feature must have a name, got {}",
    reasons.OVERFLOW: "a value times the scale of its namespace must be well within the range of float64, got {}",
}


class VowpalWabbit(SparseText):
    """``label |namespace feature:value …``, one example per line, hashed to ``2**bits`` columns."""

    shortest_value, mark = 2, b" "

    def __init__(self, origin: Origin, options: Options) -> None:
        super().__init__(origin, options)
        self.bits = options.hash_bits
        self.n_features = 1 << self.bits
        self._weighted_rows = 0

    def describe(self) -> str:
        weights = f"; {self._weighted_rows} importance weights" if self._weighted_rows else ""
        return f"Vowpal Wabbit text, features hashed to {self.bits} bits{weights}"

    def pieces(self) -> RowPieces:
        """Rows, labels and importances, which are counted where they are not 1."""
        self._weighted_rows = 0
        for X, y, weights in super().pieces():
            if weights is not None:
                self._weighted_rows += int((weights != 1.0).sum())
            yield X, y, weights

    def piece(self, block: TextBlock, out: SparseRows, found: Any, rows: int) -> tuple[Any, Any, Any]:
        """Rows, labels and importances of a scan; none where all are 1."""
        weights = out.weights[:rows]
        X = matrix(out, rows, 1 << self.options.hash_bits, hashed=True)
        return X, out.labels[:rows], weights if (weights != 1.0).any() else None

    def scan_lines(self, text: Any, position: int, stop: int, out: SparseRows) -> Any:
        rules = scan.VwRules((1 << self.options.hash_bits) - 1, self.options.labelled)
        return scan.VwStop(*scan.scan_vw(text, position, stop, rules, out))

    def flaw(self, block: TextBlock, found: Any) -> str:
        if block.raw[found.position] == 13 and block.raw[found.position + 1] not in b"\r\n":
            return after_return(block, found.position)
        return _SENTENCES[found.reason].format(token(block, found.position))
