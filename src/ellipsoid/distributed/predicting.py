"""``predict``: the labels of all rows of files or of a Dask collection, block by block."""

from dataclasses import replace
from typing import Any
from uuid import uuid4

import numpy as np
from sklearn.base import is_regressor

from ellipsoid.evaluate.position import KEPT
from ellipsoid.streams.labels import word_labels
from ellipsoid.streams.several_files import kinds_and_base

from .blocks import BlockReading, Partition
from .engines.choice import engine_of
from .plan import Plan, is_collection, make_plan
from .rounds import run_tasks
from .shard import predict_block


def predict(
    model: Any,
    data: Any,
    *,
    client: Any = None,
    workers: int | None = None,
    block_bytes: int = 16 << 20,
    label: Any = None,
    **options: Any,
) -> Any:
    """The predicted labels of the rows of files, in their order; for a Dask array, a Dask array of them.

    ``data`` may also be a Dask data frame, of which all columns but ``label`` (if given) are features; in the table of
    a file the label is the last column by default. ``options`` are those of `open_stream`. How the files of `fit` were
    read (``stream_``) also holds for these: the number of features is the model's, columns in another order are
    refused, features are counted from the same number, and hashed to as many bits.

    Examples
    --------
    >>> import tempfile, os
    >>> from sklearn.datasets import dump_svmlight_file, load_digits
    >>> from ellipsoid import MIRA, distributed
    >>> X, y = load_digits(return_X_y=True)
    >>> path = os.path.join(tempfile.mkdtemp(), "digits.svm")
    >>> dump_svmlight_file(X, y, path)
    >>> model = MIRA().fit(X, y)
    >>> found = distributed.predict(model, path, client="here", block_bytes=1 << 16, zero_based=True)
    >>> bool((found == model.predict(X)).all())
    True
    """
    if hasattr(data, "map_blocks") and hasattr(data, "dask"):
        kind = np.float64 if is_regressor(model) else model.classes_.dtype
        return data.map_blocks(model.predict, dtype=kind, drop_axis=1)
    name = uuid4().hex[:8]
    with engine_of(client, workers) as engine:
        kept = getattr(model, "stream_", None) or {}
        if hasattr(data, "map_partitions"):
            rows = data if label is None else data.drop(columns=[label])
            plan = Plan([Partition(i, part) for i, part in enumerate(rows.to_delayed())], BlockReading(), "", None)
        else:
            settled = options if is_collection(data) else _stream_options_of_model(options, kept, model)
            plan = make_plan(data, block_bytes, settled, label, learned=kept.get("columns"))
        reading = plan.reading
        if plan.format == "svmlight" and reading.options.get("bits") is None:
            known = {"n_features": model.n_features_in_, "extra": "drop", **reading.options}
            if known.get("zero_based") is None:
                # Whether features are counted from 0 is found in the first lines, once for all blocks.
                paths = list(dict.fromkeys(block.path for block in plan.blocks))
                known["zero_based"] = kinds_and_base(paths, known)["zero_based"]
            reading = replace(reading, options=known)
        sent = engine.send(model, key=f"model-{name}")
        tasks = [(sent, block, reading) for block in plan.blocks]
        return np.concatenate(run_tasks(engine, predict_block, tasks, f"labels-{name}"))


def _stream_options_of_model(options: dict[str, Any], kept: dict[str, Any], model: Any) -> dict[str, Any]:
    """The options, completed by how the files that the model has learned were read."""
    bits, own = options.get("bits"), kept.get("bits")
    if bits is not None and own is not None and bits != own:
        raise ValueError(f"bits={bits} contradicts the model, whose features are hashed to {own} bits: leave bits out")
    if bits is not None and kept.get("zero_based") is not None:
        raise ValueError(f"bits={bits} contradicts the model, whose features are not hashed: leave bits out")
    core = getattr(getattr(model, "learner_", model), "_core", None)
    names = {"dicts": "keep"} if getattr(core, "features", None) is not None else {}
    known = {name: kept[name] for name in ("missing", *KEPT) if kept.get(name) is not None}
    return {"labelled": True, "word_labels": word_labels(model), **names, **known, **options}
