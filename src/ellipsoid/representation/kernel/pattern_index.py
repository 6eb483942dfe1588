"""A hash table of rows by their content: which of the rows that are kept equals this one?

The hash of a row is that of its features that are not zero: zeros do not count, neither stored ones nor those of
features that came later. Rows with the same place in the table form a chain, and are compared one by one.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ellipsoid.engine.compile import call, compiled
from ellipsoid.engine.generic import generic, helper
from ellipsoid.engine.rows import CSR, Dense, feature_at, row_span, value_at

from ..tables import doubled

Places = NDArray[np.int64]

END = -1

# A factor of 31 bits: its product with a number of 32 bits does not overflow.
_FACTOR, _BITS = 0x5BD1E995, 0xFFFFFFFF


class Chains(NamedTuple):
    """``heads[h]`` is the first kept row of a chain, ``after[i]`` the next, or ``END``; ``hashes[i]`` is row i's."""

    heads: np.ndarray
    after: np.ndarray
    hashes: np.ndarray


class PatternIndex:
    """Finds the slot of a row with a given content."""

    def __init__(self) -> None:
        self.chains = Chains(np.full(1, END), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))

    def place(self, kept: Dense | CSR, used: int, rows: Dense | CSR, picks: Places) -> tuple[Places, Places]:
        """The slots of some rows, and which of them are new; their slots follow the used ones."""
        self._reserve(used, used + len(picks))
        slots, fresh = np.empty(len(picks), dtype=np.int64), np.empty(len(picks), dtype=np.int64)
        return slots, fresh[: call(_place, kept, used, rows, picks, self.chains, slots, fresh)]

    def find_one(self, kept: Dense | CSR, rows: Dense | CSR, t: int) -> int:
        """The slot of row t, or ``END``."""
        return int(call(_find_one, kept, rows, t, self.chains))

    def find(self, kept: Dense | CSR, rows: Dense | CSR, picks: Places) -> Places:
        """The slots of some rows, ``END`` for those that are not kept."""
        slots = np.empty(len(picks), dtype=np.int64)
        call(_find, kept, rows, picks, self.chains, slots)
        return slots

    def replace(self, slot: int, rows: Dense | CSR, t: int) -> None:
        """Row t has taken the place of the row in this slot."""
        call(_replace, slot, rows, t, self.chains)

    def link(self, used: int) -> None:
        """Rebuild the chains of the used slots from their hashes."""
        self.chains.heads[:] = END
        call(_link_all, used, self.chains)

    def _reserve(self, used: int, count: int) -> None:
        """Make room; chains stay short while there are at least twice as many as rows."""
        if count > len(self.chains.after):
            after, hashes = (doubled(a, count) for a in self.chains[1:])
            self.chains = Chains(np.full(1 << (2 * len(after)).bit_length(), END), after, hashes)
            self.link(used)


@generic(1)
def same(a: Any, i: int, b: Any, j: int) -> bool:
    """Has row i of a the content of row j of b, which are rows of one kind?"""


@helper()
def _mixed(h, j, x):
    bits = np.float64(x).view(np.int64)
    product = (h ^ ((bits ^ (bits >> 32) ^ (j * _FACTOR)) & _BITS)) * _FACTOR
    return (product ^ (product >> 29)) & _BITS


@helper()
def content_hash(rows: Any, t: int) -> Any:
    """A hash of row t, 0 <= hash < 2^32."""
    h = np.int64(0)
    start, stop = row_span(rows, t)
    for k in range(start, stop):
        x = value_at(rows, t, k)
        if x != 0.0:
            h = _mixed(h, np.int64(feature_at(rows, k)), x)
    return h


@same.register(Dense)
def _(a, i, b, j):
    k = 0
    while k < a.X.shape[1] and a.X[i, k] == b.X[j, k]:
        k += 1
    return k == a.X.shape[1]


@same.register(CSR)
def _(a, i, b, j):
    p, q, p_end, q_end = a.indptr[i], b.indptr[j], a.indptr[i + 1], b.indptr[j + 1]
    while True:
        while p < p_end and a.data[p] == 0.0:
            p += 1
        while q < q_end and b.data[q] == 0.0:
            q += 1
        if p == p_end or q == q_end:
            return p == p_end and q == q_end
        if a.indices[p] != b.indices[q] or a.data[p] != b.data[q]:
            return False
        p, q = p + 1, q + 1


@helper()
def _link(chains, i, h):
    place = h & (chains.heads.shape[0] - 1)
    chains.hashes[i], chains.after[i] = h, chains.heads[place]
    chains.heads[place] = i


@compiled
def _link_all(used, chains):
    for i in range(used):
        _link(chains, i, chains.hashes[i])


@compiled
def _place(kept, used, rows, picks, chains, slots, fresh):
    """Returns how many rows are new; row ``fresh[i]`` gets slot ``used + i``."""
    new = 0
    for k in range(picks.shape[0]):
        t = picks[k]
        h = content_hash(rows, t)
        i = chains.heads[h & (chains.heads.shape[0] - 1)]
        while i != END:
            if chains.hashes[i] == h and (same(kept, i, rows, t) if i < used else same(rows, fresh[i - used], rows, t)):
                break
            i = chains.after[i]
        if i == END:
            i = used + new
            fresh[new] = t
            new += 1
            _link(chains, i, h)
        slots[k] = i
    return new


@helper()
def _found(kept, rows, t, chains):
    h = content_hash(rows, t)
    i = chains.heads[h & (chains.heads.shape[0] - 1)]
    while i != END and not (chains.hashes[i] == h and same(kept, i, rows, t)):
        i = chains.after[i]
    return i


@compiled
def _find_one(kept, rows, t, chains):
    return _found(kept, rows, t, chains)


@compiled
def _find(kept, rows, picks, chains, slots):
    for k in range(picks.shape[0]):
        slots[k] = _found(kept, rows, picks[k], chains)


@compiled
def _replace(slot, rows, t, chains):
    place = chains.hashes[slot] & (chains.heads.shape[0] - 1)
    if chains.heads[place] == slot:
        chains.heads[place] = chains.after[slot]
    else:
        i = chains.heads[place]
        while chains.after[i] != slot:
            i = chains.after[i]
        chains.after[i] = chains.after[slot]
    _link(chains, slot, content_hash(rows, t))
