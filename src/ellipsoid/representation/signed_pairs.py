"""A signed example of one class or two, kept as numbers: z = SIGN e_BLOCK (x) x + RIVAL_SIGN e_RIVAL (x) x.

Where there is no rival, PAIR_RIVAL is -1 and its sign 0.
"""

PAIR_BLOCK, PAIR_SIGN, PAIR_RIVAL, PAIR_RIVAL_SIGN = range(4)
