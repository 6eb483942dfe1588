"""The operations that every stored form of an ellipsoid's matrix B provides, so that one `absorb` serves all forms.

An update runs along a direction z = sum_i sign_i (e_{who_i} (x) x), which has one block (binary) or two (the right
label against a rival). The blocks and their signs are the moves in ``work``.
"""

from typing import Any

from ellipsoid.engine.generic import generic, helper
from ellipsoid.engine.protocol import SCORES, TAU, WHO

NO_ERRORS = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@helper()
def margin_along(moves, work):
    """<w, z> for the direction in ``work``."""
    margin = 0.0
    for i in range(moves):
        margin += work[TAU, i] * work[SCORES, int(work[WHO, i])]
    return margin


@helper()
def squared_length(moves, work, norm2):
    """|z|^2 from |x|^2."""
    total = 0.0
    for i in range(moves):
        total += work[TAU, i] * work[TAU, i]
    return total * norm2


@generic(1)
def probe(rep: Any, rows: Any, t: int, moves: int, work: Any, length: float) -> float:
    """Form: z'Bz for the direction of row t, ``length`` = z'z; what Bz is made of stays in its scratch arrays."""


@generic(1, default=True)
def quadratic_error(rep: Any) -> float:
    """Form: a bound on the rounding error of the z'Bz just computed, where that can be large; 0 by default."""
    return 0.0


@generic(1)
def move_weights(rep: Any, rows: Any, t: int, moves: int, work: Any, step: float, before: float) -> None:
    """Form: w += step Bz for the direction just probed, and ``before`` times that to the sums of the average."""


@generic(1)
def downdate(  # noqa: PLR0913 (a step of a form has these parts)
    rep: Any, rows: Any, t: int, moves: int, work: Any, kappa: float, left: float, quadratic: float
) -> None:
    """Form: B -= kappa (Bz)(Bz)' / (z'Bz) for the direction just probed; ``left`` is 1 - kappa."""


@generic(1, default=True)
def move_and_downdate(  # noqa: PLR0913 (a step of a form has these parts)
    rep: Any, rows: Any, t: int, moves: int, work: Any, step: float, before: float,
    kappa: float, left: float, quadratic: float,
) -> None:  # fmt: skip
    """Form: both steps; by default one after the other."""
    move_weights(rep, rows, t, moves, work, step, before)
    downdate(rep, rows, t, moves, work, kappa, left, quadratic)


@generic(1, default=True)
def remaining_share(rule: Any, kappa: float, state: Any) -> float:
    """Rule: 1 - kappa of the cut just made; a rule may know it to more digits than the difference has."""
    return 1.0 - kappa


@generic(1)
def cut(
    rule: Any, margin: float, quadratic: float, norm2: float, state: Any, rounds: float, errors: Any
) -> tuple[float, float]:
    """Rule: the step along Bz and the kappa of the downdate at signed score ``margin``; a zero step changes nothing.

    ``errors`` are the form's `rounding_errors`, or NO_ERRORS for a rule whose `guaranteed_radius` is 0.
    """
