"""Examples that only the learner can refuse: what they cost, and that the journal knows of them."""

import json
import signal
import sqlite3
import sys
from contextlib import closing
from http.client import HTTPException

import pytest
from click.testing import CliRunner

from ellipsoid.cli import main
from ellipsoid.service.housekeeping import run_housekeeping, write_snapshot
from ellipsoid.service.journal.journal import Journal
from ellipsoid.service.journal.rows import Rows
from ellipsoid.service.messages import NewModel
from ellipsoid.service.models.learning import StreamLearner
from ellipsoid.service.problem import CallProblem

from .conftest import Server, examples, serving
from .test_store import learn, shapes

pytestmark = pytest.mark.interpreted

# Winnow learns two labels, which no check before it knows.
THIRD = {"x": [1.0, 1.0, 1.0], "y": "third"}

# A service that is killed when it finds out that an example, which is in the journal, must be refused.
KILLED = """
from os import getpid, kill
from ellipsoid.service.models.learning import StreamLearner
StreamLearner.learn_or_pass = lambda *_: kill(getpid(), 9)
from ellipsoid.cli import main
main()
"""


def refusals_in(store):
    with closing(sqlite3.connect(store.folder / "journal.sqlite")) as journal:
        return [row for (row,) in journal.execute("SELECT row FROM refused ORDER BY row")]


@pytest.mark.parametrize("scale", ["none", "standard"])
@pytest.mark.parametrize("bits", [6, None])
def test_a_batch_of_bad_labels_is_learned_without_them(store, tmp_path, monkeypatch, bits, scale):
    """The model, which may be large, is not copied for each of them."""
    store.make_model("m", NewModel(learner="Winnow", bits=bits, scale=scale))
    lines = [{**line, "y": line["y"] if line["y"] != "c" else "a"} for line in shapes("named")]
    learn(store, "m", lines[:20])
    bad = [{"x": {**lines[i]["x"], f"own {i}": 1.0}, "y": "third"} for i in range(20)]
    copies, copy = [], StreamLearner.copy
    monkeypatch.setattr(StreamLearner, "copy", lambda learner: copies.append(learner.t) or copy(learner))
    learn(store, "m", [each for pair in zip(bad, lines[20:40], strict=True) for each in pair])
    assert list(store.stream("m").champion.published.learner.refused) == [*range(20, 60, 2)]
    assert len(copies) < 5
    learn(store, "m", lines[40:])
    file, target = store.stream("m").champion.published.file(), tmp_path / "replayed"
    assert store.model_at("m", 80) == file
    result = CliRunner().invoke(main, ["replay", str(store.folder), "m", "--save", str(target)])
    assert result.exit_code == 0, result.output
    assert target.read_bytes() == file
    rows = CliRunner().invoke(main, ["replay", str(store.folder), "m", "--rows", "-"])
    assert [json.loads(line) for line in rows.stdout.splitlines()] == lines


def test_a_refusal_that_the_disk_did_not_take_is_written_later(store, monkeypatch):
    store.make_model("m", NewModel(learner="Winnow"))
    learn(store, "m", examples(9))
    commit = Journal._commit

    def full(journal, writes):
        if any(type(write).__name__ == "Change" for write in writes):
            raise OSError("no space left on device")
        return commit(journal, writes)

    monkeypatch.setattr(Journal, "_commit", full)
    learn(store, "m", [THIRD])
    champion = store.stream("m").champion
    write_snapshot(champion)
    assert (refusals_in(store), champion.snapshots.all()) == ([], [])
    monkeypatch.setattr(Journal, "_commit", commit)
    run_housekeeping(store)
    store.submit_change(lambda connection: None)  # what was submitted before it is written
    write_snapshot(champion)
    assert (refusals_in(store), [each.t for each in champion.snapshots.all()]) == ([9], [10])


def test_a_replay_refuses_what_a_killed_service_had_no_time_to_refuse(tmp_path):
    """It gives the model that the restarted service has, and lets another learner pass over rows too."""
    folder, target = tmp_path / "store", tmp_path / "replayed"
    server = Server(folder, program=["env", "NUMBA_DISABLE_JIT=1", sys.executable, "-c", KILLED]).start()
    try:
        assert server.call("PUT", "/v1/models/m", {"learner": "Winnow", "scale": "standard"})[0] == 201
        assert server.batch("/v1/models/m/learn", examples(300))[0] == 200
        with pytest.raises((HTTPException, OSError)):  # the connection ends without an answer
            server.batch("/v1/models/m/learn", [*examples(200, 300), THIRD, *examples(5, 500), THIRD])
        assert server.wait(30) == -signal.SIGKILL
    finally:
        server.close()
    runner = CliRunner()
    result = runner.invoke(main, ["replay", str(folder), "m", "--save", str(target)])
    assert result.exit_code == 0, result.output
    assert "champion passed over 2 examples, the first because" in result.stderr
    compared = runner.invoke(main, ["replay", str(folder), "m", "--learner", "Winnow"])
    assert compared.exit_code == 0, compared.output
    assert "Note: Winnow passed over 2 examples" in compared.stderr
    refusing = ["--learner", "MIRA", "--param", "kernel=poly", "--param", "degree=5000", "--param", "coef0=1000"]
    refused = runner.invoke(main, ["replay", str(folder), "m", *refusing])
    assert refused.exit_code == 1
    assert "MIRA can learn none of the examples: the first" in refused.stderr
    with serving(folder) as server:
        assert server.call("GET", "/v1/models/m/file") == (200, target.read_bytes())
    again = runner.invoke(main, ["replay", str(folder), "m"])
    assert (again.exit_code, again.stderr) == (0, "")


def test_a_model_that_refused_all_has_no_past(store):
    store.make_model("m", NewModel(learner="MIRA", params={"kernel": "poly", "degree": 500}))
    learn(store, "m", [{"x": [1000.0, 1000.0], "y": label} for label in (0, 1)] + [{"x": [0.0, 0.0], "y": 0}])
    with pytest.raises(CallProblem, match="none of its first 2 examples") as refused:
        store.model_at("m", 2)
    assert refused.value.status == 409


def test_long_words_count_in_the_size_of_rows():
    long = "b" * 1_000_000
    assert Rows([{"a": long}, {long: 1.0}], [0, 1]).size > 2_000_000
