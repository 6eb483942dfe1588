"""Write choosing.md, the table of "Which learner?": error, updates, time and memory on ten real data sets.

One pass over the training part in one random order, the labels announced. Time is processor time, with the machine
code compiled beforehand; memory is the size of the model file, which holds what a model must keep and nothing else.
Some learners sit out where they would take more than some minutes: "-".

    ELLIPSOID_DATA=... python docs/figures/choosing.py [set ...]

keeps what it measured in choosing.json and measures what is not there: delete it to do everything again.
"""

import json
import sys
import tempfile
from pathlib import Path
from time import process_time

import numpy as np
from scipy.sparse import issparse

import ellipsoid
from ellipsoid.streams.scale import scale

FOLDER = Path(__file__).parent.parent / "_static" / "tables"

# Data set: how its rows are prepared.
SETS = {
    "usps": "none",
    "mnist": "unit",
    "letter": "standard",
    "isolet": "none",
    "satimage": "standard",
    "shuttle": "standard",
    "phishing": "none",
    "a9a": "none",
    "news20": "unit",
    "imdb": "unit",
}

LEARNERS = {
    "EllipsoidClassifier": ("EllipsoidClassifier", {}),
    "EllipsoidClassifier, one speed": ("EllipsoidClassifier", {"speeds": 1}),
    "Perceptron": ("Perceptron", {}),
    "Perceptron, averaged": ("Perceptron", {"average": True}),
    "PA-I, averaged": ("PassiveAggressive", {"average": True}),
    "MIRA, averaged": ("MIRA", {"margin": 1.0, "average": True}),
    "ROMMA, aggressive, averaged": ("ROMMA", {"aggressive": True, "average": True}),
    "ALMA, averaged": ("ALMA", {"average": True}),
    "Winnow": ("Winnow", {}),
    "QuasiAdditive, averaged": ("QuasiAdditive", {"average": True}),
    "IELLIP, averaged": ("IELLIP", {"average": True}),
    "OnlineSVM, window 10": ("OnlineSVM", {"window": 10}),
    "Perceptron, rbf, averaged": ("Perceptron", {"kernel": "rbf", "average": True}),
    "MIRA, rbf": ("MIRA", {"margin": 0.1, "kernel": "rbf"}),
    "MIRA, rbf, budget 1000": ("MIRA", {"margin": 0.1, "kernel": "rbf", "budget": 1000}),
    "ROMMA, rbf": ("ROMMA", {"aggressive": True, "kernel": "rbf"}),
}


# Those that get rows as they were published.
UNSCALED = ("EllipsoidClassifier", "EllipsoidClassifier, one speed")


def rows_of(name, how):
    """The training part in its random order and the test part: the set's own, or the last fifth of that order."""
    data = ellipsoid.datasets.load(name)
    rng = np.random.default_rng(0)
    if data.test is not None:
        (X, y), (X_test, y_test) = data.train, data.test
        order = rng.permutation(len(y))
        X, y = X[order], y[order]
    else:
        X, y = data.X, data.y
        order, kept = rng.permutation(len(y)), len(y) - len(y) // 5
        X, y, X_test, y_test = X[order[:kept]], y[order[:kept]], X[order[kept:]], y[order[kept:]]
    X, X_test = scale(how, X, X_test)
    X, X_test = (part.tocsr() if issparse(part) else np.ascontiguousarray(part, dtype=float) for part in (X, X_test))
    return X, y, X_test, y_test


def spread(X):
    """The width that scikit-learn's SVC calls "scale": one over features times variance."""
    mean = X.mean()
    square = X.multiply(X).mean() if issparse(X) else (X * X).mean()
    return float(1.0 / (X.shape[1] * (square - mean * mean)))


def patient(learner, X):
    """Kernel learners sit out sparse sets, the slower two also large ones, and OnlineSVM those of many features."""
    if "kernel" not in LEARNERS[learner][1]:
        return X.shape[1] < 10_000 or not learner.startswith("OnlineSVM")
    return not issparse(X) and (X.shape[0] <= 50_000 or learner in ("Perceptron, rbf, averaged", "MIRA, rbf"))


def measure(learner, X, y, X_test, y_test):
    """Error, share of updates, seconds and bytes after one pass."""
    name, settings = LEARNERS[learner]
    settings = {**settings, **({"gamma": spread(X)} if "kernel" in settings else {})}
    make, labels = getattr(ellipsoid, name), np.unique(y)
    few = np.concatenate([np.flatnonzero(y == label)[:3] for label in labels])
    make(**settings).partial_fit(X[few], y[few], classes=labels)
    seconds = []
    for _ in range(1 if "kernel" in settings else 3):
        model = make(**settings)
        start = process_time()
        model.partial_fit(X, y, classes=labels)
        seconds.append(process_time() - start)
    with tempfile.TemporaryDirectory() as folder:
        model.save(path := Path(folder) / "model")
        size = path.stat().st_size
    error = 1.0 - float(model.score(X_test, y_test))
    return {"error": error, "updates": model.updates_ / len(y), "seconds": min(seconds), "bytes": size}


def main(chosen):
    """Measure the chosen sets and write the table of all that has been measured."""
    store = FOLDER / "choosing.json"
    results = json.loads(store.read_text()) if store.exists() else {}
    known = [learner for learner in LEARNERS if LEARNERS[learner][0] in ellipsoid.__all__]
    for name in chosen:
        published, (X, y, X_test, y_test) = rows_of(name, "none"), rows_of(name, SETS[name])
        found = results.setdefault(name, {})
        found["rows"] = f"{X.shape[0]:,} x {X.shape[1]:,}, {len(np.unique(y))} classes"
        for learner in known:
            if learner not in found and patient(learner, X):
                rows = published if learner in UNSCALED else (X, y, X_test, y_test)
                found[learner] = measure(learner, *rows)
                print(name, learner, found[learner], flush=True)
                store.write_text(json.dumps(results, indent=1))
    (FOLDER / "choosing.md").write_text(table(results, known))


def table(results, known):
    """Four panels, one row per learner and one column per set; the best error of a column in bold."""
    sets = [name for name in SETS if name in results]
    panels = (
        ("Test error, %", lambda r: f"{100 * r['error']:.1f}"),
        ("Updates, % of the rows", lambda r: f"{100 * r['updates']:.0f}"),
        ("Processor time, seconds", lambda r: f"{r['seconds']:.2g}" if r["seconds"] < 10 else f"{r['seconds']:.0f}"),
        ("Model, kilobytes", lambda r: f"{r['bytes'] / 1000:,.0f}"),
    )
    lines = ["<!-- written by docs/figures/choosing.py -->", ""]
    for title, show in panels:
        lines += [f"| {title} | {' | '.join(sets)} |", f"|---|{'---:|' * len(sets)}"]
        for learner in known:
            cells = []
            for name in sets:
                result = results[name].get(learner)
                cell = "-" if result is None else show(result)
                best = min(r["error"] for r in results[name].values() if isinstance(r, dict))
                bold = title.startswith("Test") and result is not None and cell == f"{100 * best:.1f}"
                cells.append(f"**{cell}**" if bold else cell)
            lines.append(f"| {learner} | {' | '.join(cells)} |")
        lines.append("")
    lines.append("; ".join(f"{name}: {results[name]['rows']}" for name in sets) + ".")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main(sys.argv[1:] or list(SETS))
