"""Input that must be refused, made from good input: what is wrong with it, and where that applies."""

import numpy as np
import scipy.sparse as sp


def put(X, value):
    if sp.issparse(X):
        X = X.tolil()
        X[X.shape[0] - 1, 0] = value
        return X.tocsr()
    X = X.copy()
    X[-1, 0] = value
    return X


def as_objects(X, value):
    X = as_dense(X).astype(object)
    X[-1, -1] = value
    return X


def as_dense(X):
    return X.toarray() if sp.issparse(X) else X


def wider(X):
    extra = np.ones((X.shape[0], 1))
    return sp.hstack([X, extra], format="csr") if sp.issparse(X) else np.hstack([X, extra])


def tampered(X, change):
    """A CSR matrix of two entries a row whose arrays were changed."""
    n, width = X.shape
    full = np.zeros((n, width))
    full[:, :2] = 1.0
    C = sp.csr_matrix(full)
    change(C)
    return C


def falling(C):
    C.indptr[1] = C.indptr[-1] + 1


def assign(array, index, value):
    array[index] = value


# What is wrong with X; the second is what it takes: "always", a kind of rows, or a fixed width.
ROWS = {
    "nan": (lambda X: put(X, np.nan), "always"),
    "inf": (lambda X: put(X, np.inf), "always"),
    "-inf": (lambda X: put(X, -np.inf), "always"),
    "huge": (lambda X: put(X.astype(np.float64), 1e200), "always"),
    "narrow": (lambda X: X[:, :-1], "fixed"),
    "wide": (wider, "fixed"),
    "no rows": (lambda X: X[:0], "always"),
    "one row as a vector": (lambda X: np.ones(X.shape[1]), "always"),
    "a cube": (lambda X: np.ones((*X.shape, 1)), "always"),
    "nothing": (lambda X: None, "always"),
    "words": (lambda X: np.full(X.shape, "red"), "always"),
    "a word": (lambda X: as_objects(X, "red"), "always"),
    "None": (lambda X: as_objects(X, None), "always"),
    "an endless integer": (lambda X: as_objects(X, 10**400), "always"),
    "masked": (lambda X: np.ma.array(as_dense(X), mask=as_dense(put(X * 0, 1.0)) != 0), "always"),
    "complex": (lambda X: X + 1j * put(X * 0, 1.0), "always"),
    "negative index": (lambda X: tampered(X, lambda C: assign(C.indices, 0, -1)), "csr"),
    "index far out": (lambda X: tampered(X, lambda C: assign(C.indices, -1, 2**31 - 1)), "csr"),
    "index just out": (lambda X: tampered(X, lambda C: assign(C.indices, -1, C.shape[1])), "csr"),
    "repeated index": (lambda X: tampered(X, lambda C: assign(C.indices, 1, 0)), "csr"),
    "unsorted": (lambda X: tampered(X, lambda C: assign(C.indices, slice(0, 2), [1, 0])), "csr"),
    "falling pointers": (lambda X: tampered(X, falling), "csr"),
    "pointers from one": (lambda X: tampered(X, lambda C: assign(C.indptr, 0, 1)), "csr"),
}

# What is wrong with labels; the second is when it is wrong: "always", once something is known, or of closed labels.
LABELS = {
    "nan": (lambda y: np.append(np.zeros(len(y) - 1), np.nan), "always"),
    "inf": (lambda y: np.append(np.zeros(len(y) - 1), np.inf), "always"),
    "half": (lambda y: np.append(np.zeros(len(y) - 1), 0.5), "always"),
    "None": (lambda y: np.append(y.astype(object)[:-1], [None]), "always"),
    "dates": (lambda y: np.full(len(y), "2001-02-03", dtype="datetime64[D]"), "always"),
    "no date": (lambda y: np.full(len(y), "NaT", dtype="datetime64[D]"), "always"),
    "too many digits": (lambda y: np.full(len(y), 2**64 - 1, dtype=np.uint64), "always"),
    "bytes": (lambda y: np.full(len(y), b"yes"), "always"),
    "masked": (lambda y: np.ma.array(y, mask=np.arange(len(y)) == 0), "always"),
    "one too few": (lambda y: y[:-1], "always"),
    "one too many": (lambda y: np.append(y, y[:1]), "always"),
    "none at all": (lambda y: None, "always"),
    "a number": (lambda y: 1, "always"),
    "a cube": (lambda y: np.zeros((len(y), 2, 2)), "always"),
    "another kind": (lambda y: np.array([3.0] * len(y) if y.dtype.kind in "UO" else ["x"] * len(y)), "known"),
    "unheard of": (lambda y: np.append(y[:-1], ["zzz" if y.dtype.kind == "U" else 99]), "closed"),
}

NUMBERS = {
    name: LABELS[name]
    for name in ("nan", "inf", "None", "dates", "no date", "masked", "one too few", "one too many", "none at all",
                 "a number", "a cube")
}  # fmt: skip
NUMBERS["words"] = (lambda y: np.full(len(y), "red"), "always")
NUMBERS["huge"] = (lambda y: np.append(y[:-1], [1e100]), "always")
NUMBERS["complex"] = (lambda y: y + 1j, "always")

SETS = {
    "a two": (lambda y: np.vstack([y[:-1], np.full((1, y.shape[1]), 2)]), "always"),
    "another width": (lambda y: np.hstack([y, y[:, :1]]), "known"),
    "one label each": (lambda y: np.arange(len(y)) % 2, "known"),
    "one row too few": (lambda y: y[:-1], "always"),
}

DICTS = {
    "nan": {"f0": np.nan},
    "inf of a new name": {"f0": 1.0, "never heard of": np.inf},
    "huge": {"f0": 1e200},
    "a list": {"f0": 1.0, "never heard of": ["red"]},
    "a set": {"f0": {1.0}},
}

CLASSES = {
    "others": [71, 72, 73],
    "of lists": [[0, 1]],
    "none": [],
    "a number": 3,
    "with None": ["a", None],
    "with nan": [0.0, float("nan")],
}
