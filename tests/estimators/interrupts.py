"""Calls that are interrupted at one bytecode after another, and what is left of the model.

The interrupt is a signal, raised while Python is in a given instruction of this package, so that it is handled, held
back or lost as a real one would be. Compiled code is not interrupted, as it never is.
"""

import copy
import random
import signal
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

import ellipsoid
from ellipsoid import prequential
from ellipsoid.estimators.files import saving

PACKAGE = str(Path(ellipsoid.__file__).parent)

# They hold a lock. Python looks for signals at calls and jumps back, and so never between the end of a ``with`` and the
# release of its lock, where an instruction that is traced might be.
HOLDING = ("Picker.pick", "Nonzeros.of", "one_thread_at_a_time.<locals>.alone")

RNG = np.random.default_rng(3)
X = np.round(4.0 * RNG.normal(size=(40, 7))) / 4.0
X[[5, 28]] = X[[3, 7]]
TWO = np.array(["a", "b"])[RNG.integers(0, 2, 40)]
LATE = TWO.copy()
LATE[[22, 30]], LATE[25] = "c", "d"
LABELS = {"late": LATE, "two": TWO, "sets": (X[:, :3] > 0.0).astype(int)}


class Interrupted:
    """``with Interrupted(n):`` Ctrl-C comes at the n-th instruction of the package; ``seen`` counts them."""

    def __init__(self, at=None, under=PACKAGE):
        self.at, self.under, self.seen, self.where = at, under, 0, None

    def __enter__(self):
        self.before = sys.gettrace()
        # Python 3.12 traces instructions only where some frame has asked for it before tracing begins.
        sys._getframe().f_trace_opcodes = True
        sys.settrace(self._call)
        return self

    def __exit__(self, *exception):
        sys.settrace(self.before)

    def _call(self, frame, event, argument):
        code = frame.f_code
        if not code.co_filename.startswith(self.under) or threading.current_thread() is not threading.main_thread():
            return None
        if code.co_qualname in HOLDING:
            return None
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        return self._step

    def _step(self, frame, event, argument):
        if event == "opcode":
            self.seen += 1
            if self.seen == self.at:
                self.where = f"{frame.f_code.co_qualname}, line {frame.f_lineno} of {frame.f_code.co_filename}"
                self.strike()
        return self._step

    def strike(self):
        signal.raise_signal(signal.SIGINT)


class Failing(Interrupted):
    """The same for an error that nobody can hold back, such as that of a full memory."""

    def strike(self):
        raise MemoryError("no memory is left")


def unwrapped(model):
    """The learner that has learned, without what is around it."""
    return unwrapped(model.learner_) if "learner_" in vars(model) else model


def saved(model):
    """All that a file of the model would hold, to the last bit; None if it has learned nothing."""
    if not model.__sklearn_is_fitted__():
        return None
    core = unwrapped(model)._core
    kernel = getattr(core, "kernel", ("",))[0]
    if callable(kernel):
        # A file holds no function.
        model = copy.deepcopy(model, {id(kernel): kernel}).set_params(kernel="rbf")
        model._core.started = {**model._core.started, "kernel": "rbf"}
    header, arrays = saving.describe(model)
    seen = {name: getattr(model, name, None) for name in ("n_features_in_", "t_", "mistakes_", "updates_")}
    return header, seen, {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in arrays.items()}


def differences(one, other):
    """Where two of them differ, for a message that can be read."""
    if one is None or other is None:
        return ["one has learned nothing"] if one is not other else []
    found = [key for part in range(2) for key in one[part] if one[part][key] != other[part].get(key)]
    return found + [name for name in {*one[2], *other[2]} if one[2].get(name) != other[2].get(name)]


class Trial(NamedTuple):
    """A model that has learned the first ``begin`` rows of a stream, and how it is given the others.

    Of them some bring the third and the fourth label, unless all were announced; ``wide`` ones bring features too.
    """

    model: Any
    how: str = "partial_fit"
    begin: int = 20
    rows: int = 40
    classes: tuple[str, ...] | None = None
    labels: str = "late"
    sparse: bool = False
    wide: bool = False

    def part(self, start, stop, width):
        rows = X[start:stop, :width]
        return sp.csr_matrix(rows) if self.sparse else rows

    def started(self):
        model, narrow = clone(self.model), X.shape[1] - 3
        self.learn(model, 0, self.begin, narrow if self.wide else X.shape[1])
        return model

    def learn(self, model, start, stop, width=X.shape[1]):
        y, options = LABELS[self.labels], {} if self.classes is None else {"classes": list(self.classes)}
        if stop <= start:
            return
        if self.how in ("arrays", "dicts", "words"):
            for i in range(start, stop):
                row = X[i, :width]
                named = {f"f{j}": value for j, value in enumerate(row) if value}
                if self.how == "words":
                    named |= {f"only in row {i}": 1.0, "word": f"that of row {i}"}
                model.learn_one(row if self.how == "arrays" else named, y[i])
        elif self.how == "prequential":
            prequential(model, (self.part(start, stop, width), y[start:stop]), chunk_size=7, **options)
        else:
            getattr(model, self.how)(self.part(start, stop, width), y[start:stop], **options)


def campaign(trial, points, kind=Interrupted, seed=0):
    """Break the call off at so many places, all of them if there are fewer, and judge what is left each time.

    Returns the number of places tried, and a sentence for each that left anything but the model of its first rows, or
    one that could not go on to the model of all.
    """
    base, spy, wrong = trial.started(), kind(), []
    whole, known, twins = copy.deepcopy(base), getattr(base, "t_", 0), {}
    trial.learn(copy.deepcopy(base), trial.begin, trial.rows)  # compiles
    with spy:
        trial.learn(whole, trial.begin, trial.rows)
    places = range(1, spy.seen + 1)
    places = places if spy.seen <= points else sorted(random.Random(seed).sample(places, points))
    for place in places:
        model, breaking = copy.deepcopy(base), kind(place)
        try:
            with breaking:
                trial.learn(model, trial.begin, trial.rows)
            wrong.append(f"{breaking.where}: went on as if nothing had been")
            continue
        except (KeyboardInterrupt, MemoryError):
            pass
        except ValueError as error:
            # Where room for the weights is asked for, a full memory is told as rows that are too wide.
            if kind is not Failing or "more memory than there is" not in str(error):
                raise
        count = getattr(model, "t_", 0) - known
        if count not in twins:
            twin = copy.deepcopy(base)
            trial.learn(twin, trial.begin, trial.begin + count)
            twins[count] = saved(twin)
        if found := differences(saved(model), twins[count]):
            wrong.append(f"{breaking.where}: not the model of {count} rows more, but for {found}")
            continue
        trial.learn(model, trial.begin + count, trial.rows)
        if found := differences(saved(model), saved(whole)):
            wrong.append(f"{breaking.where}: goes on from {count} rows to another model: {found}")
    return len(places), wrong
