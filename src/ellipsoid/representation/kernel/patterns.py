"""Support patterns: the rows of a kernel expansion, dense, sparse, or columns of a given kernel matrix.

A pattern is found by its content (`pattern_index`), so that an example that comes again gets its old place, in whatever
call and in whatever kind of rows it comes. Arrays double when they are full.

A kernel value depends on its two rows alone, to the last bit, not on the block that they are in; the same holds for
norms, and for whether a row is far from the origin.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ellipsoid.engine.rows import CSR, Dense

from ..rollback import Mark
from ..table_protocol import Floats
from ..tables import doubled, widened
from .functions import RBF, Function, from_products
from .norms import squared_row_norms
from .packing import Nonzeros, Values, laid_out, parts, tiled
from .pattern_index import PatternIndex
from .threads import together
from .tiles import Compressed, TileRows, Whole

Picks = slice | NDArray[np.int64]
NO_COLUMNS: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

# Sparse rows of more features are not laid out: most of the lanes would hold zeros.
WIDEST_LAYOUT = 8192

# Squared norms of dense rows, in units of one over gamma, beyond which a Gaussian is made from differences: rounding of
# inner products is felt there, 1e-13 of its value for each feature.
FAR = 500.0


class Block(NamedTuple):
    """Rows against which kernel values are wanted: a matrix of the patterns' kind, and its squared norms.

    ``columns`` are the rows' own places in a given kernel matrix; otherwise it is empty. ``tiles`` holds the rows laid
    out for a kernel that is made in tiles.
    """

    matrix: Any
    norms: Floats
    columns: NDArray[np.int64]
    tiles: TileRows | None = None

    def part(self, picks: Picks) -> "Block":
        """Some of the rows."""
        return Block(self.matrix[picks], self.norms[picks], self.columns[picks])


class Patterns:
    """What all kinds of patterns share: norms, the index by content, kernel values against a block."""

    sparse = False

    def __init__(self, width: int) -> None:
        self.width = width
        self.used = 0
        self.norms: Floats = np.zeros(0)
        self.pattern_index = PatternIndex()

    # -- what differs from kind to kind ------------------------------------------------------------------------

    def block(self, rows: Dense | CSR, picks: Picks, columns: NDArray[np.int64]) -> Block:
        """Rows of a chunk as a block of this kind."""
        matrix = self.matrix_of(rows, picks)
        return Block(matrix, squared_row_norms(matrix), columns)

    def lay_out(self, kernel: Any, block: Block) -> Block:
        """The block with its rows laid out, if values of this kernel are made in tiles."""
        if block.tiles is not None or not tiled(kernel) or (self.sparse and self.width > WIDEST_LAYOUT):
            return block
        far = block.norms > FAR / kernel.gamma if isinstance(kernel, RBF) and not self.sparse else None
        return block._replace(tiles=laid_out(block.matrix, block.norms, far))

    def matrix_of(self, rows: Dense | CSR, picks: Picks) -> Any:
        """Some rows of a chunk as a matrix of the patterns' kind."""
        raise NotImplementedError

    def rows(self, slots: Picks) -> Any:
        """Some of the patterns as a matrix; of a slice a view."""
        raise NotImplementedError

    def kept(self) -> Dense | CSR:
        """All patterns as rows, for the index."""
        raise NotImplementedError

    def content(self, block: Block) -> Dense | CSR:
        """The rows of a block, for the index."""
        raise NotImplementedError

    def append(self, block: Block, rows: NDArray[np.int64]) -> None:
        """Store some rows of a block behind all others."""
        raise NotImplementedError

    def put(self, slot: int, block: Block, t: int, mark: Mark) -> None:
        """Overwrite a pattern by row t of a block."""
        raise NotImplementedError

    def stored(self) -> Whole | Compressed:
        """The patterns as `tiles` reads them; without their zeros, if these are many."""
        raise NotImplementedError

    def as_stored(self, block: Block) -> Whole | Compressed:
        """The rows of a block as `tiles` reads patterns."""
        raise NotImplementedError

    def widen(self, width: int) -> None:
        """Make room for more features."""
        raise NotImplementedError

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All patterns, for a model file."""
        raise NotImplementedError

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take back what ``arrays`` gave."""
        raise NotImplementedError

    # -- what is the same for all ------------------------------------------------------------------------------

    def place(self, block: Block, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The slots of some rows of a block, in their order; rows not known yet are stored at the end."""
        slots, fresh = self.pattern_index.place(self.kept(), self.used, self.content(block), rows)
        if len(fresh):
            end = self.used + len(fresh)
            self.norms = doubled(self.norms, end)
            self.norms[self.used : end] = block.norms[fresh]
            self.append(block, fresh)
            self.used = end
        return slots

    def replace(self, slot: int, block: Block, t: int, mark: Mark) -> None:
        """Replace the pattern of a slot by row t."""
        mark.save(self.pattern_index.chains.hashes, slot)
        mark.save(self.norms, slot)
        self.pattern_index.replace(slot, self.content(block), t)
        self.put(slot, block, t, mark)
        self.norms[slot] = block.norms[t]

    def after_rollback(self) -> None:
        self.pattern_index.link(self.used)

    def squared_norms(self, some: slice) -> Floats:
        return self.norms[some]

    def find_one(self, block: Block, t: int) -> int:
        """The slot of row t of a block, or ``END`` if it is no pattern."""
        return self.pattern_index.find_one(self.kept(), self.content(block), t)

    def find(self, block: Block, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The slots of some rows of a block, ``END`` for those that are no patterns."""
        return self.pattern_index.find(self.kept(), self.content(block), rows)

    def values(self, kernel: Any, block: Block, slots: Picks) -> Floats:
        """K of every row of the block with some of the patterns."""
        block = self.lay_out(kernel, block)
        if block.tiles is not None:
            some = np.arange(slots.start, slots.stop) if isinstance(slots, slice) else slots
            found = Values(kernel, self.stored(), some, block.tiles, np.empty((len(some), len(block.norms))))
            together(found.work, found.parts, found.effort)
            return found.out.T
        patterns = self.rows(slots)
        if isinstance(kernel, Function):
            return kernel.values(block.matrix, patterns)
        return _wide_values(kernel, patterns, self.norms[slots], block).T

    def gram(self, kernel: Any, block: Block, constant2: float, *, half: bool = False) -> Floats:
        """K + constant2 of the rows of a block with each other: ``[t, s]`` is what a score of row s adds for pattern t.

        With ``half`` it may hold anything for s < t.
        """
        if isinstance(kernel, Function):
            return np.ascontiguousarray(kernel.values(block.matrix, block.matrix).T + constant2)
        block = self.lay_out(kernel, block)
        if block.tiles is not None:
            found = self.own_values(kernel, block, constant2, half=half)
            together(found.work, found.parts, found.effort)
            return with_diagonal(kernel, found.out, constant2)
        out = _wide_values(kernel, block.matrix, block.norms, block)
        out += constant2
        return with_diagonal(kernel, out, constant2)

    def own_values(
        self, kernel: Any, block: Block, constant2: float, *, half: bool, spare: Floats | None = None
    ) -> Values:
        """The work of ``gram`` for rows laid out, which goes into ``spare`` if that has the shape for it."""
        assert block.tiles is not None
        count = len(block.norms)
        out = spare if spare is not None and spare.shape == (count, count) else np.empty((count, count))
        return Values(kernel, self.as_stored(block), np.arange(count), block.tiles, out, constant2, half=half)


class DensePatterns(Patterns):
    """One array, whose rows are the patterns."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.table: Floats = np.zeros((0, width))
        self.nonzeros = Nonzeros()

    def matrix_of(self, rows: Dense | CSR, picks: Picks) -> Floats:
        if isinstance(rows, CSR):
            return _csr(rows, picks, self.width).toarray()
        return np.require(rows.X[picks], np.float64, ["C", "W"])

    def rows(self, slots: Picks) -> Floats:
        return self.table[slots]

    def append(self, block: Block, rows: NDArray[np.int64]) -> None:
        end = self.used + len(rows)
        self.table = doubled(self.table, end)
        self.table[self.used : end] = block.matrix[rows]

    def kept(self) -> Dense:
        return Dense(self.table, 0.0)

    def content(self, block: Block) -> Dense:
        return Dense(block.matrix, 0.0)

    def put(self, slot: int, block: Block, t: int, mark: Mark) -> None:
        mark.save(self.table, slot)
        self.table[slot] = block.matrix[t]
        self.nonzeros.forget(slot)

    def after_rollback(self) -> None:
        super().after_rollback()
        # It may hold rows that were taken back.
        self.nonzeros = Nonzeros()

    def stored(self) -> Whole | Compressed:
        used = self.used  # read before the rows, which are stored before they are counted
        return self.nonzeros.of(self.table, used, self.norms) or Whole(self.table, self.norms)

    def as_stored(self, block: Block) -> Whole | Compressed:
        found = Nonzeros().of(block.matrix, len(block.norms), block.norms) if self.nonzeros.worthwhile else None
        return found or Whole(block.matrix, block.norms)

    def widen(self, width: int) -> None:
        self.table, self.width = widened(self.table, width), width

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"SV": self.table[: self.used].copy()}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        SV = arrays["SV"]
        if SV.ndim != 2 or SV.shape[1] != self.width or not np.isfinite(SV).all():
            raise ValueError("its support patterns have a wrong shape or are not finite")
        rows = Dense(np.ascontiguousarray(SV, dtype=np.float64), 0.0)
        replay(self, self.block(rows, slice(0, len(SV)), NO_COLUMNS))


class SparsePatterns(Patterns):
    """Compressed sparse rows that grow at the end."""

    sparse = True

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.data: Floats = np.zeros(0)
        self.indices: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.indptr: NDArray[np.int64] = np.zeros(1, dtype=np.int64)

    def matrix_of(self, rows: Dense | CSR, picks: Picks) -> Any:
        if isinstance(rows, CSR):
            return _csr(rows, picks, self.width)
        return sp.csr_matrix(np.asarray(rows.X[picks], dtype=np.float64))

    def rows(self, slots: Picks) -> Any:
        return _csr(CSR(self.data, self.indices, self.indptr[: self.used + 1], 0.0, self.width), slots, self.width)

    def append(self, block: Block, rows: NDArray[np.int64]) -> None:
        new = block.matrix[rows]
        begin, end = int(self.indptr[self.used]), int(self.indptr[self.used]) + new.nnz
        self.data, self.indices = doubled(self.data, end), doubled(self.indices, end)
        self.indptr = doubled(self.indptr, self.used + len(rows) + 1)
        self.data[begin:end], self.indices[begin:end] = new.data, new.indices
        self.indptr[self.used + 1 : self.used + len(rows) + 1] = begin + new.indptr[1:]

    def put(self, slot: int, block: Block, t: int, mark: Mark) -> None:
        """Cut the old row out, which moves what lies behind it: into other arrays, for those that were are marked."""
        new = block.matrix[[t]]
        begin, behind, end = (int(self.indptr[i]) for i in (slot, slot + 1, self.used))
        indptr = self.indptr.copy()
        indptr[slot + 1 : self.used + 1] += new.nnz - (behind - begin)
        data = np.concatenate([self.data[:begin], new.data, self.data[behind:end]])
        indices = np.concatenate([self.indices[:begin], new.indices, self.indices[behind:end]]).astype(np.int64)
        self.data, self.indices, self.indptr = data, indices, indptr

    def stored(self) -> Compressed:
        return Compressed(self.data, self.indices, self.indptr, self.norms)

    def as_stored(self, block: Block) -> Compressed:
        return Compressed(*parts(block.matrix), block.norms)

    def widen(self, width: int) -> None:
        self.width = width

    def kept(self) -> CSR:
        return CSR(self.data, self.indices, self.indptr, 0.0, self.width)

    def content(self, block: Block) -> CSR:
        return CSR(*parts(block.matrix), 0.0, self.width)

    def arrays(self) -> dict[str, NDArray[Any]]:
        end = self.indptr[self.used]
        return {
            "SV_data": self.data[:end].copy(),
            "SV_indices": self.indices[:end].copy(),
            "SV_indptr": self.indptr[: self.used + 1].copy(),
        }

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        data, indices, indptr = (arrays[f"SV_{name}"] for name in ("data", "indices", "indptr"))
        sound = len(indptr) > 0 and indptr[0] == 0 and indptr[-1] == len(data) == len(indices)
        if not (sound and (np.diff(indptr) >= 0).all() and np.isfinite(data).all()):
            raise ValueError("its support patterns are damaged")
        if len(indices) and not (indices.min() >= 0 and indices.max() < self.width):
            raise ValueError("its support patterns have features beyond its width")
        rows = CSR(data, indices, indptr, 0.0, self.width)
        replay(self, self.block(rows, slice(0, len(indptr) - 1), NO_COLUMNS))


def with_diagonal(kernel: Any, gram: Floats, constant2: float) -> Floats:
    """The same, without what rounding made of the distances of rows from themselves."""
    if isinstance(kernel, RBF):
        np.fill_diagonal(gram, 1.0 + constant2)
    return gram


def _wide_values(kernel: Any, patterns: Any, norms: Floats, block: Block) -> Floats:
    """K of sparse patterns with the rows of a block: products are sums in the order of the features for either."""
    out: Floats = (patterns @ block.matrix.T).toarray(order="C")
    from_products(kernel, out, norms, block.norms)
    return out


def _csr(rows: CSR, picks: Picks, width: int) -> Any:
    if isinstance(picks, slice):
        low, high = rows.indptr[picks.start], rows.indptr[picks.stop]
        pointers = rows.indptr[picks.start : picks.stop + 1] - low
        parts = (rows.data[low:high].astype(np.float64, copy=False), rows.indices[low:high], pointers)
        return sp.csr_matrix(parts, shape=(picks.stop - picks.start, width))
    low, high = rows.indptr[0], rows.indptr[-1]
    parts = (rows.data[low:high], rows.indices[low:high], rows.indptr - low)
    return sp.csr_matrix(parts, shape=(len(rows.indptr) - 1, width))[picks].astype(np.float64)


def replay(patterns: Patterns, block: Block) -> None:
    """Store the patterns of a file, all of them in a block; raise ``ValueError`` if one comes twice."""
    everyone = np.arange(len(block.norms))
    if (patterns.place(block, everyone) != everyone).any():
        raise ValueError("it holds one support pattern twice")
