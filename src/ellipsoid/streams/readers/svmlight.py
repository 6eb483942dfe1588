"""Svmlight text: what the scanner finds, as sparse matrices and labels, and its flaws as error messages.

The format does not say whether features count from 0 or from 1. The first block decides: from 0 if a line of it has a
feature 0, else from 1. A feature 0 that comes later is then an error; ``zero_based`` avoids it.
"""

from typing import Any

from ..options import Options
from ..scan import reasons
from ..scan import svmlight as scan
from .blocks import Origin, TextBlock
from .errors import token
from .sparse_text import SparseText, matrix

# Without n_features and bits, a feature beyond this is an error: it would take too much memory.
MOST_UNASKED = 1 << 24

_SENTENCES = {
    reasons.NO_LABEL: "a line must begin with its label, a number, got {}",
    reasons.MANY_LABELS: "a line must have one label, got {}; give sets of labels as arrays, with y a 0/1 matrix",
    reasons.NO_INDEX: "a feature must be written index:value, got {}",
    reasons.NO_COLON: "a feature must be written index:value, got {}",
    reasons.NO_VALUE: "the value of a feature must be a number, got {}",
    reasons.NOT_RISING: "the indices of the features must increase along a line, but {} follows one that is not "
    "smaller",
}


class Svmlight(SparseText):
    """``label index:value …``, one example per line."""

    def __init__(self, origin: Origin, options: Options) -> None:
        super().__init__(origin, options)
        self.n_features = options.n_features if options.bits is None else 1 << options.bits
        self.bits = options.bits
        self._base: int | None = None

    def describe(self) -> str:
        if self.bits is not None:
            return f"svmlight text, features hashed to {self.bits} bits"
        if self._base is None:
            return "svmlight text"
        how = "" if self.options.zero_based is not None else " (detected)"
        return f"svmlight text, features count from {self._base}{how}"

    def begin(self, block: TextBlock) -> int:
        zero = self.options.zero_based
        self._base = self._detected_base(block) if zero is None else int(not zero)
        if self.bits is None:
            self.zero_based = self._base == 0
        return 0

    def piece(self, block: TextBlock, out: scan.SparseRows, found: Any, rows: int) -> tuple[Any, Any, None]:
        """Rows, as wide as they need be, and labels of a scan."""
        width = self.n_features or max(1, found.largest - (self._base or 0) + 1)
        return matrix(out, rows, width, hashed=self.bits is not None), out.labels[:rows], None

    def _detected_base(self, block: TextBlock) -> int:
        if self.bits is not None or not scan.looks_zero_based(block.text, block.stop):
            return 1
        # It may be in a comment: scan the lines, up to the first flaw.
        rows, values = block.stop // self.shortest_row + 1, block.stop // self.shortest_value + 1
        out = self.buffers(rows, values, rows)
        rules = scan.SvmlightRules(base=0, width=2**31 - 1, drop=True, mask=-1)
        return int(scan.SvmlightStop(*scan.scan_svmlight(block.text, 0, block.stop, rules, out)).smallest > 0)

    def scan_lines(self, text: Any, position: int, stop: int, out: scan.SparseRows) -> Any:
        base = self._base or 0
        if self.bits is not None:
            rules = scan.SvmlightRules(base, 1 << 62, False, (1 << self.bits) - 1)
        else:
            width = MOST_UNASKED if self.n_features is None else self.n_features
            rules = scan.SvmlightRules(base, width, self.options.extra == "drop", -1)
        return scan.SvmlightStop(*scan.scan_svmlight(text, position, stop, rules, out))

    def flaw(self, block: TextBlock, found: Any) -> str:
        word = token(block, found.position)
        if found.reason == reasons.ZERO_INDEX:
            how = "count" if self.options.zero_based is False else "count in the first lines"
            return f"{word} is feature 0, but features {how} from 1; give zero_based=True from the first file on"
        if found.reason == reasons.TOO_WIDE and self.n_features is not None:
            return f"{word} is beyond n_features={self.n_features} (features count from {self._base})"
        if found.reason == reasons.TOO_WIDE:
            return (
                f"{word} is beyond {MOST_UNASKED} features, the most that are read without being told; "
                "give n_features or bits"
            )
        return _SENTENCES[found.reason].format(word)
