"""Large models as files: what is read is what was written, or an error that says so."""

import numpy as np
import pytest

from ellipsoid.distributed.engines import parcel
from ellipsoid.distributed.engines.parcel import Parcel, is_large, opening, with_parcels, wrap
from ellipsoid.distributed.engines.processes import Loky


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    monkeypatch.setattr(parcel, "_last", {})


def test_the_contents_of_a_parcel_are_passed_to_the_task(tmp_path):
    sent = wrap({"weights": np.arange(5.0)}, tmp_path, "round-1")
    function, args = with_parcels(lambda model, factor: factor * model["weights"].sum(), (sent, 3.0))
    assert function is opening
    assert function(*args) == 30.0
    sent.discard()
    assert list(tmp_path.iterdir()) == []
    # Who has read it does not read it again.
    assert function(*args) == 30.0
    assert with_parcels(sum, ([1, 2],)) == (sum, ([1, 2],))


def test_a_file_that_is_gone_or_damaged_is_named(tmp_path):
    sent = wrap([1.0], tmp_path, "round-1")
    path = tmp_path / ".round-1.parcel"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(OSError, match="does not hold the model that was written there"):
        sent.opened()
    sent.discard()
    with pytest.raises(OSError, match="a folder that all workers share"):
        sent.opened()


def test_arrays_are_what_makes_a_model_large():
    assert not is_large({"weights": np.zeros(1 << 20)})
    assert is_large({"weights": np.zeros((1 << 22) + 1)})


def test_processes_are_sent_a_file(tmp_path, monkeypatch):
    engine = Loky(1)
    engine.folder = tmp_path
    assert engine.send([1, 2], key="small") == [1, 2]
    monkeypatch.setattr(parcel, "LARGE_MODEL", 0)
    sent = engine.send([1, 2, 3], key="large")
    assert isinstance(sent, Parcel)
    assert engine.result(engine.submit(sum, sent, key="sum")) == 6
    engine.forget()
    assert list(tmp_path.iterdir()) == []
