"""What a command is going to need, compiled by two other processes at its first run.

`learn` needs the reader of text and the learner's loop. The loop depends on the kind of the rows, which is known only
when the reader has read some. So it is compiled for rows as the first lines of the file seem to hold, guessed without
the reader. Where the guess is wrong, some seconds of another core are lost, and the right loop is compiled when the
rows have come. `compare` needs the loops of all its learners, for rows that it knows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ellipsoid.evaluate.cell import Protocol
    from ellipsoid.streams.stream import Stream

HEAD_BYTES = 1 << 16

# A comparison is compiled for the first rows and a row of each of the first labels, of about so many numbers in all.
SAMPLE_ROWS, SAMPLE_LABELS, SAMPLE_NUMBERS = 32, 50, 1 << 18


def compile_learner_ahead(model: Any, path: str, options: dict[str, Any], classes: int) -> None:
    """Have the reader of a file and a learner's loop compiled, should one of text, or the learner, be missing.

    ``classes`` is the number of labels that were announced, 0 where they appear with the rows.
    """

    def calls() -> Iterator[Callable[[], None]]:
        job = _on_cpu(getattr(model, "learner", model)), path, options, classes
        yield _apart(compile_reader, path, options)
        yield _apart(compile_second_form, *job)
        yield _apart(compile_loop, *job)

    if os.path.isfile(path):
        _compile_ahead(calls, "ellipsoid.streams.")


def compile_comparison_ahead(models: Mapping[str, Any], source: Stream, protocol: Protocol) -> None:
    """Have the loops of several learners compiled for the rows of a data set in memory, should one be missing."""

    def calls() -> Iterator[Callable[[], None]]:
        from dataclasses import replace

        rows = _few_rows_twice(X, y)
        # Half of the rows are held out, to be tested on.
        short = replace(protocol, passes=1, seeds=(None,), hold_out=0.5)
        for model in models.values():
            yield _apart(compile_comparison, _on_cpu(model), rows, short)

    X, y = source.arrays()
    if y is not None:  # which the comparison refuses
        _compile_ahead(calls, "ellipsoid.engine.")


def _compile_ahead(calls: Callable[[], Iterable[Callable[[], None]]], package: str) -> None:
    if (os.cpu_count() or 1) < 2:
        return
    from ellipsoid.engine.native.compile_server import compile_server

    compile_server.ahead, compile_server.ahead_of = calls, package


def _apart(function: Callable[..., None], *arguments: Any) -> Callable[[], None]:
    """The call for the process of a compile server."""
    import pickle

    return partial(_unpickle_and_call, function, pickle.dumps(arguments))


def _unpickle_and_call(function: Callable[..., None], arguments: bytes) -> None:
    """Run in the process of a compile server. Unpickling imports scikit-learn, which commands import lazily."""
    import pickle

    from .startup import import_libraries

    import_libraries()
    from ellipsoid.engine.native.compile_server import compile_server

    compile_server.open = False  # this process compiles by itself
    function(*pickle.loads(arguments))


def _on_cpu(model: Any) -> Any:
    """An unfitted copy. The loop runs on the CPU wherever kernel values are computed."""
    from sklearn.base import clone

    copy = clone(model)
    return copy.set_params(device="cpu") if "device" in copy.get_params(deep=False) else copy


def compile_reader(path: str, options: dict[str, Any]) -> None:
    """Compile the reader of a file, by reading its first rows."""
    from ellipsoid.streams.opening import open_stream

    next(iter(open_stream(path, **options)))


def compile_loop(model: Any, path: str, options: dict[str, Any], known: int) -> None:
    """Compile a learner's loop for rows as the first lines of the file seem to hold, and ``known`` announced labels."""
    import numpy as np
    import scipy.sparse as sp

    from ellipsoid.evaluate.prequential import recorder_for

    sparse, width, classes = _shape_of_file(path, options)
    X = np.random.default_rng(0).normal(size=(24, min(width, 4096)))
    if sparse:
        model.set_params(grow_features=True)
    recorder = recorder_for(model, None, 1000, range(known) if known else None)
    recorder.feed(sp.csr_matrix(X) if sparse else X, np.arange(24) % (known or classes))


def compile_second_form(model: Any, path: str, options: dict[str, Any], known: int) -> None:
    """Compile the loop for an ellipsoid kept as a full matrix, which CELLIP's becomes after some updates."""
    from ellipsoid.ellipsoids.tables.table import LARGEST_FULL

    if type(model).__name__ != "CELLIP" or model.shape != "auto":
        return
    _, width, classes = _shape_of_file(path, options)
    if (width + 1) * (known or classes) <= LARGEST_FULL:
        compile_loop(model.set_params(shape="dense"), path, options, known)


def compile_comparison(model: Any, rows: tuple[Any, Any], protocol: Protocol) -> None:
    """Compile what a comparison makes of a learner: learning, predictions and bounds."""
    from ellipsoid.evaluate.compare import compare

    compare({"learner": model}, rows, protocol)


def _few_rows_twice(X: Any, y: Any) -> tuple[Any, Any]:
    """The first rows and a row of each label, in this order, and all of them once more."""
    import numpy as np

    chosen = np.arange(min(len(y), SAMPLE_ROWS))
    if y.ndim == 1:
        chosen = np.union1d(chosen, np.unique(y, return_index=True)[1][:SAMPLE_LABELS])
    if isinstance(X, np.ndarray):
        chosen = chosen[: max(4, SAMPLE_NUMBERS // max(1, X.shape[1]))]
    chosen = np.tile(chosen, 2)
    return X[chosen], y[chosen]


def _shape_of_file(path: str, options: dict[str, Any]) -> tuple[bool, int, int]:
    with open(path, "rb") as file:
        return shape_of(file.read(HEAD_BYTES).decode("utf-8", "replace"), **options)


def shape_of(
    head: str, format: str | None = None, label: str | None = None, kinds: dict[str, str] | None = None, **_: object
) -> tuple[bool, int, int]:
    """Guess whether rows are sparse, their number of features, and the number of classes: 2, or 3 for all above.

    >>> shape_of("x,z,label\\n0.5,1,a\\n2,0,b\\n2,1,c\\n")
    (False, 2, 3)
    >>> shape_of("1 3:0.5 7:1\\n-1 2:1\\n")
    (True, 7, 2)
    """
    from ellipsoid.streams.opening import sniff

    format = format or sniff(head.encode())
    lines = [line for line in head[: head.rfind("\n") + 1].splitlines() if line.strip()] or [head]
    if format != "csv":
        labels = {line.split(None, 1)[0] for line in lines}
        numbers = (word.split(":", 1)[0] for line in lines for word in line.split()[1:])
        return True, max((int(number) for number in numbers if number.isdigit()), default=1), min(len(labels), 3)
    separator = max(",;\t", key=lines[-1].count)
    rows = [line.split(separator) for line in lines]
    column = rows[0].index(label) if label in rows[0] else -1
    labels = {row[column] for row in rows[1:]}
    words = any(not _number(cell) for place, cell in enumerate(rows[-1]) if place != column % len(rows[-1]))
    words |= "words" in (kinds or {}).values()
    return words, len(rows[-1]) - 1, 2 if len(labels) < 3 else 3


def _number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
