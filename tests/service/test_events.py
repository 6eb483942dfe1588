"""The data of the page: events that can be resumed, a history that survives restarts, questions and reasons."""

import asyncio
import json
import time
from types import SimpleNamespace

import numpy as np
import pytest

from ellipsoid import AROW
from ellipsoid.service.calls.events import MOST_WATCHERS, Events
from ellipsoid.service.http.tokens import EVERYBODY
from ellipsoid.service.views.history import HISTORY_POINTS, HistoryPoint, StoreHistory
from ellipsoid.service.views.shadow import shadow_of

from .conftest import examples, serving


class Watcher:
    """Reads ``/v1/events``."""

    def __init__(self, server, last=None):
        self.connection = server.connect(timeout=60)
        self.connection.request("GET", "/v1/events", headers={} if last is None else {"Last-Event-ID": last})
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200
        assert self.answer.headers["content-type"].startswith("text/event-stream")

    def next(self):
        """Kind, id and data of the next event."""
        fields = {}
        while True:
            line = self.answer.readline().decode().rstrip("\n")
            if line.startswith((":", "retry")):
                continue
            if not line:
                if "data" in fields:
                    return fields["event"], fields["id"], json.loads(fields["data"])
                assert fields or self.answer.fp is not None, "the stream has ended"
                continue
            name, _, value = line.partition(": ")
            fields[name] = value

    def close(self):
        self.answer.close()
        self.connection.close()


def learned_of(event):
    return {model["name"]: model["learners"][0]["t"] for model in event[2]["models"]}


def until(found, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return value


def test_events_tell_everything_once_and_then_what_changes(shared, model):
    name = model.split("/")[-1]
    watcher = Watcher(shared)
    kind, number, answer = watcher.next()
    assert kind == "all"
    assert answer["role"] == "admin"
    assert {"name", "journal", "learners"} <= set(next(m for m in answer["models"] if m["name"] == name))
    shared.batch(f"{model}/learn", examples(5))
    while learned_of(event := watcher.next()).get(name) != 5:
        assert event[0] == "change"
    watcher.close()
    # Whoever comes back with the number of an event gets what came behind it, and no more.
    again = Watcher(shared, number)
    event = again.next()
    assert event[0] == "change"
    again.close()
    stranger = Watcher(shared, f"other-{number.partition('-')[2]}")
    assert stranger.next()[0] == "all"
    stranger.close()


def test_the_head_of_events_has_an_end(shared):
    connection = shared.connect(timeout=5)
    for _ in range(2):
        status, headers, content = shared.ask(connection, "HEAD", "/v1/events")
        assert (status, content) == (200, b"")
        assert headers["content-type"].startswith("text/event-stream")
        # A proxy that gathers an answer before it passes it on would keep every page waiting.
        assert headers["x-accel-buffering"] == "no"
    connection.close()


def test_pages_that_look_are_counted_when_the_first_event_is_sent():
    async def come_at_once():
        events = Events(SimpleNamespace(models={}))
        answer = [await events.watch(EVERYBODY, "") for _ in range(MOST_WATCHERS + 9)]
        first = [await anext(each, None) for each in answer]
        for each in answer:
            await each.aclose()
        events.end()
        return len([each for each in first if each])

    assert asyncio.run(come_at_once()) == MOST_WATCHERS

    async def hang_up():
        events = Events(SimpleNamespace(models={}))
        for _ in range(MOST_WATCHERS + 1):
            await events.watch(EVERYBODY, "")
        return events.watchers

    assert asyncio.run(hang_up()) == 0


def test_history_and_counts_survive_a_kill(tmp_path):
    with serving(tmp_path / "store") as server:
        server.call("PUT", "/v1/models/m", {"learner": "PassiveAggressive"})
        for start in (0, 40):
            server.batch("/v1/models/m/learn", examples(40, start))
            points = until(
                lambda start=start: [
                    t for t in server.call("GET", "/v1/models/m/history")[1]["learners"][0]["t"] if t == start + 40
                ]
            )
        assert points == [80]
        for x in examples(3, 100):
            server.call("POST", "/v1/models/m/predict", {"x": x["x"], "keep": True})
        before = server.call("GET", "/v1/models/m/history")[1]
        server.kill()
        server.start()
        after = server.call("GET", "/v1/models/m/history")[1]
        assert after["learners"][0]["t"] == before["learners"][0]["t"]
        assert after["learners"][0]["mistakes"] == before["learners"][0]["mistakes"]
        watcher = Watcher(server)
        (answer,) = watcher.next()[2]["models"]
        assert (answer["asked"], answer["waiting"], answer["answered"]) == (3, 3, 0)
        code, _ = server.stop()
        assert code == 0
        watcher.close()


def test_a_history_is_thin_and_even():
    history = StoreHistory.__new__(StoreHistory)
    history.points = {}
    written = {}
    for t in range(100, 1_000_001, 100):
        fresh, gone = [], []
        history.add(1, "first", HistoryPoint(t, 0.0, t // 10, 0.1, t // 10, t // 5, None, None, None), fresh, gone)
        written |= {row[2]: row for row in fresh}
        for _, _, old in gone:
            del written[old]
    points = history.points[1, "first"]
    steps = np.diff([point.t for point in points])
    assert HISTORY_POINTS // 4 < len(points) <= HISTORY_POINTS
    assert points[0].t == 100
    assert points[-1].t > 990_000
    assert steps.max() <= 8 * np.median(steps)
    assert sorted(written) == [point.t for point in points]


@pytest.mark.interpreted
@pytest.mark.parametrize("labels", [2, 4])
def test_shadow_holds_its_share_of_the_doubt_and_shrinks(labels):
    generator = np.random.default_rng(0)
    X, y = generator.standard_normal((120, 5)), generator.integers(labels, size=120)
    model = AROW().partial_fit(X[:40], y[:40], classes=np.arange(labels))
    found = shadow_of(model, X[:30])
    scores = model.decision_function(X[:30])
    rows = np.column_stack([np.ones(30), X[:30]])
    if labels > 2:
        best = np.argsort(-scores, axis=1)
        wide = np.zeros((30, labels, 6))
        for i in range(30):
            wide[i, best[i, 0]], wide[i, best[i, 1]] = rows[i], -rows[i]
        rows = wide.reshape(30, -1)
    doubt = model.ellipsoid_.width(rows) ** 2
    longest, second = found.half_lengths
    assert longest >= second > 0
    assert np.isclose((longest**2 + second**2) / found.share, doubt.mean(), rtol=1e-6)
    # An axis is a direction of weights: the shadow is as long as the ellipsoid is wide along it.
    along = found.axes.reshape(2, -1) / np.sqrt(30)
    assert np.allclose(model.ellipsoid_.width(along), found.half_lengths, rtol=1e-6)
    model.partial_fit(X[40:], y[40:])
    if labels == 2:
        assert max(shadow_of(model, X[:30]).half_lengths) < longest


def test_a_learner_without_an_ellipsoid_has_no_shadow(shared, model):
    shared.batch(f"{model}/learn", examples(5))
    portrait = shared.call("GET", f"{model}/portrait")[1]
    assert portrait["shadow"] is None
    assert sorted(portrait["classes"]) == ["big", "small"]
    assert sum(each["count"] for each in portrait["confusion"]) == 5
    assert {each["feature"] for each in portrait["weights"][0]["heaviest"]} <= {"0", "1", "2"}
    assert shared.call("GET", f"{model}/portrait?of=nobody")[0] == 404


def test_pushes_of_a_linear_model_add_up_to_the_lead(shared, model):
    shared.batch(f"{model}/learn", examples(30))
    answer = shared.call("POST", f"{model}/predict", {"x": [0.5, 2.0, 3.0], "scores": True, "why": True})[1]
    (constant,) = shared.call("POST", f"{model}/predict", {"x": [0.0, 0.0, 0.0], "scores": True})[1]["scores"]
    sign = 1.0 if answer["scores"][0] > 0 else -1.0
    assert np.isclose(answer["why"]["lead"], abs(answer["scores"][0]))
    assert np.isclose(sum(each["push"] for each in answer["why"]["pushes"]) + sign * constant, answer["why"]["lead"])
    assert {answer["y"], answer["why"]["rival"]} == {"big", "small"}


def test_named_features_and_words_have_reasons(shared):
    shared.call("PUT", "/v1/models/words", {"learner": "PassiveAggressive", "bits": 10})
    for text, y in (("cheap pills", "spam"), ("lunch at noon", "ham"), ("cheap watches", "spam"), ("noon", "ham")):
        shared.call("POST", "/v1/models/words/learn", {"x": {"text": text}, "y": y})
    answer = shared.call("POST", "/v1/models/words/predict", {"x": {"text": "cheap lunch"}, "why": True})[1]
    pushes = {each["feature"]: each["push"] for each in answer["why"]["pushes"]}
    sign = 1.0 if answer["y"] == "spam" else -1.0
    assert sign * pushes["cheap"] > 0 > sign * pushes["lunch"]
    weights = shared.call("GET", "/v1/models/words/portrait")[1]["weights"][0]
    assert {"cheap", "noon"} <= {each["feature"] for each in weights["heaviest"]}


def test_a_skipped_question_is_another_ones(shared, model):
    shared.batch(f"{model}/learn", examples(10))
    for i, x in enumerate(examples(2, 50)):
        shared.call("POST", f"{model}/predict", {"x": x["x"], "keep": True, "id": f"q{i}"})

    def asked(who, *skipped):
        query = "".join(f"&skip={each}" for each in skipped)
        return [q["id"] for q in shared.call("GET", f"{model}/questions?who={who}{query}")[1]["questions"]]

    (mine,) = asked("ann")
    (other,) = asked("bob")
    assert {mine, other} == {"q0", "q1"}
    assert asked("cid") == []
    assert asked("ann", mine) == []
    assert asked("cid") == [mine]
