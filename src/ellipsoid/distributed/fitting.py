"""``fit``: one model of data on many machines, in rounds over shards."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.utils.validation import _check_feature_names

from ellipsoid.certificates.mixed import DUAL, REPLAY
from ellipsoid.merging.merger import WEIGHTS
from ellipsoid.streams.atomic import check_folder

from .blocks import BlockReading
from .checkpoint import Checkpoint, digest_of, position_of
from .engines.choice import engine_of
from .initial_model import check_count, check_options, initial_model, merge_kind, one_round_suffices
from .plan import Plan, make_plan
from .prepare import check_machines, first_rows, survey, warm_workers
from .progress import RunProgress
from .rounds import mix_round, run_tasks
from .shard import errors_of

USUAL_ROUNDS = 5


def fit(  # noqa: PLR0913 (every option is named where it is given)
    learner: Any, data: Any, *, client: Any = None, workers: int | None = None, shards: int = 16,
    rounds: int | None = None, merge: str = "auto", weights: str = "uniform", block_bytes: int = 16 << 20,
    classes: Any = None, n_features: int | None = None, scale: str | None = None, label: Any = None,
    checkpoint: Any = None, resume: bool = False, progress: Callable[[str], Any] | None = None, validate: Any = None,
    **options: Any,
) -> Any:  # fmt: skip
    """Learn ``data`` in ``rounds`` rounds over ``shards`` shards, parts of the data.

    In each round every shard is learned starting from the same model, and the models are put together as
    `ellipsoid.merge` does it. The result depends only on the data, on ``block_bytes``, ``shards`` and ``rounds``: not
    on how many workers there are, which of them died, or whether the run was resumed.

    Parameters
    ----------
    learner : an online learner, which is cloned. With `Scaled` all rows are scaled by the moments of all the data
    data : files that all workers can read; a pair ``(X, y)`` of Dask arrays; a Dask data frame
    client : a Dask client, or the address of a scheduler; None: the current client, else ``workers`` processes of this
        machine; "here": this process alone
    shards : how many parts are learned separately, at most one for each block; two to four per worker are reasonable
    rounds : passes; by default 1 where the knowledge of shards adds up (AROW, SecondOrderPerceptron, CELLIP), else 5
    merge : "auto", or "dual" for one dual solution over all rows, with its gap (OnlineSVM, QuasiAdditive)
    weights : {"uniform", "mistakes", "updates"}
    block_bytes : size of a block of text
    label : the column of the labels, which a data frame needs; of a file's table by default the last
    classes, n_features : the labels in their order, and the width; a first pass over the data finds what is not given
    scale : {None, "standard", "unit"}
    checkpoint : a file that is written after every round
    resume : continue after the last round in ``checkpoint``
    progress : a function that is called with a line of text from time to time, such as ``print``
    validate : data on which the error is measured after every round
    options : those of `open_stream`: ``format``, ``bits``, ``zero_based``, ``columns`` …

    Examples
    --------
    >>> import tempfile, os
    >>> from sklearn.datasets import dump_svmlight_file, load_digits
    >>> from ellipsoid import MIRA, distributed
    >>> X, y = load_digits(return_X_y=True)
    >>> path = os.path.join(tempfile.mkdtemp(), "digits.svm")
    >>> dump_svmlight_file(X, y, path, zero_based=False)
    >>> model = distributed.fit(MIRA(average=True), path, client="here", shards=4, rounds=2, block_bytes=1 << 16)
    >>> model.t_ == 2 * len(y), model.shards_, bool(model.score(X, y) > 0.93)
    (True, 4, True)
    """
    check_count("shards", shards)
    check_count("rounds", 1 if rounds is None else rounds)
    if weights not in ("uniform", *WEIGHTS):
        raise ValueError(f"weights must be uniform, mistakes or updates, got {weights!r}")
    if classes is not None and len(classes) < 2:
        raise ValueError(f"classes must name at least two classes, got {list(classes)!r}")
    if resume and checkpoint is None:
        raise ValueError("resume needs checkpoint, the file of the run to continue")
    if checkpoint is not None:
        # Now, not after hours of learning.
        check_folder(checkpoint)
    check_options(options)
    kind = merge_kind(_unwrapped(learner, scale)[0], merge)
    if validate is not None and is_regressor(learner):
        raise ValueError("validate counts wrong labels, but a regressor has no labels: score its model after fit")
    more: dict[str, Any] = {"progress": progress, "label": label, "options": options, "scale": scale}
    with engine_of(client, workers) as engine:
        run = ShardedRun(learner, data, engine, block_bytes=block_bytes, **more)
        if checkpoint is not None:
            _refuse_overwriting(checkpoint, [*(run.names or ()), *_names(validate)])
            engine.folder = Path(checkpoint).absolute().parent
        run.prepare(classes, n_features)
        return run.fit(kind, shards, rounds, weights, checkpoint, resume, validate)


class ShardedRun:
    """One call of ``fit`` or ``compare``: the learner, the plan of the data, and the engine that runs the tasks."""

    def __init__(  # noqa: PLR0913 (as ``fit``)
        self, learner: Any, data: Any, engine: Any, *, progress: Any = None, label: Any = None,
        options: dict[str, Any] | None = None, scale: str | None = None, block_bytes: int = 16 << 20,
    ) -> None:  # fmt: skip
        self.learner, self.scaler = _unwrapped(learner, scale)
        self.engine, self.progress, self.options = engine, RunProgress(progress), dict(options or {})
        asked = self.options.pop("kinds", None)
        self.plan: Plan = make_plan(data, block_bytes, self.options, label, asked=asked)
        self.label, self.block_bytes = label, block_bytes
        self.names = None if self.plan.format is None else _names(data)

    def fit(
        self, kind: str, shards: int, rounds: int | None, weights: str, path: Any, resume: bool, validate: Any
    ) -> Any:
        """Run the rounds after `prepare`, and return the model; ``path`` is that of the checkpoint, or None."""
        rounds = 1 if kind == REPLAY else rounds or (1 if one_round_suffices(self.learner) else USUAL_ROUNDS)
        dealt = self.plan.deal(shards)
        self.progress.expect(rounds, len(dealt))
        scaler = None
        if self.scaler is not None:
            scaler = (type(self.scaler).__name__, sorted(self.scaler.get_params().items()))
        digest = digest_of(
            self.plan.digest, type(self.learner).__name__, sorted(self.learner.get_params().items(), key=str), kind,
            weights, len(dealt), self.classes, self.width, scaler,
        )  # fmt: skip
        checkpoint = Checkpoint(path, digest, position_of(self.names, self.reading, self.plan.columns))
        validation = None if validate is None else self.validation_plan(validate)
        if kind == DUAL:
            from .dual import fit_dual

            return fit_dual(self, dealt, rounds, checkpoint, resume, validation)
        if kind == REPLAY:
            from .replay import replay_round

            one_round = partial(replay_round, self, dealt)
        else:
            one_round = partial(mix_round, self, dealt, kind, weights)
        return self.run_rounds(one_round, rounds, checkpoint, resume, validation)

    def prepare(self, classes: Any, n_features: int | None) -> None:
        """Survey the data for what all shards must agree on, and let the workers compile their code."""
        check_machines(self.engine)
        found = survey(self, classes, n_features)
        self.reading: BlockReading = replace(found.reading, scaler=self.scaler)
        self.classes, self.width = found.classes, found.width
        self.sample = first_rows(self.plan, self.reading)
        rows = self.sample.X
        if self.scaler is not None and hasattr(rows, "columns"):
            # The scaler keeps the names of features; the learner behind it gets rows without names.
            _check_feature_names(self.scaler, rows, reset=True)
            rows = np.asarray(rows)
        self.start = initial_model(self.learner, self.classes, rows, self.width)
        self.progress.line("workers are compiling, which takes up to half a minute the first time")
        warm_workers(self.engine, self.start, self.plan.blocks[0], self.reading)

    def wrapped(self, model: Any) -> Any:
        """The model with its scaler in front."""
        if self.scaler is None:
            return model
        from ellipsoid.estimators.wrappers.pipeline import Scaled

        scaled = Scaled(clone(self.learner), scaler=clone(self.scaler))
        scaled._keep(model, self.scaler)
        return scaled

    def run_rounds(
        self,
        one_round: Callable[[Any, str], Any],
        rounds: int,
        checkpoint: Checkpoint,
        resume: bool,
        validation: Plan | None,
        resumed: Callable[[Any], Any] = lambda model: model,
    ) -> Any:
        """Run rounds; after each one the model is validated, reported and written to disk.

        ``resumed`` is called with a model that was read from the checkpoint, and returns the one to go on with.
        """
        model, first = self.start, 0
        history: list[dict[str, Any]] = []
        if resume:
            read, first, history = checkpoint.read()
            if first > rounds:
                raise ValueError(
                    f"{checkpoint.path} holds the model after {first} rounds, but rounds is {rounds}: give "
                    f"{first} or more, or start again without resume"
                )
            model = resumed(getattr(read, "learner_", read))
            self.progress.line(f"resumed after round {first}")
        name = uuid4().hex[:8]
        if validation is not None and history and history[-1]["error"] is None:
            # The previous call was interrupted during validation.
            history[-1]["error"] = self.error_on(model, validation, f"{name}-again")
        for number in range(first, rounds):
            self.progress.begin(number)
            before = model.mistakes_ if number else 0
            try:
                model = one_round(model, f"{checkpoint.digest[:8]}-{name}-{number}")
            except Exception as error:
                if checkpoint.path is not None and number > 0:
                    error.add_note(
                        f"round {number + 1} failed; {checkpoint.path} holds the model after the rounds before it"
                    )
                raise
            finally:
                self.engine.forget()
            entry = {"rows": self.progress.rows, "mistakes": model.mistakes_ - before, "error": None}
            history.append(entry)
            try:
                entry["error"] = None if validation is None else self.error_on(model, validation, f"{name}-{number}")
            finally:
                # Where validation fails the round is kept all the same.
                checkpoint.write(self.wrapped(model), number + 1, rounds, history)
            self.progress.end(entry["mistakes"], entry["error"])
        # They are attributes of the learner itself, so that another `fit`, even of its wrapper, forgets them.
        model.history_, model.stream_ = history, checkpoint.record(len(history), len(history), model)
        return self.wrapped(model)

    def validation_plan(self, validate: Any) -> Plan:
        """The plan of the validation data."""
        settled: dict[str, Any] = self.reading.options
        options = {} if self.plan.format is None else {**self.options, "format": self.plan.format}
        options |= {name: settled[name] for name in ("kinds", "word_labels") if settled.get(name) is not None}
        plan = make_plan(validate, self.block_bytes, options, self.label, self.plan.columns)
        known = {name: value for name, value in settled.items() if name in ("zero_based", "n_features")}
        reading = replace(plan.reading, options={**plan.reading.options, **known}, scaler=self.scaler)
        if "n_features" in known:
            reading = replace(reading, options={**reading.options, "extra": "drop"})
        return plan._replace(reading=reading)

    def error_on(self, model: Any, validation: Plan, name: str) -> float:
        """The share of wrongly labelled rows."""
        sent = self.engine.send(model, key=f"judged-{name}")
        tasks = [(sent, blocks, validation.reading) for blocks in validation.deal(self.progress.shards)]
        counted = run_tasks(self.engine, errors_of, tasks, f"error-{name}")
        self.engine.forget()
        rows = sum(count for _, count in counted)
        if rows == 0:
            raise ValueError("the data of validate have no rows that count: leave validate out, or give other data")
        return sum(wrong for wrong, _ in counted) / rows


def _names(data: Any) -> list[str]:
    """The names of the files, if the data are files."""
    named = [data] if isinstance(data, str | PathLike) else data
    return [str(name) for name in named if isinstance(name, str | PathLike)] if isinstance(named, list | tuple) else []


def _refuse_overwriting(checkpoint: Any, read: list[str]) -> None:
    """Refuse a checkpoint that would overwrite one of the files that are read."""
    target = Path(checkpoint)
    for name in read if target.is_file() else ():
        if Path(name).exists() and target.samefile(name):
            raise ValueError(
                f"the checkpoint {checkpoint} would overwrite {name}, which this run reads: name another file"
            )


def _unwrapped(learner: Any, scale: str | None) -> tuple[Any, Any]:
    """The learner itself, and the scaler in front of it."""
    from ellipsoid.estimators.wrappers.pipeline import Scaled
    from ellipsoid.estimators.wrappers.scalers import SCALES

    if scale not in (None, "none", *SCALES):
        raise ValueError(f"scale must be standard, unit or None, got {scale!r}")
    if isinstance(learner, Scaled):
        if scale not in (None, "none"):
            raise ValueError("the learner already has a scaler: leave scale out")
        return learner.learner, learner._new_scaler()
    return learner, None if scale in (None, "none") else SCALES[scale]()
