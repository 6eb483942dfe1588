"""The four numbers of a signed example of one or two classes: z = SIGN e_BLOCK (x) x + RIVAL_SIGN e_RIVAL (x) x.

Where there is no rival, PAIR_RIVAL is -1 and its sign 0.
"""

PAIR_BLOCK, PAIR_SIGN, PAIR_RIVAL, PAIR_RIVAL_SIGN = range(4)
