"""Collections of Dask: their parts are blocks, with names of columns where they have some."""

import numpy as np
import pytest
from sklearn.base import clone

from ellipsoid import CELLIP, MIRA, PassiveAggressiveRegressor, Scaled, StandardStream, UnitNorm, distributed, load

from .conftest import digest

pytestmark = [pytest.mark.interpreted, pytest.mark.filterwarnings("error::UserWarning")]
arrays = pytest.importorskip("dask.array")
frames = pytest.importorskip("dask.dataframe")
pandas = pytest.importorskip("pandas")

here = {"client": "here", "shards": 1, "rounds": 1}


@pytest.fixture
def frame(stream):
    X, y = stream
    return pandas.DataFrame(X, columns=list("abcd")).assign(y=y)


def test_the_rows_of_a_frame_that_cut_are_replayed(frame):
    learner = CELLIP(margin=0.01, on_infeasible="skip")
    model = distributed.fit(learner, frames.from_pandas(frame, npartitions=3), label="y", **here)
    X, y = frame[list("abcd")], frame["y"]
    used = clone(learner).partial_fit(X, y, classes=[0, 1, 2]).update_rounds_ - 1
    once = clone(learner).partial_fit(X.iloc[used], y.iloc[used], classes=[0, 1, 2])
    assert digest(model) == digest(once)
    assert model.feature_names_in_.tolist() == list("abcd")


def test_a_frame_and_its_labels_are_learned_and_predicted(frame):
    parts = frames.from_pandas(frame, npartitions=3)
    model = distributed.fit(MIRA(), (parts[list("abcd")], parts["y"]), **here)
    assert digest(model) == digest(distributed.fit(MIRA(), parts, label="y", **here))
    expected = model.predict(frame[list("abcd")])
    assert np.array_equal(distributed.predict(model, parts[list("abcd")], client="here"), expected)
    assert np.array_equal(distributed.predict(model, parts, label="y", client="here"), expected)
    with pytest.raises(ValueError, match="has no column 'z'"):
        distributed.fit(MIRA(), parts, label="z", **here)
    with pytest.raises(TypeError, match="colums is an option for files"):
        distributed.fit(MIRA(), parts, label="y", colums=["a"], **here)


@pytest.mark.parametrize("scaler", [StandardStream(), UnitNorm()], ids=repr)
def test_names_of_columns_are_the_scaler_s_to_know(scaler, frame, tmp_path):
    """Rows are scaled without a warning that names were lost, and columns in another order are refused."""
    parts = frames.from_pandas(frame, npartitions=3)
    told = {"label": "y", "client": "here", "shards": 3, "rounds": 2, "checkpoint": tmp_path / "run.ckpt"}
    model = distributed.fit(Scaled(MIRA(), scaler=scaler), parts, **told)
    assert model.feature_names_in_.tolist() == list("abcd")
    assert digest(load(tmp_path / "run.ckpt")) == digest(model)
    assert digest(distributed.fit(Scaled(MIRA(), scaler=scaler), parts, resume=True, **told)) == digest(model)
    assert model.score(frame[list("abcd")], frame["y"]) > 0.7
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[list("dcba")])


def test_numbers_are_predicted_for_the_blocks_of_an_array(stream):
    X, _ = stream
    model = PassiveAggressiveRegressor().partial_fit(X, X[:, 0])
    found = distributed.predict(model, arrays.from_array(X, chunks=(30, 4)))
    assert np.array_equal(found.compute(scheduler="synchronous"), model.predict(X))
