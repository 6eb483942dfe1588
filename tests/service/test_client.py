"""The client, and the commands beside ``serve``: the same words and errors as a local model, and nothing sent twice."""

import http.client
import json
import shutil
import sqlite3
import ssl
import subprocess
import sys
from contextlib import closing
from time import sleep
from urllib.parse import urlsplit

import httpx
import numpy as np
import pytest
from click.testing import CliRunner

from ellipsoid import MIRA, Client, ServiceError, load
from ellipsoid.cli import main
from ellipsoid.service.sending import file_digest, first_unsent

from .conftest import Server, examples


def run(*arguments, code=0):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output + repr(result.exception)
    return result


@pytest.fixture
def client(shared):
    with Client(shared.url) as opened:
        yield opened


def test_a_remote_model_is_called_as_a_local_one(client, tmp_path):
    client.make("remote", "PassiveAggressive", classes=["big", "small"])
    lines = examples(60)
    X, y = np.array([line["x"] for line in lines]), np.array([line["y"] for line in lines])
    model = client.model("remote").partial_fit(X[:50], y[:50]).learn_one(X[50], y[50])
    assert model.t_ == 51
    (tmp_path / "m").write_bytes(client.file("remote"))
    local = load(tmp_path / "m")
    assert model.predict(X) == local.predict(X).tolist()
    assert model.predict_one(X[3]) == local.predict_one(X[3])
    with pytest.raises(ValueError, match="3 numbers") as remote:
        model.learn_one([1.0], "big")
    assert (type(remote.value), remote.value.status) == (ServiceError, 422)
    with pytest.raises(ValueError, match="is not among the classes that the model was made with"):
        model.partial_fit([[1.0, 2.0, 3.0]], ["huge"])
    with pytest.raises(ServiceError, match="no model"):
        client.predict("nobody", [1.0])
    kept = client.predict("remote", X[52], keep=True)
    assert [each["id"] for each in client.questions("remote")] == [kept["id"]]
    assert client.label("remote", kept["id"], "big")["learned"] == 1
    assert "remote" in client.models()


def test_a_challenger_learns_the_stream_and_is_promoted(client):
    lines = examples(40)
    X, y = np.array([line["x"] for line in lines]), [line["y"] for line in lines]
    client.make("held", "Perceptron", classes=["big", "small"])
    client.learn_many("held", lines[:30])
    client.challenge("held", "rival", "MIRA", params={"margin": 2.0})
    client.learn_many("held", lines[30:])

    def rival():
        (answer,) = (each for each in client.show("held")["learners"] if each["name"] == "rival")
        return answer

    while rival()["lag"]:  # it learns on a thread of its own, and one that is behind is not promoted
        sleep(0.02)
    client.promote("held", "rival")
    assert (client.show("held")["champion"], rival()["learner"], rival()["first"]) == ("rival", "MIRA", 0)
    local = MIRA(margin=2.0).partial_fit(X, y, classes=["big", "small"])
    assert client.model("held").predict(X) == local.predict(X).tolist()


def test_an_unreachable_service_is_reported_after_the_patience():
    with (
        Client("http://127.0.0.1:9", patience=0.2) as client,
        pytest.raises(ConnectionError, match="cannot be reached"),
    ):
        client.models()


class LossyWay(httpx.HTTPTransport):
    """Brings the first request to the service, and loses the answer."""

    lost = False

    def handle_request(self, request):
        answer = super().handle_request(request)
        if not self.lost:
            self.lost = True
            answer.close()
            raise httpx.ReadError("cut off")
        return answer


def test_an_example_that_is_sent_again_is_kept_once(shared, client):
    client.make("kept-once", "PassiveAggressive")
    client.learn_many("kept-once", examples(5))
    for many in (False, True):
        with Client(shared.url) as unlucky:
            unlucky._http._transport = LossyWay()
            if many:
                answer = unlucky.predict_many("kept-once", [[1.0, 2.0, 3.0]] * 2, keep=True)
            else:
                answer = [unlucky.predict("kept-once", [1.0, 2.0, 3.0], keep=True, id=None)]
        assert len({each["id"] for each in answer}) == len(answer)
    assert client.show("kept-once")["kept"] == 3


@pytest.mark.parametrize("key", ["a?b", "a#b", "a/b", "..", "50%", "%41", " ", "é", "a;b"])
def test_a_key_may_be_any_text(client, key):
    client.make("keyed", "PassiveAggressive")
    assert not client.has_key("keyed", key)
    client.learn("keyed", [1.0, 2.0], "big", key=key)
    assert client.has_key("keyed", key)


@pytest.mark.parametrize("name", ["odd?t=1", "odd#here", "odd/../even", "..", ""])
def test_a_name_is_no_address(client, name):
    with pytest.raises(ServiceError):
        client.make(name, "PassiveAggressive")
    assert not {"odd", "even"} & set(client.models())


def test_numbers_are_those_of_numpy_too_and_must_be_finite(client):
    client.make("plain", "PassiveAggressive")
    client.learn("plain", {"a": np.float32(1.5), "b": np.int64(2), "c": np.bool_(True), "d": None}, np.str_("p"))
    client.learn_many("plain", [{"x": {"a": np.float64(-1.0)}, "y": "q"}])
    # JSON has no word for these but null, which says that a feature is missing.
    for wrong in (np.nan, np.inf, np.float32("nan")):
        for x in ({"a": wrong}, {"a": 1.0, "b": wrong}):
            with pytest.raises(ValueError, match="NaN or inf"):
                client.learn("plain", x, "p")
            with pytest.raises(ValueError, match="NaN or inf"):
                client.learn_many("plain", [{"x": x, "y": "p"}])
            with pytest.raises(ValueError, match="NaN or inf"):
                client.predict("plain", x)
            with pytest.raises(ValueError, match="NaN or inf"):
                client.predict_many("plain", [x])
    assert client.show("plain")["t"] == 2


def test_a_redirect_is_reported_with_its_address():
    moved = httpx.MockTransport(lambda request: httpx.Response(301, headers={"location": "https://there/"}))
    with Client("http://here") as client:
        client._http._transport = moved
        with pytest.raises(ServiceError, match=r"301.*https://there/"):
            client.models()


def test_a_key_of_no_model_is_not_just_missing(client):
    with pytest.raises(ServiceError, match="no model 'monkey'"):
        client.has_key("monkey", "k")


def test_an_invalid_address_is_reported_at_once():
    with Client("localhost:8000") as client, pytest.raises(ValueError, match="http://"):
        client.models()


def test_a_file_is_sent_once(shared, client, tmp_path):
    client.make("sent", "PassiveAggressive")
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in examples(45)))
    digest = file_digest(path)
    assert first_unsent(client, "sent", digest) == 0
    assert "45 rows learned" in run("send", shared.url, "sent", path, "--batch", 10).output
    assert first_unsent(client, "sent", digest) == 45
    again = run("send", shared.url, "sent", path, "--batch", 7).output
    assert "45 rows were there already" in again
    assert "0 rows learned" in again
    assert client.show("sent")["t"] == 45


def test_a_batch_has_the_given_length(shared, client, tmp_path):
    client.make("long", "PassiveAggressive")
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in examples(1500)))
    run("send", shared.url, "long", path, "--batch", 2000)
    with closing(sqlite3.connect(shared.folder / "journal.sqlite")) as journal:
        times = journal.execute(
            "SELECT count(DISTINCT time) FROM blocks JOIN models ON models.id = model WHERE name = 'long'"
        ).fetchone()
    assert times == (1,)


def test_part_of_a_file_was_sent_before(client, tmp_path):
    from ellipsoid.service.sending import row_key, send
    from ellipsoid.streams.opening import open_stream

    client.make("resumed", "PassiveAggressive")
    path = tmp_path / "rows.svm"
    path.write_text("".join(f"{i % 2} 1:{i % 5} {2 + i % 3}:1\n" for i in range(40)))
    digest = file_digest(path)
    first = [{"x": {"1": float(i % 5), str(2 + i % 3): 1.0}, "y": i % 2, "key": row_key(digest, i)} for i in range(13)]
    client.learn_many("resumed", first)
    total = send(client, "resumed", open_stream(path), digest, rows=8)
    assert total == {"resumed": 13, "learned": 27, "duplicates": 0}
    assert client.show("resumed")["features"] == 4


def test_importances_of_rows_that_are_sent(shared, client, tmp_path):
    """A row of weight 0 was never there; the service learns each row once, so that other weights than 1 are refused."""
    client.make("weighed", "PassiveAggressive")
    path = tmp_path / "rows.vw"
    path.write_text("".join(f"{i % 2} {0 if i % 3 == 1 else 1} | a:{i} b\n" for i in range(20)) + "7 0 | c\n")
    assert "13 rows learned" in run("send", shared.url, "weighed", path, "--batch", 4).output
    shown = client.show("weighed")
    assert (shown["t"], len(shown["classes"])) == (13, 2)
    assert "13 rows were there already" in run("send", shared.url, "weighed", path, "--batch", 5).output
    assert client.show("weighed")["t"] == 13
    path.write_text("1 1 | a\n0 0 | a\n0 2.5 | b\n")
    answer = run("send", shared.url, "weighed", path, code=1).output
    assert "row 3 of " in answer
    assert "weight 2.5" in answer
    assert "ellipsoid learn" in answer
    assert client.show("weighed")["t"] == 13


def test_part_of_a_file_where_some_rows_do_not_count_was_sent_before(tmp_path):
    from ellipsoid.service.sending import examples_of
    from ellipsoid.streams.opening import open_stream

    path = tmp_path / "rows.vw"
    path.write_text("".join(f"{i} {i % 2} | a\n" for i in range(10)))
    for rows in (1, 3, None):
        stream = open_stream(path, chunk_rows=rows)
        assert [(row, y) for row, _, y in examples_of(stream, 2)] == [(2, 5), (3, 7), (4, 9)]


def test_another_learner_on_the_same_stream(shared, client, tmp_path):
    client.make("past", "PassiveAggressive")
    client.learn_many("past", examples(50))
    answer = run(
        "replay", shared.folder, "past", "--until", 30, "--learner", "Perceptron", "--save", tmp_path / "other"
    )
    assert "30 examples of 50" in answer.output
    assert "champion" in answer.output
    assert "Perceptron" in answer.output
    other = load(tmp_path / "other")
    assert (type(other).__name__, other.t_) == ("Perceptron", 30)
    run("replay", shared.folder, "past", "--until", 30, "--save", tmp_path / "then")
    assert (tmp_path / "then").read_bytes() == client.file("past", t=30)
    assert "no model 'future'" in run("replay", shared.folder, "future", code=1).output
    assert "--until" in run("replay", shared.folder, "past", "--until", 51, code=1).output


def test_a_replay_writes_nothing_into_the_store(shared, client, tmp_path):
    """A journal or a lock that is replaced under a running service is one more store, or none."""
    client.make("safe", "Perceptron")
    client.learn_many("safe", examples(5))
    before = {path: path.stat().st_ino for path in shared.folder.iterdir()}
    (tmp_path / "link").symlink_to(shared.folder)
    for option in ("--save", "--rows"):
        for target in (*before, shared.folder / "new", tmp_path / "link" / "lock"):
            if not target.is_dir():
                answer = run("replay", shared.folder, "safe", option, target, code=2).output
                assert "is in the store itself: name a file in another folder" in answer
    assert {path: path.stat().st_ino for path in shared.folder.iterdir()} == before
    for words in (("--save", tmp_path / "m"), ("--learner", "MIRA")):
        assert (
            "learns nothing" in run("replay", shared.folder, "safe", "--rows", tmp_path / "rows", *words, code=2).output
        )
    assert (
        "needs --learner: give a learner too" in run("replay", shared.folder, "safe", "--scale", "unit", code=2).output
    )


def test_a_missing_package_is_reported_with_the_command_to_install_it():
    """In a process in which the packages cannot be imported, as where the extra was not installed."""
    program = """
import sys
for missing, module in (("msgspec", "ellipsoid.service.http.tokens"), ("httpx", "ellipsoid.service.client")):
    sys.modules[missing] = None
    try:
        __import__(module)
    except ImportError as error:
        print(error)
    del sys.modules[missing]
"""
    answer = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    assert answer.split("\n")[:-1] == [
        "a service needs msgspec; install it with: pip install 'ellipsoid[serve]'",
        "the client of a service needs httpx; install it with: pip install 'ellipsoid[serve]'",
    ]


def test_tokens_are_shown_once(tmp_path):
    path = tmp_path / "tokens"
    token = run("tokens", path, "add", "ada", "--role", "label").output.strip()
    assert token.startswith("ada.")
    assert run("tokens", path, "list").output.split() == ["ada", "label"]
    run("tokens", path, "remove", "ada")
    assert run("tokens", path, "list").output == ""


class SecretServer(Server):
    """A service by TLS, whose certificate vouches for itself."""

    def connect(self, timeout=60):
        where, trusted = urlsplit(self.url), ssl.create_default_context(cafile=self.options[-1])
        return http.client.HTTPSConnection(where.hostname, where.port, timeout=timeout, context=trusted)


def test_a_service_may_have_a_certificate_of_its_own_authority(tmp_path):
    key, own = tmp_path / "key.pem", tmp_path / "own.pem"
    answer = ["-subj", "/CN=ours", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2", "-nodes"]
    answer += ["-addext", "keyUsage=critical,digitalSignature,keyCertSign", "-newkey", "ec"]
    answer += ["-pkeyopt", "ec_paramgen_curve:prime256v1", "-keyout", str(key), "-out", str(own)]
    if shutil.which("openssl") is None or subprocess.run(["openssl", "req", "-x509", *answer], check=False).returncode:
        pytest.skip("no openssl that makes certificates")
    server = SecretServer(tmp_path / "store", "--tls-key", key, "--tls-certificate", own)
    try:
        url = server.start().url
        assert url.startswith("https://127.0.0.1:")
        with Client(url, cafile=own) as client:
            client.make("m", "PassiveAggressive")
            assert client.learn("m", [1.0, 2.0], "big")["learned"] == 1
        (tmp_path / "rows.csv").write_text("1,2,big\n2,1,small\n")
        assert "2 rows learned" in run("send", url, "m", tmp_path / "rows.csv", "--cafile", own).output
        with Client(url) as stranger, pytest.raises(ConnectionError, match="cafile"):  # at once: it stays a stranger
            stranger.models()
    finally:
        server.close()
    for path, reason in ((tmp_path / "none.pem", "No such file"), (tmp_path / "rows.csv", "no certificate")):
        with pytest.raises(ValueError, match=f"cafile .*{path.name} .*{reason}"):
            Client(url, cafile=path)
