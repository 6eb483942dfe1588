"""The five-minute tour of the documentation, run as it stands."""

import doctest
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "service.md"


def shown_commands():
    """The commands of the tour, each with the output that the page shows."""
    text = PAGE.read_text("utf-8")
    tour = text[text.index("<!-- tour -->") : text.index("<!-- end of tour -->")]
    commands = []
    for block in re.findall(r"```console\n(.*?)```", tour, flags=re.S):
        for line in block.splitlines():
            if line.startswith("$ "):
                commands.append([line[2:], ""])
            else:
                commands[-1][1] += line + "\n"
    return commands


@pytest.mark.skipif(shutil.which("curl") is None, reason="the tour calls the service by curl, which is not installed")
def test_the_tour_shows_what_the_page_shows(tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    program = tmp_path / "bin" / "ellipsoid"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "from ellipsoid.cli import main; main()" "$@"\n')
    program.chmod(0o755)
    # A call that is never answered, and a server that never becomes ready, must fail the test instead of blocking it.
    (tmp_path / ".curlrc").write_text("max-time = 30\n")
    script = ["set -m", "trap 'kill -9 $(jobs -p) 2>&-' EXIT"]
    for number, (command, _) in enumerate(shown_commands()):
        command = command.replace("until curl", "for i in $(seq 300); do curl").replace(
            "; do sleep 0.2", " && break; sleep 0.2"
        )
        command = command.replace("localhost:8000", f"localhost:{port}")
        command = command.replace("ellipsoid serve shop", f"ellipsoid serve shop --port {port} >>server.log 2>&1")
        script += [f"echo '<{number}>'", command]
    path = f"{program.parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "NUMBA_DISABLE_JIT": "1", "no_proxy": "localhost", "HOME": str(tmp_path)}
    process = subprocess.Popen(
        ["bash", "-c", "\n".join(script)],
        cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        out, _ = process.communicate(timeout=240)
    finally:
        process.stdout.close()
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    found = re.split(r"<\d+>\n", out.decode())[1:]
    checker = doctest.OutputChecker()
    for (command, expected), got in zip(shown_commands(), found, strict=True):
        assert checker.check_output(expected, got, doctest.ELLIPSIS), f"$ {command}\n{got}instead of\n{expected}"
    assert len(shown_commands()) > 15


def test_every_promise_names_tests_that_exist():
    text = PAGE.with_name("service-promises.md").read_text("utf-8")
    named = set(re.findall(r"`(tests/[^`]+)`", text))
    assert len(named) >= 6
    assert [name for name in sorted(named) if not (PAGE.parents[1] / name).is_file()] == []
    promises = re.split(r"^## ", text, flags=re.M)[1:]
    assert [promise.splitlines()[0] for promise in promises if "*Tests.*" not in promise] == []
