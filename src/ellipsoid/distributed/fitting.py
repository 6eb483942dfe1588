"""``fit``: one model of data on many machines, in rounds over shards."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import uuid4

from sklearn.base import clone

from ellipsoid.certificates.mixed import DUAL, INFORMATION, REPLAY
from ellipsoid.merging.merge import WEIGHTS

from .blocks import Reading
from .checkpoint import Checkpoint, digest_of, position_of
from .engine import engine_of
from .plan import Plan, make_plan
from .prepare import check_machines, first_rows, survey, warm
from .progress import Progress
from .rounds import Round
from .shard import Job, errors_of
from .start import announced, cap_factor, way_to_merge

USUAL_ROUNDS = 5


def fit(  # noqa: PLR0913 (every option is named where it is given)
    learner: Any, data: Any, *, client: Any = None, workers: int | None = None, shards: int = 16,
    rounds: int | None = None, merge: str = "auto", weights: str = "uniform", block_bytes: int = 16 << 20,
    classes: Any = None, n_features: int | None = None, scale: str | None = None, label: Any = None,
    checkpoint: Any = None, resume: bool = False, progress: Callable[[str], Any] | None = None, validate: Any = None,
    **options: Any,
) -> Any:  # fmt: skip
    """Learn ``data`` in ``rounds`` rounds over ``shards`` shards: each learns its rows beginning with the same model, and
    the models are put together as `ellipsoid.merge` does.

    The result depends on the data, on ``block_bytes``, ``shards`` and ``rounds``, and on nothing else: not on how many
    workers there are, which of them died, and whether the run was resumed.

    Parameters
    ----------
    learner : an online learner; a clone of it learns. One in `Scaled` has all rows scaled by the moments of all
    data : names of files, which all workers can read; a pair ``(X, y)`` of Dask arrays; a Dask data frame, with ``label``
    client : a Dask client, or the address of a scheduler; None: the current client, else ``workers`` processes of this
        machine; "here": this process alone
    shards : parts that are learned apart, at most as many as there are blocks; two to four for each worker
    rounds : passes, 5 by default; 1 where parts add up exactly (AROW, SecondOrderPerceptron, EllipsoidClassifier, CELLIP)
    merge : "auto", or "dual" for one dual solution over all rows, with its gap (OnlineSVM, QuasiAdditive)
    weights : {"uniform", "mistakes", "updates"}
    block_bytes : size of a block of text
    classes, n_features : the labels in their order, and the width; what is not given, a first pass over the data finds
    scale : {None, "standard", "unit"}
    checkpoint : a file that is written after every round
    resume : go on after the last round in ``checkpoint``
    progress : is told a line now and then, as ``print`` is
    validate : data whose error is told after every round
    options : as `open_stream` has them: ``format``, ``bits``, ``zero_based``, ``columns`` …

    Examples
    --------
    >>> import tempfile, os
    >>> from sklearn.datasets import dump_svmlight_file, load_digits
    >>> from ellipsoid import MIRA, distributed
    >>> X, y = load_digits(return_X_y=True)
    >>> path = os.path.join(tempfile.mkdtemp(), "digits.svm")
    >>> dump_svmlight_file(X, y, path)
    >>> model = distributed.fit(MIRA(average=True), path, client="here", shards=4, rounds=2, block_bytes=1 << 16)
    >>> model.t_ == 2 * len(y), model.shards_, bool(model.score(X, y) > 0.93)
    (True, 4, True)
    """
    run = Run(learner, data, engine_of(client, workers), progress=progress, label=label, options=options, scale=scale,
              block_bytes=block_bytes)  # fmt: skip
    try:
        return run.fit(shards, rounds, merge, weights, classes, n_features, checkpoint, resume, validate)
    finally:
        run.engine.forget()
        run.engine.close()


class Run:
    """A run over the data of a plan."""

    def __init__(  # noqa: PLR0913 (as ``fit``)
        self, learner: Any, data: Any, engine: Any, *, progress: Any = None, label: Any = None,
        options: dict[str, Any] | None = None, scale: str | None = None, block_bytes: int = 16 << 20,
    ) -> None:  # fmt: skip
        self.learner, self.scaler = _unwrapped(learner, scale)
        self.engine, self.tell, self.options = engine, progress, dict(options or {})
        self.plan: Plan = make_plan(data, block_bytes, self.options, label)
        self.label, self.block_bytes = label, block_bytes
        self.names = [str(data)] if isinstance(data, str) else None if self.plan.format is None else list(map(str, data))

    def fit(  # noqa: PLR0913 (as ``fit``)
        self, shards: int, rounds: int | None, merge: str, weights: str, classes: Any, n_features: int | None,
        checkpoint: Any, resume: bool, validate: Any,
    ) -> Any:  # fmt: skip
        """Survey, rounds, and the model."""
        way = way_to_merge(self.learner, merge)
        _check_numbers(shards, rounds, weights)
        if resume and checkpoint is None:
            raise ValueError("resume needs checkpoint, the file of the run to go on with")
        rounds = (1 if way in (REPLAY, INFORMATION) else USUAL_ROUNDS) if rounds is None else rounds
        self.prepare(classes, n_features)
        dealt = self.plan.dealt(shards)
        self.progress = Progress(self.tell, rounds, len(dealt))
        parts = (self.plan.digest, type(self.learner).__name__, sorted(self.learner.get_params().items(), key=str), way,
                 weights, len(dealt), self.start._core.labels.values, self.width, _scaler_words(self.scaler))  # fmt: skip
        kept = Checkpoint(checkpoint, digest_of(*parts), position_of(self.names, self.reading, self.columns))
        if way == REPLAY:
            from .replay import replay

            return self.wrapped(replay(self, dealt))
        if way == DUAL:
            from .dual import fit_dual

            return self.wrapped(fit_dual(self, dealt, rounds, kept, resume, validate))
        return self._in_rounds(dealt, rounds, weights, kept, resume, validate, cap_factor(self.learner, way, len(dealt)))

    def prepare(self, classes: Any, n_features: int | None) -> None:
        """Settle what all shards must agree on, and have compiled code ready everywhere."""
        check_machines(self.engine)
        found, columns = survey(self, classes, n_features)
        self.reading: Reading = replace(found.reading, scaler=self.scaler)
        self.classes, self.width, self.columns = found.classes, found.width, columns
        self.sample = first_rows(self.plan, self.reading)
        self.start = announced(self.learner, self.classes, self.sample.X, self.width)
        self.say("workers get their compiled code ready, which takes up to half a minute the first time")
        warm(self.engine, self.start, self.plan.blocks[0], self.reading)

    def say(self, text: str) -> None:
        """Tell whoever listens."""
        if self.tell is not None:
            self.tell(text)

    def wrapped(self, model: Any) -> Any:
        """The model with its scaler in front."""
        if self.scaler is None:
            return model
        from ellipsoid.estimators.pipeline import Scaled

        scaled = Scaled(clone(self.learner), scaler=clone(self.scaler))
        scaled._keep(model, self.scaler)
        return scaled

    def _in_rounds(  # noqa: PLR0913 (as ``fit``)
        self, dealt: list[list[Any]], rounds: int, weights: str, kept: Checkpoint, resume: bool, validate: Any, cap: float
    ) -> Any:  # fmt: skip
        model, first = self.start, 0
        history: list[dict[str, Any]] = []
        if resume:
            read, first, history = kept.read()
            model = getattr(read, "learner_", read)
            self.say(f"resumed after round {first}")
        if cap != 1.0:
            self.say(f"steps are capped at {cap:g} times C on each of {len(dealt)} shards, and so at C in their mixture")
        held = None if validate is None else self.held_out(validate)
        name, jobs = uuid4().hex[:8], [
            Job(i, blocks, self.reading, cap, len(dealt) == 1) for i, blocks in enumerate(dealt)
        ]  # fmt: skip
        for number in range(first, rounds):
            self.progress.begin(number)
            before = model.mistakes_ if number else 0
            turn = Round(self.engine, jobs, weights, cap, f"{kept.digest[:8]}-{name}-{number}")
            try:
                model = turn.run(model, self.progress.shard)
            except Exception as error:
                if kept.path is not None and number > first:
                    error.add_note(f"round {number + 1} was given up; {kept.path} holds the model of the rounds before")
                raise
            finally:
                self.engine.forget()
            error_rate = None if held is None else self.error_on(model, held, f"{name}-{number}")
            history.append({"rows": self.progress.rows, "mistakes": model.mistakes_ - before, "error": error_rate})
            kept.write(self.wrapped(model), number + 1, rounds, history)
            self.progress.end(history[-1]["mistakes"], error_rate)
        result = self.wrapped(model)
        result.history_ = history
        return result

    def held_out(self, validate: Any) -> Plan:
        """The plan of the rows that are not learned."""
        plan = make_plan(validate, self.block_bytes, {**self.options, "format": self.plan.format}, self.label) \
            if self.plan.format is not None else make_plan(validate, self.block_bytes, {}, self.label)  # fmt: skip
        known = {k: self.reading.options[k] for k in ("zero_based", "n_features") if k in self.reading.options}
        reading = replace(plan.reading, options={**plan.reading.options, **known}, scaler=self.scaler)
        if "n_features" in known:
            reading = replace(reading, options={**reading.options, "extra": "drop"})
        return plan._replace(reading=reading)

    def error_on(self, model: Any, held: Plan, name: str) -> float:
        """The share of wrongly labelled rows."""
        sent = self.engine.submit(_same, model, key=f"judged-{name}")
        found = [
            self.engine.submit(errors_of, sent, blocks, held.reading, key=f"error-{name}-{i}")
            for i, blocks in enumerate(held.dealt(self.progress.shards))
        ]
        counted = [self.engine.result(each) for each in found]
        self.engine.forget()
        return sum(wrong for wrong, _ in counted) / max(1, sum(rows for _, rows in counted))


def _same(model: Any) -> Any:
    return model


def _unwrapped(learner: Any, scale: str | None) -> tuple[Any, Any]:
    """The learner itself, and the scaler in front of it."""
    from ellipsoid.estimators.pipeline import Scaled
    from ellipsoid.estimators.scalers import StandardStream, UnitNorm

    if scale not in (None, "none", "standard", "unit"):
        raise ValueError(f"scale must be standard, unit or None, got {scale!r}")
    if isinstance(learner, Scaled):
        if scale not in (None, "none"):
            raise ValueError("the learner has a scaler already: leave scale out")
        return learner.learner, StandardStream() if learner.scaler is None else clone(learner.scaler)
    return learner, {"standard": StandardStream(), "unit": UnitNorm()}.get(scale or "")


def _scaler_words(scaler: Any) -> Any:
    return None if scaler is None else (type(scaler).__name__, sorted(scaler.get_params().items()))


def _check_numbers(shards: int, rounds: int | None, weights: str) -> None:
    for name, value in (("shards", shards), ("rounds", 1 if rounds is None else rounds)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(f"{name} must be a positive integer, got {value!r}")
    if weights != "uniform" and weights not in WEIGHTS:
        raise ValueError(f"weights must be uniform, mistakes or updates, got {weights!r}")
    if shards > 10_000:
        warnings.warn(f"{shards} shards are more than a scheduler hands out in reasonable time", stacklevel=4)
