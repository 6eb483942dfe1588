"""Support patterns: the rows that carry a kernel expansion, dense, sparse, or columns of a given kernel matrix.

A pattern is known by its content (its non-zero features), so that a repeated visit finds its place again, in whatever
call and in whatever kind of rows it comes. Arrays double when they are full.
"""

from hashlib import blake2b
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ellipsoid.engine.rows import CSR, Dense

from .kernels import RBF, Function, from_products
from .packed import Nonzeros, Values, laid_out, parts, squeezed, tiled
from .tables import doubled
from .threads import together
from .tiles import Compressed, Few, Many, Whole

Floats = NDArray[np.float64]
Picks = slice | NDArray[np.int64]


# Sparse rows of more features are not laid out: most of the lanes would hold zeros.
WIDE = 8192

# Bytes of a row that is its own key; of longer ones a digest is.
SHORT = 256

# Squared norms, in units of one over gamma, from which on a Gaussian is made from differences: rounding is felt there,
# 1e-13 of its value for each feature.
FAR = 500.0


class Block(NamedTuple):
    """Rows against which kernel values are wanted: a matrix of the patterns' kind, and its squared norms.

    ``columns`` are the rows' own places in a given kernel matrix; otherwise it is empty. ``tiles`` holds the rows laid
    out for a kernel that is made in tiles.
    """

    matrix: Any
    norms: Floats
    columns: NDArray[np.int64]
    tiles: Many | Few | None = None

    def part(self, picks: Picks) -> "Block":
        """Some of the rows."""
        return Block(self.matrix[picks], self.norms[picks], self.columns[picks])


class Patterns:
    """What the kinds share: norms, the index by content, values against a block."""

    sparse = False

    def __init__(self, width: int) -> None:
        self.width = width
        self.used = 0
        self.norms: Floats = np.zeros(0)
        self.keys: list[bytes] = []
        self.index: dict[bytes, int] = {}

    # -- what a kind gives -------------------------------------------------------------------------------------

    def block(self, rows: Dense | CSR, picks: Picks, columns: NDArray[np.int64]) -> Block:
        """Rows of a chunk as a block of this kind."""
        matrix = self.matrix_of(rows, picks)
        norms = matrix.multiply(matrix).sum(axis=1) if self.sparse else np.einsum("ij,ij->i", matrix, matrix)
        return Block(matrix, np.asarray(norms, dtype=np.float64).ravel(), columns)

    def lay_out(self, kernel: Any, block: Block) -> Block:
        """The block with its rows laid out, if values of this kernel are made in tiles."""
        if not tiled(kernel) or (self.sparse and self.width > WIDE) or _far(kernel, block):
            return block
        return block._replace(tiles=laid_out(block.matrix, block.norms))

    def matrix_of(self, rows: Dense | CSR, picks: Picks) -> Any:
        """The rows alone."""
        raise NotImplementedError

    def rows(self, slots: Picks) -> Any:
        """Some of the patterns as a matrix."""
        raise NotImplementedError

    def append(self, block: Block, rows: list[int]) -> None:
        """Store some rows of a block behind all others."""
        raise NotImplementedError

    def put(self, slot: int, block: Block, t: int) -> None:
        """Write row t of a block into the place of a pattern that is given up."""
        raise NotImplementedError

    def stored(self) -> Whole | Compressed:
        """The patterns for tiles."""
        raise NotImplementedError

    def as_stored(self, block: Block) -> Whole | Compressed:
        """The rows of a block, as if they were the patterns."""
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

    # -- what all do -------------------------------------------------------------------------------------------

    def place(self, block: Block, rows: list[int]) -> NDArray[np.int64]:
        """The slots of some rows of a block, in their order; rows not known yet are stored at the end."""
        slots, fresh, end, keys = [], [], len(self.keys), self.keys_of(block, rows)
        for i, key in enumerate(keys):
            slot = self.index.setdefault(key, end)
            if slot == end:
                end += 1
                fresh.append(i)
            slots.append(slot)
        if fresh:
            self.keys += [keys[i] for i in fresh]
            fresh = [rows[i] for i in fresh]
            self.norms = doubled(self.norms, len(self.keys))
            self.norms[self.used : len(self.keys)] = block.norms[fresh]
            self.append(block, fresh)
            self.used = len(self.keys)
        return np.array(slots, dtype=np.int64)

    def replace(self, slot: int, block: Block, t: int) -> None:
        """Give up the pattern of a slot for row t."""
        del self.index[self.keys[slot]]
        self.put(slot, block, t)
        self.norms[slot] = block.norms[t]
        self.keys[slot] = self.keys_of(block, [t])[0]
        self.index[self.keys[slot]] = slot

    def find(self, block: Block, t: int) -> int | None:
        """The slot of row t, if it is known."""
        return self.index.get(self.keys_of(block, [t])[0])

    def keys_of(self, block: Block, rows: list[int]) -> list[bytes]:
        """What rows are known by: their non-zero features, whatever the kind and width of the rows."""
        data, indices, indptr = squeezed(block.matrix[rows])
        return _digests(indices, data, indptr.tolist())

    def values(self, kernel: Any, block: Block, slots: Picks, buffer: Floats) -> Floats:
        """K of every row of the block with some of the patterns; ``buffer`` has room for them."""
        if block.tiles is not None:
            some = np.arange(slots.start, slots.stop) if isinstance(slots, slice) else slots
            found = Values(kernel, self.stored(), some, block.tiles, len(block.norms))
            together(found.work, found.parts, found.effort)
            return found.out.T
        patterns = self.rows(slots)
        if isinstance(kernel, Function):
            return kernel.values(block.matrix, patterns)
        shape = (block.matrix.shape[0], patterns.shape[0])
        out = buffer[: shape[0] * shape[1]].reshape(shape)
        if not self.sparse and _far(kernel, block):
            # Distances of points far from the origin would be differences of large numbers: count from one of them.
            left, right = block.matrix - block.matrix[0], patterns - block.matrix[0]
            np.dot(left, right.T, out=out)
            from_products(kernel, out, np.einsum("ij,ij->i", left, left), np.einsum("ij,ij->i", right, right))
            return out
        if not self.sparse:
            np.dot(block.matrix, patterns.T, out=out)
        else:
            (block.matrix @ patterns.T).toarray(out=out)
        from_products(kernel, out, block.norms, self.norms[slots])
        return out

    def gram(self, kernel: Any, block: Block, *, half: bool = False) -> Floats:
        """K of the rows of a block with each other: ``[t, s]`` is what a score of row s adds for pattern t.

        With ``half`` it may be zero for s < t.
        """
        if isinstance(kernel, Function):
            return np.ascontiguousarray(kernel.values(block.matrix, block.matrix).T)
        matrix, norms = block.matrix, block.norms
        if block.tiles is not None:
            found = self.own_values(kernel, block, half=half)
            together(found.work, found.parts, found.effort)
            return with_diagonal(kernel, found.out)
        if not self.sparse and _far(kernel, block):
            matrix = matrix - matrix[0]
            norms = np.einsum("ij,ij->i", matrix, matrix)
        product = matrix @ matrix.T
        out: Floats = product.toarray() if self.sparse else np.ascontiguousarray(product)
        from_products(kernel, out, norms, norms)
        return with_diagonal(kernel, out)

    def own_values(self, kernel: Any, block: Block, *, half: bool) -> Values:
        """The work of ``gram`` for rows laid out."""
        assert block.tiles is not None
        count = len(block.norms)
        return Values(kernel, self.as_stored(block), np.arange(count), block.tiles, count, half=half)


class DensePatterns(Patterns):
    """One array, a pattern a row."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.table: Floats = np.zeros((0, width))
        self.nonzeros = Nonzeros()

    def matrix_of(self, rows: Dense | CSR, picks: Picks) -> Floats:
        """float64, C-contiguous, of full width."""
        if isinstance(rows, CSR):
            return _csr(rows, picks, self.width).toarray()
        return np.require(rows.X[picks], np.float64, ["C", "W"])

    def rows(self, slots: Picks) -> Floats:
        """A view of neighbours, a copy of others."""
        return self.table[slots]

    def append(self, block: Block, rows: list[int]) -> None:
        """Copy the rows."""
        end = self.used + len(rows)
        self.table = doubled(self.table, end)
        self.table[self.used : end] = block.matrix[rows]

    def put(self, slot: int, block: Block, t: int) -> None:
        """Copy the row."""
        self.table[slot] = block.matrix[t]
        self.nonzeros.forget(slot)

    def stored(self) -> Whole | Compressed:
        """Without the zeros, if these are many."""
        halves = -0.5 * self.norms
        return self.nonzeros.of(self.table, self.used, halves) or Whole(self.table, halves)

    def as_stored(self, block: Block) -> Whole | Compressed:
        """Without the zeros, if the patterns are."""
        halves = -0.5 * block.norms
        found = Nonzeros().of(block.matrix, len(halves), halves) if self.nonzeros.worthwhile else None
        return found or Whole(block.matrix, halves)

    def widen(self, width: int) -> None:
        """Zeros for the features that nobody had."""
        wider = np.zeros((len(self.table), width))
        wider[:, : self.width] = self.table
        self.table, self.width = wider, width

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The patterns, trimmed of spare capacity."""
        return {"SV": self.table[: self.used].copy()}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Store them one by one."""
        SV = arrays["SV"]
        if SV.ndim != 2 or SV.shape[1] != self.width or not np.isfinite(SV).all():
            raise ValueError("its support patterns have a wrong shape or are not finite")
        _replay(self, Dense(np.ascontiguousarray(SV, dtype=np.float64), 0.0), len(SV))


class SparsePatterns(Patterns):
    """Compressed sparse rows that grow at the end."""

    sparse = True

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.data: Floats = np.zeros(0)
        self.indices: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.indptr: NDArray[np.int64] = np.zeros(1, dtype=np.int64)

    def matrix_of(self, rows: Dense | CSR, picks: Picks) -> Any:
        """CSR of float64."""
        if isinstance(rows, CSR):
            return _csr(rows, picks, self.width)
        return sp.csr_matrix(np.asarray(rows.X[picks], dtype=np.float64))

    def rows(self, slots: Picks) -> Any:
        """CSR, of neighbours over the same memory."""
        return _csr(CSR(self.data, self.indices, self.indptr[: self.used + 1], 0.0, self.width), slots, self.width)

    def append(self, block: Block, rows: list[int]) -> None:
        """Copy the rows."""
        new = block.matrix[rows]
        begin, end = int(self.indptr[self.used]), int(self.indptr[self.used]) + new.nnz
        self.data, self.indices = doubled(self.data, end), doubled(self.indices, end)
        self.indptr = doubled(self.indptr, self.used + len(rows) + 1)
        self.data[begin:end], self.indices[begin:end] = new.data, new.indices
        self.indptr[self.used + 1 : self.used + len(rows) + 1] = begin + new.indptr[1:]

    def put(self, slot: int, block: Block, t: int) -> None:
        """Cut the old row out, which moves what lies behind it."""
        new = block.matrix[[t]]
        begin, behind, end = (int(self.indptr[i]) for i in (slot, slot + 1, self.used))
        shift = new.nnz - (behind - begin)
        self.data, self.indices = doubled(self.data, end + shift), doubled(self.indices, end + shift)
        for array, fresh in ((self.data, new.data), (self.indices, new.indices)):
            array[behind + shift : end + shift] = array[behind:end].copy()
            array[begin : begin + new.nnz] = fresh
        self.indptr[slot + 1 : self.used + 1] += shift

    def stored(self) -> Compressed:
        """The three arrays."""
        return Compressed(self.data, self.indices, self.indptr, -0.5 * self.norms)

    def as_stored(self, block: Block) -> Compressed:
        """The three arrays of the block."""
        return Compressed(*parts(block.matrix), -0.5 * block.norms)

    def widen(self, width: int) -> None:
        """Nothing to move."""
        self.width = width

    def keys_of(self, block: Block, rows: list[int]) -> list[bytes]:
        """What rows are known by: the same as for dense ones."""
        some = block.matrix[rows]
        some.eliminate_zeros()
        return _digests(some.indices.astype(np.int64), some.data, some.indptr.tolist())

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The three arrays of CSR."""
        end = self.indptr[self.used]
        return {
            "SV_data": self.data[:end].copy(),
            "SV_indices": self.indices[:end].copy(),
            "SV_indptr": self.indptr[: self.used + 1].copy(),
        }

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Store them one by one."""
        data, indices, indptr = (arrays[f"SV_{name}"] for name in ("data", "indices", "indptr"))
        sound = len(indptr) > 0 and indptr[0] == 0 and indptr[-1] == len(data) == len(indices)
        if not (sound and (np.diff(indptr) >= 0).all() and np.isfinite(data).all()):
            raise ValueError("its support patterns are damaged")
        if len(indices) and not (indices.min() >= 0 and indices.max() < self.width):
            raise ValueError("its support patterns have features beyond its width")
        _replay(self, CSR(data, indices, indptr, 0.0, self.width), len(indptr) - 1)


def with_diagonal(kernel: Any, gram: Floats) -> Floats:
    """The same, without what rounding made of the distances of rows from themselves."""
    if isinstance(kernel, RBF):
        np.fill_diagonal(gram, 1.0)
    return gram


def _far(kernel: Any, block: Block) -> bool:
    """Would rounding of inner products be felt in a Gaussian?"""
    return isinstance(kernel, RBF) and kernel.gamma * float(block.norms.max(initial=0.0)) > FAR


def _csr(rows: CSR, picks: Picks, width: int) -> Any:
    if isinstance(picks, slice):
        low, high = rows.indptr[picks.start], rows.indptr[picks.stop]
        pointers = rows.indptr[picks.start : picks.stop + 1] - low
        parts = (rows.data[low:high].astype(np.float64, copy=False), rows.indices[low:high], pointers)
        return sp.csr_matrix(parts, shape=(picks.stop - picks.start, width))
    low, high = rows.indptr[0], rows.indptr[-1]
    parts = (rows.data[low:high], rows.indices[low:high], rows.indptr - low)
    return sp.csr_matrix(parts, shape=(len(rows.indptr) - 1, width))[picks].astype(np.float64)


def _digests(where: NDArray[np.int64], values: Floats, ends: list[int]) -> list[bytes]:
    """A key for each row, its columns and values or a digest of them; row i has those from ``ends[i]`` on."""
    places, numbers = where.tobytes(), values.tobytes()
    keys = [places[8 * a : 8 * b] + numbers[8 * a : 8 * b] for a, b in pairwise(ends)]
    return [key if len(key) <= SHORT else blake2b(key, digest_size=16).digest() for key in keys]


def _replay(patterns: Patterns, rows: Dense | CSR, count: int) -> None:
    block = patterns.block(rows, slice(0, count), np.zeros(count, dtype=np.int64))
    if patterns.place(block, list(range(count))).tolist() != list(range(count)):
        raise ValueError("it holds one support pattern twice")
