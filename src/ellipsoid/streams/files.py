"""What the command line calls DATA: a named data set or a file, opened as a `Source`.

``.svm``, ``.libsvm``, ``.svmlight``, ``.txt``
    ``label index:value ...``, one example a line;
``.csv``
    one example a line, the label in the last column or the one named by ``label``, a header optional;
``.npz``
    arrays ``X`` and ``y``.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from ellipsoid.streams.datasets import Pair, load, names, plain_labels
from ellipsoid.streams.source import Source, as_source, from_arrays

SVMLIGHT = (".svm", ".libsvm", ".svmlight", ".txt")


def open_data(spec: str, *, label: str | None = None, labelled: bool = True, n_features: int | None = None) -> Source:
    """The data set or file ``spec`` as chunks in file order.

    ``label`` names the label's column of a CSV file; ``labelled=False`` says that there is none (y is then
    all None). ``n_features`` widens svmlight rows, whose last features may happen to be absent, to what a
    model knows.

    >>> open_data("digits").n_rows
    1797
    """
    path = Path(spec)
    suffix = path.suffix.lower()
    known = suffix in (*SVMLIGHT, ".csv", ".npz")
    if label is not None and suffix != ".csv":
        raise ValueError(f"label names a column of a .csv file, and {spec!r} is none")
    if not known and not path.exists():
        return as_source(load(spec))
    if not known:
        raise ValueError(f"{spec}: the name must end in {', '.join((*SVMLIGHT, '.csv', '.npz'))} to tell the format")
    if not path.is_file():
        raise FileNotFoundError(f"no file {spec!r}, and no data set of that name (there are {', '.join(names())})")
    if suffix == ".csv":
        X, y = _csv(path, label, labelled)
    elif suffix == ".npz":
        X, y = _npz(path, labelled)
    else:
        X, y = _svmlight(path, n_features)
    if X.shape[0] == 0:
        raise ValueError(f"{spec} has no rows")
    return from_arrays(path.name, X, y)


def _svmlight(path: Path, n_features: int | None) -> Pair:
    from sklearn.datasets import load_svmlight_file

    try:
        X, y = load_svmlight_file(str(path), n_features=n_features)
    except ValueError as error:
        raise ValueError(f"{path}: not a readable svmlight file: {error}") from error
    return X, plain_labels(y)


def _npz(path: Path, labelled: bool) -> Pair:
    try:
        # Pickled objects inside an archive could run code.
        archive = np.load(path, allow_pickle=False)
    except Exception as error:
        raise ValueError(f"{path}: not a readable .npz archive: {error}") from error
    with archive:
        missing = [key for key in ("X", "y")[: 1 + labelled] if key not in archive]
        if missing:
            raise ValueError(f"{path} must hold the array {missing[0]!r}; it has {', '.join(archive) or 'none'}")
        X = archive["X"]
        return X, archive["y"] if labelled else _no_labels(len(X))


def _csv(path: Path, label: str | None, labelled: bool) -> Pair:
    with open(path, newline="", encoding="utf-8-sig") as file:
        lines = [(number, row) for number, row in enumerate(csv.reader(file), start=1) if row]
    if not lines:
        raise ValueError(f"{path} has no rows")
    header = None if all(_is_number(cell) for cell in lines[0][1][: -1 if labelled else None]) else lines[0][1]
    width = len(lines[0][1])
    column = _label_column(path, header, label, width) if labelled else None
    rows, labels = [], []
    for number, row in lines[header is not None :]:
        if len(row) != width:
            raise ValueError(f"{path}, line {number}: {len(row)} columns where the first line has {width}")
        if column is not None:
            labels.append(row.pop(column).strip())
        rows.append(_numbers(path, number, row))
    X = np.array(rows, dtype=np.float64).reshape(len(rows), width - (column is not None))
    return X, plain_labels(labels) if labelled else _no_labels(len(rows))


def _label_column(path: Path, header: list[str] | None, label: str | None, width: int) -> int:
    if label is None:
        return width - 1
    if header is None:
        raise ValueError(f"{path} has no header line, so no column is called {label!r}; the last one is the default")
    titles = [title.strip() for title in header]
    if label not in titles:
        raise ValueError(f"{path} has no column {label!r}; it has {', '.join(titles)}")
    return titles.index(label)


def _numbers(path: Path, number: int, row: list[str]) -> list[float]:
    try:
        return [float(cell) for cell in row]
    except ValueError:
        bad = next(cell for cell in row if not _is_number(cell))
        raise ValueError(f"{path}, line {number}: {bad!r} is not a number") from None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _no_labels(n_rows: int) -> Any:
    return np.full(n_rows, None, dtype=object)
