"""Named data sets, from the first place that has them.

1. embedded, always there offline: ``digits`` (scikit-learn's 8 x 8 digits, values and order as they are),
   ``chess-board`` (drawn from a seed; Crammer & Singer, JMLR 2003, experiments), and the streams that `synthetic` draws
   from a seed, which change at known rows; ``mnist-deformed``, a stream of any length, needs MNIST's digits;
2. the folder named by the environment variable ``ELLIPSOID_DATA``, which brings its own reader, a file
   ``load.py`` with ``load(name)`` (a dict of arrays) and ``names()``. **That file is executed**: point the
   variable only to a folder you trust;
3. OpenML, for the names in `OPENML`, through scikit-learn's ``fetch_openml``, which looks in the user's
   cache first.
"""

import os
from functools import lru_cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from .synthetic import RECIPES, draw

Pair = tuple[Any, Any]


class Dataset(dict[str, Any]):
    """Arrays under names, as items or attributes: ``X, y``, or ``X_train, y_train, X_test, y_test``.

    A multi-label set has 0/1 columns ``Y`` in the place of ``y``. ``target_names`` and ``feature_names``
    are there where they are known.

    >>> data = load("digits")
    >>> data.X.shape, data["y"][:5].tolist()
    ((1797, 64), [0, 1, 2, 3, 4])
    """

    def __init__(self, name: str, **arrays: Any) -> None:
        super().__init__(arrays)
        self.name = name

    def __getattr__(self, key: str) -> Any:
        try:
            return self[key]
        except KeyError:
            raise AttributeError(f"the data set has no {key!r}; it has {', '.join(self)}") from None

    def __repr__(self) -> str:
        parts = ", ".join(f"{k}: {np.shape(v)}" for k, v in self.items())
        return f"Dataset({self.__dict__.get('name')!r}, {parts})"

    @property
    def train(self) -> Pair:
        """The rows to learn from: the training part, or all of them where there is no split."""
        pair = self._pair("_train") or self._pair("")
        if pair is None:
            raise ValueError(f"data set {self.name!r} has neither X, y nor X_train, y_train, only {', '.join(self)}")
        return pair

    @property
    def test(self) -> Pair | None:
        """The test part, or None without a split."""
        return self._pair("_test")

    def _pair(self, part: str) -> Pair | None:
        for label in ("y", "Y"):
            if "X" + part in self and label + part in self:
                return self["X" + part], self[label + part]
        return None


class OpenML(NamedTuple):
    """A set at OpenML; the first ``n_train`` rows are the usual training part (None: no usual split)."""

    name: str
    version: int
    n_train: int | None = None


OPENML = {
    "mnist": OpenML("mnist_784", 1, 60_000),
    "fashion-mnist": OpenML("Fashion-MNIST", 1, 60_000),
    "letter": OpenML("letter", 1),
    "isolet": OpenML("isolet", 1),
    "satimage": OpenML("satimage", 1),
    "pendigits": OpenML("pendigits", 1),
    "optdigits": OpenML("optdigits", 1),
    "segment": OpenML("segment", 1),
    "spambase": OpenML("spambase", 1),
    "phoneme": OpenML("phoneme", 1),
}

EMBEDDED = ("digits", "chess-board", *RECIPES)
DEFORMED, DEFORMED_ROWS = "mnist-deformed", 1_000_000


def names() -> dict[str, str]:
    """Every name that `load` or `stream` takes, with the place it would come from.

    >>> names()["digits"]
    'embedded'
    """
    places = dict.fromkeys(EMBEDDED, "embedded")
    reader = _folder_reader()
    for name in reader.names() if reader else ():
        places.setdefault(name, "ELLIPSOID_DATA")
    for name in OPENML:
        places.setdefault(name, "OpenML (fetched on first use)")
    return places | {DEFORMED: "made from mnist (a stream)"}


def load(name: str, *, seed: int | None = None) -> Dataset:
    """The data set ``name``; ``seed`` (default 0) is for the random ones: ``chess-board`` and streams that change.

    A stream that changes has ``changes``, the rows before which it changes.

    Where ``ELLIPSOID_DATA`` is set, that folder's reader ``load.py`` is executed.

    >>> board = load("chess-board", seed=3)
    >>> board.X_train.shape, board.X_test.shape, board.y_train.max().item()
    ((10000, 2), (10000, 2), 7)
    """
    if name == "chess-board":
        return _chess_board(0 if seed is None else seed)
    if name in RECIPES:
        return Dataset(name, **draw(name, None, 0 if seed is None else seed)._asdict())
    if name == DEFORMED:
        raise ValueError(f"{DEFORMED!r} is too long to load; use datasets.stream, which gives its rows block by block")
    if seed is not None:
        drawn = ", ".join(["'chess-board'", *RECIPES])
        raise ValueError(f"seed must be left out for {name!r}: only {drawn} are drawn at random")
    if name == "digits":
        from sklearn.datasets import load_digits

        found = load_digits()
        known = {"target_names": found.target_names, "feature_names": found.feature_names}
        return Dataset(name, X=found.data, y=found.target, **known)
    name = next((ours for ours, theirs in OPENML.items() if theirs.name == name), name)
    reader = _folder_reader()
    if reader is not None and name in reader.names():
        return Dataset(name, **reader.load(name))
    if name in OPENML:
        return _fetch(name, OPENML[name])
    where = "" if reader else "; set the environment variable ELLIPSOID_DATA to a data folder for more"
    raise ValueError(f"no data set {name!r}; there are {', '.join(names())}{where}")


class SyntheticPair(tuple[Any, Any]):
    """A synthetic pair ``X, y`` with its ``name`` and ``seed``; ``changes`` are the rows before which it changed.

    >>> made = stream("sea", rows=40_000, seed=7)
    >>> X, y = made
    >>> X.shape, made.changes.tolist()
    ((40000, 3), [15000, 30000])
    """

    name: str
    seed: int
    changes: Any


def stream(data: str | Dataset, *, rows: int | None = None, seed: int | None = None, device: str | None = None) -> Any:
    """The rows to learn from as one stream ``X, y``: the training part where the set is split
    (`Dataset.test` has the rest), otherwise every row; ``rows`` are the first of them.

    A synthetic stream, such as ``"sea"``, has ``rows`` rows, drawn with ``seed`` (default 0), and knows
    its ``changes``.

    ``"mnist-deformed"`` may be longer than memory (default: a million rows): its rows come in blocks, as an iterable of
    pairs ``X, y`` that `open_stream`, `prequential` and the others take. They are made on ``device``, "cpu" (the
    default), "cuda" or "auto", from the seed and their number alone; ``test`` has MNIST's own test digits.

    >>> X, y = stream("chess-board")
    >>> len(y)
    10000
    >>> stream("abrupt", rows=12_000).changes
    array([ 5000, 10000])
    """
    if isinstance(data, str) and data == DEFORMED:
        return _deformed(DEFORMED_ROWS if rows is None else rows, 0 if seed is None else seed, device or "cpu")
    if device is not None:
        raise ValueError(f"device must be left out for {data!r}: only {DEFORMED!r} can be made on a device")
    if isinstance(data, str) and data in RECIPES:
        drawn = draw(data, rows, 0 if seed is None else seed)
        made = SyntheticPair((drawn.X, drawn.y))
        made.name, made.seed, made.changes = data, int(seed or 0), drawn.changes
        return made
    X, y = (load(data, seed=seed) if isinstance(data, str) else data).train
    if rows is not None and not 0 < rows <= len(y):
        raise ValueError(f"rows must be from 1 to {len(y)}, as many as there are, got {rows!r}")
    return (X, y) if rows is None else (X[:rows], y[:rows])


def parse_name(name: str) -> tuple[str, dict[str, Any]]:
    """The name of a data set and the settings that follow it, as in ``sea:rows=20000:seed=3``.

    >>> parse_name("sea:rows=20000:seed=3"), parse_name("digits")
    (('sea', {'rows': 20000, 'seed': 3}), ('digits', {}))
    """
    name, *settings = name.split(":")
    found: dict[str, Any] = {}
    for setting in settings:
        key, _, value = setting.partition("=")
        if key not in ("rows", "seed") or not value.isdecimal():
            raise ValueError(
                f"the name of a data set may be followed only by rows=N or seed=N with a whole number, got {setting!r}"
            )
        found[key] = int(value)
    return name, found


def _deformed(rows: int, seed: int, device: str) -> Any:
    from ellipsoid.representation.kernel.device import arrays_on

    from .deformed import DeformedDigits

    digits = load("mnist")
    return DeformedDigits(*digits.train, rows=rows, seed=seed, arrays=arrays_on(device), test=digits.test)


def plain_labels(y: Any) -> Any:
    """Labels read from text: integers if all are, else numbers if all are, else strings.

    >>> plain_labels(["3", "-1", "1.0"]).tolist(), plain_labels(["3", "three"]).tolist()
    ([3, -1, 1], ['3', 'three'])
    """
    y = np.asarray(y)
    try:
        numbers = y.astype(np.float64)
    except ValueError:
        return y.astype(np.str_)
    whole = np.isfinite(numbers).all() and (numbers == np.round(numbers)).all() and (abs(numbers) < 2**53).all()
    return numbers.astype(np.int64) if whole else numbers


def _chess_board(seed: int) -> Dataset:
    rng = np.random.default_rng(seed)
    X_train, X_test = rng.random((10_000, 2)), rng.random((10_000, 2))
    y_train, y_test = (np.floor(8 * X).astype(np.int64).sum(axis=1) % 8 for X in (X_train, X_test))
    known = {"target_names": np.arange(8), "feature_names": ["a", "b"]}
    return Dataset("chess-board", X_train=X_train, y_train=y_train, X_test=X_test, y_test=y_test, **known)


def _folder_reader() -> Any | None:
    folder = os.environ.get("ELLIPSOID_DATA")
    if not folder:
        return None
    path = Path(folder) / "load.py"
    if not path.is_file():
        raise ValueError(f"ELLIPSOID_DATA must name a folder with a reader load.py, got {folder!r}")
    return _execute(path.resolve())


@lru_cache
def _execute(path: Path) -> ModuleType:
    # Compiled by hand, because an ordinary import would leave bytecode in a folder that is not ours to
    # write to.
    module = ModuleType("ellipsoid_data_reader")
    module.__file__ = str(path)
    loader = SourceFileLoader(module.__name__, str(path))
    exec(loader.source_to_code(loader.get_data(str(path)), str(path)), module.__dict__)
    return module


def _fetch(name: str, source: OpenML) -> Dataset:
    from importlib.util import find_spec

    from sklearn.datasets import fetch_openml

    try:
        bunch = fetch_openml(
            source.name,
            version=source.version,
            as_frame=False,
            parser="pandas" if find_spec("pandas") else "liac-arff",
            n_retries=1,  # without a network it fails within seconds
        )
    except OSError as error:
        raise OSError(
            f"data set {name!r} could not be fetched from OpenML ({error}); "
            "set ELLIPSOID_DATA to a data folder that has it, or name an embedded set: " + ", ".join(EMBEDDED)
        ) from error
    X, y = bunch.data, plain_labels(bunch.target)
    known = {"feature_names": bunch.feature_names, "target_names": np.unique(y)}
    n = source.n_train
    if n is None:
        return Dataset(name, X=X, y=y, **known)
    return Dataset(name, X_train=X[:n], y_train=y[:n], X_test=X[n:], y_test=y[n:], **known)
