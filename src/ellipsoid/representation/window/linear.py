"""Linear weights, theta = W, and a window of the last examples, whose dual coefficients alpha may still change.

The examples are kept in a ring of rows, dense or CSR like the table, the example of observation n in slot n mod
capacity; the same code absorbs the loop's rows and the ring's. The CSR ring is a queue in one stretch of memory: slot i
is its row 2 i, so that the rows need not be adjacent.
"""

from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from ellipsoid.engine.generic import SUM, generic, helper
from ellipsoid.engine.protocol import SCORES, SPARE, TAU, WHO, absorb, has_room, norm2, score
from ellipsoid.engine.rows import CSR, TINY, Dense, feature_at, row_span, value_at
from ellipsoid.engine.tally import FARTHEST, GAIN, HELD, LARGEST, PATH, ROUNDS, WEIGHT

from ..linear import add
from ..signed_pairs import PAIR_BLOCK, PAIR_RIVAL, PAIR_RIVAL_SIGN, PAIR_SIGN
from .ascent import WindowDual, ascend, complete

# Numbers of a window: observations, whether the last ascent stopped early, |theta|^2, and where the queue of a CSR ring
# ends.
SEEN, UNDONE, SQUARE, TAIL = range(4)
WINDOW_NUMBERS = 4
# How many sums the ascent keeps of its steps; they are added to the tally's, from PATH on.
STEP_SUMS = 4


class Window(NamedTuple):
    """The weights, the ring, and the alphas of its examples with their z.

    ``known[i]``: up to which observation row i of the Gram matrix is complete. ``x`` is scratch.
    """

    base: Any
    ring: Any
    dual: WindowDual
    window: int
    numbers: np.ndarray
    pairs: np.ndarray
    known: np.ndarray
    x: np.ndarray


@score.register(Window, Dense | CSR)
def _(rep, rows, t, n, scores):
    score(rep.base, rows, t, n, scores)
    add_window_scores(rep.ring, rep, t, scores)


@norm2.register(Window, Dense | CSR)
def _(rep, rows, t):
    return norm2(rep.base, rows, t)


@generic(1)
def ring_row(ring: Any, i: int) -> int:
    """Which row of the ring is slot i."""


@ring_row.register(Dense)
def _(ring, i):
    return i


@ring_row.register(CSR)
def _(ring, i):
    return 2 * i


@generic(2)
def store_row(ring: Any, rows: Any, t: int, i: int, numbers: Any) -> None:
    """Copy row t into slot i, whose old row is forgotten."""


@store_row.register(Dense, Dense | CSR)
def _(ring, rows, t, i, numbers):
    for j in range(ring.X.shape[1]):
        ring.X[i, j] = 0.0
    start, stop = row_span(rows, t)
    for k in range(start, stop):
        ring.X[i, feature_at(rows, k)] = value_at(rows, t, k)


@store_row.register(CSR, Dense)
def _(ring, rows, t, i, numbers):
    tail = make_space(ring, i, numbers, rows.X.shape[1])
    ring.indptr[2 * i] = tail
    for j in range(rows.X.shape[1]):
        if rows.X[t, j] != 0.0:
            ring.indices[tail], ring.data[tail] = j, rows.X[t, j]
            tail += 1
    ring.indptr[2 * i + 1] = tail
    numbers[TAIL] = tail


@store_row.register(CSR, CSR)
def _(ring, rows, t, i, numbers):
    start, stop = row_span(rows, t)
    tail = make_space(ring, i, numbers, stop - start)
    ring.indptr[2 * i] = tail
    for k in range(start, stop):
        ring.indices[tail], ring.data[tail] = rows.indices[k], rows.data[k]
        tail += 1
    ring.indptr[2 * i + 1] = tail
    numbers[TAIL] = tail


@helper()
def make_space(ring, i, numbers, length):
    """Where ``length`` more values go; all rows are moved to the front when the end of the memory is reached.

    They lie in the order of their observations, so that moving them one after another overwrites nothing.
    """
    ring.indptr[2 * i], ring.indptr[2 * i + 1] = 0, 0
    tail = int(numbers[TAIL])
    if tail + length <= ring.data.shape[0]:
        return tail
    slots = ring.indptr.shape[0] // 2
    tail = 0
    # The slot after the newest is the oldest.
    for n in range(1, slots):
        s = (i + n) % slots
        start, stop = ring.indptr[2 * s], ring.indptr[2 * s + 1]
        ring.indptr[2 * s] = tail
        for k in range(start, stop):
            ring.data[tail], ring.indices[tail] = ring.data[k], ring.indices[k]
            tail += 1
        ring.indptr[2 * s + 1] = tail
    return tail


@generic(1, default=True)
def spread_slot(ring: Any, i: int, x: Any) -> None:
    """Prepare products with slot i: a sparse row is laid out in ``x``, others need nothing."""


@generic(1, default=True)
def clear_slot(ring: Any, i: int, x: Any) -> None:
    """Undo ``spread_slot``: make ``x`` zero again."""


@generic(1)
def slot_product(ring: Any, i: int, j: int, x: Any) -> float:
    """<x_i, x_j> without the constant feature; ``spread_slot`` has laid out x_j."""


@spread_slot.register(CSR)
def _(ring, i, x):
    for k in range(ring.indptr[2 * i], ring.indptr[2 * i + 1]):
        x[np.uint64(ring.indices[k])] = ring.data[k]


@clear_slot.register(CSR)
def _(ring, i, x):
    for k in range(ring.indptr[2 * i], ring.indptr[2 * i + 1]):
        x[np.uint64(ring.indices[k])] = 0.0


@slot_product.register(Dense, fast=SUM)
def _(ring, i, j, x):
    a, b = ring.X[i], ring.X[j]
    total = 0.0
    for n in range(a.shape[0]):
        total += a[n] * b[n]
    return total


@slot_product.register(CSR)
def _(ring, i, j, x):
    total = 0.0
    for k in range(ring.indptr[2 * i], ring.indptr[2 * i + 1]):
        total += ring.data[k] * x[np.uint64(ring.indices[k])]
    return total


@generic(1, default=True)
def add_window_scores(ring: Any, rep: Any, t: int, scores: Any) -> None:
    """Add the window's share to the scores of row t, where the base holds only the examples that have left it.

    By default the base holds all.
    """


@generic(1)
def follow_change(ring: Any, rep: Any, i: int, moves: int, work: Any, before: float) -> None:
    """Apply ``change[i]`` of alpha_i to the hypothesis, after ``before`` rounds."""


@generic(1, default=True)
def retire(ring: Any, rep: Any, i: int, t: int, before: float) -> None:
    """Move the example of slot i, if there is one, to the base: row t replaces it, and its alpha is final.

    By default it is there already.
    """


@follow_change.register(Dense | CSR)
def _(ring, rep, i, moves, work, before):
    z, change = rep.pairs[i], rep.dual.change[i]
    work[WHO, 0], work[TAU, 0] = z[PAIR_BLOCK], change * z[PAIR_SIGN]
    if moves == 2:
        work[WHO, 1], work[TAU, 1] = z[PAIR_RIVAL], change * z[PAIR_RIVAL_SIGN]
    add(rep.base, ring, ring_row(ring, i), moves, work, before)


@helper()
def block_overlap(p, q):
    """<z, z'> / <x, x'> for the blocks of two examples."""
    block, rival, other_sign, other_rival_sign = p[PAIR_BLOCK], p[PAIR_RIVAL], q[PAIR_SIGN], q[PAIR_RIVAL_SIGN]
    own = other_sign * (block == q[PAIR_BLOCK]) + other_rival_sign * (block == q[PAIR_RIVAL])
    against = other_sign * (rival == q[PAIR_BLOCK]) + other_rival_sign * (rival == q[PAIR_RIVAL])
    return p[PAIR_SIGN] * own + p[PAIR_RIVAL_SIGN] * against


@complete.register(Window)
def _(rep, i):
    now, slots = int(rep.numbers[SEEN]) - 1, rep.dual.alpha.shape[0]
    if rep.known[i] == now:
        return
    ring, known, row = rep.ring, rep.known, rep.dual.gram[i]
    constant2 = ring.constant * ring.constant
    born = now - (now - i) % slots
    spread_slot(ring, i, rep.x)
    for n in range(max(int(known[i]) + 1, now + 1 - slots), now + 1):
        j = n % slots
        if j == i:
            row[j] = rep.dual.own[i]
        elif known[j] >= born:
            row[j] = rep.dual.gram[j, i]
        else:
            share = block_overlap(rep.pairs[i], rep.pairs[j])
            row[j] = share * (slot_product(ring, j, i, rep.x) + constant2) if share != 0.0 else 0.0
    clear_slot(ring, i, rep.x)
    known[i] = now


@helper()
def admit(rep, rule, rows, t, moves, work, tally):
    """Let row t, with its z in ``work``, take the place of the oldest example; returns its slot and its margin."""
    numbers = rep.numbers
    i = int(numbers[SEEN]) % rep.dual.alpha.shape[0]
    retire(rep.ring, rep, i, t, tally[ROUNDS])
    tally[WEIGHT] += rep.dual.alpha[i]
    tally[LARGEST] = max(tally[LARGEST], rep.dual.alpha[i])
    numbers[SEEN] += 1.0
    store_row(rep.ring, rows, t, i, numbers)
    z = rep.pairs[i]
    z[PAIR_BLOCK], z[PAIR_SIGN], z[PAIR_RIVAL], z[PAIR_RIVAL_SIGN] = work[WHO, 0], work[TAU, 0], -1.0, 0.0
    margin = work[TAU, 0] * work[SCORES, int(work[WHO, 0])]
    if moves == 2:
        z[PAIR_RIVAL], z[PAIR_RIVAL_SIGN] = work[WHO, 1], work[TAU, 1]
        margin += work[TAU, 1] * work[SCORES, int(work[WHO, 1])]
    rep.dual.alpha[i], rep.known[i], rep.dual.cap[i] = 0.0, -1.0, rule.cap
    rep.dual.own[i], rep.dual.gradient[i] = moves * work[SPARE, 0], rule.goal - margin
    if work[SPARE, 0] < TINY:
        # Its alpha is the cap whatever happens, which the sums of the run know; no other example feels it.
        z[PAIR_SIGN], z[PAIR_RIVAL_SIGN], rep.dual.own[i], rep.dual.gradient[i] = 0.0, 0.0, 0.0, 0.0
    return i, margin


@absorb.register(Window)
def _(rep, rule, rows, t, moves, work, tally):
    numbers = rep.numbers
    newest, margin = admit(rep, rule, rows, t, moves, work, tally)
    # Without loss the dual stays maximal over what remains: theta has not moved, and the newcomer's alpha is 0.
    if rep.dual.gradient[newest] <= 0.0 and numbers[UNDONE] == 0.0:
        return False
    members = min(int(numbers[SEEN]), rep.dual.alpha.shape[0])
    gain, undone = ascend(rep, newest, members)
    if margin <= 0.0:
        tally[GAIN] += gain
    numbers[UNDONE] = 1.0 if undone else 0.0
    for k in range(STEP_SUMS):
        tally[PATH + k] += rep.dual.step_sums[k]
        rep.dual.step_sums[k] = 0.0
    moved, total, adds, net = False, 0.0, 0.0, 0.0
    for i in range(members):
        if rep.dual.change[i] != 0.0:
            moved = True
            total += rep.dual.change[i]
            adds, net = adds + 1.0, net + abs(rep.dual.change[i]) * sqrt(rep.dual.own[i])
            follow_change(rep.ring, rep, i, moves, work, tally[ROUNDS])
            rep.dual.change[i] = 0.0
    # The gain of the dual is the margin times what the alphas have gained, less half of what |theta|^2 has.
    numbers[SQUARE] += 2.0 * (rule.goal * total - gain)
    # Between the additions of a round theta may be longer than before and after.
    tally[HELD] += adds * net
    tally[FARTHEST] = max(tally[FARTHEST], numbers[SQUARE])
    return moved


@has_room.register(Window)
def _(rep, rows, t):
    slots = rep.dual.alpha.shape[0]
    return (rep.numbers[SEEN] < slots or slots == rep.window) and fits(rep.ring, rows, t, rep.numbers)


@generic(1, default=True)
def fits(ring: Any, rows: Any, t: int, numbers: Any) -> bool:
    """Is there memory for row t in the ring? By default there always is."""
    return True


@fits.register(CSR)
def _(ring, rows, t, numbers):
    start, stop = row_span(rows, t)
    length = stop - start
    # Beside the rows that will stay, with a quarter to spare once they are moved.
    slots = ring.indptr.shape[0] // 2
    oldest = int(numbers[SEEN]) % slots
    if numbers[TAIL] + length <= ring.data.shape[0]:
        return True
    kept = 0
    for i in range(slots):
        kept += 0 if i == oldest else ring.indptr[2 * i + 1] - ring.indptr[2 * i]
    return 4 * (kept + length) <= 3 * ring.data.shape[0]
