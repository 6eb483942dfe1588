"""What the tests of the readers share: a stream from bytes, gathered, with blocks as small as one likes."""

import io

import numpy as np
import pytest
from scipy import sparse

from ellipsoid.streams.opening import open_stream
from ellipsoid.streams.readers import blocks


def gather(reader):
    """All rows and labels of a reader; the widths never fall, and the offsets count the rows."""
    Xs, ys, rows, width = [], [], None, 0
    for X, y, offset in reader:
        assert X.shape[0] > 0
        assert rows is None or offset == rows
        rows = offset + X.shape[0]
        assert X.shape[1] >= width
        width = X.shape[1]
        Xs.append(X.copy())
        ys.append(y)
    if sparse.issparse(Xs[0]):
        for X in Xs:
            X.resize(X.shape[0], width)
            assert X.has_canonical_format
    X = sparse.vstack(Xs, format="csr") if sparse.issparse(Xs[0]) else np.concatenate(Xs)
    return X, None if ys[0] is None else np.concatenate(ys)


def read(data, **options):
    """Rows, labels and the reader of some bytes."""
    reader = open_stream(io.BytesIO(data), **options)
    X, y = gather(reader)
    return X, y, reader


@pytest.fixture
def block_size(monkeypatch):
    """``block_size(16)`` cuts every text into blocks of so many bytes."""
    return lambda size: monkeypatch.setattr(blocks, "BLOCK_BYTES", size)
