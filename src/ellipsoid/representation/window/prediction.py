"""A kernel expansion with a window, for prediction: the examples that have left it and those in it, together."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ellipsoid.engine.rows import CSR, Dense

from ..kernel.expansion import ExpansionTable
from ..kernel.history import add_to
from ..kernel.pattern_index import END
from ..kernel.patterns import NO_COLUMNS, Block, Floats, Picks
from ..signed_pairs import PAIR_BLOCK, PAIR_RIVAL, PAIR_RIVAL_SIGN, PAIR_SIGN


class Members(NamedTuple):
    """The examples of a window, oldest first, behind the ``used`` support patterns that had left it before.

    For each its alpha, what an average needs (``late``), and the functions and signs of its z (``pairs``).
    """

    used: int
    block: Block
    alpha: Floats
    late: Floats
    pairs: Floats

    def moved(self, coefficients: Floats, picks: NDArray[np.int64], functions: int) -> Floats:
        """``much z`` of some examples, alpha or late, in coefficients of their own: one row per example."""
        out, rows, pairs = np.zeros((len(picks), functions)), np.arange(len(picks)), self.pairs[picks]
        out[rows, pairs[:, PAIR_BLOCK].astype(np.int64)] = coefficients[picks] * pairs[:, PAIR_SIGN]
        two = np.flatnonzero(pairs[:, PAIR_RIVAL] >= 0.0)
        out[two, pairs[two, PAIR_RIVAL].astype(np.int64)] += coefficients[picks[two]] * pairs[two, PAIR_RIVAL_SIGN]
        return out


class Reading:
    """Support patterns and coefficients at one moment: those of ``table``, then those of the window in ``rest``.

    An example of the window that equals a support pattern shares its coefficients.
    """

    def __init__(self, table: ExpansionTable, rest: ExpansionTable, members: Members) -> None:
        self.table, self.rest, self.used = table, rest, members.used
        functions = table.coef.shape[1]
        rest.reserve(functions, table.width)
        counts = members.alpha != 0.0
        if table.average:
            counts |= members.late != 0.0
        picks = np.flatnonzero(counts)
        places = table.patterns.find(members.block, picks)
        # While a block is being stored there are more.
        fresh = np.flatnonzero((places == END) | (places >= self.used))
        places[fresh] = self.used + rest.patterns.place(members.block, picks[fresh])
        self.coef = self._together(table.coef, places, members.moved(members.alpha, picks, functions))
        if table.average:
            self.late = self._together(table.late, places, members.moved(members.late, picks, functions))

    def _together(self, kept: Floats, places: NDArray[np.int64], moved: Floats) -> Floats:
        out = np.zeros((self.used + self.rest.used, kept.shape[1]))
        out[: self.used] = kept[: self.used]
        add_to(out, places, moved)
        return out

    def block(self, rows: Dense | CSR, picks: Picks, columns: NDArray[np.int64] = NO_COLUMNS) -> Block:
        """Rows of a chunk, ready for kernel values."""
        return self.table.block(rows, picks, columns)

    def scores(self, block: Block, coef: Floats) -> Floats:
        """Scores of a block by an expansion over all patterns."""
        out = np.zeros((coef.shape[1], len(block.norms)))
        self.table.add_scores(block, coef[: self.used], out)
        self.rest.add_scores(block, coef[self.used :], out)
        return out.T

    def coefficients(self, scores: int, rounds: int) -> Floats:
        """A row for each pattern, averaged over the rounds where averages are kept."""
        kept = self.coef[:, :scores]
        return kept - self.late[:, :scores] / rounds if self.table.average and rounds else kept.copy()

    def support(self) -> Any:
        """The support patterns as rows."""
        both = [self.table.patterns.rows(slice(0, self.used)), self.rest.support()]
        return sp.vstack(both, format="csr") if self.table.patterns.sparse else np.concatenate(both)
