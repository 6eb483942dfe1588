"""Weights of several learners, moved by their votes before a label came: fixed share and AdaHedge.

Learner i gives every label k a vote c_ik from 0 to 1: 1 to the label that it predicts and 0 to the others (votes), or
max(0, 1 + s_ik - max_r s_ir) of its scores s (margins). A row of label y costs it

    l_i = 1 - (c_iy - max_{r != y} c_ir)    in [0, 2].

With weights p_i that sum to 1 the committee gives k the number f_k = sum_i p_i c_ik, and is charged the same way: by
convexity at most sum_i p_i l_i, and 1 at least where it is wrong. After the label, with the rate eta,

    m = -ln(sum_i p_i exp(-eta l_i)) / eta,    gap += <p, l> - m,
    p_i <- (1 - share) p_i exp(-eta l_i) / Z + share / N                      (fixed share: Herbster, Warmuth 1998)
    p_i ~ exp(-eta_t L_i),   eta_t = ln N / gap                               (AdaHedge: de Rooij et al., JMLR 2014)

where L_i are the sums of losses. A weight below what a float64 holds could never rise again, however well its learner
does: a share is 1e-290 at least, and no weight of AdaHedge falls further behind the highest. Both bounds hold with
such weights, which cost less than a rounding.

Beside them B_ki, the least loss of a sequence of learners that ends with i and switches k times at most:
B_ki <- l_i + min(B_ki, min_j B_{k-1,j}). Rows that cost every learner the same change nothing but what is added to all
of B; only the first of them may still move it, so that most rows cost no look at the table.

A row of weight k counts k times. Rows cost nothing while their label is the only one known: nobody can be wrong.
Weights are updated row by row in a fixed order: no cutting of a stream changes a bit.
"""

from math import exp, inf, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellipsoid.certificates.rounding import relative_error
from ellipsoid.engine import call, compiled
from ellipsoid.engine.generic import MAXIMUM
from ellipsoid.engine.tally import EXCESS, MISTAKES, ROUNDS, WEIGHED
from ellipsoid.representation.table_protocol import Floats

from ..inputs.labels import Codes

# The most switches whose losses are known.
SWITCHES = 60
# Numbers of a run: the sum of <p, l> - m, the loss of the committee, that of its members on average, rows that cost
# something, what is to be added to all of B, 1 where B has taken in the last row's switches, and the weights of all
# rows that cost something.
GAP, OWN_LOSS, MEAN_LOSS, COUNTED, OFFSET, AT_REST, TOTAL = range(7)
NUMBERS = 7
# How the share is chosen, in the place of a number.
DECREASING, HEDGED = -1.0, -2.0
# The least that is shared out.
LEAST_SHARE = 1e-290


@compiled
def weigh_votes(votes: Any, p: Any, known: int, out: Any) -> Any:
    """The weighted votes for each of the known labels, row by row."""
    for t in range(out.shape[0]):
        for k in range(known):
            total = 0.0
            for i in range(p.shape[0]):
                total += p[i] * votes[i, t, k]
            out[t, k] = total
    return np.int64(0)


@compiled(fastmath=set(MAXIMUM))
def mix(
    votes: Any, codes: Any, known: int, weights: Any, share: float, rate: float, p: Any, sums: Any, best: Any,
    numbers: Any, tally: Any, predicted: Any, scores: Any,
) -> Any:  # fmt: skip
    """Learn rows one after the other; writes the committee's labels into ``predicted``, its votes into ``scores``."""
    members, levels = p.shape[0], best.shape[0]
    losses = np.empty(members)
    least = np.empty(levels)
    for k in range(levels):
        least[k] = inf
        for i in range(members):
            least[k] = min(least[k], best[k, i])
    for t in range(codes.shape[0]):
        y, weight = codes[t], 1.0
        if weights.shape[0] > 0:
            weight = weights[t]
        tally[ROUNDS] += 1.0
        if weight != 1.0:
            tally[WEIGHED] += 1.0
        winner, highest, rival, own = np.int64(-1), -inf, -inf, 0.0
        for k in range(known):
            total = 0.0
            for i in range(members):
                total += p[i] * votes[i, t, k]
            scores[t, k] = total
            if total > highest:
                winner, highest = np.int64(k), total
            if k == y:
                own = total
            elif total > rival:
                rival = total
        predicted[t] = winner
        if rival == -inf:
            continue
        if own <= rival:
            tally[MISTAKES] += 1.0
            tally[EXCESS] += weight - 1.0
        numbers[OWN_LOSS] += weight * (1.0 - (own - rival))
        lowest, alike = inf, True
        for i in range(members):
            right, wrong = 0.0, 0.0
            for k in range(known):
                if k == y:
                    right = votes[i, t, k]
                else:
                    wrong = max(wrong, votes[i, t, k])
            losses[i] = weight * (1.0 - (right - wrong))
            alike = alike and losses[i] == losses[0]
            lowest = min(lowest, losses[i])
        mean = 0.0
        for i in range(members):
            mean += p[i] * (losses[i] - lowest)
        numbers[MEAN_LOSS] += lowest + mean
        before = numbers[COUNTED]
        numbers[COUNTED] += 1.0
        numbers[TOTAL] += weight
        # The table of switches, from the most down: each level needs what the one below it was before this row.
        if alike and numbers[AT_REST] == 1.0:
            numbers[OFFSET] += losses[0]
        else:
            for k in range(levels - 1, -1, -1):
                below, low = least[k - 1] if k > 0 else inf, inf
                for i in range(members):
                    held = min(best[k, i], below)
                    held = held if alike else held + losses[i]
                    best[k, i] = held
                    low = min(low, held)
                least[k] = low
            if alike:
                numbers[OFFSET] += losses[0]
            numbers[AT_REST] = 1.0 if alike else 0.0
        # The weights.
        if share == HEDGED:
            old = inf
            for i in range(members):
                old = min(old, sums[i])
            for i in range(members):
                sums[i] += losses[i]
            if not alike:
                now = inf
                for i in range(members):
                    now = min(now, sums[i])
                eta = log(np.float64(members)) / numbers[GAP] if numbers[GAP] > 0.0 else inf
                if eta < inf:
                    total = 0.0
                    for i in range(members):
                        total += p[i] * exp(-eta * (losses[i] - lowest))
                    numbers[GAP] += max(0.0, mean + log(total) / eta)
                else:
                    numbers[GAP] += max(0.0, lowest + mean - (now - old))
                hedge(sums, now, numbers[GAP], p)
            continue
        part = 1.0 / (before + 2.0) if share == DECREASING else share
        if alike:
            for i in range(members):
                p[i] = (1.0 - part) * p[i] + part / members
        else:
            total = 0.0
            for i in range(members):
                p[i] *= exp(-rate * (losses[i] - lowest))
                total += p[i]
            numbers[GAP] += max(0.0, mean + log(total) / rate)
            for i in range(members):
                p[i] = (1.0 - part) * (p[i] / total) + part / members
        for i in range(members):
            sums[i] += losses[i]
    return np.int64(0)


@compiled
def hedge(sums: Any, least: float, gap: float, p: Any) -> None:
    """Weights of AdaHedge; where nothing was lost by mixing yet, those that lead share alike."""
    members = p.shape[0]
    eta, total = log(np.float64(members)) / gap if gap > 0.0 else inf, 0.0
    for i in range(members):
        behind = sums[i] - least
        p[i] = max(LEAST_SHARE, (1.0 if behind == 0.0 else 0.0) if eta == inf else exp(-eta * behind))
        total += p[i]
    for i in range(members):
        p[i] /= total


class Mixture:
    """Weights of so many learners, and the sums that bounds need."""

    def __init__(self, members: int, share: float, rate: float) -> None:
        self.share, self.rate = share if share < 0.0 else max(share, LEAST_SHARE), rate
        self.weights: Floats = np.full(members, 1.0 / members)
        self.sums: Floats = np.zeros(members)
        self.best: Floats = np.zeros((1 + SWITCHES, members))
        self.numbers: Floats = np.zeros(NUMBERS)
        self.numbers[AT_REST] = 1.0

    def __setstate__(self, state: dict[str, Any]) -> None:
        if state["numbers"].shape != (NUMBERS,):
            # Compiled code would write beyond them.
            raise ValueError(
                "this committee was pickled by another version and cannot be read; use files that `save` has written"
            )
        self.__dict__.update(state)

    def learn(self, votes: Floats, codes: Codes, known: int, weights: Floats, tally: Floats) -> tuple[Codes, Floats]:
        """Learn rows; returns the index of the label that each was given before (-1: none), and its scores.

        ``votes[i, t, k]`` is the vote of learner i for label k of the ``known`` ones; ``codes`` may hold one more.
        """
        predicted, scores = np.empty(len(codes), dtype=np.int64), np.empty((len(codes), known))
        args = (votes, codes, known, weights, self.share, self.rate, self.weights, self.sums, self.best, self.numbers,
                tally, predicted, scores)  # fmt: skip
        call(mix, *args)
        return predicted, scores

    def scores(self, votes: Floats) -> Floats:
        """The weighted votes for each label; those of learner i are ``votes[i]``."""
        _, rows, known = votes.shape
        out = np.empty((rows, known))
        call(weigh_votes, votes, self.weights, known, out)
        return out

    def switching_losses(self) -> Floats:
        """The least loss of a sequence of learners with 0, 1, ... switches at most."""
        return self.best.min(axis=1) + self.numbers[OFFSET]

    def switching_bounds(self) -> Floats:
        """What the committee can have lost at the most, if those are its rivals; computed outwards."""
        members, rows, gap = len(self.weights), float(self.numbers[COUNTED]), float(self.numbers[GAP])
        if rows == 0.0:
            return np.zeros(1 + SWITCHES)
        least, switches = self.switching_losses(), np.arange(1.0 + SWITCHES)
        # Sums over rows lose something at each of them, the weights before they are next divided by their sum among
        # them; and each row is itself a sum over members, of losses and of logarithms that are divided by the rate.
        size, slow = 4.0 * float(self.numbers[TOTAL]) + rows, 2.0 * gap if self.share == HEDGED else 1.0 / self.rate
        slack = relative_error(8.0 * rows + 64.0 * members) * size + relative_error(64.0 * members) * rows * (
            1.0 + slow
        )
        if self.share == HEDGED:
            found = np.full(1 + SWITCHES, inf)
            found[0] = least[0] + 2.0 * gap + slack
            return found
        if self.share == DECREASING:
            switch, stay = log(members * rows), np.full(1 + SWITCHES, log(rows))
        elif self.share == 1.0:
            switch, stay = log(members), np.where(switches >= rows - 1.0, 0.0, inf)
        else:
            switch = log(members) - log(self.share)
            stay = np.maximum(0.0, rows - 1.0 - switches) * -np.log1p(-self.share)
        paid = np.array([0.0 if k == 0.0 else k * switch for k in switches])
        price = (log(members) + paid + stay) / self.rate
        return np.asarray((least + price + gap + slack) * (1.0 + 1e-12), dtype=np.float64)

    def state(self) -> dict[str, NDArray[Any]]:
        """Arrays that hold everything."""
        return {"weights": self.weights, "sums": self.sums, "best": self.best, "counts": self.numbers}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restore what a file holds, or raise ``ValueError``."""
        for name, own in self.state().items():
            array = arrays[name]
            if array.shape != own.shape or array.dtype != own.dtype or (array < 0.0).any():
                raise ValueError("what its committee has learned is not that of a stream")
            own[...] = array
        if abs(float(self.weights.sum()) - 1.0) > 1e-9:
            raise ValueError("the weights of its committee do not sum to 1")

    def __deepcopy__(self, memo: dict[int, Any]) -> "Mixture":
        other = Mixture(len(self.weights), self.share, self.rate)
        for name, own in other.state().items():
            own[...] = self.state()[name]
        return other
