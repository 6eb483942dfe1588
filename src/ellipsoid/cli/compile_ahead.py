"""Compile the reader of text and the learner's loop at the same time, in two processes, at a first run.

The loop depends on the kind of the rows, which is known only when the reader has read some. So it is compiled for rows
as the first lines of the file seem to hold, guessed without the reader. Where the guess is wrong, some seconds of
another core are lost, and the right loop is compiled when the rows have come.
"""

from __future__ import annotations

import os
from typing import Any

HEAD_BYTES = 1 << 16
BEGIN = """
from ellipsoid.cli import compile_ahead, startup
startup.import_libraries()
from ellipsoid.engine.native.compile_server import compile_server
compile_server.open = False  # this process compiles by itself
"""


def compile_ahead(model: Any, path: str, options: dict[str, Any], classes: int) -> None:
    """Tell the compile server what to compile ahead, should a learner or a file of text need it.

    ``classes`` is the number of labels that were announced, 0 where they appear with the rows.
    """
    if (os.cpu_count() or 1) < 2 or not os.path.isfile(path):
        return
    from ellipsoid.engine.native.compile_server import compile_server

    learner = getattr(model, "learner", model)
    # The loop runs on the CPU wherever kernel values are computed.
    parameters = {
        key: value for key, value in learner.get_params(deep=False).items() if _has_literal(value) and key != "device"
    }
    options = {key: value for key, value in options.items() if value is not None and _has_literal(value)}
    path = os.path.abspath(path)
    compile_server.ahead_of = "ellipsoid.streams."
    job = f"{type(learner).__name__!r}, {parameters!r}, {path!r}, {options!r}, {classes}"
    compile_server.ahead = (
        f"{BEGIN}compile_ahead.compile_reader({path!r}, {options!r})\ncompile_ahead.compile_second_form({job})",
        f"{BEGIN}compile_ahead.compile_loop({job})",
    )


def _has_literal(value: Any) -> bool:
    """Is the value's ``repr`` a literal of Python?"""
    return value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and abs(value) < 1e300)


def compile_reader(path: str, options: dict[str, Any]) -> None:
    """Compile the reader of a file, by reading its first rows."""
    from ellipsoid.streams.opening import open_stream

    next(iter(open_stream(path, **options)))


def compile_loop(name: str, parameters: dict[str, Any], path: str, options: dict[str, Any], known: int) -> None:
    """Compile a learner's loop for rows as the first lines of the file seem to hold, and ``known`` announced labels."""
    import numpy as np
    import scipy.sparse as sp

    from ellipsoid.estimators import learner_named
    from ellipsoid.evaluate.prequential import recorder_for

    sparse, width, classes = _shape_of_file(path, options)
    X = np.random.default_rng(0).normal(size=(24, min(width, 4096)))
    model = learner_named(name)(**parameters)
    if sparse:
        model.set_params(grow_features=True)
    recorder = recorder_for(model, None, 1000, range(known) if known else None)
    recorder.feed(sp.csr_matrix(X) if sparse else X, np.arange(24) % (known or classes))


def compile_second_form(name: str, parameters: dict[str, Any], path: str, options: dict[str, Any], known: int) -> None:
    """Compile the loop for an ellipsoid kept as a full matrix, which CELLIP's becomes after some updates."""
    from ellipsoid.ellipsoids.tables.table import LARGEST_FULL

    _, width, classes = _shape_of_file(path, options)
    if name == "CELLIP" and parameters["shape"] == "auto" and (width + 1) * (known or classes) <= LARGEST_FULL:
        compile_loop(name, {**parameters, "shape": "dense"}, path, options, known)


def _shape_of_file(path: str, options: dict[str, Any]) -> tuple[bool, int, int]:
    with open(path, "rb") as file:
        return shape_of(file.read(HEAD_BYTES).decode("utf-8", "replace"), **options)


def shape_of(head: str, format: str | None = None, label: str | None = None, **_: object) -> tuple[bool, int, int]:
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
    return words, len(rows[-1]) - 1, 2 if len(labels) < 3 else 3


def _number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
