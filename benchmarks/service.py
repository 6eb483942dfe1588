"""The service beside what people use today, over loopback: durable learning, predictions, restart, and memory.

Callers and servers share the machine's cores. Where a COMMIT costs little beside a request (a quick disk), a group of
them saves little: the time of one is reported with the ratio.
"""

import json
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from .harness import Case, Contender, Effort, Target, compare, figure
from .http_load import Times, call, request, tell
from .processes import ROOT

OURS = [sys.executable, "-c", "from ellipsoid.cli import main; main()", "serve"]
PATH = "/v1/models/bench"
NDJSON = "application/x-ndjson"


def rows(n: int, width: int = 50, seed: int = 0) -> tuple[Any, Any]:
    """Numbers of four digits, two labels that a plane divides but for some noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width)).round(4)
    return X, (X @ rng.normal(size=width) + rng.normal(size=n) > 0).astype(int)


def lines(X: Any, y: Any) -> list[bytes]:
    """A body for each example."""
    return [json.dumps({"x": x, "y": label}).encode() for x, label in zip(X.tolist(), y.tolist(), strict=True)]


class Running:
    """A server in a process of its own."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT)
        assert self.process.stdout is not None
        line = self.process.stdout.readline().decode()
        if " on http" not in line:
            raise RuntimeError(f"{command} did not start")
        self.url = line.split(" on ")[-1].strip()

    def ask(self, method: str, path: str, body: bytes | None = None, kind: str = "application/json") -> Any:
        """One request; its answer, decoded where that is JSON."""
        import httpx

        headers = {} if body is None else {"content-type": kind}
        answer = httpx.request(method, self.url + path, content=body, headers=headers, timeout=600, trust_env=False)
        if answer.status_code >= 400 and path != "/readyz":
            raise RuntimeError(answer.text)
        return answer.json() if "json" in answer.headers["content-type"] else answer.text

    def memory(self) -> float:
        """Megabytes that are the process's own."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("RssAnon:")[1].split()[0]) / 1024.0

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextmanager
def running(command: list[str]) -> Iterator[Running]:
    server = Running(command)
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def ours(folder: Path, *options: str) -> Iterator[Running]:
    """Our service with a model, its machine code ready."""
    with running([*OURS, str(folder), "--port", "0", *options]) as server:
        server.ask("PUT", PATH, b'{"learner": "PassiveAggressive"}')
        X, y = rows(64)
        server.ask("POST", f"{PATH}/learn", b"\n".join(lines(X, y)), NDJSON)
        server.ask("POST", f"{PATH}/predict", json.dumps({"x": X[0].tolist()}).encode())
        time.sleep(1.0)  # the reader of batches loads its machine code beside
        yield server


def run(quick: bool, effort: Effort) -> Iterator[dict[str, Any]]:
    """All of it."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        with ours(folder / "store") as server:
            yield single(server, folder, quick, effort)
            yield batches(server, quick, effort)
            yield from predictions(server, quick)
        yield restart(folder / "restart", 20_000 if quick else 1_000_000)
        yield memory(folder / "memory", 40_000 if quick else 10_000_000)


def single(server: Running, folder: Path, quick: bool, effort: Effort) -> dict[str, Any]:
    """16 callers that learn one example a request."""
    each = 20 if quick else 200
    X, y = rows(each)
    bodies = lines(X, y)

    def contender(name: str, url: str, path: str, counted: str, target: Target | None = None) -> Contender:
        callers = [[request("POST", path, body) for body in bodies]] * 16
        return Contender(name, lambda: None, lambda _: call(url, callers), counted, target=target)

    peers, started = [], []
    kinds = [
        ("Starlette, one COMMIT per request", "commit", "/learn", "durable, learns nothing", Target(10.0)),
        ("Starlette, one COMMIT per request (WAL)", "commit-wal", "/learn", "durable, learns nothing", None),
        ("FastAPI + river", "river", "/learn", "nothing is durable", None),
    ]
    for name, kind, path, counted, target in kinds:
        try:
            place = folder / kind
            place.mkdir()
            started.append(Running([sys.executable, "-m", "benchmarks.service_peers", kind, str(place)]))
            peers.append(contender(name, started[-1].url, path, counted, target))
        except RuntimeError:
            peers.append(Contender(name, lambda: None, lambda _: None, counted, unavailable="not installed"))
    daemon = vowpal_wabbit(bodies)
    try:
        mine = contender("ours", server.url, f"{PATH}/learn", "on disk and learned when answered")
        took = f"a COMMIT takes {1000 * commit_seconds(folder):.2f} ms here"
        setting = f"16 callers, {each} examples of 50 numbers each; {took}"
        return compare(Case("durable single examples", setting, 16 * each, mine, [*peers, daemon[0]]), effort)
    finally:
        for peer in started:
            peer.stop()
        if daemon[1] is not None:
            daemon[1].terminate()
            daemon[1].wait()


def commit_seconds(folder: Path) -> float:
    """How long a COMMIT with one small row takes, with SQLite's defaults."""
    connection = sqlite3.connect(folder / "probe.sqlite")
    connection.execute("CREATE TABLE IF NOT EXISTS rows (x BLOB)")
    times = []
    for _ in range(50):
        connection.execute("INSERT INTO rows VALUES (?)", (b"x" * 400,))
        began = time.perf_counter()
        connection.commit()
        times.append(time.perf_counter() - began)
    connection.close()
    return median(times)


# The Python package holds no program, and its parser is the same one.
DAEMON = "import sys, vowpalwabbit; vowpalwabbit.Workspace(' '.join(sys.argv[1:])).run_parser()"


def vowpal_wabbit(bodies: list[bytes]) -> tuple[Contender, subprocess.Popen[bytes] | None]:
    """The daemon of Vowpal Wabbit, of its program or of its Python package."""
    name, counted = "Vowpal Wabbit's daemon", "nothing is durable"
    program = shutil.which("vw")
    if program is None and find_spec("vowpalwabbit") is None:
        return Contender(name, lambda: None, lambda _: None, counted, unavailable="not installed"), None
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    begin = [sys.executable, "-c", DAEMON] if program is None else [program]
    daemon = subprocess.Popen(
        [*begin, "--daemon", "--foreground", "--quiet", "--port", str(port), "--num_children", "1"]
    )
    deadline = time.monotonic() + 20.0
    while time.monotonic() < deadline:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            break
        time.sleep(0.1)
    texts = []
    for body in bodies:
        example = json.loads(body)
        features = " ".join(f"{j}:{value}" for j, value in enumerate(example["x"]))
        texts.append(f"{2 * example['y'] - 1} | {features}\n".encode())
    return Contender(name, lambda: None, lambda _: tell(("127.0.0.1", port), [texts] * 16), counted), daemon


def batches(server: Running, quick: bool, effort: Effort) -> dict[str, Any]:
    """Rows a second in large batches, two of them under way at a time."""
    n = 2_000 if quick else 20_000
    body = b"\n".join(lines(*rows(n))) + b"\n"
    posted = request("POST", f"{PATH}/learn", body, NDJSON)
    speeds = []
    for _ in range(effort.repeats):
        began = time.perf_counter()
        call(server.url, [[posted] * 2] * 2)
        speeds.append(4 * n / (time.perf_counter() - began))
    return figure(
        "durable batches", f"rows of 50 numbers of four digits as NDJSON, {n} a batch, fastest of {len(speeds)}",
        max(speeds), "rows/s", None if quick else Target(100_000.0), median=median(speeds),
    )  # fmt: skip


def predictions(server: Running, quick: bool) -> Iterator[dict[str, Any]]:
    """Single predictions: without load, and beside 64 callers that learn and 64 that predict."""
    X, y = rows(200)
    asked = [request("POST", f"{PATH}/predict", json.dumps({"x": x}).encode()) for x in X.tolist()]
    taught = [request("POST", f"{PATH}/learn", body) for body in lines(X, y)]
    alone = call(server.url, [asked * (1 if quick else 5)])
    yield figure(
        "prediction at the server, p50", "one caller, from the head of the request to its answer",
        1000 * server_median(server), "ms", None if quick else Target(1.0, False),
        at_the_caller=1000 * alone.quantile(0.5),
    )  # fmt: skip
    few = 10 if quick else 100
    predicted = Times(beside_learning(server, asked[:few], taught[:few]))
    yield figure(
        "prediction under load, p99 over p50 without", "64 callers learn and 64 predict, twice a second each",
        predicted.quantile(0.99) / alone.quantile(0.5), "x", None if quick else Target(10.0, False),
        p99=1000 * predicted.quantile(0.99), p50_without_load=1000 * alone.quantile(0.5),
    )  # fmt: skip


def beside_learning(server: Running, asked: list[bytes], taught: list[bytes]) -> list[float]:
    """Times of predictions, while others learn."""
    learning = threading.Thread(target=call, args=(server.url, [taught] * 64, 0.5))
    learning.start()
    times = call(server.url, [asked] * 64, 0.5).seconds
    learning.join()
    return times


def server_median(server: Running) -> float:
    """The bucket in which the median prediction fell, by the server's own clock: its middle."""
    counts: list[tuple[float, float]] = []
    for line in server.ask("GET", "/metrics").splitlines():
        if line.startswith('ellipsoid_request_seconds_bucket{call="predict"'):
            bound = line.split('le="')[1].split('"')[0]
            counts.append((float(bound), float(line.rsplit(" ", 1)[1])))
    half, before, low = counts[-1][1] / 2, 0.0, 0.0
    for bound, count in counts:
        if count >= half:
            return low + (bound - low) * (half - before) / max(1.0, count - before)
        before, low = count, bound
    return float("inf")


def restart(folder: Path, n: int) -> dict[str, Any]:
    """A journal behind its last snapshot, replayed, beside learning the same rows in memory."""
    from ellipsoid import PassiveAggressive

    step = 20_000
    X, y = rows(step)
    body = b"\n".join(lines(X, y)) + b"\n"
    quiet = ("--snapshot-rows", str(10**12), "--snapshot-seconds", str(10**9))
    with ours(folder, *quiet) as server:
        for _ in range(n // step):
            server.ask("POST", f"{PATH}/learn", body, NDJSON)
        server.process.kill()
        server.process.wait()
    began = time.perf_counter()
    with running([*OURS, str(folder), "--port", "0"]) as server:
        begun = time.perf_counter()
        while server.ask("GET", "/readyz").get("status") != "ready":
            time.sleep(0.01)
        replayed = time.perf_counter() - begun
        whole = time.perf_counter() - began
    model = PassiveAggressive()
    model.learn_predict(X[:64], y[:64])
    began = time.perf_counter()
    for _ in range(n // step):
        model.learn_predict(X, y)
    learned = time.perf_counter() - began
    return figure(
        "restart", f"{n:,} rows of 50 numbers behind the last snapshot: speed of replay over that of learning them",
        learned / replayed, "x", Target(0.5) if n >= 1_000_000 else None,
        rows_a_second=n / replayed, with_start_of_the_process=whole,
    )  # fmt: skip


def memory(folder: Path, n: int) -> dict[str, Any]:
    """Megabytes that a service grows by between a tenth of the rows and all of them."""
    step = 20_000
    X, y = rows(step, width=10)
    body = b"\n".join(lines(X, y)) + b"\n"
    with running([*OURS, str(folder), "--port", "0"]) as server:
        server.ask("PUT", PATH, b'{"learner": "PassiveAggressive"}')
        held = []
        for i in range(n // step):
            server.ask("POST", f"{PATH}/learn", body, NDJSON)
            if (i + 1) % max(1, n // step // 10) == 0:
                held.append(server.memory())
    return figure(
        "memory of a service", f"{n:,} rows of 10 numbers learned: growth from a tenth of them to all",
        held[-1] - held[0], "MB", None if n < 10_000_000 else Target(30.0, False),
        at_each_tenth=[round(megabytes) for megabytes in held],
    )  # fmt: skip
