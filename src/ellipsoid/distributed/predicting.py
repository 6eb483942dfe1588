"""``predict`` over blocks: blocks in, blocks out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import uuid4

import numpy as np

from .engine import engine_of
from .plan import make_plan
from .shard import predict_block


def predict(
    model: Any,
    data: Any,
    *,
    client: Any = None,
    workers: int | None = None,
    block_bytes: int = 16 << 20,
    **options: Any,
) -> Any:
    """The labels that a model gives to the rows of files, in their order; of a Dask array, a Dask array of them.

    ``options`` are those of `open_stream`; the width of the model is that of the rows.

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
        return data.map_blocks(model.predict, dtype=model.classes_.dtype, drop_axis=1)
    engine, name = engine_of(client, workers), uuid4().hex[:8]
    try:
        plan = make_plan(data, block_bytes, options)
        reading = plan.reading
        if plan.format == "svmlight" and reading.options.get("bits") is None:
            known = {"n_features": model.n_features_in_, "extra": "drop"}
            reading = replace(reading, options={**known, **reading.options})
        sent = engine.send(model, key=f"model-{name}")
        futures = [
            engine.submit(predict_block, sent, block, reading, key=f"labels-{name}-{i}", turn=i)
            for i, block in enumerate(plan.blocks)
        ]
        return np.concatenate([engine.result(future) for future in futures])
    finally:
        engine.forget()
        engine.close()
