"""``compare``: several learners, each learned over all the data by a task of its own."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any
from uuid import uuid4

from sklearn.base import clone

from .blocks import rows_of_block
from .engines.choice import engine_of
from .fitting import ShardedRun
from .initial_model import check_count, check_options, check_single, initial_model
from .rounds import run_tasks
from .shard import learn_chunk


def compare(  # noqa: PLR0913 (every option is named where it is given)
    learners: Mapping[str, Any], data: Any, *, client: Any = None, workers: int | None = None, passes: int = 1,
    classes: Any = None, n_features: int | None = None, label: Any = None, **options: Any,
) -> dict[str, Any]:  # fmt: skip
    """Learn all rows with each learner, ``passes`` times in the same order; returns the models by their names.

    For a grid of parameters, several learners, or several seeds. Nothing is merged: each model is bit by bit what its
    learner would learn alone. At most one worker per learner is used.

    Examples
    --------
    >>> import tempfile, os
    >>> from sklearn.datasets import dump_svmlight_file, load_digits
    >>> from ellipsoid import MIRA, distributed
    >>> X, y = load_digits(return_X_y=True)
    >>> path = os.path.join(tempfile.mkdtemp(), "digits.svm")
    >>> dump_svmlight_file(X, y, path)
    >>> grid = {f"margin {margin}": MIRA(margin=margin) for margin in (0.01, 1.0)}
    >>> {name: model.t_ for name, model in distributed.compare(grid, path, client="here").items()}
    {'margin 0.01': 1797, 'margin 1.0': 1797}
    """
    if not learners:
        raise ValueError("compare needs at least one learner")
    check_options(options)
    check_count("passes", passes)
    for learner in learners.values():
        check_single(learner)
    name = uuid4().hex[:8]
    with engine_of(client, workers) as engine:
        run = ShardedRun(next(iter(learners.values())), data, engine, label=label, options=options)
        run.prepare(classes, n_features)
        sample = run.sample
        tasks = []
        for i, learner in enumerate(learners.values()):
            start = engine.send(
                initial_model(clone(learner), run.classes, sample.X, run.width), key=f"model-{name}-{i}"
            )
            tasks.append((start, run.plan.blocks, run.reading, passes))
        return dict(zip(learners, run_tasks(engine, learn_all, tasks, f"whole-{name}"), strict=True))


def learn_all(model: Any, blocks: list[Any], reading: Any, passes: int) -> Any:
    """Learn all blocks in their order, so many times."""
    model = deepcopy(model)
    for _ in range(passes):
        for block in blocks:
            for chunk in rows_of_block(block, reading):
                learn_chunk(model, chunk)
    return model
