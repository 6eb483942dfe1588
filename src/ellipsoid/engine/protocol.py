"""The protocol of the loop: what a rule, a task and a representation must answer so that the one loop can run them.

On each round the learner **scores** the row, its **task** compares the scores with the label and lets the **rule** turn
them into coefficients tau, and the **representation** absorbs ``sum_r tau_r (e_r (x) A x)``.

``work`` is scratch. Row SCORES holds the scores. A step is a list of ``moves`` moves: move k adds ``work[TAU, k]`` to
function ``work[WHO, k]``; few functions move, and nothing is done for the others. Row SPARE a rule may use as it likes.
"""

from typing import Any

import numpy as np

from .generic import generic, helper
from .native.vector_sums import highest_but
from .rows import energy

SCORES, TAU, WHO, SPARE = range(4)
WORK_ROWS = 4


@generic(2)
def score(rep: Any, rows: Any, t: int, n: int, scores: Any) -> None:
    """Representation: write the n scores of row t. Equal rows of weights must get equal scores, to the last bit."""


@generic(1, default=True)
def begin(rep: Any) -> None:
    """Representation: a new run of the loop begins: forget what was computed ahead; by default nothing ever is."""


@generic(2, default=True)
def score_next(rep: Any, rows: Any, t: int, n: int, scores: Any) -> None:
    """Representation: score row t, which is learned next; its successors may be scored ahead. By default `score`."""
    score(rep, rows, t, n, scores)


@generic(1, default=True)
def keeps_average(rep: Any) -> bool:
    """Representation: does it predict with an average, which ``swap_in_average`` makes available? By default not."""
    return False


@generic(1, default=True)
def swap_in_average(rep: Any, rows: Any, t: int, n: int, rounds: float) -> Any:
    """Representation: let the average after ``rounds`` > 0 score row t; returns what ``swap_out_average`` needs."""
    return np.empty((0, 0))


@generic(1, default=True)
def swap_out_average(rep: Any, rows: Any, t: int, n: int, kept: Any) -> None:
    """Representation: undo ``swap_in_average``, which returned ``kept``."""


@generic(2, default=True)
def norm2(rep: Any, rows: Any, t: int) -> float:
    """Representation: the squared norm of row t, with a kernel K(x, x); by default that of the row itself."""
    return energy(rows, t)


@generic(1, default=True)
def has_room(rep: Any, rows: Any, t: int) -> bool:
    """Representation: is there memory to absorb row t? If not the loop stops and Python grows it; by default always."""
    return True


@generic(1)
def absorb(rep: Any, rule: Any, rows: Any, t: int, moves: int, work: Any, tally: Any) -> bool:
    """Representation: take in row t with the moves of the step; True if the hypothesis changed."""


@generic(1, default=True)
def wants_label(rule: Any, task: Any, rep: Any, rows: Any, t: int, work: Any, tally: Any) -> bool:
    """Rule: does row t, scored already, deserve a label? A row without one is predicted and not learned."""
    return True


@generic(1, default=True)
def weighted(rule: Any, weight: float) -> Any:
    """Rule: the rule for an example of this weight > 0; for weight 1 the rule itself. By default weights do nothing."""
    return rule


@generic(1, default=True)
def on_zero_row(rule: Any, rep: Any, tally: Any) -> None:
    """Rule: record a zero row that asks for a step, which is impossible; by default nothing is recorded."""


@generic(1, default=True)
def record_step(rule: Any, margin: float, tau: float, energy: float, tally: Any) -> None:
    """Rule: update its own sums for a step of size ``tau`` that is about to be made; by default it has none."""


@generic(1)
def step(rule: Any, margin: float, energy: float) -> float:
    """Rule, binary: the size tau >= 0 of the step ``w += tau y x`` at signed score ``margin`` and ``energy`` > 0."""


@helper()
def against_highest_rival(rule: Any, n: int, y: int, energy: float, work: Any) -> int:
    """The binary step at z = (e_y - e_s) (x) x: its margin is B_y - B_s, s the highest rival, and |z|^2 = 2 |x|^2."""
    scores, tau, who = work[SCORES], work[TAU], work[WHO]
    rival, highest = highest_but(scores, n, y)
    size = step(rule, scores[y] - highest, 2.0 * energy)
    if size == 0.0:
        return 0
    who[0], tau[0] = y, size
    who[1], tau[1] = rival, -size
    return 2


@generic(1, default=True)
def share(rule: Any, n: int, y: int, energy: float, work: Any) -> int:
    """Rule, multiclass: write the moves for the n scores and right label y, y first; returns how many, 0 for no step.

    By default the right label and its highest rival make the binary step.
    """
    return against_highest_rival(rule, n, y, energy, work)


@helper()
def worst_pair(n: int, Y: Any, t: int, scores: Any) -> tuple[int, int]:
    """The lowest of the right labels of row t and the highest of the wrong ones; -1 where there is none."""
    right, wrong = -1, -1
    for r in range(n):
        if Y[t, r] != 0:
            if right < 0 or scores[r] < scores[right]:
                right = r
        elif wrong < 0 or scores[r] > scores[wrong]:
            wrong = r
    return right, wrong


@helper()
def lowest_against_highest(rule: Any, n: int, Y: Any, t: int, energy: float, work: Any) -> int:
    """The binary step of the lowest right label against the highest wrong one."""
    right, wrong = worst_pair(n, Y, t, work[SCORES])
    size = step(rule, work[SCORES, right] - work[SCORES, wrong], 2.0 * energy)
    if size == 0.0:
        return 0
    work[WHO, 0], work[TAU, 0] = right, size
    work[WHO, 1], work[TAU, 1] = wrong, -size
    return 2


@generic(1, default=True)
def share_sets(rule: Any, n: int, Y: Any, t: int, energy: float, work: Any) -> int:
    """Rule, label sets: write the moves for row t, whose right labels ``Y[t]`` names, right ones first.

    There are labels of both kinds. By default the lowest right one and the highest wrong one make the binary step.
    """
    return lowest_against_highest(rule, n, Y, t, energy, work)


@generic(1)
def width(task: Any) -> int:
    """Task: how many scores a row has."""


@generic(1)
def margin_of(task: Any, t: int, scores: Any) -> float:
    """Task: the margin of row t; it is a mistake when <= 0."""


@generic(1)
def winner(task: Any, scores: Any) -> int:
    """Task: the index of the predicted label; ties go to the smallest."""


@generic(1)
def request_step(  # noqa: PLR0913 (every part of the protocol once)
    task: Any, rule: Any, rep: Any, rows: Any, t: int, margin: float, work: Any, tally: Any
) -> tuple[int, float]:
    """Task: ask the rule for a step; returns the number of moves (0: passive) and the squared norm of the row."""
