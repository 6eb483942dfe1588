"""Digits without end: MNIST's, each turned, stretched and bent at random, row i made from the seed and i alone.

Any cutting of the stream gives the same rows, and so does a GPU, to rounding. The first 60,000 rows are the digits
themselves in their order; every further 60,000 are a permutation of them, deformed:

- an affine map about the centre: a rotation of up to 12 degrees, two scales and a shear of up to an eighth, a shift of
  up to 2 pixels either way;
- a displacement field: noise smoothed by a Gaussian of 4.5 pixels. Normal noise has the same distribution in every
  orthonormal basis, so it is drawn in that of the smoothing's own eigenvectors, of which the first few matter.

Loosli, Canu and Bottou, "Training invariant support vector machines using selective sampling", Large Scale Kernel
Machines (2007), learned from such a stream; their deformations are of another kind.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from os import cpu_count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.engine import call, compiled

from ..format import Format, RowPieces

SIDE, PIXELS = 28, 28 * 28
LARGEST_ROTATION, LARGEST_STRETCH, LARGEST_SHIFT = np.deg2rad(12.0), 0.125, 2.0
SMOOTHNESS, DISPLACEMENT = 4.5, 0.6  # standard deviations of the smoothing and of the displacement, in pixels
WAVES = 8  # eigenvectors of the smoothing: the next would move a pixel by less than a thousandth of the others
ROWS_AT_ONCE = 4096

# Numbers of one row: rotation, two scales, shear, two shifts; then two fields of normal numbers, two draws for each.
AFFINE_NUMBERS, FIELD_NUMBERS = 6, 2 * WAVES * WAVES
CENTRE = (SIDE - 1) / 2.0


def smoothing_waves() -> NDArray[np.float64]:
    """The leading eigenvectors of the smoothing, by their eigenvalues: waves that a bent digit is bent along."""
    at = np.arange(SIDE)
    matrix = np.exp(-0.5 * ((at[:, None] - at[None, :]) / SMOOTHNESS) ** 2)
    values, vectors = np.linalg.eigh(matrix)
    # Signs of eigenvectors are anybody's choice.
    vectors *= np.sign(vectors.sum(axis=0) + 1e-3 * vectors[0])
    waves = (vectors * values)[:, ::-1][:, :WAVES]
    # One pixel's displacement has the variance |w|^2 |w'|^2; let it be one on average.
    return np.ascontiguousarray(waves * np.sqrt(SIDE / np.square(waves).sum()))


def drawn(arrays: Any, seed: int, rows: Any, count: int) -> Any:
    """``count`` numbers from 0 to 1 for each row: a hash of the seed, the row and their place (splitmix64)."""
    state = (rows.astype(np.uint64)[:, None] << np.uint64(16)) + arrays.arange(count, dtype=np.uint64)[None, :]
    with np.errstate(over="ignore"):
        state = state + np.uint64((0x9E3779B97F4A7C15 * (seed + 1)) % 2**64)
        for _ in range(2):
            state = state + np.uint64(0x9E3779B97F4A7C15)
            state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            state = state ^ (state >> np.uint64(31))
    return (state >> np.uint64(11)).astype(np.float64) * 2.0**-53


def deformations(arrays: Any, seed: int, rows: Any) -> tuple[Any, Any]:
    """For each row an affine map of coordinates about the centre (2 x 3), and the amplitudes of two fields."""
    found = drawn(arrays, seed, rows, AFFINE_NUMBERS + 2 * FIELD_NUMBERS)
    either = 2.0 * found[:, :AFFINE_NUMBERS] - 1.0
    angle, shear = LARGEST_ROTATION * either[:, 0], LARGEST_STRETCH * either[:, 3]
    tall, wide = 1.0 + LARGEST_STRETCH * either[:, 1], 1.0 + LARGEST_STRETCH * either[:, 2]
    cos, sin = arrays.cos(angle), arrays.sin(angle)
    shifts = LARGEST_SHIFT * either[:, 4:6]
    affine = arrays.stack([cos * tall, shear - sin, shifts[:, 0], sin + shear, cos * wide, shifts[:, 1]], axis=1)
    size = arrays.sqrt(-2.0 * arrays.log1p(-found[:, AFFINE_NUMBERS : AFFINE_NUMBERS + FIELD_NUMBERS]))
    normal = DISPLACEMENT * size * arrays.cos(2.0 * np.pi * found[:, AFFINE_NUMBERS + FIELD_NUMBERS :])
    return affine.reshape(-1, 2, 3), normal.reshape(-1, 2, WAVES, WAVES)


@compiled(nogil=True)
def _bend(images: Any, picks: Any, affine: Any, waves: Any, amplitudes: Any, out: Any) -> None:
    """Write the deformed digits: each pixel is read, between four others, where its map and its field point."""
    half = np.empty((SIDE, WAVES))
    fields = np.empty((2, SIDE, SIDE))
    for t in range(picks.shape[0]):
        image, a = images[picks[t]], affine[t]
        for f in range(2):
            for r in range(SIDE):
                for k in range(WAVES):
                    total = 0.0
                    for j in range(WAVES):
                        total += waves[r, j] * amplitudes[t, f, j, k]
                    half[r, k] = total
            for r in range(SIDE):
                for c in range(SIDE):
                    total = 0.0
                    for k in range(WAVES):
                        total += half[r, k] * waves[c, k]
                    fields[f, r, c] = total
        for r in range(SIDE):
            for c in range(SIDE):
                y, x = r - CENTRE, c - CENTRE
                v = CENTRE + a[0, 0] * y + a[0, 1] * x + a[0, 2] + fields[0, r, c]
                u = CENTRE + a[1, 0] * y + a[1, 1] * x + a[1, 2] + fields[1, r, c]
                top, left = np.floor(v), np.floor(u)
                down, right = v - top, u - left
                total = 0.0
                for i in range(2):
                    for j in range(2):
                        p, q = int(top) + i, int(left) + j
                        if 0 <= p < SIDE and 0 <= q < SIDE:
                            share = (down if i else 1.0 - down) * (right if j else 1.0 - right)
                            total += share * image[p * SIDE + q]
                out[t, r * SIDE + c] = total


def bend_on(arrays: Any, images: Any, picks: Any, affine: Any, waves: Any, amplitudes: Any) -> Any:
    """The same in whole arrays, for a device."""
    fields = arrays.matmul(arrays.matmul(waves, amplitudes), waves.T)
    at = arrays.arange(SIDE, dtype=np.float64) - CENTRE
    y, x = at[:, None], at[None, :]
    places = [
        CENTRE + affine[:, f, 0, None, None] * y + affine[:, f, 1, None, None] * x + affine[:, f, 2, None, None]
        + fields[:, f]
        for f in range(2)
    ]  # fmt: skip
    corner = [arrays.floor(place) for place in places]
    rest = [place - low for place, low in zip(places, corner, strict=True)]
    total = arrays.zeros((len(picks), SIDE, SIDE))
    for i in range(2):
        for j in range(2):
            p, q = corner[0].astype(np.int64) + i, corner[1].astype(np.int64) + j
            inside = (p >= 0) & (p < SIDE) & (q >= 0) & (q < SIDE)
            share = (rest[0] if i else 1.0 - rest[0]) * (rest[1] if j else 1.0 - rest[1])
            found = images[picks[:, None, None], arrays.where(inside, p * SIDE + q, 0)]
            total += arrays.where(inside, share * found, 0.0)
    return total.reshape(-1, PIXELS)


class DeformedDigits(Format):
    """The stream: an iterable of pairs ``X, y`` of whole-number labels and pixels from 0 to 255.

    ``arrays`` is NumPy or CuPy: where the rows are made. They are handed out as NumPy's in either case. ``unit`` makes
    rows of length one, as kernels like them. ``test`` are other digits, not deformed, to test on.
    """

    n_features = PIXELS
    n_rows: int

    def __init__(
        self, images: Any, labels: Any, *, rows: int, seed: int = 0, unit: bool = False, arrays: Any = np,
        test: tuple[Any, Any] | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(rows, int | np.integer) or rows < 1:
            raise ValueError(f"rows must be a positive whole number, got {rows!r}")
        if not isinstance(seed, int | np.integer) or seed < 0:
            raise ValueError(f"seed must be a whole number, 0 or more, got {seed!r}")
        self.labels, self.n_rows, self.seed = np.asarray(labels), int(rows), int(seed)
        self.classes = np.unique(self.labels)
        self.unit, self.arrays = unit, arrays
        self.test = None if test is None else (self._scaled(np, np.asarray(test[0], dtype=np.float64)), test[1])
        self.images = arrays.asarray(images, dtype=np.float64)
        self.waves = arrays.asarray(smoothing_waves())

    def describe(self) -> str:
        return "digits, deformed from the second 60,000 on"

    def pieces(self) -> RowPieces:
        return ((X, y, None) for X, y in self)

    def __iter__(self) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64]]]:
        """Blocks of rows in turn; the next ones are made while one is learned."""
        starts = range(0, self.n_rows, ROWS_AT_ONCE)
        threads = max(1, min(4, cpu_count() or 1)) if self.arrays is np else 1
        with ThreadPoolExecutor(threads) as pool:
            ahead = [pool.submit(self._block, start) for start in starts[: 2 * threads]]
            for number in range(len(starts)):
                yield ahead.pop(0).result()
                if number + 2 * threads < len(starts):
                    ahead.append(pool.submit(self._block, starts[number + 2 * threads]))

    def _block(self, start: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        return self.rows(start, min(self.n_rows, start + ROWS_AT_ONCE))

    def rows(self, start: int, stop: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Rows start..stop and their labels."""
        arrays, numbers = self.arrays, np.arange(start, stop)
        picks = self.digits(numbers)
        affine, amplitudes = deformations(arrays, self.seed, arrays.asarray(numbers))
        plain = arrays.asarray(numbers < len(self.labels))
        # The first digits are not deformed.
        amplitudes[plain] = 0.0
        affine[plain] = arrays.asarray([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
        if arrays is np:
            out: Any = np.empty((len(numbers), PIXELS))
            call(_bend, self.images, picks, affine, self.waves, amplitudes, out)
        else:
            out = bend_on(arrays, self.images, arrays.asarray(picks), affine, self.waves, amplitudes)
        out = self._scaled(arrays, out)
        return out if arrays is np else out.get(), self.labels[picks].astype(np.int64)

    def _scaled(self, arrays: Any, rows: Any) -> Any:
        return rows / arrays.sqrt((rows * rows).sum(axis=1, keepdims=True)) if self.unit else rows

    def digits(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Which digit each row is made of."""
        count = len(self.labels)
        found = np.empty(len(numbers), dtype=np.int64)
        for part in np.unique(numbers // count):
            here = numbers // count == part
            found[here] = permutation(self.seed, int(part), count)[numbers[here] - part * count]
        return found


@lru_cache(maxsize=4)
def permutation(seed: int, part: int, count: int) -> NDArray[np.int64]:
    """The order of the digits in a part of the stream; in the first it is their own."""
    return np.random.default_rng([seed, part]).permutation(count) if part else np.arange(count)
