"""Base classes of learners that keep an ellipsoid cut by slabs, and the intervals of predictions within it."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ellipsoid.ellipsoids import Ellipsoid
from ellipsoid.ellipsoids import state as slots
from ellipsoid.ellipsoids.tables.slab import SlabTable
from ellipsoid.engine.rows import TINY
from ellipsoid.representation.table_protocol import Floats
from ellipsoid.representation.tables import LinearTable
from ellipsoid.rules import cellip
from ellipsoid.rules.slab import SPACING, Slab, learn_slabs

from .inputs.frames import table_of, word_columns
from .inputs.rows import InvalidInput, RowSource, check_memory
from .state.learner import Learner

# What to do after a proof that the ellipsoid is empty.
POLICIES = {"skip": cellip.SKIP, "freeze": cellip.FREEZE, "restart": cellip.RESTART, "raise": cellip.RAISE}


class CutBySlabs(Learner):
    """A learner that keeps an ellipsoid cut by slabs around its weights."""

    loop = staticmethod(learn_slabs)

    def by_class(self, source: RowSource, classes: int = 0) -> bool:
        return True

    def check_learning(self, source: RowSource) -> None:
        """Refuse also rows that are too wide: the ellipsoid has a number for every pair of features."""
        super().check_learning(source)
        if source.width > self.width:
            check_memory((1 + source.width) ** 2, f"the ellipsoid of {source.width} features")

    def new_table(self, by_class: bool) -> Any:
        rule, linear = self.rule, LinearTable(by_class=True, average=False)
        return SlabTable(
            linear, part=Slab, constant=self.constant != 0.0, radius=rule.radius, drift=rule.drift,
            raises=rule.policy == cellip.RAISE,
        )  # fmt: skip


class VersionSpaceAttributes:
    """What was learned by an estimator whose ellipsoid holds every hypothesis that fits all rows so far."""

    _fitted: Any

    @property
    def version_space_(self) -> Ellipsoid:
        """The ellipsoid that holds every hypothesis which fits; the intercept is its first coordinate."""
        return self._fitted("version_space_").table.ellipsoid()

    @property
    def log_volume_(self) -> float:
        """log det P of that ellipsoid."""
        return float(self._fitted("log_volume_").table.log_det())

    @property
    def infeasible_(self) -> int:
        """Rows that no remaining hypothesis fits, zero rows included: above 0 the assumption is proved wrong."""
        return int(self._fitted("infeasible_").table.numbers[slots.EMPTY_COUNT])

    @property
    def infeasible_round_(self) -> int | None:
        """The round (counted from 1) of the first such row; with ``update_rounds_`` before it, a proof."""
        return int(self._fitted("infeasible_round_").table.numbers[slots.EMPTY_ROUND]) or None

    @property
    def changes_(self) -> NDArray[np.int64]:
        """With ``on_infeasible="restart"``, the rounds (counted from 1) of all proofs: each row contradicts what was
        learned since the proof before it. As long as the assumption holds, there are none.
        """
        return self._fitted("changes_").table.changes.astype(np.int64)


def refuse_words(X: Any) -> None:
    """Raise ``ValueError`` for a frame with a column of words, for which an ellipsoid would be too large."""
    if hasattr(X, "columns") and (words := word_columns(table_of(X))):
        raise InvalidInput(
            f"the column {words[0]!r} of X holds words, for which an ellipsoid would have 2**18 columns: leave it out, "
            "or give the rows as dicts, where only the words that occur become features"
        )


def half_widths(table: Any, source: RowSource, start: int, stop: int, drift: float) -> Floats:
    """sqrt(x'Px) + drift |x| of rows start..stop, rounded up: the truth may move before the row comes.

    The truth may also have weights for features that no row had yet.
    """
    rows: Any = source.rows(start, stop)
    if source.sparse:
        dense = sp.csr_matrix((rows.data, rows.indices, rows.indptr), shape=(stop - start, source.width)).toarray()
    else:
        dense = np.asarray(rows.X, dtype=np.float64)
    wide = np.zeros((stop - start, 1 + table.width))
    wide[:, 0], wide[:, 1 : 1 + dense.shape[1]] = source.constant, dense
    square = np.maximum(0.0, np.einsum("ni,ij,nj->n", wide, table.B, wide))
    largest = np.abs(wide).max(axis=1)
    lengths = largest * np.sqrt(((wide / np.where(largest > 0.0, largest, 1.0)[:, np.newaxis]) ** 2).sum(axis=1))
    share, centre = 8.0 * SPACING * (wide.shape[1] + 4.0), float(np.linalg.norm(table.weights(1, 0)))
    trace = float(np.trace(table.B))
    spread = np.sqrt(square + share * lengths**2 * trace)
    vanished = np.minimum(square, lengths**2) < TINY
    spread[vanished] = np.sqrt(trace) * lengths[vanished]
    spread = (spread + drift * lengths + (table.longest + drift) * source.dropped_sizes(start, stop)) * (1.0 + 1e-12)
    return np.asarray(spread + share * centre * lengths + TINY)


def interval(predicted: Floats, half: Floats, noise: float) -> tuple[Floats, Floats]:
    """The ends of the intervals around predictions, rounded outwards."""
    wide = (half + noise) * (1.0 + 8.0 * SPACING) + 8.0 * SPACING * np.abs(predicted)
    return predicted - wide, predicted + wide
