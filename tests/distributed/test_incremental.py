"""dask-ml's Incremental hands the blocks of a Dask array to partial_fit, one after another: the model is that of a
stream of these blocks, to the bit.
"""

import numpy as np
import pytest

from ellipsoid import AROW, MIRA

from .conftest import digest


@pytest.mark.interpreted
@pytest.mark.filterwarnings("ignore")  # of packages that are not ours
@pytest.mark.parametrize("learner", [MIRA(average=True), AROW()])
def test_incremental_learns_what_a_stream_of_its_blocks_does(learner, stream):
    arrays = pytest.importorskip("dask.array")
    wrappers = pytest.importorskip("dask_ml.wrappers")
    from sklearn.base import clone

    X, y = stream
    wrapped = wrappers.Incremental(clone(learner), shuffle_blocks=False, assume_equal_chunks=True)
    wrapped.fit(arrays.from_array(X, chunks=(25, -1)), arrays.from_array(y, chunks=25), classes=np.unique(y))
    alone = clone(learner)
    for begin in range(0, len(y), 25):
        alone.partial_fit(X[begin : begin + 25], y[begin : begin + 25], classes=np.unique(y))
    assert digest(wrapped.estimator_) == digest(alone)
    labels = wrapped.predict(arrays.from_array(X, chunks=(30, -1)))
    assert np.array_equal(np.asarray(labels), alone.predict(X))
