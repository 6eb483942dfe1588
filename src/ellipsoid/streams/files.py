"""What the commands call DATA, a named data set or a file, as a `Source` that can be read again and gathered in
memory.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from .blocks import stem
from .datasets import load
from .opening import SUFFIX, open_stream
from .source import Source, as_source, from_reader


def open_data(spec: str, *, label: str | None = None, labelled: bool = True, n_features: int | None = None) -> Source:
    """The data set or file ``spec`` as chunks in file order; formats as for `open_stream`.

    ``label`` names the label's column of a table; ``labelled=False`` says that there is none (y is then all None).
    ``n_features`` widens svmlight rows, whose last features may happen to be absent, to what a model knows; without it
    a first pass over the file finds the width.

    >>> open_data("digits").n_rows
    1797
    """
    path = Path(spec)
    if not path.exists() and Path(stem(path.name)).suffix not in SUFFIX:
        if label is not None:
            raise ValueError(f"label names a column of a table (CSV, Parquet, Arrow), and {spec!r} is none")
        return as_source(load(spec))
    options: dict[str, Any] = {"label": label, "labelled": labelled}
    reader = open_stream(path, **options, n_features=n_features)
    if reader.n_features is None:
        width = max(chunk.X.shape[1] for chunk in reader)
        if reader.n_features is None:
            reader = open_stream(path, **options, n_features=width)
    return replace(from_reader(reader), name=path.name)
