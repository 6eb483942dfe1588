"""Every call, over a socket: what it answers, what it refuses, and that a refusal leaves nothing behind."""

import json
import threading

import pytest

from ellipsoid.estimators.files import container

from .conftest import examples, run_at_once


def journal(server, model):
    return server.call("GET", model)[1]["journal"]


def test_a_model_is_made_once(shared):
    body = {"learner": "MIRA", "params": {"average": True}}
    assert shared.call("PUT", "/v1/models/twice", body)[0] == 201
    assert shared.call("PUT", "/v1/models/twice", dict(reversed(body.items())))[0] == 200
    status, answer = shared.call("PUT", "/v1/models/twice", {"learner": "MIRA"})
    assert (status, answer["title"]) == (409, "Conflict")


def test_a_model_that_many_make_at_once_is_there_for_all(shared):
    answers = []

    def make(path):
        answers.append(shared.call("PUT", path, {"learner": "PassiveAggressive"})[0])

    for i in range(4):
        threads = [threading.Thread(target=make, args=(f"/v1/models/hurried{i}",)) for _ in range(5)]
        run_at_once(threads)
        assert sorted(answers) == [200, 200, 200, 200, 201]
        answers.clear()


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({"learner": "Adaline"}, "Adaline"),
        ({"learner": "MIRA", "params": {"C": 1}}, "'C'"),
        ({"learner": "PassiveAggressive", "params": {"C": -1.0}}, "C must"),
        ({"learner": "MIRA", "bits": 99}, "bits"),
        ({"learner": "MIRA", "classes": ["a", 1]}, "classes"),
        ({"learner": "MIRA", "classes": ["a", "b\0"]}, "NUL"),
        ({"learner": "MIRA", "classes": [1, 2**70]}, "too large"),
        ({"learner": "MIRA", "classes": ["a", "b" * 1001]}, "1000"),
        ({"learner": "MIRA", "classes": list(range(4097))}, "4096"),
        ({"learner": "MIRA", "nonsense": 1}, "nonsense"),
        ({"learner": "PassiveAggressiveRegressor"}, "learns labels"),
        ({"learner": "IntervalRegressor", "params": {"noise": 1.0}}, "learns labels"),
        ({"learner": "Committee", "params": {"share": 2.0}}, "share"),
        ({"learner": "IELLIP", "params": {"selective": True}}, "random_state"),
    ],
)
def test_a_bad_model_is_refused_with_the_sentence_of_the_library(shared, body, word):
    status, answer = shared.call("PUT", "/v1/models/bad", body)
    assert status == 422
    assert word in answer["detail"]
    assert shared.call("GET", "/v1/models/bad")[0] == 404


def test_a_committee_is_a_learner_like_others(shared, model):
    made = {"learner": "Committee", "params": {"mix": "margins"}}
    several = "/v1/models/several"
    assert shared.call("PUT", several, made)[0] == 201
    assert shared.batch(f"{several}/learn", examples(8))[0] == 200
    assert shared.call("POST", f"{several}/predict", {"x": [1, 2, 3]})[1]["y"] in ("big", "small")
    status, answer = shared.call("GET", several)
    assert (status, answer["t"], bool(answer["certificates"])) == (200, 8, True)
    assert shared.call("GET", f"{several}/file")[0] == shared.call("GET", f"{several}/portrait")[0] == 200
    assert shared.call("PUT", f"{model}/challengers/several", made)[0] == 201
    assert shared.call("PUT", f"{model}/challengers/number", {"learner": "PassiveAggressiveRegressor"})[0] == 422


def test_examples_are_learned_and_predicted(shared, model):
    assert shared.call("POST", f"{model}/predict", {"x": [1, 2, 3]})[0] == 409
    assert shared.batch(f"{model}/learn", examples(60)) == (
        200,
        {"t": 60, "learned": 60, "duplicates": 0, "refused": []},
    )
    right = sum(
        shared.call("POST", f"{model}/predict", {"x": each["x"]})[1]["y"] == each["y"] for each in examples(40, 60)
    )
    assert right > 25
    status, answer = shared.call("POST", f"{model}/predict", {"x": [1, 2, 3], "scores": True})
    assert (status, answer["t"], len(answer["scores"])) == (200, 60, 1)
    known = shared.call("GET", model)[1]
    assert (known["t"], known["journal"], known["features"]) == (60, 60, 3)
    assert sorted(known["classes"]) == ["big", "small"]
    assert known["certificates"][0]["observed"] <= 60


def test_many_predictions_are_those_of_single_ones(shared, model):
    shared.batch(f"{model}/learn", examples(30))
    asked = [{"x": each["x"], "scores": True} for each in examples(300, 30)]
    status, lines = shared.batch(f"{model}/predict", asked)
    assert status == 200
    found = [json.loads(line) for line in lines.splitlines()]
    assert found[:5] == [shared.call("POST", f"{model}/predict", each)[1] for each in asked[:5]]
    assert len(found) == 300


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ({"x": [1, 2], "y": "big"}, 422),
        ({"x": {"a": 1}, "y": "big"}, 422),
        ({"x": [1, 2, None], "y": "big"}, 422),
        ({"x": [1, 2, 1e200], "y": "big"}, 422),
        ({"x": [1, 2, 3], "y": 7}, 422),
        ({"x": [1, 2, 3], "y": None}, 422),
        ({"x": [1, 2, 3], "y": 1.5}, 422),
        ({"x": [1, 2, 3]}, 422),
        ({"x": [], "y": "big"}, 422),
        ({"x": "abc", "y": "big"}, 422),
        ({"x": [1, 2, 3], "y": "big", "more": 1}, 422),
        (b'{"x": [1, 2, 3], "y": "big"', 400),
        (b'{"x": [1, 2, NaN], "y": "big"}', 400),
        (b'{"x": [1, 2, 1e999], "y": "big"}', 422),
        (b'{"x": [01, 2, 3], "y": "big"}', 400),
        (b"\xff\xfe", 400),
        (b"[" * 5000, 422),
    ],
    ids=str,
)
def test_a_bad_line_refuses_its_batch(shared, model, line, status):
    shared.batch(f"{model}/learn", examples(10))
    good = [json.dumps(each).encode() for each in examples(4, 10)]
    bad = line if isinstance(line, bytes) else json.dumps(line).encode()
    found, answer = shared.call(
        "POST", f"{model}/learn", b"\n".join([*good[:2], b"", bad, *good[2:]]), "application/x-ndjson"
    )
    assert (found, answer.get("line")) == (status, 4), answer
    assert "Traceback" not in answer["detail"]
    assert journal(shared, model) == 10
    if bad != b'{"x": [1, 2, 3], "y": 7}':
        one, answer = shared.call("POST", f"{model}/learn", bad)
        assert one in (400, 422)
        assert "line" not in answer
    assert shared.call("GET", model)[1]["t"] == 10


def test_a_batch_may_be_learned_in_part(shared, model):
    lines = [*examples(2), {"x": [1], "y": "big"}, {"x": [0, 0, 1], "y": "big", "key": "a"}, {"y": 1}]
    lines.append({"x": [0, 0, 2], "y": "big", "key": "a"})
    status, answer = shared.batch(f"{model}/learn?partial=true", lines)
    assert status == 200
    reply = [json.loads(line) for line in answer.splitlines()]
    assert [each["status"] for each in reply] == ["learned", "learned", "refused", "learned", "refused", "duplicate"]
    assert [each["line"] for each in reply] == [1, 2, 3, 4, 5, 6]
    assert "3 numbers" in reply[2]["detail"]
    assert journal(shared, model) == 3


def test_examples_that_the_learner_skips_are_reported_for_partial_batches_too(shared):
    """Winnow learns two labels, which no check before it knows."""
    path = "/v1/models/two-labels"
    shared.call("PUT", path, {"learner": "Winnow"})
    keyed = [{**each, "key": f"k{i}"} for i, each in enumerate(examples(20))]
    assert shared.batch(f"{path}/learn", keyed)[0] == 200
    lines = [keyed[0], {"x": [1], "y": "big"}, examples(1)[0], {"x": [1, 1, 1], "y": "third"}, examples(1)[0]]
    answer = [json.loads(line) for line in shared.batch(f"{path}/learn?partial=true", lines)[1].splitlines()]
    assert [each["status"] for each in answer] == ["duplicate", "refused", "learned", "refused", "learned"]
    assert answer[3]["detail"]


def test_a_key_is_learned_once(shared, model):
    keyed = [{**each, "key": f"k{i}"} for i, each in enumerate(examples(20))]
    assert shared.batch(f"{model}/learn", keyed)[1]["learned"] == 20
    assert shared.batch(f"{model}/learn", keyed[10:])[1] == {"t": 20, "learned": 0, "duplicates": 10, "refused": []}
    mixed = [keyed[3], {**examples(1, 50)[0], "key": "fresh"}, {**examples(1, 51)[0], "key": "fresh"}]
    assert shared.batch(f"{model}/learn", mixed)[1] == {"t": 21, "learned": 1, "duplicates": 2, "refused": []}
    assert shared.call("POST", f"{model}/learn", keyed[0])[1]["duplicates"] == 1
    assert shared.call("GET", f"{model}/keys/k3")[1] == {"key": "k3", "t": 4}
    assert shared.call("GET", f"{model}/keys/unheard")[0] == 404


def test_a_kept_example_waits_for_its_label(shared, model):
    shared.batch(f"{model}/learn", examples(20))
    status, answer = shared.call("POST", f"{model}/predict", {"x": [1, 2, 3], "keep": True})
    assert status == 200
    again = {"x": [4, 5, 6], "keep": True, "id": answer["id"]}
    assert shared.call("POST", f"{model}/predict", again)[0] == 409
    truth = {"id": answer["id"], "y": "big"}
    assert shared.call("POST", f"{model}/labels", truth)[1]["learned"] == 1
    assert shared.call("POST", f"{model}/labels", truth)[1]["duplicates"] == 1
    assert shared.call("POST", f"{model}/predict", again)[0] == 409
    assert shared.call("POST", f"{model}/labels", {"id": "unheard", "y": "big"})[0] == 404
    known = shared.call("GET", model)[1]
    assert (known["t"], known["kept"]) == (21, 0)


def test_an_example_is_kept_once_under_its_id(shared, model):
    shared.batch(f"{model}/learn", examples(20))
    asked = [{"x": each["x"], "keep": True, "id": f"id{i}"} for i, each in enumerate(examples(3, 20))]
    assert shared.call("POST", f"{model}/predict", asked[0])[0] == 200
    for _ in range(2):
        assert shared.call("POST", f"{model}/predict", asked[0])[1]["id"] == "id0"
        assert shared.batch(f"{model}/predict", asked)[0] == 200
        assert shared.call("GET", model)[1]["kept"] == 3
    assert shared.call("GET", f"{model}/questions?limit=9")[1]["waiting"] == 3
    # An answer that was lost on its way is asked for again, though the label has come meanwhile.
    assert shared.call("POST", f"{model}/labels", {"id": "id0", "y": "big"})[0] == 200
    assert shared.call("POST", f"{model}/predict", asked[0])[1]["id"] == "id0"
    assert shared.call("POST", f"{model}/predict", {**asked[1], "id": "id0"})[0] == 409
    assert shared.call("GET", model)[1]["kept"] == 2


def test_labels_of_a_batch_are_all_or_nothing(shared, model):
    shared.batch(f"{model}/learn", examples(20))
    asked = [{"x": each["x"], "keep": True, "id": f"id{i}"} for i, each in enumerate(examples(3, 20))]
    assert shared.batch(f"{model}/predict", asked)[0] == 200
    assert shared.batch(f"{model}/predict", [{**asked[0], "id": "new"}, {**asked[1], "id": "new"}])[0] == 409
    assert shared.call("GET", model)[1]["kept"] == 3
    assert shared.call("POST", f"{model}/labels", {"id": "new", "y": "big"})[0] == 404
    truths = [{"id": "id0", "y": "big"}, {"id": "id1", "y": "small"}]
    status, answer = shared.batch(f"{model}/labels", [*truths, {"id": "nobody", "y": "big"}])
    assert (status, answer["line"]) == (404, 3)
    status, answer = shared.batch(f"{model}/labels", [truths[0], {"id": "id1", "y": 3}])
    assert status == 422
    assert (journal(shared, model), shared.call("GET", model)[1]["kept"]) == (20, 3)
    assert shared.batch(f"{model}/labels", truths)[1]["learned"] == 2
    assert shared.call("GET", model)[1]["kept"] == 1


def test_questions_are_the_doubtful_ones_and_belong_to_one_person(shared, model):
    shared.batch(f"{model}/learn", examples(50))
    asked = [{"x": each["x"], "keep": True, "id": f"q{i}"} for i, each in enumerate(examples(8, 50))]
    shared.batch(f"{model}/predict", asked)
    everything = shared.call("GET", f"{model}/questions?limit=8&claim=false")[1]
    doubts = [each["doubt"] for each in everything["questions"]]
    assert len(doubts) == everything["waiting"] == 8
    assert doubts == sorted(doubts, reverse=True)
    ada = shared.call("GET", f"{model}/questions?limit=3&who=ada")[1]["questions"]
    bob = shared.call("GET", f"{model}/questions?limit=3&who=bob")[1]["questions"]
    ids = [each["id"] for each in everything["questions"]]
    assert [each["id"] for each in ada + bob] == ids[:6]
    assert [each["id"] for each in shared.call("GET", f"{model}/questions?limit=3&who=ada")[1]["questions"]] == ids[:3]
    shared.call("POST", f"{model}/labels", {"id": ids[0], "y": "big"})
    assert len(shared.call("GET", f"{model}/questions?limit=8&who=ada")[1]["questions"]) == 4


def test_what_a_new_champion_cannot_judge_hides_no_other_question(shared, model):
    shared.batch(f"{model}/learn", examples(10))
    asked = [{"x": [size, 1.0, 2.0], "keep": True, "id": f"of {size}"} for size in (1e130, 0.5)]
    assert shared.batch(f"{model}/predict", asked)[0] == 200
    powers = {"learner": "PassiveAggressive", "params": {"kernel": "poly", "degree": 5}}
    assert shared.call("PUT", f"{model}/challengers/powers", powers)[0] == 201
    while shared.call("POST", f"{model}/promote", {"learner": "powers"})[0] != 200:
        pass
    for _ in range(2):
        status, answer = shared.call("GET", f"{model}/questions?limit=5")
        assert (status, [each["id"] for each in answer["questions"]], answer["waiting"]) == (200, ["of 0.5"], 2)


def test_a_learner_that_knows_where_it_doubts_asks_there_only(shared):
    path = "/v1/models/asking"
    body = {"learner": "CELLIP", "params": {"margin": 0.1, "fit_intercept": False}, "classes": ["no", "yes"]}
    assert shared.call("PUT", path, body)[0] == 201
    for x, y in (([1.0, 0.0], "yes"), ([-1.0, 0.0], "no"), ([0.8, 0.6], "yes")):
        assert shared.call("POST", f"{path}/learn", {"x": x, "y": y})[0] == 200
    answer = shared.call("POST", f"{path}/predict", {"x": [0.0, 1.0]})[1]
    assert {answer["certain"], answer["ask"]} == {True, False}


def test_a_challenger_learns_the_stream_and_can_be_promoted(shared, model):
    shared.batch(f"{model}/learn", examples(40))
    status, answer = shared.call("PUT", f"{model}/challengers/other", {"learner": "Perceptron"})
    assert (status, len(answer["learners"])) == (201, 2)
    shared.batch(f"{model}/learn", examples(10, 40))
    for _ in range(500):
        other = shared.call("GET", model)[1]["learners"][1]
        if other["lag"] == 0:
            break
    assert (other["t"], other["champion"]) == (50, False)
    assert shared.call("POST", f"{model}/promote", {"learner": "nobody"})[0] == 404
    assert shared.call("POST", f"{model}/promote", {"learner": "other"})[1]["champion"] == "other"
    assert shared.batch(f"{model}/learn", examples(5, 50))[1]["t"] == 55
    assert shared.call("GET", model)[1]["t"] == 55
    assert shared.call("POST", f"{model}/promote", {"learner": "first"})[0] in (200, 409)


def test_the_file_of_any_moment(shared, model, tmp_path):
    for start in range(0, 30, 10):
        shared.batch(f"{model}/learn", examples(10, start))
        (tmp_path / str(start + 10)).write_bytes(shared.call("GET", f"{model}/file")[1])
    for t in (10, 20, 30):
        assert shared.call("GET", f"{model}/file?t={t}")[1] == (tmp_path / str(t)).read_bytes()
    content = container.read(tmp_path / "30")
    assert content.header["stream"]["rows"] == 30
    assert shared.call("GET", f"{model}/file?t=31")[0] == 404
    assert shared.call("GET", f"{model}/file?t=-1")[0] == 422


def test_a_model_that_no_file_holds_goes_on_without_one(shared):
    model, params = "/v1/models/infinite", {"variant": "hard", "margin": 8e307, "average": True}
    shared.call("PUT", model, {"learner": "PassiveAggressive", "params": params})
    for t, x in enumerate([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.5, 0.4]], 1):
        assert shared.batch(f"{model}/learn", [{"x": x, "y": t % 2}])[0] == 200
    for query in ("", "?t=4"):
        status, answer = shared.call("GET", f"{model}/file{query}")
        assert (status, "cannot be written to a file" in answer["detail"]) == (409, True)
    assert shared.batch(f"{model}/learn", [{"x": [0.5, 0.5], "y": 1}])[0] == 200


def test_learning_and_predicting_from_many_threads(shared, model):
    answers = []

    def learn(start):
        connection = shared.connect()
        for each in examples(10, start):
            answers.append(shared.ask(connection, "POST", f"{model}/learn", each)[0])
        connection.close()

    threads = [threading.Thread(target=learn, args=(100 * i,)) for i in range(8)]
    run_at_once(threads)
    assert answers == [200] * 80
    assert shared.call("GET", model)[1]["t"] == 80


def test_every_service_answers_the_common_calls(shared, model):
    assert shared.call("GET", "/healthz")[1]["status"] == "alive"
    assert shared.call("GET", "/v1/models")[1]["models"].count(model.split("/")[-1]) == 1
    assert "openapi" in shared.call("GET", "/")[1]["links"]
    shared.batch(f"{model}/learn", examples(5))
    text = shared.call("GET", "/metrics")[1].decode()
    assert f'ellipsoid_learned_examples{{model="{model.split("/")[-1]}"}} 5.0' in text
    assert 'ellipsoid_request_seconds_count{call="learn"}' in text
    status, answer = shared.call("GET", "/v1/nowhere")
    assert (status, answer["status"]) == (404, 404)
    assert shared.call("DELETE", model)[0] == 405
