"""A store without HTTP: what it learns, what it keeps, and what it may forget."""

import json
import shutil
import threading
import time
from concurrent.futures import Future
from math import inf

import numpy as np
import pytest
from click.testing import CliRunner

from ellipsoid.cli import main
from ellipsoid.service.calls import dense_lines
from ellipsoid.service.calls.lines import decoded_lines
from ellipsoid.service.housekeeping import _forget_examples, _in_two_snapshots, run_housekeeping
from ellipsoid.service.journal.database import JournalBlock
from ellipsoid.service.journal.rows import Rows
from ellipsoid.service.journal.schema import LABEL_LIMIT, Schema
from ellipsoid.service.journal.tail import Tail
from ellipsoid.service.journal.writes import IncomingRows, LearnWrite
from ellipsoid.service.messages import LabelledExample, NewLearner, NewModel
from ellipsoid.service.problem import CallProblem
from ellipsoid.service.store import Store

from .conftest import examples

pytestmark = pytest.mark.interpreted


def learn(store, name, lines):
    """Learn examples in one request; the answer."""
    stream, done = store.stream(name), Future()
    stream.check_learning()
    rows = stream.rows_of([line["x"] for line in lines], [line["y"] for line in lines])
    store.journal.submit(LearnWrite(stream, [IncomingRows(rows, None, range(1, 1 + len(lines)))], "", done.set_result))
    answer = done.result(60)
    if isinstance(answer, BaseException):
        raise answer
    return answer


def shapes(kind, n=60):
    rng = np.random.default_rng(5)
    xs = rng.normal(size=(n, 4)).round(3).tolist()
    if kind != "dense":
        words = ["red", "green", "blue"]
        names = [f"name {i}" for i in range(9)]
        xs = [
            {**{names[(i + j) % 9]: value for j, value in enumerate(x)}, "colour": words[i % 3], "new": i % 2 == 0}
            for i, x in enumerate(xs)
        ]
    return [{"x": x, "y": ["a", "b", "c"][i % 3]} for i, x in enumerate(xs)]


@pytest.mark.parametrize("kind", ["dense", "named", "hashed"])
@pytest.mark.parametrize(
    ("learner", "scale", "classes"),
    [
        ("MIRA", "none", None),
        pytest.param("PassiveAggressive", "standard", ["a", "b", "c"], marks=pytest.mark.slow),
        pytest.param("Perceptron", "unit", None, marks=pytest.mark.slow),
    ],
)
def test_however_it_is_cut_the_file_is_that_of_the_command_line(store, tmp_path, kind, learner, scale, classes):
    bits = 6 if kind == "hashed" else None
    store.make_model("m", NewModel(learner=learner, scale=scale, classes=classes, bits=bits))
    lines = shapes(kind)
    for start, stop in ((0, 1), (1, 2), (2, 30), (30, 33), (33, 60)):
        learn(store, "m", lines[start:stop])
    file = store.stream("m").champion.published.file()
    arguments = ["learn", "-", "--format", "jsonl", "--model", learner, "--scale", scale]
    arguments += {"dense": [], "named": ["--keep-names"], "hashed": ["--bits", "6"]}[kind]
    arguments += [] if classes is None else ["--classes", ",".join(classes)]
    rows = CliRunner().invoke(main, ["replay", str(store.folder), "m", "--rows", "-"])
    assert [json.loads(line) for line in rows.stdout.splitlines()] == lines
    result = CliRunner().invoke(main, [*arguments, "--save", str(tmp_path / "learned")], input=rows.stdout)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "learned").read_bytes() == file
    replayed = CliRunner().invoke(main, ["replay", str(store.folder), "m", "--save", str(tmp_path / "replayed")])
    assert replayed.exit_code == 0, replayed.output
    assert (tmp_path / "replayed").read_bytes() == file
    assert store.model_at("m", 60) == file


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"learner": "CELLIP", "params": {"margin": 0.1}}, marks=pytest.mark.slow),
        pytest.param({"learner": "EllipsoidClassifier"}, marks=pytest.mark.slow),
        {"learner": "AROW"},
        pytest.param({"learner": "PassiveAggressive", "params": {"average": True}}, marks=pytest.mark.slow),
        pytest.param({"learner": "Perceptron", "params": {"kernel": "rbf", "gamma": 0.5}}, marks=pytest.mark.slow),
    ],
    ids=lambda body: body["learner"],
)
def test_a_snapshot_in_between_changes_no_byte(tmp_path, body):
    lines = [{"x": line["x"], "y": line["y"] if line["y"] != "c" else "a"} for line in shapes("dense", 40)]
    files = []
    for stops in ((40,), (7, 20, 40)):
        folder, start = tmp_path / str(len(stops)), 0
        for stop in stops:
            store = Store(folder)
            store.start()
            store.make_model("m", NewModel(**body))
            while not store.ready():
                time.sleep(0.01)
            learn(store, "m", lines[start:stop])
            store.stream("m").champion.published.predict(np.zeros((1, 4)))
            files.append(store.stream("m").champion.published.file())
            store.close()
            start = stop
    assert files[0] == files[-1]


def test_examples_go_only_behind_two_good_snapshots(store):
    object.__setattr__(store.options, "keep_rows", 10)
    store.make_model("m", NewModel(learner="PassiveAggressive"))
    stream = store.stream("m")
    for start in range(0, 60, 20):
        learn(store, "m", examples(20, start))
        stream.champion.write_snapshot()
        run_housekeeping(store)
        assert stream.oldest == max(0, start)  # the newest but one holds so many
    newest = stream.champion.snapshots.all()[0]
    newest.path.write_bytes(newest.path.read_bytes()[:-1])
    learn(store, "m", examples(20, 60))
    run_housekeeping(store)
    assert stream.oldest == 40
    before = stream.champion.published.file()
    assert store.model_at("m", 80) == before
    with pytest.raises(CallProblem, match="gone"):
        store.model_at("m", 5)
    store.make_challenger("m", "late", NewLearner(learner="Perceptron"))
    while stream.learners["late"].published.t < 80:
        time.sleep(0.01)
    assert stream.learners["late"].published.learner.record.rows == 40


def test_the_past_of_a_champion_that_began_later(store, tmp_path):
    """The journal has all that it learned: no snapshot need stand for examples that it never saw."""
    object.__setattr__(store.options, "keep_rows", 20)
    store.make_model("m", NewModel(learner="PassiveAggressive"))
    stream = store.stream("m")
    for start in range(0, 60, 20):
        learn(store, "m", examples(20, start))
        stream.champion.write_snapshot()
    run_housekeeping(store)
    assert stream.oldest == 40
    store.make_challenger("m", "late", NewLearner(learner="Perceptron"))
    while stream.learners["late"].published.t < 60:
        time.sleep(0.001)
    store.promote("m", "late")
    stream.champion.write_snapshot()
    for t in (45, 60, 50):
        if t == 50:
            shutil.rmtree(store.snapshots)
        answer = CliRunner().invoke(
            main, ["replay", str(store.folder), "m", "--until", str(t), "--save", str(tmp_path / str(t))]
        )
        assert answer.exit_code == 0, answer.output
        assert (tmp_path / str(t)).read_bytes() == store.model_at("m", t)


def test_a_snapshot_that_does_not_fit_on_the_disk_keeps_no_other_from_it(store):
    for name in ("large", "small"):
        store.make_model(name, NewModel(learner="PassiveAggressive"))
        learn(store, name, examples(3))
        store.stream(name).champion.written_at = -inf
    folder = store.stream("large").champion.snapshots
    folder.folder = store.folder / "nowhere"
    run_housekeeping(store)
    assert [path.name for path in store.snapshots.glob("*.model")] == ["small-3.model"]
    folder.folder = store.snapshots


def test_a_stop_does_not_wait_for_every_snapshot(tmp_path, monkeypatch):
    """Of a thousand models, on a slow disk, they take longer than a stop may; the journal stands for the others."""
    monkeypatch.setattr("ellipsoid.service.store.STOP_SECONDS", 0.2)
    store = Store(tmp_path / "store")
    store.start()
    for name in "abcdefgh":
        store.make_model(name, NewModel(learner="PassiveAggressive"))
        learn(store, name, examples(3))
        write = store.stream(name).champion.snapshots.write
        store.stream(name).champion.snapshots.write = lambda *answer, write=write: (time.sleep(0.1), write(*answer))
    store.close()
    assert 1 <= len(list(store.snapshots.glob("*.model"))) <= 4
    again = Store(tmp_path / "store")
    again.start()
    while not again.ready():
        time.sleep(0.001)
    assert [stream.champion.published.t for stream in again.models.values()] == [3] * 8
    again.close()


def test_what_only_the_learner_can_refuse_is_passed_over(store, tmp_path):
    """Winnow learns two labels, which no check before it knows."""
    store.make_model("m", NewModel(learner="Winnow"))
    lines = examples(20)
    assert learn(store, "m", lines).refused == []
    answer = learn(store, "m", [lines[0], {"x": [1.0, 1.0, 1.0], "y": "third"}, lines[1]])
    assert len(answer.refused) == 1
    stream = store.stream("m")
    assert (stream.champion.published.t, stream.champion.published.learner.record.rows) == (23, 22)
    again = learn(store, "m", lines[2:4])
    assert (again.t, again.refused) == (25, [])
    file = stream.champion.published.file()
    assert store.model_at("m", 25) == file
    rows = CliRunner().invoke(main, ["replay", str(store.folder), "m", "--rows", "-"])
    assert [json.loads(line) for line in rows.stdout.splitlines()] == [*lines, lines[0], lines[1], *lines[2:4]]


def test_what_was_passed_over_is_counted_after_a_restart_too(tmp_path):
    for start in (True, False):
        store = Store(tmp_path / "store")
        store.start()
        if start:
            store.make_model("m", NewModel(learner="Winnow"))
            learn(store, "m", [*examples(9), {"x": [1.0, 1.0, 1.0], "y": "third"}])
        refused = store.stream("m").champion.published.learner.refused
        store.close()
        assert list(refused) == [9]


def test_a_new_champion_knows_all_that_was_acknowledged(store, monkeypatch):
    monkeypatch.setattr("ellipsoid.service.store.PROMOTION_SECONDS", 0.05)
    store.make_model("m", NewModel(learner="PassiveAggressive"))
    store.make_challenger("m", "other", NewLearner(learner="Perceptron"))
    stream = store.stream("m")
    other = stream.learners["other"]
    publish = other.publish
    other.publish = lambda: None  # it has learned, and its copy is still being made
    learn(store, "m", examples(10))
    while other.lag:
        time.sleep(0.001)
    with pytest.raises(CallProblem, match="behind"):
        store.promote("m", "other")
    assert (stream.champion_name, stream.champion.published.t) == ("first", 10)
    other.publish = publish
    publish()
    store.promote("m", "other")
    assert stream.champion is other
    assert learn(store, "m", examples(10, 10)).t == stream.champion.published.t == 20


def test_what_was_sent_before_is_acknowledged_when_it_is_learned(store):
    """A request with the key of an example that is not learned yet is answered no earlier than the first one."""
    store.make_model("m", NewModel(learner="PassiveAggressive"))
    best = store.stream("m").champion
    publish, best.publish = best.publish, lambda: None
    done = [Future(), Future()]
    written = []
    store.journal.observe = lambda seconds, writes: written.append(writes)
    for each in done:
        rows = IncomingRows(Rows(np.ones((1, 3)), ["big"]), ["k1"], range(1, 2))
        store.journal.submit(LearnWrite(store.stream("m"), [rows], "", each.set_result))
    while best.lag or not best.learner.t or sum(written) < 2:
        time.sleep(0.001)
    time.sleep(0.02)
    assert not done[1].done()
    best.publish = publish
    publish()
    assert [each.result(10).duplicates for each in done] == [0, 1]
    assert best.published.t == 1


def test_requests_that_wait_for_the_old_champion_are_answered_by_the_new_one(store):
    store.make_model("m", NewModel(learner="PassiveAggressive"))
    store.make_challenger("m", "other", NewLearner(learner="Perceptron"))
    stream = store.stream("m")
    first = stream.champion
    publish, first.publish = first.publish, lambda: None
    answer = threading.Thread(target=learn, args=(store, "m", examples(10)))
    answer.start()
    while stream.learners["other"].published.t < 10:
        time.sleep(0.001)
    store.promote("m", "other")
    answer.join(10)
    assert not answer.is_alive()
    first.publish = publish


def test_examples_do_not_go_while_a_challenger_is_made(store, monkeypatch):
    object.__setattr__(store.options, "keep_rows", 10)
    store.make_model("m", NewModel(learner="PassiveAggressive"))
    stream = store.stream("m")
    for start in (0, 20):
        learn(store, "m", examples(20, start))
        stream.champion.write_snapshot()
    makers = []

    def meanwhile(stream):
        found = _in_two_snapshots(stream)
        makers.append(threading.Thread(target=store.make_challenger, args=("m", "c", NewLearner(learner="MIRA"))))
        makers[0].start()
        makers[0].join(0.1)
        return found

    monkeypatch.setattr("ellipsoid.service.housekeeping._in_two_snapshots", meanwhile)
    _forget_examples(store, stream)
    makers[0].join()
    while (challenger := stream.learners["c"]).lag and challenger.failure is None:
        time.sleep(0.001)
    assert (challenger.failure, challenger.learner.first) == (None, stream.oldest)


def test_the_newest_examples_in_memory_are_few_where_they_are_large():
    tail, large = Tail(0), Rows([{f"name {i}": 1.0 for i in range(20_000)}], ["a"])
    for row in range(100):
        tail.add([JournalBlock(row, large, 0.0, "", large.size)])
    assert tail.after(50, 1) is None
    assert tail.after(99, 1)


def test_a_schema_takes_back_what_did_not_reach_the_disk():
    schema = Schema(None)
    schema.begin()
    schema.admit(Rows(np.ones((2, 3)), ["a", "b"]))
    schema.roll_back()
    assert (schema.rows, schema.form, schema.labels) == (0, None, set())
    schema.begin()
    schema.admit(Rows(np.ones((1, 3)), ["a"]))
    schema.begin()
    schema.admit(Rows(np.ones((1, 3)), ["z"]))
    schema.roll_back()
    assert (schema.rows, schema.width, schema.labels) == (1, 3, {"a"})
    assert schema.misfit(Rows(np.ones((2, 3)), ["a", 1]))[0] == 1
    assert schema.misfit(Rows(np.ones((1, 2)), ["a"]))[0] == 0
    many = [str(i) for i in range(LABEL_LIMIT + 1)]
    assert schema.misfit(Rows(np.ones((len(many), 3)), many))[0] == LABEL_LIMIT - 1


NUMERALS = [
    "0",
    "-0.0",
    "1",
    "-17",
    "2.5",
    "1e5",
    "1E-7",
    "-3.25e+10",
    "0.0072113596587564995",
    "1e-320",
    "123456789012345678901",
]


def test_the_quick_reader_of_lines_is_the_ordinary_one():
    rng = np.random.default_rng(1)
    rows = [[NUMERALS[i] for i in rng.integers(len(NUMERALS), size=5)] for _ in range(40)]
    labels = ["1", "-3", '"red"', '"a b"']
    text = "".join(f'{{"x": [{", ".join(row)}], "y": {labels[i % 4]}}}\n' for i, row in enumerate(rows)).encode()
    x, y = dense_lines._scan(text)
    ordinary = [example for _, example in decoded_lines(LabelledExample, text, 1)]
    assert y == [example.y for example in ordinary]
    np.testing.assert_array_equal(x.view(np.int64), np.array([example.x for example in ordinary]).view(np.int64))


@pytest.mark.parametrize(
    "line",
    [
        '{"x": [01], "y": 1}',
        '{"x": [-0], "y": 1}',
        '{"x": [1.], "y": 1}',
        '{"x": [1.e5], "y": 1}',
        '{"x": [+1], "y": 1}',
        '{"x": [.5], "y": 1}',
        '{"x": [1,], "y": 1}',
        '{"x": [], "y": 1}',
        '{"x": [1], "y": 1.5}',
        '{"x": [1], "y": true}',
        '{"x": [1], "y": "\\n"}',
        '{"x": [1], "y": 1, "key": "k"}',
        '{"y": 1, "x": [1]}',
        '{"x": [NaN], "y": 1}',
        '{"x": [1, 2], "y": 1}',
        '{"x": [1]}',
        '{"x": [1], "y": 1}}',
        '{"x": [1], "y": 1} x',
        "",
        '{"x": [1], "y": "é"}',
        '{"x": [1], "y": 9999999999999999}',
    ],
)
def test_the_quick_reader_leaves_all_else_to_the_ordinary_one(line):
    good = '{"x": [1], "y": 1}'
    assert dense_lines._scan(f"{good}\n{good}\n".encode()) is not None
    assert dense_lines._scan(f"{good}\n{line}\n{good}\n".encode()) is None
