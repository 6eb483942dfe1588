"""What tables 2 to 5 of Crammer and Singer (JMLR 3, 2003) print: test errors in percent and counts after each epoch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Row(NamedTuple):
    """Printed numbers of one learner; ``known`` is False where no setting that we tried gives them."""

    errors: tuple[float, ...]
    counts: tuple[int, ...]
    known: bool = True


CHESS: Mapping[str, Row] = {
    "Perceptron": Row((5.6, 4.9, 4.7, 4.7, 4.6), (1891, 2029, 2050, 2059, 2062)),
    "Uniform": Row((6.3, 5.1, 4.7, 4.7, 4.7), (1745, 1933, 1966, 1971, 1973)),
    "Max": Row((6.1, 5.4, 5.2, 5.1, 5.1), (1758, 1912, 1936, 1944, 1947)),
    "Prop": Row((6.2, 5.3, 5.2, 5.1, 5.1), (1723, 1900, 1927, 1934, 1938)),
    "MIRA": Row((4.3, 4.0, 3.9, 4.0, 4.0), (7229, 7259, 7260, 7261, 7261)),
}
MNIST: Mapping[str, Row] = {
    "Perceptron": Row((1.83, 1.58, 1.68), (5299, 6633, 7112)),
    "Uniform": Row((2.31, 1.89, 1.62), (2726, 3271, 3458)),
    "Max": Row((2.61, 2.13, 1.89), (2823, 3423, 3605)),
    "Prop": Row((2.46, 2.04, 1.85), (3050, 3722, 3957), known=False),
    "MIRA": Row((1.45, 1.37, 1.36), (20162, 23878, 26176)),
}
USPS: Mapping[str, Row] = {
    "Perceptron": Row((5.93, 5.63, 4.98, 4.78, 4.83), (936, 1167, 1240, 1266, 1281)),
    "Uniform": Row((6.73, 5.53, 5.38, 5.48, 5.43), (492, 578, 603, 614, 621)),
    "Max": Row((6.08, 6.38, 5.48, 5.38, 5.38), (527, 607, 639, 645, 647)),
    "Prop": Row((6.63, 5.98, 5.73, 5.58, 5.43), (494, 575, 600, 612, 615)),
    "MIRA": Row((4.78, 4.68, 4.63, 4.63, 4.58), (3242, 3864, 4250, 4517, 4726)),
}
LETTER: Mapping[str, Row] = {
    "Perceptron": Row((7.45, 5.13, 4.60, 4.32, 3.95), (4215, 5635, 6469, 7023, 7359)),
    "Uniform": Row((7.07, 5.40, 4.90, 4.88, 4.28), (2202, 2754, 3057, 3293, 3432)),
    "Max": Row((7.40, 6.08, 4.63, 4.73, 4.73), (2334, 2951, 3313, 3510, 3635)),
    "Prop": Row((8.00, 7.03, 4.98, 4.83, 4.45), (2205, 2784, 3117, 3336, 3475)),
    "MIRA": Row((3.68, 3.08, 2.70, 2.50, 2.38), (8184, 11964, 14929, 17453, 19701)),
}
