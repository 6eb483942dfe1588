"""Arrays as streams: in memory, or in a NumPy file of which only the rows at hand are in memory.

``.npy``
    one matrix; its last column is the label, unless ``label`` names another ``.npy`` file that holds the labels;
``.npz``
    the arrays ``X`` and ``y``, mapped where the archive is not compressed (``np.savez``), else loaded whole.
"""

import zipfile
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from scipy import sparse

from ..format import Format, RowPieces
from ..label_kinds import refuse_masked
from ..labels import NumericLabels, label_values
from ..options import Options
from .blocks import Origin
from .compression import DAMAGE

# Values in one piece.
PIECE = 1 << 19
# What damaged bytes raise, and a damaged header, which is written as Python writes dicts.
_DAMAGED = (ValueError, TypeError, OverflowError, RuntimeError, SyntaxError, TokenError, zipfile.BadZipFile, *DAMAGE)


class ArrayRows(Format):
    """A matrix and its labels (None: there are none)."""

    whole: tuple[Any, Any]

    def __init__(self, X: Any, y: Any, description: str = "arrays") -> None:
        refuse_masked(X, "X")
        refuse_masked(y, "y")
        X = X.tocsr() if sparse.issparse(X) else np.asarray(X)
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions (rows and features), got shape {X.shape}")
        if y is not None and len(y) != X.shape[0]:
            raise ValueError(f"X and y must have the same number of rows, got {X.shape[0]} and {len(y)}")
        self.whole = X, None if y is None else label_values(y)
        self.rows_at_once = max(1, PIECE * X.shape[0] // max(1, X.nnz if sparse.issparse(X) else X.size))
        self.n_features = X.shape[1]
        self._description = description

    def describe(self) -> str:
        return self._description

    def pieces(self) -> RowPieces:
        yield *self.whole, None


class LastColumn(Format):
    """A matrix in a file whose last column is the label."""

    def __init__(self, Z: Any) -> None:
        self._Z = Z
        self.n_features = Z.shape[1] - 1

    def describe(self) -> str:
        return "NumPy array, mapped, the label in its last column"

    def pieces(self) -> RowPieces:
        numbers = NumericLabels()
        step = max(1, PIECE // self._Z.shape[1])
        for start in range(0, len(self._Z), step):
            Z = self._Z[start : start + step]
            yield from numbers.pieces(np.ascontiguousarray(Z[:, :-1]), np.asarray(Z[:, -1], dtype=np.float64))


def npy(origin: Origin, options: Options) -> ArrayRows | LastColumn:
    """The stream in a ``.npy`` file."""
    path = origin.path
    assert path is not None
    Z = _mapped(path)
    if Z.ndim != 2:
        raise ValueError(f"{path} must hold a matrix, one row per example, got an array of shape {Z.shape}")
    if Z.dtype.kind not in "biuf":
        raise ValueError(f"{path} must hold real numbers, got an array of type {Z.dtype}")
    if not options.labelled:
        return ArrayRows(Z, None, "NumPy array, mapped")
    if options.label is not None:
        other = path.parent / options.label
        if not other.is_file():
            raise FileNotFoundError(
                f"no file {str(other)!r} with the labels of {path}; label must name a file in the same folder"
            )
        y = _mapped(other)
        if y.ndim != 1:
            raise ValueError(f"{other} must hold one label per row, got an array of shape {y.shape}")
        return ArrayRows(Z, y, f"NumPy array, mapped, labels from {other.name}")
    if Z.shape[1] < 2:
        raise ValueError(f"{path} has only one column; name the file of the labels by label, or give labelled=False")
    return LastColumn(Z)


def npz(origin: Origin, options: Options) -> ArrayRows:
    """The stream in a ``.npz`` archive."""
    path = origin.path
    assert path is not None
    names = ("X", "y") if options.labelled else ("X",)
    try:
        with zipfile.ZipFile(path) as archive:
            members = {info.filename: info for info in archive.infolist()}
            missing = [name for name in names if f"{name}.npy" not in members]
            arrays = [] if missing else [_member(path, archive, members[f"{name}.npy"]) for name in names]
    except _DAMAGED as error:
        raise ValueError(f"{path}: not a readable .npz archive: {error}") from error
    if missing:
        there = ", ".join(name.removesuffix(".npy") for name in members) or "none"
        raise ValueError(f"{path} must hold the array {missing[0]!r}; it has {there}")
    how = "mapped" if isinstance(arrays[0], np.memmap) else "loaded whole"
    return ArrayRows(arrays[0], arrays[1] if options.labelled else None, f"NumPy archive, {how}")


def _mapped(path: Path) -> Any:
    try:
        # Pickled objects inside a file could run code.
        array = np.lib.format.open_memmap(path, mode="r")
    except _DAMAGED as error:
        raise ValueError(f"{path}: not a readable .npy file: {error}") from error
    return array


def _member(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Any:
    """An array of an archive, mapped where it is not compressed."""
    with archive.open(info) as member:
        if info.compress_type != zipfile.ZIP_STORED:
            return np.lib.format.read_array(member, allow_pickle=False)
        version = np.lib.format.read_magic(member)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(member)
        header = member.tell()
    if dtype.hasobject:
        raise ValueError(f"{info.filename} holds Python objects, which are never loaded (allow_pickle=False)")
    size = int(np.prod(shape, dtype=object)) * dtype.itemsize
    if header + size > info.file_size:
        raise ValueError(f"{info.filename} is shorter than its header says")
    if size == 0:
        return np.empty(shape, dtype)
    with open(path, "rb") as file:
        # A local header has 30 bytes, then a name and an extra field, whose lengths it holds.
        file.seek(info.header_offset)
        local = file.read(30)
        start = (
            info.header_offset + 30 + int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little")
        )
    return np.memmap(path, dtype, "r", start + header, shape, "F" if fortran else "C")
