"""Requests that nobody should send: every one is answered by a status below 500, with a reason, and learns nothing by
half. Some are drawn by schemathesis from the service's own description, some are good requests with bytes changed.
"""

import http.client
import json
import random
import socket
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from .conftest import NDJSON, Server, examples

PATH = "/v1/models/m"
LINE = json.dumps(examples(1)[0]).encode()
BODIES = [
    ("POST", f"{PATH}/learn", "application/json", LINE),
    ("POST", f"{PATH}/learn", NDJSON, b"\n".join(json.dumps(line).encode() for line in examples(4)) + b"\n"),
    ("POST", f"{PATH}/learn?partial=true", NDJSON, b"\n".join(json.dumps(line).encode() for line in examples(4))),
    ("POST", "/v1/models/named/learn", "application/json", b'{"x": {"a": 1, "b": "red"}, "y": 1, "key": "k"}'),
    ("POST", "/v1/models/texts/learn", "application/json", b'{"x": {"text": "to be or not to be"}, "y": 1}'),
    ("POST", f"{PATH}/predict", "application/json", b'{"x": [1, 2, 3], "scores": true, "keep": true, "id": "i"}'),
    ("POST", "/v1/models/named/predict", NDJSON, b'{"x": {"a": 1}}\n{"x": {"zebra": "x", "b": null}}\n'),
    ("POST", f"{PATH}/labels", "application/json", b'{"id": "i", "y": "big"}'),
    ("PUT", "/v1/models/other", "application/json", b'{"learner": "MIRA", "params": {"average": true}, "bits": 8}'),
    ("PUT", f"{PATH}/challengers/c", "application/json", b'{"learner": "Perceptron", "scale": "unit"}'),
    ("POST", f"{PATH}/promote", "application/json", b'{"learner": "first"}'),
]
TOKENS = [b"null", b"NaN", b"-0", b"1e999", b"1e-999", b"[", b"]", b"{", b"}", b'"', b"\\ud800", b"\\u0000", b"\xff",
          b"\x00", b",", b":", b"true", b"9" * 400, b"[[[[", b'{"x":', b"\n", b"\r", b" ", b"1e130", b"-1e131",
          b'"y": "z"', b'"y": 18446744073709551616', b"0.1e+", b"1.e5", b"01", b"\xef\xbb\xbf"]  # fmt: skip


def prepared(server):
    for name, body in (("m", {}), ("named", {}), ("texts", {"bits": 8})):
        server.call("PUT", f"/v1/models/{name}", {"learner": "PassiveAggressive", **body})
    server.batch(f"{PATH}/learn", examples(10))
    for name, x in (("named", {"a": 1.0}), ("texts", {"text": "to be"})):
        for y in (1, 2):
            server.call("POST", f"/v1/models/{name}/learn", {"x": x, "y": y})


def changed(chance, body):
    """A body with some bytes cut, doubled, replaced or put in."""
    body = bytearray(body)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(body) + 1)
        kind = chance.randrange(5)
        if kind == 0:
            del body[at : at + chance.randint(1, 8)]
        elif kind == 1:
            body[at:at] = chance.choice(TOKENS)
        elif kind == 2 and at < len(body):
            body[at] = chance.randrange(256)
        elif kind == 3:
            body[at:at] = body[at : at + chance.randint(1, 20)]
        else:
            del body[at:]
    return bytes(body)


def sound(server):
    """The server runs, and every model has learned its journal."""
    assert server.call("GET", "/readyz")[0] == 200
    for name in server.call("GET", "/v1/models")[1]["models"]:
        answer = server.call("GET", f"/v1/models/{name}")[1]
        assert answer["t"] == answer["journal"]


def bodies_with_changed_bytes(server, count, seed):
    chance = random.Random(seed)
    connection, answers = server.connect(), {}
    before = server.call("GET", PATH)[1]["journal"]
    learned = 0
    for _ in range(count):
        method, path, kind, body = chance.choice(BODIES)
        body = changed(chance, body)
        status, _, answer = Server.ask(connection, method, path, body, kind)
        assert status < 500, (status, answer, method, path, body)
        assert status < 400 or (answer["status"] == status and answer["detail"]), (method, path, body)
        if status == 200 and path.startswith(PATH) and ("learn" in path or "labels" in path):
            if isinstance(answer, dict):
                learned += answer.get("learned", 0)
            else:
                learned += sum(json.loads(line)["status"] == "learned" for line in answer.splitlines())
        answers[status] = answers.get(status, 0) + 1
    connection.close()
    assert server.call("GET", PATH)[1]["journal"] == before + learned
    assert answers[400] + answers[422] > count // 3
    return answers


def heads_with_changed_bytes(server, count, seed):
    chance = random.Random(seed)
    where = urlsplit(server.url)
    good = f"POST {PATH}/learn HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: "
    for _ in range(count):
        head = good.encode() + str(len(LINE)).encode() + b"\r\n\r\n"
        with socket.create_connection((where.hostname, where.port), timeout=3) as caller:
            caller.sendall(changed(chance, head) + LINE)
            caller.shutdown(socket.SHUT_WR)
            try:
                answer = caller.recv(200)
            except OSError:
                continue
            if answer:
                assert 100 <= int(answer.split()[1]) < 500, (answer, head)


def drawn_by_schemathesis(server, count):
    import schemathesis
    from schemathesis import GenerationMode

    connection = server.connect()
    document = Server.ask(connection, "GET", "/openapi.json")[2]
    connection.close()
    schema = schemathesis.openapi.from_dict(document)
    # A stream of events has no end.
    operations = [found.ok() for found in schema.get_all_operations() if found.ok().path != "/v1/events"]
    calls = 0
    for operation in operations:
        for mode in (GenerationMode.NEGATIVE, GenerationMode.POSITIVE):
            try:
                strategy = operation.as_strategy(generation_mode=mode)
            except Exception as error:  # some calls have nothing that could be wrong
                if "negat" not in str(error).lower():
                    raise
                continue

            @settings(
                max_examples=max(1, count // (2 * len(operations))),
                deadline=None,
                database=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=strategy)
            def call(case):
                nonlocal calls
                calls += 1
                response = case.call(base_url=server.url, timeout=60)
                assert response.status_code < 500, (case.as_curl_command(), response.text)
                assert response.status_code < 400 or "json" in str(response.headers["content-type"])

            try:
                call()
            except Exception as error:
                if "Unsatisfiable" not in type(error).__name__:
                    raise
    return calls


def test_changed_bytes_are_answered(shared):
    prepared(shared)
    bodies_with_changed_bytes(shared, 600, seed=1)
    heads_with_changed_bytes(shared, 100, seed=2)
    sound(shared)


@pytest.mark.slow
def test_twenty_thousand_malformed_requests(shared):
    prepared(shared)
    answers = bodies_with_changed_bytes(shared, 13_000, seed=3)
    heads_with_changed_bytes(shared, 3_000, seed=4)
    calls = drawn_by_schemathesis(shared, 6_000)
    assert calls + 16_000 >= 20_000
    assert http.client.OK in answers
    sound(shared)
