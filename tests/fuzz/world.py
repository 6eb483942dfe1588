"""What a program does to a model, and what must hold then: promises, not a second implementation.

The steps of a program take rows from a stream as they come. A *twin* is given the rows that were learned in as few
calls as can be: it must be the same model, to the last bit.
"""

import copy
import pickle
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from numba.core import config
from sklearn.base import clone, is_regressor

import ellipsoid
from ellipsoid import EmptyVersionSpace
from ellipsoid.estimators import FURTHER, HOMES, learner_named
from ellipsoid.estimators.inputs import rows as inputs
from ellipsoid.estimators.state import expansion

from . import planted
from .grid import measured
from .refusals import Refusals
from .signals import interrupted, lines_of
from .state import check_unchanged, content, difference, everything, started, unwrapped
from .streams import Stream

inf = np.inf
__all__ = ["Stream", "World", "inf", "small_blocks"]

NAMES = {
    **{name: learner_named(name) for name in (*HOMES, *FURTHER)},
    **{name: getattr(ellipsoid, name) for name in ("Calibrated", "Conformal", "Scaled", "StandardStream", "UnitNorm")},
    "inf": np.inf,
    "measured": measured,
}
# Rows that may be refused though nothing is wrong with them but their size.
TOO_LARGE = ("too large", "overflow")
FOLDER = tempfile.TemporaryDirectory(prefix="fuzz-")
WATCHED, ONE = "learn_predict", "learn_one"


def small_blocks():
    """Rows are scored and converted a few at a time, so that short streams meet the ends of blocks too."""
    expansion.SCORED_AHEAD, expansion.SCORED_AHEAD_WITHIN_BUDGET, expansion.ROWS_PER_VOTE = 16, 8, 4
    inputs.BLOCK_VALUES = 32


def prefix_of(model):
    """What stands before the names of the learner's parameters."""
    return "learner__" + prefix_of(model.learner) if "learner" in vars(model) else ""


def scored(model, X):
    """The numbers that predictions go by."""
    if "conformity_" in vars(model):
        sets = model.predict_interval(X) if is_regressor(model) else model.predict_set(X)
        return np.hstack([sets, scored(model.learner_, X).reshape(len(sets), -1)])
    return model.predict(X) if is_regressor(model) else model.decision_function(X)


class World(Refusals):
    """A model, a stream, and how far the model has come on it."""

    def __init__(self, estimator, stream, classes=None):
        self.model = eval(estimator, NAMES)
        self.may_be_saved = measured.__name__ not in estimator
        self.origin = clone(self.model)
        self.stream, self.classes = stream, classes
        self.fitted = None  # the rows of a ``fit``, which forgets what was before
        self.learned = []
        self.cursor = 0
        self.left_behind = []
        self.held = []
        self.checks = 0

    # -- what a model is asked ---------------------------------------------------------------------------------

    @property
    def t(self):
        return self.model.t_ if started(self.model) else 0

    @property
    def learner(self):
        return unwrapped(self.model)

    @property
    def has_scores(self):
        """Are there scores besides predictions?"""
        return not self.stream.numbers and hasattr(type(self.model), "decision_function")

    def _coming(self, k):
        return list(range(self.cursor, min(self.stream.n, self.cursor + k)))

    def _width(self):
        return self.model.n_features_in_ if started(self.model) else self.stream.known(0)

    # -- learning ----------------------------------------------------------------------------------------------

    def learn(self, k, how="partial_fit", form="plain"):
        """The next k rows, in one call where they are of one kind and width."""
        for run in self.stream.segments(self._coming(k)):
            for part in [[pick] for pick in run] if how == ONE else [run]:
                while part:
                    part = self._give(part, how, form)

    def _give(self, run, how, form):
        """Rows of one kind; returns those still to be given after an exception that tells of an empty version space."""
        before, t = content(self.model), self.t
        try:
            self._call(self.model, run, how, form)
        except EmptyVersionSpace:
            done = self.t - t
            assert 1 <= done <= len(run), f"{done} rows of {len(run)} are learned where the version space became empty"
            self._note(run[:done])
            return run[done:]
        except ValueError as error:
            # ``fit`` has settled how many labels there are.
            late = self.fitted is not None and "pass classes=" in str(error)
            if not late and not any(words in str(error) for words in TOO_LARGE):
                raise
            check_unchanged(self.model, before, error)
            self.cursor = self.stream.n if len(set(map(self.stream.known, range(self.stream.n)))) > 1 else run[-1] + 1
            return []
        assert self.t == t + len(run), f"t_ is {self.t} after {t} and {len(run)} more"
        self._note(run)
        return []

    def _note(self, run):
        self.learned += run
        self.cursor = run[-1] + 1 if run else self.cursor

    def _call(self, model, run, how, form):
        """Hand rows of one kind to a model."""
        stream, labels = self.stream, self.stream.y[run]
        # Classes are announced once; to say them again is allowed.
        silent = self.classes is None or (started(model) and run[0] % 5)
        first = {} if silent else {"classes": self.classes}
        named = stream.kind(run[0]) == "dict"
        if named and not (started(model) and model.n_features_in_ == stream.known(run[0]) and how != ONE):
            how = ONE
        if how == ONE and first and not started(model):
            model.partial_fit(stream.rows(run[:1]), labels[:1], **first)
            run = run[1:]
        if how == ONE:
            for pick in run:
                label = stream.y[pick]
                model.learn_one(stream.row(pick), label.tolist() if pick % 2 and not stream.sets else label)
        elif how == WATCHED and not stream.sets:
            expected = self._foreseen(model, run)
            answer = model.learn_predict(stream.rows(run, form), labels, **first).tolist()
            if first and expected[0] is None:
                assert answer[0] in self.classes
                expected[0] = answer[0]  # what is predicted before anything was learned is not said
            if stream.numbers and "kernel=" in repr(self.model):
                # Scored in blocks of rows, or a row alone: the same but for the order of a sum.
                size = 1e-9 * (np.abs(expected).max() + np.abs(labels).max())
                expected = answer if np.abs(np.subtract(answer, expected)).max() <= size else expected
            assert answer == expected, f"learn_predict says {answer}, predict said {expected}"
        else:
            model.partial_fit(stream.rows(run, form), labels.tolist() if form == "list" else labels, **first)

    def _foreseen(self, model, run):
        """What ``predict`` says of each row before it is learned."""
        slow, found = copy.deepcopy(model), []
        for pick in run:
            row = self.stream.rows([pick])
            if not started(slow):
                found.append(0.0 if self.stream.numbers else None)
            else:
                found.append(slow.predict(row).tolist()[0])
            with suppress(EmptyVersionSpace):
                self._call(slow, [pick], "partial_fit", "plain")
        return found

    def fit(self, k):
        """Forget everything; refused where the rows have one label only."""
        run = next(self.stream.segments(self._coming(k)), None)
        if run is None:
            return
        before = content(self.model)
        origin = clone(self.model)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.model.fit(self.stream.rows(run), self.stream.y[run])
        except EmptyVersionSpace:
            # What was before a ``fit`` that is broken off is still there.
            check_unchanged(self.model, before, "fit was broken off")
        except ValueError as error:
            if "two classes" not in str(error) and not any(words in str(error) for words in TOO_LARGE):
                raise
            check_unchanged(self.model, before, error)
        else:
            self.origin, self.fitted, self.learned, self.cursor = origin, run, [], run[-1] + 1
            self.classes = None

    def interrupt(self, k, share, how="partial_fit"):
        """Ctrl-C in the middle of a call: what is left is the model of the rows that count as seen."""
        run = next(self.stream.segments(self._coming(k)), None)
        if run is None or config.DISABLE_JIT:
            return
        how = how if how != WATCHED else "partial_fit"
        probe, t = copy.deepcopy(self.model), self.t
        try:
            # All that must be compiled is compiled here.
            self._call(copy.deepcopy(self.model), run, how, "plain")
            lines = lines_of(lambda: self._call(probe, run, how, "plain"))
        except ValueError:
            self.learn(k, how)
            return
        felt = interrupted(lambda: self._call(self.model, run, how, "plain"), 1 + int(share * (lines - 1)))
        done = self.t - t
        assert 0 <= done <= len(run), f"t_ went from {t} to {self.t} in a call of {len(run)} rows"
        assert felt or done == len(run), f"{done} rows of {len(run)} were learned by a call that was not interrupted"
        self._note(run[:done])
        self.compare()

    # -- what leaves no trace ----------------------------------------------------------------------------------

    def predict(self):
        """One row alone is predicted as among others, and nothing changes."""
        if not started(self.model):
            return
        before, width = content(self.model), self._width()
        stream, model = self.stream, self.model
        run = [pick for pick in range(stream.n) if stream.known(pick) == width and stream.kind(pick) == stream.kind(0)]
        if not run:
            return
        X = stream.rows(run)
        try:
            labels, scores = model.predict(X), scored(model, X)
        except ValueError as error:
            # A scaler that has seen tiny values only makes others too large.
            if "learner" not in vars(model) or not any(words in str(error) for words in TOO_LARGE):
                raise
            check_unchanged(model, before, error)
            return
        assert not np.isnan(scores).any(), f"scores hold NaN: {scores}"
        for number in sorted({0, len(run) // 2, len(run) - 1}):
            single = stream.row(run[number])
            one = model.predict_one(single)
            assert np.array_equal(one, labels[number]), f"predict_one: {one}, predict: {labels[number]}, row {number}"
            alone = scored(model, stream.rows([run[number]]))[0]
            assert alone.tobytes() == scores[number].tobytes(), f"a row alone scores {alone}, else {scores[number]}"
        assert content(model) == before, "prediction has changed the model"

    def certificates(self, seed=0):
        """No bound is exceeded or NaN, whatever it is compared with."""
        if not started(self.model):
            return
        before = content(self.model)
        for comparator in self._comparators(seed):
            for certificate in self.model.certificates(comparator):
                told = f"{certificate} with the comparator {comparator}"
                assert not np.isnan(certificate.observed), told
                assert not np.isnan(certificate.bound), told
                assert certificate.observed <= certificate.bound, told
                self.checks += 1
        assert content(self.model) == before, "certificates have changed the model"

    def _comparators(self, seed):
        yield None
        core = self.learner._core
        if hasattr(self.model, "learners_"):
            yield from (0, 1, 60)
        if not hasattr(self.model, "coef_") or type(self.learner).__name__ == "IntervalRegressor":
            return
        rng = np.random.default_rng(seed)
        shape = core.table.weights(core.scores, 0).shape
        if shape[0] == 2 and len(core.labels) == 2 and not core.multilabel:
            shape = (1, shape[1])
        yield np.zeros(shape)
        random = rng.normal(size=shape)
        for scale in (1.0, 1e-150, 1e150):
            yield scale * random
        yield random[:, 1:]
        own = np.array(self.model.coef_).reshape(shape[0], -1)
        if own.any() and np.isfinite(own).all():
            yield own
            yield own / np.abs(own).max()
        one = np.zeros(shape)
        one[0, -1] = 1.0
        yield one

    # -- ways through the world --------------------------------------------------------------------------------

    def file(self):
        """Written and read: the same model."""
        path = Path(FOLDER.name) / "model"
        if not started(self.model):
            return
        if not self.may_be_saved:
            with pytest.raises(ValueError, match="cannot be written to a model file"):
                self.model.save(path)
            return
        before = everything(self.model)
        self.model.save(path)
        data = path.read_bytes()
        other = ellipsoid.load(path)
        self._moved(other, before, "load")
        other.save(path)
        assert path.read_bytes() == data, "a model that was read is written otherwise"
        found, known = other.get_params(), self.model.get_params()
        # Where no scaler was named, the file names the one that there was.
        for name in known:
            if "scaler" not in name:
                assert repr(found[name]) == repr(known[name]), f"{name} was {known[name]} and is {found[name]}"

    def pickle(self):
        before = everything(self.model)
        self._moved(pickle.loads(pickle.dumps(self.model)), before, "pickle")

    def deepcopy(self):
        before = everything(self.model)
        self._moved(copy.deepcopy(self.model), before, "deepcopy")

    def _moved(self, other, before, how):
        found = difference(before, everything(other))
        assert found is None, f"after {how}: {found}"
        self.left_behind.append((self.model, before))
        self.model = other

    def clone(self):
        """A clone has the parameters and has learned nothing."""
        other = clone(self.model)
        assert not started(other)
        assert repr(other.get_params()) == repr(self.model.get_params())

    def set_params(self, **values):
        """For the next start; this run goes on as it began."""
        prefix = prefix_of(self.model)
        if "Committee" in repr(self.model):  # whose parameters are its own
            values = {"rate": 0.5}
        after = {**self.model.get_params(), **{prefix + name: value for name, value in values.items()}}
        if after.get(prefix + "drift") and after.get(prefix + "selective"):
            values = {name: type(value)(0) for name, value in values.items()}  # the two contradict each other
        before = everything(self.model)
        begun = started(self.model)
        self.model.set_params(**{prefix + name: value for name, value in values.items()})
        if not begun:
            self.origin = clone(self.model)
        assert difference(before, everything(self.model)) is None

    # -- the twin ----------------------------------------------------------------------------------------------

    def twin(self):
        """The model of the same rows in as few calls as can be."""
        model = clone(self.origin)
        named = "dict" in self.stream.kinds
        if named:
            model.set_params(**{prefix_of(model) + "grow_features": True})
        if self.fitted is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(self.stream.rows(self.fitted), self.stream.y[self.fitted])
        for run in self.stream.segments(self.learned):
            while run:
                t = model.t_ if started(model) else 0
                first = {} if started(model) or self.classes is None else {"classes": self.classes}
                try:
                    model.partial_fit(self.stream.rows(run), self.stream.y[run], **first)
                    break
                except EmptyVersionSpace:
                    run = run[model.t_ - t :]
        return model

    def compare(self):
        """The model is its twin, to the last bit."""
        if self.fitted is None and not self.learned:
            assert not started(self.model), "no row was learned, and yet the model is one that has learned something"
            return
        twin = self.twin()
        mine, other = everything(self.model), everything(twin)
        if "dict" in self.stream.kinds:
            mine["features"] = None
        found = difference(mine, other)
        assert found is None, f"model and twin differ: {found}"
        X = self.stream.rows([self.learned[-1]] if self.learned else self.fitted[:1])
        if X.shape[1] == self._width():
            scores = [scored(model, X).tobytes() for model in (self.model, twin)]
            assert scores[0] == scores[1], "model and twin score differently"
        certificates = [model.certificates() for model in (self.model, twin)]
        assert repr(certificates[0]) == repr(certificates[1]), f"certificates differ: {certificates}"
        meant = self.stream.flavour == "planted" and not self.stream.sets
        if type(self.model).__name__ == "CELLIP" and meant and self.fitted is None:
            self.held.append(planted.check(self.model, self.stream, self.learned))

    def end(self):
        """All that can be asked at any time."""
        self.predict()
        self.certificates()
        self.compare()
        for model, before in self.left_behind:
            found = difference(before, everything(model))
            assert found is None, f"a model that was copied has changed with its copy: {found}"
