"""What disks, clocks and callers do: nothing half-learned, no crash, and a sentence where the service cannot go on."""

import json
import os
import resource
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from ellipsoid.cli import main
from ellipsoid.cli.serve import free_port
from ellipsoid.service.store import Store

from .conftest import COMMAND, Server, examples, serving

PATH = "/v1/models/m"
BODY = {"learner": "PassiveAggressive"}
OF_NUMBERS = "PassiveAggressiveRegressor"


def made(server):
    assert server.call("PUT", PATH, BODY)[0] in (200, 201)
    return server


def stands(server):
    """The number of examples, and the model file."""
    answer = server.call("GET", PATH)[1]
    assert answer["t"] == answer["journal"]
    return answer["t"], server.call("GET", f"{PATH}/file")[1]


def from_scratch(folder, tmp_path):
    """What the journal's examples make, without any snapshot."""
    target = tmp_path / "scratch.model"
    rows = CliRunner().invoke(main, ["replay", str(folder), "m", "--rows", str(tmp_path / "rows.jsonl")])
    assert rows.exit_code == 0, rows.output
    with open(tmp_path / "rows.jsonl") as lines:
        subprocess.run(
            [*COMMAND, "learn", "-", "--format", "jsonl", "--model", "PassiveAggressive", "--save", str(target)],
            stdin=lines, stdout=subprocess.DEVNULL, env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, check=True,
        )  # fmt: skip
    return target.read_bytes()


def test_a_full_disk_is_survived(tmp_path):
    with serving(tmp_path / "store", largest=400_000) as server:
        made(server)
        server.batch(f"{PATH}/learn", examples(20))
        learned, start = 20, 20
        for _ in range(100):
            status, answer = server.batch(f"{PATH}/learn", examples(200, start))
            if status != 200:
                break
            learned, start = learned + 200, start + 200
        assert (status, answer["status"]) == (507, 507), answer
        assert server.call("GET", "/readyz")[0] == 503
        assert server.call("POST", f"{PATH}/predict", {"x": [1, 2, 3]})[0] == 200
        assert server.call("GET", PATH)[1]["t"] == learned
        resource.prlimit(server.number, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert server.batch(f"{PATH}/learn", examples(200, start))[0] == 200
        assert server.call("GET", "/readyz")[0] == 200
        t, file = stands(server)
        assert t == learned + 200
        server.kill()
        server.start()
        assert stands(server) == (t, file)


def test_a_model_that_has_stopped_does_not_hide_that_others_are_ready(tmp_path):
    """Stores of before may hold a learner of numbers, which nobody can make any more."""
    with serving(tmp_path / "store") as server:
        made(server)
        server.batch(f"{PATH}/learn", [{"x": [1.0, 2.0], "y": y} for y in (0, 1)])
        server.kill()
        for snapshot in (tmp_path / "store" / "snapshots").iterdir():
            snapshot.unlink()
        with closing(sqlite3.connect(tmp_path / "store" / "journal.sqlite", isolation_level=None)) as store:
            for table in ("models", "learners"):
                store.execute(f"UPDATE {table} SET body = replace(body, '\"PassiveAggressive\"', '\"{OF_NUMBERS}\"')")
        server.start()
        assert server.call("PUT", "/v1/models/other", BODY)[0] == 201
        status, answer = server.call("GET", "/readyz")
        assert (status, answer["status"], list(answer["stopped"])) == (200, "ready", ["m"])
        reason = answer["stopped"]["m"]
        for call, body in (("learn", {"x": [1.0, 2.0], "y": 1}), ("predict", {"x": [1.0, 2.0]})):
            status, answer = server.call("POST", f"{PATH}/{call}", body)
            assert (status, answer["detail"]) == (503, f"the learner has stopped: {reason}")
        assert server.call("GET", PATH)[1]["journal"] == 2


def test_a_truncated_journal_ends_earlier_and_is_whole(tmp_path):
    folder = tmp_path / "store"
    with serving(folder, "--snapshot-seconds", 1000) as server:
        made(server)
        for start in range(0, 400, 20):
            server.batch(f"{PATH}/learn", examples(20, start))
        server.kill()
        wal = folder / "journal.sqlite-wal"
        with open(wal, "r+b") as file:
            file.truncate(wal.stat().st_size * 2 // 3)
        server.start()
        t, file = stands(server)
        assert 0 < t < 400
        assert t % 20 == 0
        assert file == from_scratch(folder, tmp_path)
        assert server.batch(f"{PATH}/learn", examples(20, 1000))[0] == 200


def test_a_journal_behind_its_snapshot_is_not_gone_on_with(tmp_path):
    folder = tmp_path / "store"
    with serving(folder, "--snapshot-seconds", 1000) as server:
        made(server)
        server.batch(f"{PATH}/learn", examples(50))
        assert server.stop()[0] == 0
        connection = sqlite3.connect(folder / "journal.sqlite")
        connection.execute("DELETE FROM blocks")
        connection.execute("DELETE FROM keys")
        connection.commit()
        connection.close()
        server.start(wait=False)
        assert server.wait(60) == 1
        assert "--accept-loss" in server.log()
        server.options.append("--accept-loss")
        server.start()
        assert server.call("GET", PATH)[1]["journal"] == 0


def test_a_journal_that_is_gone_is_not_gone_on_without(tmp_path):
    """Else a model of the same name would go on from a snapshot of other examples."""
    folder = tmp_path / "store"
    with serving(folder, "--snapshot-seconds", 1000) as server:
        made(server)
        server.batch(f"{PATH}/learn", examples(20))
        assert server.stop()[0] == 0
        for path in folder.glob("journal.sqlite*"):
            path.unlink()
        server.start(wait=False)
        assert server.wait(60) == 1
        assert "m-20.model" in server.log()
        server.options.append("--accept-loss")
        made(server.start())
        others = [{"x": [-value for value in each["x"]], "y": each["y"]} for each in examples(25)]
        server.batch(f"{PATH}/learn", others)
        before = stands(server)
        server.kill()
        server.start()
        assert stands(server) == before


def test_a_backup_of_a_running_service_is_a_store(tmp_path):
    """The lines of the page on operations in their order, and as much as may happen between them."""
    page = (Path(__file__).parents[2] / "docs" / "operations.md").read_text("utf-8").partition("## Backup")[2]
    lines = [line for line in page.partition("## Disk")[0].splitlines() if line.startswith("$ ")]
    folder, backup = tmp_path / "store", tmp_path / "backup"
    backup.mkdir()
    with serving(folder, "--snapshot-seconds", 1) as server:
        made(server)
        for i, line in enumerate(lines):
            server.batch(f"{PATH}/learn", examples(20, 20 * i))
            while not (folder / "snapshots" / f"m-{20 * i + 20}.model").exists():
                time.sleep(0.05)
            if "cp -r STORE/snapshots" in line:
                shutil.copytree(folder / "snapshots", backup / "snapshots")
            else:
                assert ".backup BACKUP/journal.sqlite" in line
                with (
                    closing(sqlite3.connect(folder / "journal.sqlite")) as here,
                    closing(sqlite3.connect(backup / "journal.sqlite")) as there,
                ):
                    here.backup(there)
        before = stands(server)
    with serving(backup) as server:
        assert stands(server) == before


def test_a_journal_that_cannot_be_opened_is_reported(tmp_path):
    (tmp_path / "store" / "journal.sqlite").mkdir(parents=True)
    with pytest.raises(OSError, match="cannot be opened"):
        Store(tmp_path / "store")


def test_unusable_tls_files_are_refused_as_wrong_options(tmp_path):
    path = tmp_path / "some.pem"
    path.write_text("no certificate\n")
    both = ["--tls-key", str(path), "--tls-certificate", str(path)]
    answer = CliRunner().invoke(main, ["serve", str(tmp_path / "store"), "--port", "0", *both])
    assert (answer.exit_code, "PEM" in answer.output) == (2, True)
    assert not (tmp_path / "store").exists()


def test_a_damaged_snapshot_is_passed_over(tmp_path):
    folder = tmp_path / "store"
    with serving(folder, "--snapshot-seconds", 1) as server:
        made(server)
        for start in (0, 50):
            server.batch(f"{PATH}/learn", examples(50, start))
            while not (folder / "snapshots" / f"m-{start + 50}.model").exists():
                time.sleep(0.05)
        before = stands(server)
        server.kill()
        newest = folder / "snapshots" / "m-100.model"
        content = bytearray(newest.read_bytes())
        content[-9] ^= 1
        newest.write_bytes(content)
        (folder / "snapshots" / "m-50.record").write_text("{")
        server.start()
        assert stands(server) == before
        assert "m-100.model cannot be used and is skipped" in server.log()


def test_damage_of_the_journal_is_reported_with_what_remains(tmp_path):
    folder = tmp_path / "store"
    with serving(folder, "--snapshot-seconds", 1000) as server:
        made(server)
        for start in range(0, 100, 20):
            server.batch(f"{PATH}/learn", examples(20, start))
        server.kill()
        connection = sqlite3.connect(folder / "journal.sqlite")
        x = bytearray(connection.execute("SELECT x FROM blocks WHERE first = 60").fetchone()[0])
        x[100] ^= 4
        connection.execute("UPDATE blocks SET x = ? WHERE first = 60", (bytes(x),))
        connection.commit()
        connection.close()
        server.start(wait=False)
        assert server.wait(60) == 1
        assert "The 60 examples before it are intact" in server.log()
        saved = CliRunner().invoke(main, ["replay", str(folder), "m", "--until", "60", "--rows", "-"])
        assert saved.exit_code == 0
        assert [json.loads(line) for line in saved.stdout.splitlines()] == examples(60)


@pytest.mark.slow
def test_a_clock_that_jumps_back_changes_nothing(tmp_path):
    jump = (
        "import time; real = time.time; begun = real(); "
        "time.time = lambda: real() - (90000.0 if real() - begun > 4.0 else 0.0); "
        "from ellipsoid.cli import main; main()"
    )
    program = [COMMAND[0], "-c", jump]
    with serving(tmp_path / "store", "--keep-days", 1, "--snapshot-seconds", 1, program=program) as server:
        made(server)
        until, start = time.monotonic() + 5.0, 0
        while time.monotonic() < until:
            assert server.batch(f"{PATH}/learn", examples(10, start))[0] == 200
            start += 10
            time.sleep(0.2)
        asked = {"x": [1, 2, 3], "keep": True, "id": "late"}
        assert server.call("POST", f"{PATH}/predict", asked)[0] == 200
        assert server.call("POST", f"{PATH}/labels", {"id": "late", "y": "big"})[1]["learned"] == 1
        before = stands(server)
        server.kill()
        server.start()
        assert stands(server) == before
        assert before[0] == start + 1


def test_a_caller_that_stops_in_the_middle_has_sent_nothing(tmp_path):
    with serving(tmp_path / "store", "--slow-seconds", 0.5) as server:
        made(server)
        where = urlsplit(server.url)
        head = b"POST /v1/models/m/learn HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\n"
        line = json.dumps(examples(1)[0]).encode() + b"\n"
        for stall in (False, True):
            caller = socket.create_connection((where.hostname, where.port))
            caller.sendall(head + b"content-length: 100000\r\n\r\n" + 20 * line)
            if stall:
                assert b"408" in caller.recv(100)
            else:
                # An end that is no farewell: the connection is reset.
                caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            caller.close()
        caller = socket.create_connection((where.hostname, where.port))
        caller.sendall(head)
        assert b"408" in caller.recv(100)
        caller.close()
        caller = socket.create_connection((where.hostname, where.port))
        caller.sendall(head + b"transfer-encoding: chunked\r\n\r\n%x\r\n" % len(line) + line + b"\r\nnonsense\r\n")
        assert b" 400 " in caller.recv(100)
        caller.close()
        assert server.call("GET", PATH)[1]["journal"] == 0
        assert server.batch(f"{PATH}/learn", examples(5))[0] == 200


def test_a_caller_that_sends_nothing_more_is_answered(tmp_path):
    with serving(tmp_path / "store") as server:
        made(server)
        where, line = urlsplit(server.url), json.dumps(examples(1)[0]).encode()
        for more in ("", "x-own: 1\r\n"):
            head = f"POST {PATH}/learn HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{more}"
            request = f"{head}content-length: {len(line)}\r\n\r\n".encode() + line
            caller = socket.create_connection((where.hostname, where.port), timeout=20)
            caller.sendall(request)
            caller.shutdown(socket.SHUT_WR)
            with caller, caller.makefile("rb") as answer:
                assert answer.read().startswith(b"HTTP/1.1 200 ")
        assert server.call("GET", PATH)[1]["journal"] == 2


def test_a_thousand_idle_connections_are_no_burden(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 3000:
        pytest.skip(f"this system allows {hard} open files only")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 3000), hard))
    idle = []
    try:
        with serving(tmp_path / "store") as server:
            made(server)
            where = urlsplit(server.url)
            for i in range(1000):
                idle.append(socket.create_connection((where.hostname, where.port)))
                if i % 2:
                    idle[-1].sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n")
            assert server.batch(f"{PATH}/learn", examples(20))[0] == 200
            assert server.call("POST", f"{PATH}/predict", {"x": [1, 2, 3]})[0] == 200
            code, seconds = server.stop()
            assert (code, seconds < 10.0) == (0, True)
    finally:
        for each in idle:
            each.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_stop_comes_to_its_end_and_leaves_a_snapshot(tmp_path):
    folder = tmp_path / "store"
    server = Server(folder, "--snapshot-seconds", 1000).start()
    try:
        made(server)
        connection = server.connect()
        acknowledged = 0
        for start in range(0, 200, 10):
            lines = "".join(json.dumps(line) + "\n" for line in examples(10, start)).encode()
            status, *_ = Server.ask(connection, "POST", f"{PATH}/learn", lines, "application/x-ndjson")
            acknowledged += 10 * (status == 200)
        code, seconds = server.stop()
        connection.close()
        assert (code, seconds < 10.0) == (0, True)
        assert (folder / "snapshots" / f"m-{acknowledged}.model").exists()
        server.start()
        assert stands(server)[0] == acknowledged == 200
    finally:
        server.close()


def test_a_stop_while_the_demo_gets_ready_is_no_error_and_leaves_nothing(tmp_path):
    begun = subprocess.Popen(
        [*COMMAND, "serve", "--demo", "--port", "0"], stderr=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(tmp_path), "NUMBA_DISABLE_JIT": "1"},
    )  # fmt: skip
    assert begun.stderr is not None
    assert "getting the demo ready" in begun.stderr.readline()
    deadline = time.monotonic() + 20.0
    while not list(tmp_path.glob("ellipsoid-demo-*/*")) and time.monotonic() < deadline:
        time.sleep(0.005)
    begun.send_signal(signal.SIGTERM)
    assert begun.wait(10) == 0
    begun.stderr.close()
    assert not list(tmp_path.glob("ellipsoid-demo-*"))


def test_two_services_do_not_share_a_store(tmp_path):
    with serving(tmp_path / "store") as server:
        other = Server(tmp_path / "store").start(wait=False)
        assert other.wait(60) == 1
        assert "in use" in server.log()


def test_a_taken_port_is_reported_before_anything_is_made(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        answer = CliRunner().invoke(main, ["serve", str(tmp_path / "store"), "--port", str(port)])
        assert answer.exit_code == 1
        assert f"port {port} (Address already in use): give another --port, or 0 for a free one" in answer.output
        assert not (tmp_path / "store").exists()
        assert free_port("127.0.0.1", port, another=True) == 0
    assert free_port("127.0.0.1", port, another=False) == port
