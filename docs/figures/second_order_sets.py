"""Online errors of the second-order learners under the protocol of LIBOL: one pass, 20 random orders, no intercept.

    python docs/figures/second_order_sets.py

writes the table of `docs/second-order.md` to the terminal; the data sets are those of ``$ELLIPSOID_DATA`` that LIBOL's
site lists too. LIBOL printed results for svmguide3 and ijcnn1, which are not among them.
"""

import numpy as np

from ellipsoid import (
    AROW,
    NHERD,
    SCW,
    ConfidenceWeighted,
    PassiveAggressive,
    Perceptron,
    SecondOrderPerceptron,
    datasets,
)

SETS = ("german", "ionosphere", "sonar", "a1a", "w1a")
ORDERS = 20
PLAIN = {"fit_intercept": False}
# LIBOL's defaults: C = r = 1, and the confidences that it ships with.
LEARNERS = {
    "Perceptron": Perceptron(**PLAIN),
    "PA-I": PassiveAggressive(variant="I", C=1.0, **PLAIN),
    "second-order Perceptron": SecondOrderPerceptron(shape="dense", **PLAIN),
    "AROW": AROW(r=1.0, shape="dense", **PLAIN),
    "CW": ConfidenceWeighted(eta=0.7, shape="dense", **PLAIN),
    "SCW-I": SCW(variant="I", C=1.0, eta=0.75, shape="dense", **PLAIN),
    "SCW-II": SCW(variant="II", C=1.0, eta=0.9, shape="dense", **PLAIN),
    "NHERD": NHERD(shape="dense", **PLAIN),
}


def main() -> None:
    """Print a line for each learner: mean and deviation of the online error in percent, and the mean of the updates."""
    from sklearn.base import clone

    print("| learner |", " | ".join(SETS), "|")
    print("|---" * (1 + len(SETS)) + "|")
    for name, model in LEARNERS.items():
        cells = []
        for data in SETS:
            X, y = datasets.load(data).train
            X = np.ascontiguousarray(X.toarray() if hasattr(X, "toarray") else X)
            errors, updates = [], []
            for seed in range(ORDERS):
                order = np.random.default_rng(seed).permutation(len(y))
                learned = clone(model)
                told = learned.learn_predict(X[order], y[order], classes=np.unique(y))
                errors.append(100 * np.mean(told != y[order]))
                updates.append(learned.updates_)
            cells.append(f"{np.mean(errors):.1f} ± {np.std(errors, ddof=1):.1f} ({np.mean(updates):.0f})")
        print(f"| {name} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
