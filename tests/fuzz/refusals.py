"""Steps that hand bad input to a model: it must be refused by a sentence, and nothing may change."""

import warnings

import numpy as np

from . import spoil
from .state import check_unchanged, content, started, unwrapped


class Refusals:
    """A part of the world: ``model``, ``learner``, ``stream`` and the rows ``_coming`` are the world's."""

    def refused(self, what, why, how="partial_fit"):
        """Bad input: an error that is a sentence, and nothing has changed."""
        call, spoiled = self._bad_call(what, why, how)
        if call is None:
            return
        before = content(self.model)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                call()
        except (ValueError, TypeError) as error:
            told = str(error)
        else:
            raise AssertionError(f"{how} took {what} {why}: {spoiled!r}")
        assert len(told.split()) > 3, f"{how} with {what} {why}: {told!r} is no sentence"
        check_unchanged(self.model, before, f"{how} with {what} {why}: {told}")

    def _bad_call(self, what, why, how):
        """The call, or None where the input would not be wrong here."""
        stream, model = self.stream, self.model
        how = "predict" if how == "decision_function" and not self.has_scores else how
        run = next(stream.segments(self._coming(3)), [0])
        if "dict" in stream.kinds:
            if what != "rows" or why not in spoil.DICTS:
                return None, None
            x = spoil.DICTS[why]
            return lambda: model.learn_one(x, stream.y[run[0]]), x
        X, y = stream.rows(run), stream.y[run]
        growing = bool(self.learner.get_params().get("grow_features")) if started(model) else False
        if what == "rows":
            if why not in spoil.ROWS:
                return None, None
            spoiler, when = spoil.ROWS[why]
            sparse = stream.kind(run[0]) == "csr"
            if (
                (when == "fixed" and (growing or not started(model) or how == "fit"))
                or (when == "csr" and not (sparse and X.shape[1] > 1 and len(run) > 1))
                or (why == "complex" and not sparse and X.dtype == np.float32)
                or (how in ("predict", "decision_function") and not started(model))
            ):
                return None, None
            X = spoiler(X)
            if how in ("predict", "decision_function"):
                return lambda: getattr(model, how)(X), X
        elif what == "labels":
            table = spoil.SETS if stream.sets else spoil.NUMBERS if stream.numbers else spoil.LABELS
            if why not in table or how in ("predict", "decision_function"):
                return None, None
            spoiler, when = table[why]
            if (when == "known" and (not started(model) or how == "fit")) or (
                when == "closed" and (not started(model) or not self.learner._core.closed or how == "fit")
            ):
                return None, None
            y = spoiler(y)
        elif what == "classes":
            classes = spoil.CLASSES[why]
            if stream.sets or (not started(model) and why == "others"):
                return None, None
            return lambda: model.partial_fit(X, y, classes=classes), classes
        elif what == "one":
            if not started(model) or stream.sets or (stream.numbers and why == "half a label"):
                return None, None
            x, label = {
                "matrix": (X[:2] if len(run) > 1 else np.ones((2, 2)), y[0]), "word": ("red", y[0]),
                "number": (1.0, y[0]), "name": ({"a": 1.0}, y[0]), "labels": (stream.row(run[0]), [y[0]]),
                "no label": (stream.row(run[0]), None), "half a label": (stream.row(run[0]), 0.5),
                "nan label": (stream.row(run[0]), float("nan")),
            }[why]  # fmt: skip
            return lambda: model.learn_one(x, label), (x, label)
        if how == "learn_predict" and stream.sets:
            how = "partial_fit"
        return lambda: getattr(model, how)(X, y), (X, y)

    def third_label(self):
        """What starts as two classes, and cannot go on as three, says so."""
        stream, model = self.stream, self.model
        if not started(model) or len(model.classes_) != 2 or stream.sets or "dict" in stream.kinds:
            return
        core = unwrapped(model)._core
        if getattr(getattr(core, "link", None), "quadratic", False):
            return  # the one link of its family that can
        run = next(stream.segments(self._coming(3)), None)
        if run is None:
            return
        y = stream.y[run].copy().astype(object)
        y[-1] = "zzz" if isinstance(model.classes_.tolist()[0], str) else 98
        before = content(model)
        try:
            model.partial_fit(stream.rows(run), np.array(y.tolist()))
        except ValueError as error:
            told = str(error)
        else:
            raise AssertionError("a third label was taken")
        assert "classes" in told or "takes two labels only" in told, told
        check_unchanged(model, before, told)
