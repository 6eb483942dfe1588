"""What a part must answer so that the one loop can run it.

On each round the learner **scores** the row, its **task** compares the scores with the label and lets the **rule** turn
them into coefficients tau (one for each score, all zero when the rule is passive), and the **representation** absorbs
``sum_r tau_r (e_r (x) A x)``. ``work`` is scratch: row SCORES, row TAU, and rows that a rule may use as it likes.
"""

from typing import Any

from .generic import generic

SCORES, TAU, SCRATCH = range(3)
WORK_ROWS = 4


@generic(2)
def score(rep: Any, rows: Any, t: int, n: int, scores: Any) -> None:
    """Representation: write the n scores of row t. Equal rows of weights must get equal scores, to the last bit."""


@generic(1)
def room(rep: Any, rows: Any, t: int) -> bool:
    """Representation: is there memory left to absorb row t? The loop stops where there is none, and Python grows it."""


@generic(1)
def absorb(rep: Any, rule: Any, rows: Any, t: int, n: int, work: Any, tally: Any) -> bool:
    """Representation: take in row t with coefficients ``work[TAU, :n]``; True if the hypothesis changed."""


@generic(1)
def step(rule: Any, margin: float, energy: float) -> float:
    """Rule, binary: the size tau >= 0 of the step ``w += tau y x`` at signed score ``margin`` and ``energy`` > 0."""


@generic(1)
def share(rule: Any, n: int, y: int, energy: float, work: Any) -> bool:
    """Rule, multiclass: write tau for the n scores and right label y; False if all tau are zero."""


@generic(1)
def width(task: Any) -> int:
    """Task: how many scores a row has."""


@generic(1)
def judge(task: Any, t: int, scores: Any) -> float:
    """Task: the margin of row t; it is a mistake when <= 0."""


@generic(1)
def winner(task: Any, scores: Any) -> int:
    """Task: the index of the predicted label; ties go to the smallest."""


@generic(1)
def demand(task: Any, rule: Any, rows: Any, t: int, margin: float, work: Any, tally: Any) -> float:
    """Task: ask the rule for tau; returns the squared norm of the row, or 0 when the rule is passive."""
