"""What the tests of the service share: a real server in a process of its own, and callers over real sockets."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

COMMAND = [sys.executable, "-c", "from ellipsoid.cli import main; main()"]
NDJSON = "application/x-ndjson"


class Server:
    """``ellipsoid serve`` over a folder. ``compiled`` False runs learners as Python, which starts sooner."""

    def __init__(self, folder, *options, compiled=False, setup=None, environment=None):
        self.folder, self.options, self.setup = Path(folder), [str(option) for option in options], setup
        self.environment = {**os.environ, **(environment or {})}
        if not compiled:
            self.environment["NUMBA_DISABLE_JIT"] = "1"
        self.process, self.url = None, None

    def start(self, wait=True):
        log = open(self.folder.with_suffix(".log"), "ab")  # noqa: SIM115
        self.process = subprocess.Popen(
            [*COMMAND, "serve", str(self.folder), "--port", "0", *self.options],
            stdout=subprocess.PIPE,
            stderr=log,
            env=self.environment,
            preexec_fn=self.setup,  # noqa: PLW1509 - it sets a limit, and takes no lock
        )
        log.close()
        if wait:
            self.wait_until_ready()
        return self

    def wait_until_ready(self):
        line = self.process.stdout.readline().decode()
        assert " on http" in line, f"the server did not start: {line!r} {self.log()}"
        self.url = line.split(" on ")[-1].strip()
        deadline = time.monotonic() + 120
        while self.call("GET", "/readyz")[0] != 200:
            assert self.process.poll() is None, self.log()
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.02)

    def log(self):
        path = self.folder.with_suffix(".log")
        return path.read_text("utf-8", "replace")[-3000:] if path.exists() else ""

    def connect(self, timeout=60):
        where = urlsplit(self.url)
        return http.client.HTTPConnection(where.hostname, where.port, timeout=timeout)

    def call(self, method, path, body=None, kind="application/json", headers=None):
        """Status and decoded body of one request on a connection of its own."""
        connection = self.connect()
        try:
            status, _, content = self.ask(connection, method, path, body, kind, headers)
            return status, content
        finally:
            connection.close()

    @staticmethod
    def ask(connection, method, path, body=None, kind="application/json", headers=None):
        """Status, headers and decoded body of one request."""
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        given = {"content-type": kind, **(headers or {})} if body is not None else headers or {}
        connection.request(method, path, body, given)
        answer = connection.getresponse()
        content = answer.read()
        if (answer.headers.get("content-type") or "").endswith("json") and NDJSON not in answer.headers["content-type"]:
            content = json.loads(content)
        return answer.status, answer.headers, content

    def batch(self, path, lines, **headers):
        """Post lines; status and answer."""
        return self.call("POST", path, "".join(json.dumps(line) + "\n" for line in lines).encode(), NDJSON, headers)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stop(self):
        """SIGTERM; returns the exit code and the seconds that it took."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=30)
        self.process.stdout.close()
        return code, time.monotonic() - began

    def close(self):
        if self.process is not None and not self.process.stdout.closed:
            self.kill()


@contextmanager
def serving(folder, *options, **more):
    server = Server(folder, *options, **more)
    try:
        yield server.start()
    finally:
        server.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A server that tests of one module share, each with models of its own."""
    with serving(tmp_path_factory.mktemp("service") / "store", "--max-body", 4_000_000, "--group-ms", 1) as server:
        yield server


@pytest.fixture
def model(shared, request):
    """A new model of the shared server: its address."""
    name = request.node.name.replace("[", "-").replace("]", "")[:60]
    name = "".join(letter if letter.isalnum() else "-" for letter in name)
    status, told = shared.call("PUT", f"/v1/models/{name}", {"learner": "PassiveAggressive"})
    assert status == 201, told
    return f"/v1/models/{name}"


def examples(n, start=0, width=3):
    """Examples that two labels can tell apart; the first number counts them."""
    return [
        {"x": [i / 1000.0, i % 7 - 3.0, float(i % 5), *[1.0] * (width - 3)], "y": "big" if i % 7 > 3 else "small"}
        for i in range(start, start + n)
    ]
