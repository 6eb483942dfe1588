"""The table of the size of the constant feature: one pass over sparse texts of length one, in one random order.

Prints the share of rows that were predicted wrongly before they were learned, for values of ``intercept_scaling``.
"""

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize

from ellipsoid import AROW, PassiveAggressive, Perceptron, datasets

SETS = ("imdb", "enron1", "sms_spam", "news20")
SIZES = (1.0, 0.3, 0.1, 0.03, 0.0)
LEARNERS = {
    "PassiveAggressive()": (PassiveAggressive, {}),
    "Perceptron()": (Perceptron, {}),
    'AROW(shape="diagonal")': (AROW, {"shape": "diagonal"}),
}


def online_error(learner: type, parameters: dict[str, str], size: float, X: sparse.csr_matrix, y: np.ndarray) -> float:
    """Errors of one pass; a size of 0 stands for no intercept."""
    model = learner(fit_intercept=size > 0.0, intercept_scaling=size or 1.0, **parameters)
    return float(np.mean(model.learn_predict(X, y) != y))


def main() -> None:
    """Print a line for each set, kind of rows and learner."""
    for name in SETS:
        X, y = datasets.stream(name)
        order = np.random.default_rng(0).permutation(len(y))
        counts, y = sparse.csr_matrix(X, dtype=np.float64)[order], np.asarray(y)[order]
        words = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
        for kind, rows in (("counts", normalize(counts)), ("tf-idf", words)):
            rows.sort_indices()
            for told, (learner, parameters) in LEARNERS.items():
                errors = [online_error(learner, parameters, size, rows, y) for size in SIZES]
                print(f"| {name}, {kind} | `{told}` | " + " | ".join(f"{100 * error:.1f}" for error in errors) + " |")


if __name__ == "__main__":
    main()
