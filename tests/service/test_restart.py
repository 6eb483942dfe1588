"""What a store tells right after its start, and that its housekeeping counts right."""

import shutil
import threading
from concurrent.futures import Future

import pytest

from ellipsoid.estimators.files.saving import UnwritableModel
from ellipsoid.service.calls.predict import _published
from ellipsoid.service.housekeeping import _forget_unlabelled, write_snapshot
from ellipsoid.service.journal.writes import Change, KeepWrite
from ellipsoid.service.messages import NewModel
from ellipsoid.service.problem import CallProblem
from ellipsoid.service.store import Store

from .conftest import examples
from .test_store import learn

pytestmark = pytest.mark.interpreted


@pytest.fixture
def store(store):
    store.make_model("m", NewModel(learner="Perceptron"))
    return store


def test_no_prediction_comes_from_less_than_was_acknowledged(store, tmp_path):
    """As long as a journal is replayed, the newest snapshot is no answer."""
    learn(store, "m", examples(6))
    store.stream("m").champion.write_snapshot()
    assert learn(store, "m", examples(6, 6)).t == 12
    shutil.copytree(store.folder, tmp_path / "killed")
    restarted = Store(tmp_path / "killed")
    try:
        stream = restarted.stream("m")
        assert stream.champion.published.t == 6
        with pytest.raises(CallProblem, match="rebuilt from its journal") as problem:
            _published(stream)
        assert problem.value.status == 503
        stream.champion.failure = "it has stopped"
        assert _published(stream).t == 6  # there will be no better one
        stream.champion.failure = None
        restarted.start()
        while not stream.caught_up():
            pass
        assert _published(stream).t == 12
    finally:
        restarted.close()


def test_what_is_kept_while_others_are_forgotten_is_counted(store):
    learn(store, "m", examples(6))
    stream = store.stream("m")

    def keep(name):
        done = Future()
        store.journal.submit(KeepWrite(stream, [(name, b"[1]", '"a"', 0.0, None)], "", done.set_result))
        return done

    keep("one").result(10)
    going_on, waits = threading.Event(), Future()
    store.journal.submit(Change(waits.set_result, lambda connection: going_on.wait(10)))
    another = keep("another")
    stream.forget_again_at = 0.0
    house = threading.Thread(target=_forget_unlabelled, args=[store, stream])
    house.start()
    house.join(0.05)
    going_on.set()
    house.join(10)
    assert another.result(10) == 1
    store.submit_change(lambda connection: None)
    assert stream.kept == 2


def test_a_model_that_no_file_holds_has_no_snapshot(store, monkeypatch, caplog):
    learn(store, "m", examples(6))
    champion = store.stream("m").champion
    monkeypatch.setattr(type(champion.published), "file", refused)
    write_snapshot(champion)
    assert "no snapshot of m.first: the model cannot be written" in caplog.text
    assert not [*store.snapshots.iterdir()]
    assert learn(store, "m", examples(6, 6)).t == 12


def refused(published):
    raise UnwritableModel("the model cannot be written to a file")
