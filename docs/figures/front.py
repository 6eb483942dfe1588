"""Write front.md, the table of "The learner to start with": errors of one pass beside the usual linear learners.

One pass over the training part in one random order, in the order of time for the two streams, which have no test part.
EllipsoidClassifier gets the attributes as published. Every peer gets the better of two forms for each figure, with
hindsight: as published, and prepared (SETS says how). Peers that are not installed are left out.

    ELLIPSOID_DATA=... python docs/figures/front.py [set ...]

keeps what it measured in front.json and measures what is not there: delete it to do everything again.
"""

import json
import sys
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from time import process_time

import numpy as np
from scipy.sparse import csr_matrix, issparse

import ellipsoid
from ellipsoid.streams.scale import scale

FOLDER = Path(__file__).parent.parent / "_static" / "tables"
# Longer sets are cut: some peers learn a few thousand rows a second.
MOST = 60_000
# Data set: how its rows are prepared for peers.
SETS = {
    "shuttle": "standard", "letter": "standard", "phishing": "standard", "satimage": "standard", "covtype": "standard",
    "elec2": "standard", "kddcup99": "maximum", "a9a": "unit", "dna": "unit", "usps": "unit", "w8a": "unit",
    "isolet": "unit", "mnist": "unit", "news20": "unit", "news20-log": "none", "imdb": "unit", "imdb-log": "none",
    "spam_stream": "unit",
}  # fmt: skip
STREAMS = ("elec2", "spam_stream")


def rows_of(name):
    """Training rows in their order, test rows (or none), whole-number labels."""
    data, rng = ellipsoid.datasets.load(name.removesuffix("-log")), np.random.default_rng(0)
    if name in STREAMS:
        X, y, X_test, y_test = data.X, data.y, data.X[:0], data.y[:0]
    elif data.test is not None:
        (X, y), (X_test, y_test) = data.train, data.test
        order = rng.permutation(len(y))
        X, y = X[order], y[order]
    else:
        order, kept = rng.permutation(len(data.y)), len(data.y) - len(data.y) // 5
        X, y, X_test, y_test = (part[rows] for rows in (order[:kept], order[kept:]) for part in (data.X, data.y))
    labels, codes = np.unique(np.concatenate([y, y_test]), return_inverse=True)
    y, y_test = codes[: len(y)][:MOST], codes[len(y) :][:MOST]
    X, X_test = (csr_matrix(part[:MOST], dtype=float) for part in (X, X_test))
    if name.endswith("-log"):
        X, X_test = (unit(part.log1p()) for part in (X, X_test))
    if X.nnz > 0.5 * X.shape[0] * X.shape[1]:
        X, X_test = X.toarray(), X_test.toarray()
    return X, y, X_test, y_test, len(labels)


def unit(X):
    """Rows of length one."""
    lengths = np.sqrt(X.multiply(X).sum(axis=1)).A1 if issparse(X) else np.linalg.norm(X, axis=1)
    lengths[lengths == 0.0] = 1.0
    return csr_matrix(X.multiply(1.0 / lengths[:, np.newaxis])) if issparse(X) else X / lengths[:, np.newaxis]


def prepared(how, X, X_test):
    """Both parts as a peer would like them; what is counted is counted on the training part."""
    if how == "unit":
        return unit(X), unit(X_test)
    if how == "standard":
        X, X_test = (part.toarray() if issparse(part) else part for part in (X, X_test))
        return scale(how, X, X_test)
    if how == "maximum":
        largest = abs(X).max(axis=0)
        largest = largest.toarray().ravel() if issparse(largest) else largest
        largest[largest == 0.0] = 1.0
        return tuple(csr_matrix(part.multiply(1.0 / largest)) for part in map(csr_matrix, (X, X_test)))
    return X, X_test


def own(make):
    """A learner of this library: wrong predictions online and on the test part, seconds, share of updates."""

    def run(X, y, X_test, y_test, classes):
        warm = make()
        warm.learn_predict(X[:20], y[:20], classes=range(classes))
        model, start = make(), process_time()
        said = model.learn_predict(X, y, classes=range(classes))
        seconds = process_time() - start
        test = float((model.predict(X_test) != y_test).mean()) if len(y_test) else None
        return {
            "online": float((said != y).mean()),
            "test": test,
            "seconds": seconds,
            "updates": model.updates_ / len(y),
        }

    return run


def vowpal_wabbit(loss):
    """Vowpal Wabbit's defaults with a loss; ``--oaa`` for more than two classes."""

    def run(X, y, X_test, y_test, classes):
        from vowpalwabbit import Workspace

        many = f"--oaa {classes}" if classes > 2 else ""
        vw = Workspace(f"--quiet --loss_function {loss} {many}")
        start, wrong = process_time(), 0
        for line, label in zip(lines(X, y, classes), y, strict=True):
            example = vw.example(line)
            wrong += said(vw.predict(example), classes) != label
            vw.learn(example)
            vw.finish_example(example)
        seconds = process_time() - start
        missed = [
            said(vw.predict(line), classes) != label
            for line, label in zip(lines(X_test, y_test, classes), y_test, strict=True)
        ]
        return {"online": wrong / len(y), "test": float(np.mean(missed)) if missed else None, "seconds": seconds}

    def said(prediction, classes):
        return prediction - 1 if classes > 2 else int(prediction > 0.0)

    return run


def lines(X, y, classes):
    """Rows as text for Vowpal Wabbit."""
    X = csr_matrix(X)
    for i, label in enumerate(y):
        row = slice(X.indptr[i], X.indptr[i + 1])
        name = label + 1 if classes > 2 else 2 * label - 1
        yield f"{name} |f " + " ".join(f"{j}:{x:.7g}" for j, x in zip(X.indices[row], X.data[row], strict=True))


def sgd(loss):
    """scikit-learn's SGD with averages; its online error is that of forty chunks."""

    def run(X, y, X_test, y_test, classes):
        from sklearn.linear_model import SGDClassifier

        model, start, wrong = SGDClassifier(loss=loss, average=True, random_state=0), process_time(), 0
        edges = np.linspace(0, len(y), 41).astype(int)
        for begin, end in pairwise(edges):
            wrong += int((model.predict(X[begin:end]) != y[begin:end]).sum()) if begin else 0
            model.partial_fit(X[begin:end], y[begin:end], classes=range(classes))
        test = float((model.predict(X_test) != y_test).mean()) if len(y_test) else None
        return {"online": wrong / (len(y) - edges[1]), "test": test, "seconds": process_time() - start}

    return run


def river(X, y, X_test, y_test, classes):
    """river's scaler and logistic regression."""
    from river.linear_model import LogisticRegression, SoftmaxRegression
    from river.preprocessing import StandardScaler

    model = StandardScaler() | (LogisticRegression() if classes == 2 else SoftmaxRegression())
    start, wrong = process_time(), 0
    for row, label in zip(X, y.tolist(), strict=True):
        x = dict(enumerate(row.tolist()))
        wrong += int(model.predict_one(x) or 0) != label
        model.learn_one(x, bool(label) if classes == 2 else label)
    seconds = process_time() - start
    missed = [
        int(model.predict_one(dict(enumerate(row.tolist()))) or 0) != label
        for row, label in zip(X_test, y_test, strict=True)
    ]
    return {"online": wrong / len(y), "test": float(np.mean(missed)) if missed else None, "seconds": seconds}


# Contender: what runs it, the package it needs, whether it also gets prepared rows.
CONTENDERS = {
    "EllipsoidClassifier": (own(ellipsoid.EllipsoidClassifier), "ellipsoid", False),
    "EllipsoidClassifier, one speed": (own(lambda: ellipsoid.EllipsoidClassifier(speeds=1)), "ellipsoid", False),
    "PA-I, averaged": (own(lambda: ellipsoid.PassiveAggressive(average=True)), "ellipsoid", True),
    "PA-I, last": (own(ellipsoid.PassiveAggressive), "ellipsoid", True),
    "MIRA, averaged": (own(lambda: ellipsoid.MIRA(margin=1.0, average=True)), "ellipsoid", True),
    "VW, hinge": (vowpal_wabbit("hinge"), "vowpalwabbit", True),
    "VW, squared": (vowpal_wabbit("squared"), "vowpalwabbit", True),
    "VW, logistic": (vowpal_wabbit("logistic"), "vowpalwabbit", True),
    "SGD, log loss, averaged": (sgd("log_loss"), "sklearn", True),
    "SGD, hinge, averaged": (sgd("hinge"), "sklearn", True),
    "river, scaler and logistic": (river, "river", False),
}


def measure(chosen):
    """Fill front.json."""
    store = FOLDER / "front.json"
    results = json.loads(store.read_text()) if store.exists() else {}
    for name in chosen:
        X, y, X_test, y_test, classes = rows_of(name)
        found = results.setdefault(name, {})
        for contender, (run, package, prepares) in CONTENDERS.items():
            slow = contender.startswith("river") and (issparse(X) or X.size > 1_000_000)
            if contender in found or find_spec(package) is None or slow:
                continue
            forms = [(X, X_test)]
            if prepares and SETS[name] != "none":
                forms.append(prepared(SETS[name], X, X_test))
            found[contender] = [run(rows, y, test, y_test, classes) for rows, test in forms]
            for form in found[contender]:
                form["microseconds"] = 1e6 * form.pop("seconds") / len(y)
            print(name, contender, found[contender], flush=True)
            store.write_text(json.dumps(results, indent=1))
    (FOLDER / "front.md").write_text(table(results))


def figure(found, what):
    """The smaller one of the two forms, or None."""
    values = [form[what] for form in found if form.get(what) is not None]
    return min(values) if values else None


def table(results):
    """Test and online errors, a row a contender and a column a set, then ranks, ratios and times."""
    sets = [name for name in SETS if name in results]
    known = [contender for contender in CONTENDERS if any(contender in results[name] for name in sets)]
    lines = ["<!-- written by docs/figures/front.py -->", ""]
    for part in range(0, len(sets), 6):
        some = sets[part : part + 6]
        lines += [f"| test / online error, % | {' | '.join(some)} |", f"|---|{'---:|' * len(some)}"]
        for contender in known:
            cells = [cell(results[name], contender) for name in some]
            lines.append(f"| {contender} | {' | '.join(cells)} |")
        lines.append("")
    heads = "test error (online of streams)", "sets", "mean rank", "mean ratio to the best", "worst ratio", "us a row"
    lines += [f"| {' | '.join(heads)} |", "|---|---:|---:|---:|---:|---:|"]
    for contender in known:
        lines.append(summary(results, sets, known, contender))
    return "\n".join(lines) + "\n"


def cell(results, contender):
    """One pair of errors, the best of the column in bold."""
    if contender not in results:
        return "-"
    texts = []
    for what in ("test", "online"):
        value = figure(results[contender], what)
        if value is not None:
            best = min(v for found in results.values() if (v := figure(found, what)) is not None)
            text = f"{100 * value:.3g}"
            texts.append(f"**{text}**" if text == f"{100 * best:.3g}" else text)
    return " / ".join(texts)


def judged(results, name, contender):
    """The error by which contenders are ranked on a set."""
    return figure(results[name].get(contender, []), "online" if name in STREAMS else "test")


def summary(results, sets, known, contender):
    """Rank, ratios and time of one contender."""
    ranks, ratios, times = [], [], []
    for name in sets:
        own_error = judged(results, name, contender)
        if own_error is None:
            continue
        others = [error for other in known if (error := judged(results, name, other)) is not None]
        ranks.append(1 + sum(error < own_error for error in others))
        ratios.append(own_error / max(min(others), 1e-9))
        times.append(results[name][contender][0]["microseconds"])
    figures = f"{np.mean(ranks):.1f} | {np.mean(ratios):.2f} | {max(ratios):.2f} | {np.median(times):.2g}"
    return f"| {contender} | {len(ranks)} | {figures} |"


if __name__ == "__main__":
    measure(sys.argv[1:] or list(SETS))
