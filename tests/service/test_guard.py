"""Who may do what, and how much: tokens and roles, names, types, sizes and queues."""

import asyncio
import json
import os
import socket
import stat
import threading
import time
from urllib.parse import urlsplit

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
from uvicorn.server import ServerState

from ellipsoid.service.http.protocol import timed_protocol
from ellipsoid.service.http.tokens import ROLES, Holder, Tokens, add_token, listed_tokens, remove_token

from .conftest import NDJSON, Server, examples, run_at_once, serving

PATH = "/v1/models/m"

# A call for each role that is the least for it.
CALLS = {
    "read": ("GET", PATH, None),
    "predict": ("POST", f"{PATH}/predict", {"x": [1, 2, 3]}),
    "label": ("GET", f"{PATH}/questions", None),
    "learn": ("POST", f"{PATH}/learn", {"x": [1, 2, 3], "y": "big"}),
    "admin": ("PUT", PATH, {"learner": "PassiveAggressive"}),
}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("guarded")
    tokens = {role: add_token(folder / "tokens", role, role) for role in ROLES}
    with serving(folder / "store", "--tokens", folder / "tokens") as server:
        server.tokens = tokens
        yield server


def headed(token):
    return {"authorization": f"Bearer {token}"}


def test_roles_are_steps_of_a_ladder(guarded):
    method, path, body = CALLS["admin"]
    assert guarded.call(method, path, body, headers=headed(guarded.tokens["admin"]))[0] == 201
    lines = "".join(json.dumps(line) + "\n" for line in examples(10)).encode()
    assert guarded.call("POST", f"{PATH}/learn", lines, NDJSON, headed(guarded.tokens["learn"]))[0] == 200
    for step, role in enumerate(ROLES):
        for needed, (method, path, body) in CALLS.items():
            status = guarded.call(method, path, body, headers=headed(guarded.tokens[role]))[0]
            assert status == (200 if ROLES.index(needed) <= step else 403), (role, needed)


@pytest.mark.parametrize(
    "header",
    [None, "Bearer", "Bearer nobody.abc", "Basic YTpi", "Bearer " + "a" * 500, "Bearer admin.", "Bearer \xff\xfe"],
)
def test_without_a_token_nothing_is_revealed(guarded, header):
    status, answer = guarded.call("GET", PATH, headers={} if header is None else {"authorization": header})
    assert (status, sorted(answer)) == (401, ["detail", "status", "title"])
    assert guarded.call("GET", "/healthz")[0] == 200


def test_the_name_of_a_token_stands_beside_its_rows(guarded):
    import sqlite3

    guarded.call(*CALLS["admin"], headers=headed(guarded.tokens["admin"]))
    guarded.call(*CALLS["learn"], headers=headed(guarded.tokens["learn"]))
    connection = sqlite3.connect(guarded.folder / "journal.sqlite")
    names = {name for (name,) in connection.execute("SELECT token FROM blocks")}
    connection.close()
    assert "learn" in names
    assert names <= {"learn", "admin"}


def test_a_token_that_is_removed_is_worthless_at_once(guarded):
    path = guarded.folder.parent / "tokens"
    token = add_token(path, "passing", "read")
    assert guarded.call("GET", "/v1/models", headers=headed(token))[0] == 200
    remove_token(path, "passing")
    assert guarded.call("GET", "/v1/models", headers=headed(token))[0] == 401


def test_a_token_that_is_removed_sees_no_more_events(guarded):
    path = guarded.folder.parent / "tokens"
    token = add_token(path, "watching", "read")
    connection = guarded.connect(timeout=20)
    connection.request("GET", "/v1/events", headers=headed(token))
    answer = connection.getresponse()
    while b"event: all" not in answer.readline():
        pass
    remove_token(path, "watching")
    guarded.call("PUT", "/v1/models/news", CALLS["admin"][2], headers=headed(guarded.tokens["admin"]))
    while line := answer.readline():
        assert b"news" not in line
    connection.close()


def test_many_may_come_at_once_with_a_new_token(guarded):
    path = guarded.folder.parent / "tokens"
    token, answers = add_token(path, "crowd", "read"), []
    threads = [
        threading.Thread(target=lambda: answers.append(guarded.call("GET", "/v1/models", headers=headed(token))[0]))
        for _ in range(12)
    ]
    run_at_once(threads)
    assert answers == [200] * 12


def test_a_token_is_not_checked_anew_for_the_sake_of_others(tmp_path):
    """Else whoever guesses would keep everybody out from the next change of the file on."""
    path = tmp_path / "tokens"
    old, other = add_token(path, "old", "read"), add_token(path, "other", "read")
    tokens = Tokens(path)
    assert (tokens.check(old), tokens.check(other)) == (Holder("old", "read"), Holder("other", "read"))
    add_token(path, "new", "admin")
    remove_token(path, "other")
    tokens.refresh()
    assert (tokens.known(old), tokens.known(other)) == (Holder("old", "read"), None)
    remove_token(path, "old")
    add_token(path, "old", "admin")
    tokens.refresh()
    assert tokens.known(old) is None


def test_an_unreadable_file_of_tokens_refuses_every_caller_and_is_read_again(guarded):
    path = guarded.folder.parent / "tokens"
    whole = path.read_text()
    path.write_text(whole + "half a line")
    status, answer = guarded.call("GET", "/v1/models", headers=headed(guarded.tokens["read"]))
    path.write_text(whole)
    assert (status, "tokens cannot be read" in answer["detail"]) == (503, True)
    assert guarded.call("GET", "/v1/models", headers=headed(guarded.tokens["read"]))[0] == 200


def test_a_file_of_tokens_holds_no_token(tmp_path):
    path = tmp_path / "tokens"
    token = add_token(path, "ada", "admin")
    name, secret = token.split(".")
    assert name == "ada"
    assert len(secret) >= 43  # 256 bits
    assert secret not in path.read_text()
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    tokens = Tokens(path)
    assert tokens.check(token) == tokens.known(token) == listed_tokens(path)[0]
    assert tokens.check(token + "x") is None
    with pytest.raises(ValueError, match="already"):
        add_token(path, "ada", "read")
    with pytest.raises(ValueError, match="role"):
        add_token(path, "bob", "king")
    with pytest.raises(ValueError, match="name"):
        add_token(path, "a.b", "read")


def test_tokens_that_are_added_at_once_are_all_there(tmp_path):
    path, names = tmp_path / "tokens", [f"t{i}" for i in range(6)]
    threads = [threading.Thread(target=add_token, args=(path, name, "read")) for name in names]
    run_at_once(threads)
    assert sorted(holder.name for holder in listed_tokens(path)) == names


def test_a_host_that_others_reach_needs_tokens(tmp_path):
    server = Server(tmp_path / "store", "--host", "0.0.0.0").start(wait=False)
    assert server.wait(60) == 2
    assert "--tokens" in server.log()


def test_a_page_of_another_site_cannot_reach_a_service_without_tokens(shared, model):
    status, answer = shared.call("GET", "/v1/models", headers={"host": "evil.example:8000"})
    assert (status, answer["status"]) == (421, 421)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        assert shared.call("POST", f"{model}/learn", examples(1)[0], kind)[0] == 415
    connection = shared.connect()
    status, headers, _ = shared.ask(connection, "GET", "/v1/models", headers={"origin": "https://evil.example"})
    connection.close()
    assert status == 200
    assert [name for name in headers if name.lower().startswith("access-control")] == []
    assert headers["x-content-type-options"] == "nosniff"
    assert "default-src 'self'" in headers["content-security-policy"]
    assert "set-cookie" not in headers
    # A picture needs no leave of the other site, and its address could claim questions.
    for site, expected in (("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)):
        assert shared.call("GET", f"{model}/questions", headers={"sec-fetch-site": site})[0] == expected


@pytest.mark.parametrize("behind", [b"", b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-more: "])
def test_text_inside_a_body_is_not_read_as_a_request(shared, model, behind):
    """A page of another site may send a text to any address; that it is refused must not make a request of its text."""
    line = json.dumps(examples(1)[0]).encode()
    head = f"POST {model}/learn HTTP/1.1\r\nhost: localhost\r\n".encode()
    inner = head + b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(line) + line
    outer = head + b"content-type: text/plain\r\ncontent-length: %d\r\n\r\n" % (0 if behind else len(inner))
    where = urlsplit(shared.url)
    with socket.create_connection((where.hostname, where.port), timeout=20) as caller:
        caller.sendall(outer + behind)
        answer = b""
        while not answer.endswith(b"}"):
            answer += caller.recv(10_000)
        assert b" 415 " in answer
        caller.sendall(inner)
        time.sleep(0.05)
        caller.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        answer = caller.recv(10_000)
        assert b"learned" not in answer
        assert b" 200 " in answer or behind
    assert shared.call("GET", model)[1]["journal"] == 0


@pytest.mark.parametrize("path", ["learn", "nowhere"])
@pytest.mark.parametrize("order", [1, -1])
def test_a_body_of_two_lengths_is_refused(shared, model, path, order):
    """RFC 9112, 6.1: a proxy that goes by the one length and a server by the other see different requests."""
    line = json.dumps(examples(1)[0]).encode()
    plain = b"host: localhost\r\ncontent-type: application/json\r\n"
    inner = f"POST {model}/learn HTTP/1.1\r\n".encode() + plain + b"content-length: %d\r\n\r\n" % len(line) + line
    body = b"%x\r\n" % len(line) + line + b"\r\n0\r\n\r\n" + inner
    lengths = [b"content-length: %d\r\n" % len(body), b"Transfer-Encoding: chunked\r\n"][::order]
    where = urlsplit(shared.url)
    with socket.create_connection((where.hostname, where.port), timeout=20) as caller:
        caller.sendall(f"POST {model}/{path} HTTP/1.1\r\n".encode() + plain + b"".join(lengths) + b"\r\n" + body)
        answer = b""
        while piece := caller.recv(10_000):
            answer += piece
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1") == 1
    assert shared.call("GET", model)[1]["journal"] == 0


@pytest.mark.parametrize("name", ["a%0A", "%2e%2e", "a.b", "a" * 65, "%C3%A9"])
def test_names_are_plain(shared, name):
    assert shared.call("PUT", f"/v1/models/{name}", CALLS["admin"][2])[0] == 422


def test_a_packed_body_is_told_from_a_broken_one(shared, model):
    for kind in ("application/json", NDJSON):
        status, answer = shared.call("POST", f"{model}/learn", b"\x1f\x8b", kind, {"content-encoding": "gzip"})
        assert (status, "gzip" in answer["detail"]) == (415, True)


def test_a_long_body_is_refused(shared, model):
    status, reply = shared.call("POST", f"{model}/learn", b" " * 5_000_000, NDJSON)
    assert (status, reply["status"]) == (413, 413)
    where = urlsplit(shared.url)
    caller = socket.create_connection((where.hostname, where.port))
    head = f"POST {model}/learn HTTP/1.1\r\nhost: localhost\r\ncontent-type: {NDJSON}\r\n"
    caller.sendall(head.encode() + b"transfer-encoding: chunked\r\n\r\n")
    piece = b"%x\r\n" % 100_000 + b"\n" * 100_000 + b"\r\n"
    try:
        for _ in range(60):
            caller.sendall(piece)
    except OSError:
        pass  # it has heard enough
    answer = caller.recv(1000)
    caller.close()
    assert b" 413 " in answer
    assert shared.call("GET", model)[1]["journal"] == 0


def test_a_caller_that_does_not_read_its_answers_is_read_no_further():
    """What is not read waits here, and must not become more and more: one request at a time, and no end of them."""
    answered = []

    async def answer(request):
        answered.append(request)
        return Response(bytes(1 << 20))

    async def deaf():
        loop, state = asyncio.get_running_loop(), ServerState()
        app = Starlette(routes=[Route("/v1/models/m/predict", answer, methods=["POST"])])
        config = uvicorn.Config(app, lifespan="off", log_level="critical")
        config.load()
        protocol = timed_protocol(5.0, {"predict": answer})
        made = await loop.create_server(lambda: protocol(config, state, {}), "127.0.0.1", 0)
        with socket.socket() as caller:
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
            caller.connect(made.sockets[0].getsockname())
            caller.setblocking(False)
            head = b"POST /v1/models/m/predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            for sent in range(1, 17):
                await loop.sock_sendall(caller, head + b"content-length: 2\r\n\r\n{}")
                for _ in range(10):
                    await asyncio.sleep(0.001)
                    if len(answered) == sent:
                        break
            silent, read = len(answered), 0
            # Whoever reads again gets everything.
            while len(answered) < 16 or read < 16 << 20:
                read += len(await asyncio.wait_for(loop.sock_recv(caller, 1 << 22), 30))
        made.close()
        return silent

    assert 0 < asyncio.run(deaf()) < 12
    assert len(answered) == 16


def test_a_full_queue_says_when_to_come_again(tmp_path):
    with serving(tmp_path / "store", "--queue", 1, "--group-ms", 100) as server:
        server.call("PUT", PATH, {"learner": "PassiveAggressive"})
        answers = []

        def learn(i):
            connection = server.connect()
            status, headers, _ = server.ask(connection, "POST", f"{PATH}/learn", examples(1, i)[0])
            answers.append((status, headers.get("retry-after")))
            connection.close()

        threads = [threading.Thread(target=learn, args=(i,)) for i in range(30)]
        run_at_once(threads)
        assert {status for status, _ in answers} == {200, 429}
        assert {later for status, later in answers if status == 429} == {"1"}
        assert server.call("GET", PATH)[1]["t"] == sum(status == 200 for status, _ in answers)
