"""Support patterns in the memory of a GPU, where blocks of rows are scored; the loop that learns stays on the CPU.

The kernel values, rows times patterns, take most of the time of a kernel learner. They are computed here, by one
matrix product for each piece of the patterns, and summed at once. Only a block of rows and the changed patterns and
coefficients are copied to the device, and the block's scores and Gram matrix back. The array module is a parameter, so
that all code runs on NumPy as well.

Sums have another order than on the CPU: scores agree to rounding, not to the bit.
"""

from collections.abc import Callable
from functools import cache, wraps
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..table_protocol import Floats
from .functions import RBF, Poly
from .patterns import WIDEST_LAYOUT, Block

PRECISIONS = {"double": np.float64, "single": np.float32}

# Kernel values that are held at once, 512 MB of them: a product is then long enough to run at full speed.
PIECE_VALUES = 1 << 26

# Sparse rows are made dense, block by block, up to this width.
WIDEST_ON_DEVICE = WIDEST_LAYOUT

POWERS_OF_PRODUCTS = """
    T base = (T)gamma * product + (T)coef0, power = degree & 1 ? base : (T)1;
    for (int left = degree >> 1; left > 0; left >>= 1) {
        base *= base;
        if (left & 1) power *= base;
    }
    value = (double)power + constant;
"""
EXPONENTIALS_OF_DISTANCES = """
    T distance = left + right - (T)2 * product;
    value = (double)exp(-(T)gamma * (distance > (T)0 ? distance : (T)0)) + constant;
"""


def cuda_arrays() -> Any:
    """CuPy, or an error that says what is missing."""
    if find_spec("cupy") is None:
        raise ValueError(
            'device="cuda" needs CuPy, which is not installed: pip install "ellipsoid[cuda12]", or cuda13 for CUDA 13; '
            'or use device="cpu"'
        )
    import cupy

    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise ValueError(f'device="cuda" finds no usable GPU ({error}); use device="cpu"') from error
    if not count:
        raise ValueError('device="cuda" finds no GPU; use device="cpu"')
    return cupy


def arrays_on(device: str) -> Any:
    """The array module of a device: NumPy, or CuPy for "cuda", and for "auto" where there is a GPU."""
    if device not in ("cpu", "cuda", "auto"):
        raise ValueError(f"device must be one of 'cpu', 'cuda', 'auto', got {device!r}")
    return np if device == "cpu" or (device == "auto" and not cuda_present()) else cuda_arrays()


def cuda_present() -> bool:
    """Are there a GPU and the library to use it?"""
    try:
        cuda_arrays()
    except ValueError:
        return False
    return True


@cache
def fused(arrays: Any, inputs: str, code: str) -> Any:
    """A function of each element of a matrix, compiled on the device once."""
    return arrays.ElementwiseKernel(f"{inputs}, float64 constant", "float64 value", code)


class KnownPatterns(Protocol):
    """Patterns as a device reads them."""

    width: int

    @property
    def used(self) -> int:
        """Number of patterns."""

    def rows(self, some: slice) -> Any:
        """Some of the patterns, as a matrix."""

    def squared_norms(self, some: slice) -> Floats:
        """The squared norms of some patterns."""


class DeviceFull(MemoryError):
    """There is no memory left on the device."""


def within_memory(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of `DevicePatterns` that raises an error with advice when the memory of the device is too small."""

    @wraps(method)
    def explained(self: "DevicePatterns", *args: Any, **options: Any) -> Any:
        try:
            return method(self, *args, **options)
        except DeviceFull:
            raise
        except MemoryError as error:
            raise DeviceFull(self.memory_advice()) from error

    return explained


class DevicePatterns:
    """The patterns of a table and their coefficients, as far as they have been copied to the device.

    ``arrays`` is the array module; ``precision`` is that of rows and kernel values, sums are always double.
    """

    def __init__(self, arrays: Any, precision: str) -> None:
        self.arrays, self.precision, self.kind = arrays, precision, PRECISIONS[precision]
        self.forget()

    def fresh(self) -> "DevicePatterns":
        """An empty one on the same device."""
        return DevicePatterns(self.arrays, self.precision)

    def forget(self) -> None:
        """Copy everything again when it is needed next."""
        arrays, kind = self.arrays, self.kind
        self.used, self.rows, self.norms = 0, arrays.zeros((0, 0), kind), arrays.zeros(0, kind)
        self.forget_coefficients()

    def forget_coefficients(self) -> None:
        """Copy all coefficients again when they are needed next."""
        self.coef = self.arrays.zeros((0, 0))
        self.reached, self.changed = 0, list[NDArray[np.int64]]()

    def shrink(self, used: int) -> None:
        """Patterns from ``used`` on were taken back."""
        self.used = min(self.used, used)
        self.forget_coefficients()

    def note(self, slots: NDArray[np.int64]) -> None:
        """The coefficients of these patterns have changed."""
        self.changed.append(slots)

    # -- copying -----------------------------------------------------------------------------------------------

    @within_memory
    def down(self, matrix: Any) -> Any:
        """Copy rows, dense or sparse, to the device."""
        if hasattr(matrix, "toarray"):
            if matrix.shape[1] > WIDEST_ON_DEVICE:
                raise ValueError(
                    f'device="cuda" takes sparse rows of up to {WIDEST_ON_DEVICE} features, made dense; these '
                    f'have {matrix.shape[1]}: use device="cpu"'
                )
            matrix = matrix.toarray()
        return self.arrays.asarray(matrix, dtype=self.kind)

    def of(self, block: Block) -> tuple[Any, Any]:
        """Copy the rows of a block and their squared norms to the device."""
        return self.down(block.matrix), self.arrays.asarray(block.norms, dtype=self.kind)

    @within_memory
    def read_patterns(self, patterns: KnownPatterns) -> None:
        """Copy the patterns that are new."""
        count = patterns.used
        if self.rows.shape[1] != patterns.width:
            self.used, self.rows = 0, self.arrays.zeros((0, patterns.width), self.kind)
        if self.used == count:
            return
        self.rows, self.norms = self._room(self.rows, count), self._room(self.norms, count)
        step = max(1, PIECE_VALUES // max(1, patterns.width))
        for begin in range(self.used, count, step):
            part = slice(begin, min(count, begin + step))
            self.rows[part] = self.down(patterns.rows(part))
            self.norms[part] = self.arrays.asarray(patterns.squared_norms(part), dtype=self.kind)
        self.used = count

    def _room(self, array: Any, count: int) -> Any:
        """The array with room for so many rows: twice as many as before, if it was too short."""
        if len(array) >= count:
            return array
        wider = self.arrays.zeros((max(count, 2 * len(array)), *array.shape[1:]), array.dtype)
        wider[: self.used] = array[: self.used]
        return wider

    def memory_advice(self) -> str:
        """What to do where the device has no memory left."""
        width, free = self.rows.shape[1], getattr(getattr(self.arrays, "cuda", None), "runtime", None)
        size = np.dtype(self.kind).itemsize * (width + 1)
        room = "" if free is None else f", and {free.memGetInfo()[0] // size:,} more would fit"
        return (
            f"the device has no memory left for more than {self.used:,} support patterns of {width} features (they are "
            f'kept in slabs that double in size{room}): use precision="single", a budget, or device="cpu"'
        )

    @within_memory
    def read_coefficients(self, coef: Floats, used: int) -> tuple[Any, Any]:
        """Copy the coefficients that have changed; returns the numbers of their patterns, and the changes."""
        if self.coef.shape[1:] != coef.shape[1:]:
            self.forget_coefficients()
            self.coef = self.arrays.zeros((0, coef.shape[1]))
        fresh = np.arange(self.reached, used)
        slots = np.unique(np.concatenate([*self.changed, fresh]))
        self.changed = []
        if len(self.coef) < used:
            wider = self.arrays.zeros((max(used, 2 * len(self.coef)), coef.shape[1]))
            wider[: len(self.coef)] = self.coef
            self.coef = wider
        places, values = self.arrays.asarray(slots), self.arrays.asarray(coef[slots])
        moved = values - self.coef[places]
        self.coef[places] = values
        self.reached = used
        return places, moved

    # -- scores ------------------------------------------------------------------------------------------------

    def add_scores(
        self,
        patterns: KnownPatterns,
        kernel: Any,
        block: Block,
        coef: Any,
        constant2: float,
        out: Floats,
        slots: Any = None,
    ) -> None:
        """Add ``sum_i coef[i, r] (K(x_i, x) + constant2)`` to ``out[r]`` for the rows x of a block."""
        self.read_patterns(patterns)
        count = min(self.used, len(coef)) if slots is None else len(slots)
        coef = self.arrays.asarray(coef[:count], dtype=np.float64)
        places = None if slots is None else self.arrays.asarray(slots)
        out += self.up(self.sums_of(kernel, self.of(block), coef, constant2, places)).T

    def present_sums(self, table: Any, rows: tuple[Any, Any], scores: int) -> Any:
        """Scores of rows on the device by the present coefficients of a table."""
        self.read_patterns(table.patterns)
        self.read_coefficients(table.coef, table.used)
        return self.sums_of(table.make_kernel(), rows, self.coef[: table.used, :scores], table.constant2)

    def values_with(self, patterns: KnownPatterns, kernel: Any, block: Block, constant2: float, count: int) -> Any:
        """K + constant2 of the rows of a block with the first patterns, on the device."""
        self.read_patterns(patterns)
        return self.values(kernel, self.of(block), (self.rows[:count], self.norms[:count]), constant2)

    def up(self, array: Any) -> Floats:
        """Copy an array from the device."""
        return array.get() if hasattr(array, "get") else array

    @within_memory
    def sums_of(self, kernel: Any, rows: tuple[Any, Any], coef: Any, constant2: float, places: Any = None) -> Any:
        """``sum_i coef[i, r] (K(x_i, x) + constant2)``, one row for each row x; over some patterns, or the first.

        Patterns by rows, and not the other way round: the sums then take a tenth less of the whole on an H200.
        """
        total = self.arrays.zeros((coef.shape[1], len(rows[0])))
        step = max(1, PIECE_VALUES // max(1, len(rows[0])))
        for begin in range(0, len(coef), step):
            part = slice(begin, min(len(coef), begin + step))
            picked = part if places is None else places[part]
            total += coef[part].T @ self.values(kernel, (self.rows[picked], self.norms[picked]), rows, constant2)
        return self.arrays.ascontiguousarray(total.T)

    @within_memory
    def values(self, kernel: Any, rows: tuple[Any, Any], others: tuple[Any, Any], constant2: float) -> Any:
        """K + constant2 of rows with others, each a matrix and its squared norms."""
        products = rows[0] @ others[0].T
        if not hasattr(self.arrays, "ElementwiseKernel"):
            return self._values_by_steps(kernel, products, rows[1], others[1], constant2)
        # Values overwrite their products where both have one type.
        place = products if self.kind is np.float64 else self.arrays.empty(products.shape)
        if isinstance(kernel, RBF):
            return fused(self.arrays, "T product, T left, T right, float64 gamma", EXPONENTIALS_OF_DISTANCES)(
                products, rows[1][:, None], others[1][None, :], kernel.gamma, constant2, place
            )
        degree = int(kernel.degree) if isinstance(kernel, Poly) else 1
        gamma, coef0 = (kernel.gamma, kernel.coef0) if isinstance(kernel, Poly) else (1.0, 0.0)
        power = fused(self.arrays, "T product, float64 gamma, float64 coef0, int32 degree", POWERS_OF_PRODUCTS)
        return power(products, gamma, coef0, degree, constant2, place)

    def _values_by_steps(self, kernel: Any, products: Any, left: Any, right: Any, constant2: float) -> Any:
        """The same with an array module that compiles no functions."""
        if isinstance(kernel, RBF):
            distances = self.arrays.maximum(left[:, None] + right[None, :] - 2.0 * products, 0.0)
            return self.arrays.exp(-kernel.gamma * distances).astype(np.float64) + constant2
        if isinstance(kernel, Poly):
            products = (kernel.gamma * products + kernel.coef0) ** int(kernel.degree)
        return products.astype(np.float64) + constant2

    @within_memory
    def gram(self, kernel: Any, rows: tuple[Any, Any], constant2: float) -> Any:
        """K + constant2 of the rows of a block with each other."""
        found = self.values(kernel, rows, rows, constant2)
        if isinstance(kernel, RBF):
            self.arrays.fill_diagonal(found, 1.0 + constant2)
        return found


class DevicePrefetch:
    """A block that is scored on the device while the loop runs over the one before.

    It is scored by the coefficients known when the work begins; the changes since then are added at the end.
    """

    def __init__(self, table: Any, block: Block, scores: int) -> None:
        self.table, self.block, self.scores = table, block, scores

    def begin(self) -> None:
        """Start the work of the device, and return at once."""
        table, device = self.table, self.table.device
        self.kernel = table.make_kernel()
        self.rows = device.of(self.block)
        self.sums = device.present_sums(table, self.rows, self.scores)
        self.gram = device.gram(self.kernel, self.rows, table.constant2)

    def join(self) -> None:
        """Do nothing: the device needs no help."""

    def finish(self, following: "DevicePrefetch | None") -> Any:
        """What the loop runs on; the device then starts on the following block."""
        table, device = self.table, self.table.device
        device.read_patterns(table.patterns)
        places, moved = device.read_coefficients(table.coef, table.used)
        if len(places):
            self.sums += device.sums_of(self.kernel, self.rows, moved[:, : self.scores], table.constant2, places)
        scores, gram = device.up(self.sums), device.up(self.gram)
        if following is not None:
            following.begin()
        return table.ahead(scores, gram)
