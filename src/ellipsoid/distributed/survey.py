"""The survey: one pass over the data that finds what all shards must agree on before they learn.

A shard sees only a part of the data. By itself it would number the labels in an order of its own, might see three
classes where another shard sees two, would count features from 1 because its part has no feature 0, and would scale
the features by moments of its own.
"""

import platform
import sys
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ellipsoid.representation.table_protocol import Floats
from ellipsoid.streams.labels import refuse_fractions

from .blocks import BlockReading, rows_that_count


class Surveyed(NamedTuple):
    """What is in some blocks: rows, labels, the width, whether svmlight text has a feature 0, and moments.

    ``moments`` hold for each column the number of its values, their mean and the sum of squared deviations.
    """

    rows: int
    labels: list[Any]
    width: int
    zero: bool
    moments: Floats | None


def survey_blocks(blocks: list[Any], reading: BlockReading, moments: bool, of_classes: bool = False) -> Surveyed:
    """Survey some blocks; with ``of_classes`` numbers that are no labels are refused."""
    asked, format = reading.options.get("label") or reading.label, reading.options.get("format")
    column = f"column {asked!r}" if asked else "the last column" if format in ("csv", "parquet", "arrow") else None
    found = Surveyed(0, [], 0, False, None)
    for block in blocks:
        for chunk in rows_that_count(block, reading):
            X, y = chunk.X, chunk.y
            if of_classes:
                refuse_fractions(y, str(block), column, None)
            count = len(X) if hasattr(X, "columns") else X.shape[0]
            zero = bool(sparse.issparse(X) and X.nnz and (X.indices == 0).any())
            labels = [] if y is None else np.unique(y).tolist()
            own = _moments(X) if moments else None
            found = joined_surveys(found, Surveyed(count, labels, X.shape[1], zero, own))
    return found


def joined_surveys(one: Surveyed, other: Surveyed) -> Surveyed:
    """The survey of both parts."""
    labels = {*one.labels, *other.labels}
    return Surveyed(
        one.rows + other.rows,
        sorted(labels, key=lambda label: (isinstance(label, str), label)),
        max(one.width, other.width),
        one.zero or other.zero,
        _joined_moments(one.moments, other.moments),
    )


def _moments(X: Any) -> Floats:
    """For each column the number of values, their mean, and the sum of squared deviations; CSR counts stored values."""
    if sparse.issparse(X):
        count = np.bincount(X.indices, minlength=X.shape[1]).astype(np.float64)
        total = np.bincount(X.indices, weights=X.data, minlength=X.shape[1])
        mean = np.divide(total, count, out=np.zeros_like(total), where=count > 0.0)
        spread = np.bincount(X.indices, weights=(X.data - mean[X.indices]) ** 2, minlength=X.shape[1])
        return np.array([count, mean, spread])
    X = np.asarray(X, dtype=np.float64)
    mean = X.mean(axis=0)
    return np.array([np.full(X.shape[1], float(len(X))), mean, ((X - mean) ** 2).sum(axis=0)])


def _joined_moments(one: Floats | None, other: Floats | None) -> Floats | None:
    """The moments of both parts together: Chan, Golub and LeVeque (1983)."""
    if one is None or other is None:
        return other if one is None else one
    width = max(one.shape[1], other.shape[1])
    (n, a, A), (m, b, B) = (np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in (one, other))
    total = n + m
    share = np.divide(m, total, out=np.zeros(width), where=total > 0.0)
    apart = b - a
    return np.array([total, a + apart * share, A + B + apart * apart * n * share])


@cache
def machine() -> tuple[str, ...]:
    """The versions, which must be equal on all workers, and last the processor, which decides the order of sums."""
    from importlib.metadata import version

    from ellipsoid import __version__

    versions = (__version__, *map(version, ("numpy", "scipy", "numba")), sys.version.split()[0])
    return *versions, _processor()


def check_versions(found: tuple[str, ...], own: tuple[str, ...], worker: str) -> None:
    """Refuse a worker with other versions than the driver's."""
    if found[:-1] != own[:-1]:
        raise ValueError(
            f"{worker} runs other versions (ellipsoid, numpy, scipy, numba, Python: {', '.join(found[:-1])}) "
            f"than this process ({', '.join(own[:-1])})"
        )


def _processor() -> str:
    from llvmlite import binding

    return str(binding.get_host_cpu_name()) or platform.processor()


class Settled(NamedTuple):
    """The result of a survey: how to read, the labels in their order, the width, the rows (None: not counted)."""

    reading: BlockReading
    classes: list[Any]
    width: int
    rows: int | None


def settle(found: Surveyed, reading: BlockReading, classes: Any, width: int | None, zero_based: bool | None) -> Settled:
    """What holds for all shards; svmlight text was surveyed as if its features were counted from 0."""
    if found.rows == 0:
        raise ValueError("the data have no rows")
    known = list(classes) if classes is not None else found.labels
    unknown = [label for label in found.labels if label not in known]
    if unknown:
        raise ValueError(f"the data hold the label {unknown[0]!r}, which is not in classes; add it")
    if len(known) < 2:
        raise ValueError(f"the data must have at least two classes, but all rows have the label {known[0]!r}")
    options = dict(reading.options)
    if options.get("format") == "svmlight" and options.get("bits") is None:
        zero = found.zero if zero_based is None else zero_based
        if zero_based is False and found.zero:
            raise ValueError("the data have a feature 0, but features count from 1; give zero_based=True")
        options["zero_based"] = zero
        needed = found.width - (0 if zero else 1)
        width = max(1, needed) if width is None else width
        if needed > width:
            raise ValueError(f"the data have {needed} features, more than n_features={width}; raise n_features")
        options["n_features"] = width
    return Settled(replace(reading, options=options), known, width or found.width, found.rows)
