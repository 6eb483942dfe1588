"""Learners of other packages, run over one set for ``front``: errors online and on the test part, seconds of learning.

Each takes training rows, labels from 0 on, test rows and labels, and the number of classes.
"""

from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np
from scipy.sparse import csr_matrix

# river learns on dicts, slowly: at most so many values times classes, over all rows.
ROWS_OF_RIVER = 1_000_000


def vowpal_wabbit(loss):
    """Vowpal Wabbit's defaults with a loss; ``--oaa`` for more than two classes, and room for every weight.

    It reads text files, as it likes best, and writes what it would have said before it learned a row.
    """

    def run(X, y, X_test, y_test, classes):
        from vowpalwabbit import Workspace

        kind = f"--oaa {classes}" if classes > 2 else ""
        with TemporaryDirectory() as folder:
            train, test, model, said = (Path(folder) / name for name in ("train", "test", "model", "said"))
            train.write_text(text(X, y, classes))
            start = process_time()
            Workspace(
                f"--quiet --loss_function {loss} {kind} -b 22 --no_stdin -d {train} -p {said} -f {model}"
            ).finish()
            seconds = process_time() - start
            found = {"online": wrong(said, y, classes), "test": None, "seconds": seconds}
            if len(y_test):
                test.write_text(text(X_test, y_test, classes))
                Workspace(f"--quiet -t -i {model} --no_stdin -d {test} -p {said}").finish()
                found["test"] = wrong(said, y_test, classes)
        return found

    return run


def wrong(path, y, classes):
    """Share of wrong labels in a file of predictions."""
    said = np.loadtxt(path)
    return float(np.mean((said - 1 if classes > 2 else said > 0.0) != y))


# Rows and their text, of both parts in both forms: three losses read the same.
written = []


def text(X, y, classes):
    """Rows as text for Vowpal Wabbit."""
    for rows, found in written:
        if rows is X:
            return found
    written.append((X, "".join(lines(X, y, classes))))
    del written[:-4]
    return written[-1][1]


def lines(X, y, classes):
    """The lines of a text."""
    X = csr_matrix(X)
    X.eliminate_zeros()
    indices, data = X.indices.tolist(), X.data.tolist()
    for label, begin, end in zip(y.tolist(), X.indptr[:-1].tolist(), X.indptr[1:].tolist(), strict=True):
        name = label + 1 if classes > 2 else 2 * label - 1
        values = " ".join([f"{j}:{x:.7g}" for j, x in zip(indices[begin:end], data[begin:end], strict=True)])
        yield f"{name} |f {values}\n"


def sgd(loss):
    """scikit-learn's SGD with averages; its online error is that of forty chunks, each predicted before it is learned.

    The first chunk is not counted.
    """

    def run(X, y, X_test, y_test, classes):
        from sklearn.linear_model import SGDClassifier

        model, seconds, missed = SGDClassifier(loss=loss, average=True, random_state=0), 0.0, 0
        edges = np.linspace(0, len(y), 41).astype(int)
        for begin, end in pairwise(edges):
            missed += int((model.predict(X[begin:end]) != y[begin:end]).sum()) if begin else 0
            start = process_time()
            model.partial_fit(X[begin:end], y[begin:end], classes=range(classes))
            seconds += process_time() - start
        test = float((model.predict(X_test) != y_test).mean()) if len(y_test) else None
        return {"online": missed / (len(y) - edges[1]), "test": test, "seconds": seconds}

    return run


def river(X, y, X_test, y_test, classes):
    """river's logistic regression on dicts of the values that are not zero; ``rows`` says where it had to stop."""
    from river.linear_model import LogisticRegression, SoftmaxRegression

    X, X_test = csr_matrix(X), csr_matrix(X_test)
    most = int(ROWS_OF_RIVER / (max(1, X.nnz / len(y)) * (classes if classes > 2 else 1)))
    model = LogisticRegression() if classes == 2 else SoftmaxRegression()
    missed, seconds = 0, 0.0
    for x, label in zip(dicts(X[:most]), y[:most].tolist(), strict=True):
        start = process_time()
        missed += int(model.predict_one(x) or 0) != label
        model.learn_one(x, bool(label) if classes == 2 else label)
        seconds += process_time() - start
    # Not the first ones: test parts may be sorted by label.
    some = slice(None, None, -(-len(y_test) // max(1, most // 2)) or 1)
    test = [
        int(model.predict_one(x) or 0) != label
        for x, label in zip(dicts(X_test[some]), y_test[some].tolist(), strict=True)
    ]
    found = {"online": missed / min(most, len(y)), "test": float(np.mean(test)) if test else None, "seconds": seconds}
    return {**found, "rows": most} if most < len(y) else found


def dicts(X):
    """Rows as dicts."""
    for begin, end in pairwise(X.indptr):
        yield dict(zip(X.indices[begin:end].tolist(), X.data[begin:end].tolist(), strict=True))
