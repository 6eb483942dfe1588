"""The table of a kernel expansion with an ellipsoid around it: arrays that grow, and their copies on a device."""

from collections.abc import Callable
from math import exp, inf
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ellipsoid.engine.rows import CSR, Dense, count
from ellipsoid.representation.kernel.device import DevicePatterns
from ellipsoid.representation.kernel.functions import KERNELS, kernel_matrix, kernel_matrix_by_rows, powers_of
from ellipsoid.representation.kernel.norms import squared_row_norms
from ellipsoid.representation.kernel.patterns import NO_COLUMNS, Block, DensePatterns, Picks, SparsePatterns
from ellipsoid.representation.signed_pairs import PAIR_BLOCK, PAIR_RIVAL, PAIR_RIVAL_SIGN, PAIR_SIGN
from ellipsoid.representation.table_protocol import Floats, Table

from .. import absorb as _absorb  # noqa: F401  (the bodies that make this form learn)
from .. import state as slots
from ..forms.form import FormArrays, check_shape
from ..forms.gram_forms import check_factored, check_pairs, coefficients_of, over_D, split_pairs, split_square
from ..forms.gram_matrix import COEF, GRAM_ROUNDING, INNER, PAIR_SIZE
from ..forms.kernel_gram import ANSWERED, ERROR, FACTOR, LENGTH2, QUADRATIC, WAITS, AheadGram, KernelGram, WaitingGram
from ..shapes.device import MOST_WAITING, DeviceShape

NamedKernel = tuple[str, float | None, float, float]

# Rows are padded to a multiple of this. Then no remainder of a vector is summed separately, and no sum changes when
# features are added that its rows do not have.
STRIDE = 64

# The state of a copy of a table that uses no device.
ON_THE_CPU = dict.fromkeys(("device", "ahead", "shape", "waiting"))

# From so many stored examples on, a device may hold S: a step there costs a few launches, whatever the size of S.
LARGE_SHAPE = 1024


class KernelTable(Table):
    """Support patterns, their coefficients and the Gram form over the first of them.

    ``kernel`` is the name and parameters of a kernel, gamma None for one over the number of features; ``columns`` is
    the number of downdates to come, ``constant`` what the constant feature adds to a kernel value.
    """

    by_class = True
    form_name = "kernel"

    def __init__(self, kernel: NamedKernel, *, columns: float, average: bool, constant: float) -> None:
        self.kernel, self.columns, self.average, self.constant = kernel, columns, average, constant
        self.width, self.scores = 0, 1
        self.numbers: Floats = np.zeros(slots.STATE_SIZE)
        self.numbers[slots.LEAST_SLICE], self.numbers[slots.LOG_SCALE] = inf, 0.0
        if columns == 0:
            self.numbers[slots.COMPLETE] = 1.0
        self.device: DevicePatterns | None = None
        # The kernel values that a device has made for the coming rows.
        self.ahead: tuple[Any, ...] | None = None
        # S where a device holds it, and what a loop needs that stops for its products.
        self.shape: DeviceShape | None = None
        self.waiting: tuple[Floats, ...] | None = None
        self.arrays = self._allocate(0, 0, 0)
        self._bind()

    def _allocate(self, patterns: int, stored: int, square: int) -> dict[str, Floats]:
        return {
            "SV": np.zeros((patterns, self.stride)),
            "coef": np.zeros((patterns, self.scores)),
            "late": np.zeros((patterns if self.average else 0, self.scores)),
            "rounds": np.zeros(patterns),
            "S": np.zeros((square, square)),
            "pairs": np.zeros((stored, PAIR_SIZE)),
        }

    @property
    def stride(self) -> int:
        """The length of a row: the constant feature, the others, and zeros."""
        return -(-(1 + self.width) // STRIDE) * STRIDE

    def _bind(self) -> None:
        self.rep = self._bound(self.arrays)

    def _bound(self, arrays: dict[str, Floats]) -> Any:
        """The compiled part of these arrays."""
        scratch = (np.zeros(self.stride), np.zeros(len(arrays["SV"])), np.zeros((2, max(1, len(arrays["pairs"])))))
        rep: Any = KernelGram(
            self.make_kernel(), float(self.constant), arrays["SV"], arrays["coef"], arrays["late"],
            arrays["S"], arrays["pairs"], self.numbers, arrays["rounds"], *scratch,
        )  # fmt: skip
        if self.ahead is not None:
            rep = AheadGram(rep, self.numbers, arrays["rounds"], *self.ahead)
        if self.waiting is not None:
            rep = WaitingGram(rep, self.numbers, arrays["rounds"], *self.waiting)
        return rep

    def make_kernel(self) -> Any:
        """The kernel for rows of the current width."""
        name, gamma, degree, coef0 = self.kernel
        return KERNELS[name](1.0 / max(1, self.width) if gamma is None else gamma, degree, coef0)

    def _resize(self, patterns: int, stored: int, shape: DeviceShape | None) -> None:
        """Set the capacities, and where S is: on a device in this shape, or here for None; all at once."""
        arrays = self._allocate(patterns, stored, stored if shape is None else 0)
        old = self.arrays if shape is self.shape else self.arrays | {"S": self.S()}
        # A device holds S itself and no factor, because it multiplies faster than it solves.
        factored = self.numbers[slots.FACTORED] if shape is self.shape else 0.0
        for name, array in old.items():
            common = tuple(slice(0, min(a, b)) for a, b in zip(array.shape, arrays[name].shape, strict=True))
            arrays[name][common] = array[common]
        rep = self._bound(arrays)
        self.arrays, self.shape, self.rep, self.numbers[slots.FACTORED] = arrays, shape, rep, factored

    @property
    def _rooms(self) -> tuple[int, int]:
        """The capacities for patterns and for stored examples."""
        return len(self.arrays["SV"]), len(self.arrays["pairs"])

    def reserve(self, scores: int, width: int) -> bool:
        if scores <= self.scores and width <= self.width:
            return False
        self.scores, self.width = max(scores, self.scores), max(width, self.width)
        self._resize(*self._rooms, self.shape)
        return True

    def prepare(self) -> None:
        if len(self.arrays["SV"]) == 0:
            self._resize(64, 16, self.shape)
        if self.shape is not None and self.device is None:
            self._resize(*self._rooms, None)

    def grow(self, rows: Any, t: int) -> None:
        patterns, stored = self._rooms
        self._resize(
            2 * patterns if self.numbers[slots.CUTS] >= patterns else patterns,
            2 * stored if self.numbers[slots.STORED] >= stored else stored,
            self.shape,
        )

    def split(self, factor: float) -> None:
        self.reserve(2, self.width)
        for name in ("coef", "late"):
            array = self.arrays[name]
            array[:, 1] = factor * array[:, 0]
            array[:, 0] = 0.0 - array[:, 1]  # never -0.0
        split_pairs(self.arrays["pairs"][: self.stored])
        split_square(self.arrays, self.numbers)
        self.numbers[slots.MARGIN_WEIGHT] /= 2.0
        self._bind()

    def S(self) -> Floats:
        """S over the stored examples, from the device if that holds it."""
        return coefficients_of(self.arrays, self.numbers) if self.shape is None else self.shape.whole()

    @property
    def used(self) -> int:
        """Number of support patterns."""
        return int(self.numbers[slots.CUTS])

    @property
    def stored(self) -> int:
        """Number of examples of B, which are the first of the patterns."""
        return int(self.numbers[slots.STORED])

    def patterns(self) -> Floats:
        """Support patterns as rows, without the constant feature."""
        return self.rows(slice(self.used)).copy()

    @property
    def rounds(self) -> Floats:
        """Rounds of the updates, counted from 1, and room for more."""
        return self.arrays["rounds"]

    def coefficients(self, rounds: int) -> Floats:
        """A row of coefficients for each pattern, averaged over ``rounds`` where averages are kept."""
        coef = self.arrays["coef"][: self.used]
        return coef - self.arrays["late"][: self.used] / rounds if self.average and rounds else coef.copy()

    def preimage_products(self) -> tuple[Floats, Floats, float]:
        """|w|^2, <w, h> and |h|^2 for h = B^{-1} w, the sum of the update examples that made w; what each would be
        without cancellation, which rounding errors are relative to; and the relative error of kernel values that were
        made of products, as on a device.
        """
        stored = self.stored
        SV, coef = self.arrays["SV"][: self.used], self.arrays["coef"][: self.used]
        kernel = self.make_kernel()
        K = kernel_matrix_by_rows(kernel, SV) + float(self.constant)
        lengths = np.sqrt(K.diagonal())
        off = np.abs(kernel_matrix(kernel, SV, SV) + float(self.constant) - K) / (lengths[:, None] * lengths)
        pairs, scores = self.arrays["pairs"][:stored], K @ coef
        # One row per example of B, with its signs in the columns of its label and of the rival.
        signs = np.zeros((stored, coef.shape[1]))
        rows, (labels, rivals) = np.arange(stored), pairs[:, [PAIR_BLOCK, PAIR_RIVAL]].T.astype(np.int64)
        has_rival = pairs[:, PAIR_RIVAL_SIGN] != 0.0
        signs[rows, labels] = pairs[:, PAIR_SIGN]
        signs[rows[has_rival], rivals[has_rival]] = pairs[has_rival, PAIR_RIVAL_SIGN]
        G = signs @ signs.T * K[:stored, :stored]
        along = np.multiply(signs, scores[:stored], out=np.zeros_like(signs), where=signs != 0.0).sum(axis=1)
        if self.numbers[slots.FACTORED]:
            extra = over_D(along, pairs)
        else:
            S = self.S()
            extra = S @ np.linalg.solve(np.eye(stored) - G @ S, along)
        h = coef.copy()
        np.add(h[:stored], signs * extra[:, None], out=h[:stored], where=signs != 0.0)
        # A kernel value is at most the product of the lengths of its two patterns.
        far_w, far_h = lengths @ np.abs(coef), lengths @ np.abs(h)
        products = [np.vdot(coef, scores), np.vdot(h, scores), np.vdot(h, K @ h)]
        uncancelled = np.array([far_w @ far_w, far_h @ far_w, far_h @ far_h])
        return np.array(products), uncancelled, float(off.max(initial=0.0))

    # -- on a device -------------------------------------------------------------------------------------------

    def rows(self, some: slice) -> Floats:
        """Some of the patterns, without the constant feature."""
        return self.arrays["SV"][some, 1 : 1 + self.width]

    def squared_norms(self, some: slice) -> Floats:
        return squared_row_norms(np.ascontiguousarray(self.rows(some)))

    def block(self, rows: Dense | CSR, picks: Picks) -> Block:
        """Rows of a chunk, prepared for kernel values."""
        return (SparsePatterns if isinstance(rows, CSR) else DensePatterns)(self.width).block(rows, picks, NO_COLUMNS)

    def scores_on_device(self, block: Block, coef: Floats) -> Floats:
        """Scores of a block by coefficients of all patterns."""
        assert self.device is not None
        out = np.zeros((coef.shape[1], len(block.norms)))
        if len(coef):
            self.device.add_scores(self, self.make_kernel(), block, coef, self.constant, out)
        return out.T

    def look_ahead(self, rows: Dense | CSR, picks: Picks, tally: Floats, may_wait: bool) -> None:
        """Let the loop use kernel values from the device, over these rows and no others, until ``look_back``.

        If the loop ``may_wait`` and S is large, S is put on the device too.
        """
        assert self.device is not None
        device, kernel, stored = self.device, self.make_kernel(), self.stored
        block = self.block(rows, picks)
        frozen = self.arrays["coef"][: self.used if stored < self.used else 0].copy()
        frozen[:stored] = 0.0
        where, size = np.zeros(count(rows), dtype=np.int64), len(block.norms)
        where[picks] = np.arange(size)
        values = device.up(device.values_with(self, kernel, block, self.constant, stored))
        gram = device.up(device.gram(kernel, device.of(block), self.constant))
        known = (np.ascontiguousarray(part) for part in (values, self.scores_on_device(block, frozen), gram))
        self.ahead, self.waiting = (where, *known, self.used, np.zeros(size, dtype=np.int64)), None
        if may_wait and stored >= LARGE_SHAPE and self.shape is None:
            self._resize(*self._rooms, DeviceShape(device.arrays, self.S()))
        if self.shape is not None:
            self.shape.reserve(stored + size)
            self.waiting = (np.zeros(6), tally, self.numbers.copy(), tally.copy())
            # A loop that waits cannot stop for room.
            rooms, needed = self._rooms, (self.used + size, stored + size)
            if any(less < more for less, more in zip(rooms, needed, strict=True)):
                self._resize(2 * max(rooms[0], needed[0]), 2 * max(rooms[1], needed[1]), self.shape)
        self._bind()

    def shape_on_device(self) -> DeviceShape:
        """S on the device: the one that learns, or a copy."""
        assert self.device is not None
        return self.shape or DeviceShape(self.device.arrays, self.S())

    def variances(self, shape: DeviceShape, block: Block, who: NDArray[np.int64], signs: Floats) -> Floats:
        """z'Bz from the device for the rows x of a block: z = sum_i signs[i] (e_who[t, i] (x) x)."""
        assert self.device is not None
        device, kernel, stored = self.device, self.make_kernel(), self.stored
        arrays = device.arrays
        right, sign, rival, rival_sign, _ = arrays.asarray(np.ascontiguousarray(self.arrays["pairs"][:stored].T))
        inner = arrays.zeros((len(who), stored))
        for one, own in zip(arrays.asarray(who.T), signs, strict=True):
            inner += float(own) * (sign * (one[:, None] == right) + rival_sign * (one[:, None] == rival))
        inner *= device.values_with(self, kernel, block, self.constant, stored)
        inner = shape.padded(inner)
        length = float(signs @ signs) * (powers_of(kernel, block.norms) + self.constant)
        left: Floats = length - device.up((shape.times(inner) * inner).sum(axis=1))
        return np.maximum(left, exp(self.numbers[slots.LOG_KEPT]) * length)

    def waits(self) -> bool:
        """Does a row wait for S? If so, everything is reset to before that row."""
        if self.waiting is None or not self.waiting[0][WAITS]:
            return False
        wait, tally, before, sums_before = self.waiting
        wait[WAITS], self.numbers[:], tally[:] = 0.0, before, sums_before
        return True

    def answer(self, learn_row: Callable[[], Any]) -> None:
        """Learn the row that waits, and shrink S by it."""
        assert self.device is not None
        assert self.shape is not None
        assert self.waiting is not None
        if self.shape.count == MOST_WAITING:
            self.shape.write()
        wait, small, stored = self.waiting[0], self.rep.ahead.base.small, self.stored
        inner = small[INNER, :stored]
        wide = self.shape.padded(inner)
        found = -self.shape.times(wide)
        coef = self.device.up(found[:stored])
        small[COEF, :stored] = coef
        wait[QUADRATIC] = max(wait[LENGTH2] + inner @ coef, exp(self.numbers[slots.LOG_KEPT]) * wait[LENGTH2])
        wait[ERROR] = GRAM_ROUNDING * self.shape.spread(wide) ** 2
        wait[ANSWERED], wait[FACTOR] = 1.0, 0.0
        learn_row()
        wait[ANSWERED] = 0.0
        if wait[FACTOR]:
            self.shape.extend(found, wait[FACTOR])

    def look_back(self) -> None:
        """Let the loop make its kernel values again."""
        self.ahead = self.waiting = None
        self._bind()

    def after_rollback(self) -> None:
        # The device may hold patterns that were taken back.
        if self.device is not None:
            self.device.shrink(self.used)

    def twin(self) -> Self:
        found = super().twin()
        found.device = None if self.device is None else self.device.fresh()
        return found

    def weights(self, scores: int, rounds: int) -> Floats:
        raise AttributeError("a kernel model has no coef_ and no intercept_; use support_vectors_ and dual_coef_")

    def predictor(self, rounds: int) -> Any:
        if not self.average or rounds == 0:
            return self.rep
        return self.rep._replace(coef=self.arrays["coef"] - self.arrays["late"] / rounds)

    def state(self, scores: int) -> dict[str, NDArray[Any]]:
        cuts, stored = self.used, self.stored
        trimmed = {"SV": cuts, "coef": cuts, "late": cuts, "rounds": cuts, "pairs": stored}
        arrays = {name: self.arrays[name][:end].copy() for name, end in trimmed.items()}
        arrays["SV"] = arrays["SV"][:, : 1 + self.width].copy()
        square = self.arrays["S"][:stored, :stored] if self.shape is None else self.S()
        return {**arrays, "R" if self.numbers[slots.FACTORED] else "S": square.copy(), "numbers": self.numbers.copy()}

    @staticmethod
    def check(arrays: FormArrays, functions: int, columns: float) -> None:
        """Refuse arrays that are no kernel expansion of so many functions, with at most ``columns`` downdates."""
        name = "R" if "R" in arrays else "S"
        patterns, stored = len(arrays["SV"]), len(arrays[name])
        numbers = slots.checked_numbers(arrays, patterns, columns)
        check_factored(numbers, arrays, "R")
        check_shape("SV", arrays["SV"], (patterns, *arrays["SV"].shape[-1:]))
        check_shape("coef", arrays["coef"], (patterns, functions))
        check_shape("rounds", arrays["rounds"], (patterns,))
        check_shape(name, arrays[name], (stored, stored))
        check_shape("pairs", arrays["pairs"], (stored, PAIR_SIZE))
        if arrays["SV"].shape[1] < 1 or numbers[slots.STORED] != stored or stored > patterns:
            raise ValueError("its stored examples are not among its support patterns")
        check_pairs(arrays["pairs"], functions)

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.numbers[:] = arrays["numbers"] = slots.complete_numbers(arrays["numbers"])
        cuts, stored = self.used, self.stored
        arrays = {**arrays, "S": arrays["R"]} if "R" in arrays else arrays
        expected = {"SV": (cuts, 1 + self.width), "coef": (cuts, self.scores), "S": (stored, stored)}
        if any(arrays[name].shape != shape for name, shape in expected.items()):
            raise ValueError("its arrays have wrong shapes")
        self.arrays, self.shape = self._allocate(max(64, cuts), max(16, stored), max(16, stored)), None
        for name, new in self.arrays.items():
            new[tuple(slice(0, n) for n in arrays[name].shape)] = arrays[name]
        self._bind()

    def __getstate__(self) -> dict[str, Any]:
        kept = {key: value for key, value in self.__dict__.items() if key != "rep"}
        if self.shape is not None:
            S = np.zeros(2 * (len(self.arrays["pairs"]),))
            S[: self.shape.size, : self.shape.size] = self.shape.whole()
            kept["arrays"] = self.arrays | {"S": S}
        return kept | ON_THE_CPU

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(ON_THE_CPU | state)
