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

from ellipsoid.service.store import Store, StoreOptions

from ..nursery import Nursery
from .browser import started

COMMAND = [sys.executable, "-c", "from ellipsoid.cli import main; main()"]
NDJSON = "application/x-ndjson"


# Events come more often than in use, so that tests wait less for them.
READY = """
from importlib import import_module
from ellipsoid.cli.startup import import_libraries
import_libraries()
for name in ("ellipsoid.cli.serve", "ellipsoid.service.demo", "ellipsoid.service.server"):
    import_module(name)
import_module("ellipsoid.service.calls.events").TICK_SECONDS = 0.1
"""

SERVE = """
import resource, sys
from ellipsoid.cli import main
_, largest, *argv = sys.argv
if int(largest):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(largest), resource.RLIM_INFINITY))
main(argv, prog_name="ellipsoid")
"""

NURSERIES = {}


def nursery(compiled):
    """What starts servers, for each way of running learners."""
    if compiled not in NURSERIES:
        NURSERIES[compiled] = Nursery(".", READY, **({} if compiled else {"NUMBA_DISABLE_JIT": "1"}))
    return NURSERIES[compiled]


@pytest.fixture(scope="session", autouse=True)
def closed_nurseries():
    yield
    while NURSERIES:
        NURSERIES.popitem()[1].close()


@pytest.fixture
def store(tmp_path):
    """A store without HTTP, in this process."""
    opened = Store(tmp_path / "store", StoreOptions(snapshot_seconds=1e9))
    opened.start()
    yield opened
    opened.close()


class Server:
    """``ellipsoid serve`` over a folder. ``compiled`` False runs learners as Python; ``program`` is a command to be
    started as a new program; ``largest`` is the size that a file may have.
    """

    def __init__(self, folder, *options, compiled=False, program=None, largest=0):
        self.folder, self.options = Path(folder), [str(option) for option in options]
        self.compiled, self.program, self.largest = compiled, program, largest
        self.number, self.child, self.url = None, None, None
        self.place = [str(folder)]

    def start(self, wait=True):
        argv = ["serve", *self.place, "--port", "0", *self.options]
        self.out, self.err = self.folder.with_suffix(".out"), self.folder.with_suffix(".log")
        self.out.write_bytes(b"")
        if self.program is None:
            streams = {"out": self.out, "err": self.err}
            self.number = nursery(self.compiled).start(SERVE, self.largest, *argv, **streams)
        else:
            with open(self.out, "ab") as out, open(self.err, "ab") as err:
                self.child = subprocess.Popen([*self.program, *argv], stdout=out, stderr=err)
            self.number = self.child.pid
        if wait:
            self.wait_until_ready()
        return self

    def wait_until_ready(self):
        deadline = time.monotonic() + 120
        while not (line := self.out.read_text()).endswith("\n"):
            assert self.wait(0) is None, self.log()
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.01)
        self.url = line.split(" on ")[-1].strip()
        while self.call("GET", "/readyz")[0] != 200:
            assert self.wait(0) is None, self.log()
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.02)

    def wait(self, seconds):
        """The exit code, None while the server runs."""
        if self.child is not None:
            try:
                code = self.child.wait(seconds)
            except subprocess.TimeoutExpired:
                return None
            self.child = None
        else:
            code = nursery(self.compiled).wait(self.number, seconds)
        if code is not None:
            self.number = None
        return code

    def log(self):
        return self.err.read_text("utf-8", "replace")[-3000:] if self.err.exists() else ""

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
        os.kill(self.number, signal.SIGKILL)
        assert self.wait(30) == -signal.SIGKILL

    def stop(self):
        """SIGTERM; returns the exit code and the seconds that it took."""
        began = time.monotonic()
        os.kill(self.number, signal.SIGTERM)
        return self.wait(30), time.monotonic() - began

    def close(self):
        if self.number is not None:
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
    status, answer = shared.call("PUT", f"/v1/models/{name}", {"learner": "PassiveAggressive"})
    assert status == 201, answer
    return f"/v1/models/{name}"


@pytest.fixture(scope="module")
def browser():
    with started() as found:
        yield found


@pytest.fixture(scope="module")
def quiet(browser, tmp_path_factory):
    """A server, for a browser, on which nothing moves by itself."""
    with serving(tmp_path_factory.mktemp("quiet") / "store") as server:
        yield server


def with_questions(server, name, count, labels=("big", "small"), **body):
    """The path of a model that has learned 30 examples and keeps so many others for their labels."""
    path = f"/v1/models/{name}"
    server.call("PUT", path, {"learner": "PassiveAggressive", **body})
    lines = [{"x": each["x"], "y": labels[each["y"] == "small"]} for each in examples(30)]
    server.batch(f"{path}/learn", lines)
    asked = [{"x": each["x"], "keep": True, "id": f"{name}-{i}"} for i, each in enumerate(examples(count, 200))]
    assert not asked or server.batch(f"{path}/predict", asked)[0] == 200
    return path


def examples(n, start=0, width=3):
    """Examples that two labels can tell apart; the first number counts them."""
    return [
        {"x": [i / 1000.0, i % 7 - 3.0, float(i % 5), *[1.0] * (width - 3)], "y": "big" if i % 7 > 3 else "small"}
        for i in range(start, start + n)
    ]


def run_at_once(threads):
    """Start threads, and wait until all have ended."""
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
