"""Random streams: rows of many scales, with zeros, repetitions and ties; labels and features come as they please."""

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

NAMES = {
    "int": [0, 1, 2, 3],
    "str": ["no", "yes", "perhaps", "never again"],
    "bool": [False, True],
    "float": [0.0, 1.0, 2.0, 3.0],
    "far": [-(2**40), 7, 2**40, -1],
    "unsigned": [2**62, 0, 7, 3],
}
FLAVOURS = ("blobs", "noise", "ties", "planted")  # and "gram": values of a kernel, a column for each row
# What all values are multiplied by; "rows" and "columns" have one factor each.
SCALES = ("1e-310", "1e-160", "1e-77", "1e-8", "1", "1e8", "1e77", "1e140", "rows", "columns")
GENTLE = ("1e-8", "1", "1", "1", "1e3", "columns")


@dataclass
class Stream:
    """``kinds`` says of each row how it is handed over, ``widths`` how many features are known when it comes."""

    seed: int
    n: int = 20
    width: int = 3
    labels: int = 2
    names: str = "int"
    flavour: str = "blobs"
    scale: str = "1"
    zeros: float = 0.0  # share of rows that are zero
    holes: float = 0.0  # share of entries that are zero
    repeats: float = 0.0  # share of rows that came before
    late: bool = False  # labels come one after another
    kinds: tuple[str, ...] = ("dense",)  # "dense", "float32", "csr" or "dict"; several take turns
    grows: bool = False  # features come one after another
    sets: bool = False  # y is a matrix, one column per label
    numbers: bool = False  # y are numbers, for a regressor
    X: np.ndarray = field(init=False, repr=False)
    y: np.ndarray = field(init=False, repr=False)

    def __post_init__(self):
        rng = np.random.default_rng(self.seed)
        codes = self._codes(rng)
        X = self._values(rng, codes)
        if self.flavour == "gram":
            self.X, self.y, self.turns = X, self._named(codes), ["dense"] * self.n
            return
        X[rng.random(X.shape) < self.holes] = 0.0
        X *= self._factors(rng)
        X[rng.random(self.n) < self.zeros] = 0.0
        for row in range(1, self.n):
            if rng.random() < self.repeats:
                earlier = int(rng.integers(row))
                X[row] = X[earlier]
                codes[row] = codes[earlier] if rng.random() < 0.8 else codes[row]
        if self.grows:
            self._stagger(rng, X)
        if "dict" in self.kinds:
            X = self._by_appearance(X)
        if "float32" in self.kinds:
            X = X.astype(np.float32).astype(np.float64)
        if self.flavour == "planted":
            codes = (X @ self.planted > 0).astype(int)
        self.X = X
        self.y = self._sets(rng) if self.sets else self._numbers(rng, codes) if self.numbers else self._named(codes)
        self.turns = [self.kinds[int(rng.integers(len(self.kinds)))] for _ in range(1 + self.n // 6)]

    # -- how it is made ----------------------------------------------------------------------------------------

    def _codes(self, rng):
        codes = rng.integers(0, self.labels, self.n)
        if self.late:
            known = np.minimum(1 + np.arange(self.n) * self.labels // max(1, self.n), self.labels)
            codes = np.minimum(codes, known - 1)
        return codes

    def _named(self, codes):
        return np.array(NAMES[self.names], dtype=np.uint64 if self.names == "unsigned" else None)[codes]

    def _values(self, rng, codes):
        shape = (self.n, self.width)
        if self.flavour == "gram":
            points = np.round(2.0 * rng.normal(size=(self.n, 2)) + codes[:, None]) / 2.0
            return np.exp(-0.3 * ((points[:, None] - points) ** 2).sum(axis=2))
        if self.flavour == "ties":
            return rng.integers(-2, 3, shape).astype(float)
        X = rng.normal(size=shape)
        if self.flavour == "blobs":
            X += 2.0 * rng.normal(size=(4, self.width))[codes]
        if self.flavour == "planted":
            self.planted = np.round(rng.normal(size=self.width) * 64) / 64
            self.planted[0] = self.planted[0] or 0.25
            lead = X @ self.planted
            X += np.outer(np.where(lead > 0, 0.2, -0.2), self.planted) / float(self.planted @ self.planted)
        return X

    def _factors(self, rng):
        if self.scale == "rows":
            return 10.0 ** rng.integers(-140, 141, (self.n, 1)).astype(float)
        if self.scale == "columns":
            return 10.0 ** rng.integers(-12, 13, self.width).astype(float)
        return float(self.scale)

    def _stagger(self, rng, X):
        """Feature j is zero before it first comes; the first comes at once."""
        first = np.sort(rng.integers(0, self.n, self.width))
        first[0] = 0
        for column, row in enumerate(first):
            X[:row, column] = 0.0
        self._first = first

    def _by_appearance(self, X):
        """Columns in the order in which a stream of dicts would name them; the first row names one at least."""
        if not X[0].any():
            X[0, 0] = 1.0
        first = np.where(X.any(axis=0), (X != 0).argmax(axis=0), self.n)
        order = np.argsort(first, kind="stable")
        self._first = first[order]
        return np.ascontiguousarray(X[:, order])

    def _sets(self, rng):
        return (rng.random((self.n, self.labels)) < 0.5).astype(np.int64)

    def _numbers(self, rng, codes):
        """About a linear function of the rows, with steps; as large as the rows, or of another scale."""
        size = np.abs(self.X).max() if self.scale not in ("rows", "columns") else 1.0
        X = self.X / (size or 1.0)
        told = X @ rng.normal(size=self.width) + 0.5 * codes + 0.1 * rng.normal(size=self.n)
        told = np.clip(told, -1e6, 1e6) * (1.0, 1.0, 1e-12, 1e6, size or 1.0)[int(rng.integers(5))]
        told = np.clip(told, -1e70, 1e70)
        return np.round(told) if self.flavour == "ties" else told

    # -- how it is handed over ---------------------------------------------------------------------------------

    def kind(self, row):
        return self.turns[row // 6]

    def known(self, row):
        """How wide the stream is when this row comes."""
        if not self.grows and "dict" not in self.kinds:
            return self.width
        return int(np.searchsorted(self._first, row, side="right"))

    def segments(self, rows):
        """Runs of consecutive picks with one kind and one width: what one call may be given."""
        run = []
        for row in rows:
            if run and (self.kind(row), self.known(row)) != (self.kind(run[-1]), self.known(run[-1])):
                yield run
                run = []
            run.append(row)
        if run:
            yield run

    def rows(self, picks, form="plain"):
        """A matrix of these rows, all of one kind and width."""
        X = self.X[picks][:, : self.known(picks[0])]
        kind = self.kind(picks[0])
        if kind in ("csr", "dict"):
            C = sp.csr_matrix(X)
            return C.tocsc() if form == "other order" else C.tocoo() if form == "strided" else C
        X = X.astype(np.float32) if kind == "float32" else X
        if form == "other order":
            return np.asfortranarray(X)
        if form == "strided":
            return np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2]
        if form == "read-only":
            X = X.copy()
            X.flags.writeable = False
            return X
        if form == "list" and kind == "dense":
            return X.tolist()
        return X

    def row(self, pick):
        """One row, as ``learn_one`` takes it."""
        kind, X = self.kind(pick), self.X[pick, : self.known(pick)]
        if kind == "csr":
            return sp.csr_matrix(X[None])
        if kind == "dict":
            named = [(f"f{j}", float(X[j])) for j in np.flatnonzero(X)]
            fresh = [pair for pair in named if self._first[int(pair[0][1:])] == pick]
            return dict([pair for pair in named if pair not in fresh][::-1] + fresh)
        return X.astype(np.float32) if kind == "float32" else X.copy()
