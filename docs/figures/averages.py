"""Write averages.md: test errors of the last weights and of their average, after one pass and after five, on ten sets.

Rows are scaled as for "Which learner", see SETS of front.py; three random orders, and means over them.

    ELLIPSOID_DATA=... python docs/figures/averages.py
"""

from pathlib import Path

import numpy as np
from front import SETS, prepared, rows_of

import ellipsoid

TABLE = Path(__file__).parent.parent / "_static" / "tables" / "averages.md"
TEN = ("letter", "satimage", "shuttle", "covtype", "phishing", "a9a", "dna", "usps", "news20", "imdb")
LEARNERS = ("Perceptron", "PassiveAggressive", "MIRA")
PASSES = (1, 5)
ORDERS = 3


def errors(name, rows):
    """The error on the test part for each number of passes: of the last weights, and of the average."""
    X, y, X_test, y_test, classes = rows
    last, mean = (getattr(ellipsoid, name)(average=average) for average in (False, True))
    found = {}
    for done in range(1, max(PASSES) + 1):
        for model in (last, mean):
            model.partial_fit(X, y, classes=range(classes))
        if done in PASSES:
            found[done] = [float((model.predict(X_test) != y_test).mean()) for model in (last, mean)]
    return found


def measure():
    """Means over the orders: (set, learner, passes) -> last, average."""
    found = {}
    for name in TEN:
        runs = {learner: [] for learner in LEARNERS}
        for order in range(ORDERS):
            X, y, X_test, y_test, classes = rows_of(name, order)
            X, X_test = prepared(SETS[name], X, X_test)
            for learner in LEARNERS:
                runs[learner].append(errors(learner, (X, y, X_test, y_test, classes)))
        for learner in LEARNERS:
            for passes in PASSES:
                found[name, learner, passes] = np.mean([run[passes] for run in runs[learner]], axis=0)
        print(name, {learner: found[name, learner, 1].round(4).tolist() for learner in LEARNERS}, flush=True)
    return found


def table(found):
    """One line per set: for each learner and number of passes, last / average in percent, the lower one in bold."""
    heads = [f"{learner}, {passes} pass{'es' if passes > 1 else ''}" for learner in LEARNERS for passes in PASSES]
    lines = ["<!-- written by docs/figures/averages.py -->", "", "| last / average, % | " + " | ".join(heads) + " |"]
    lines.append("|---|" + "---:|" * len(heads))
    for name in TEN:
        cells = []
        for learner in LEARNERS:
            for passes in PASSES:
                pair = found[name, learner, passes]
                shown = [f"{100 * value:.2f}" for value in pair]
                lower = int(pair[1] < pair[0])
                shown[lower] = f"**{shown[lower]}**"
                cells.append(" / ".join(shown))
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    TABLE.write_text(table(measure()))
