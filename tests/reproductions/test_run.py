"""Runs of entries: nothing dropped silently, nothing computed twice, the same bytes after a kill."""

import json
import re
import runpy
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from reproductions import reproduce
from reproductions.render import write
from reproductions.results import Results

from ellipsoid.evaluate import cell

pytest.importorskip("matplotlib")

TINY_FILE = Path(__file__).with_name("tiny.py")
TINY = runpy.run_path(str(TINY_FILE))["TINY"]
SAME = ("results.json", "report.md", "report.html", "figure.png", "figure.svg")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    write(TINY, reproduce(TINY, folder), folder)
    return folder


def test_a_killed_run_goes_on_to_the_same_bytes(whole, tmp_path, monkeypatch):
    command = [sys.executable, str(TINY_FILE), str(tmp_path), "3"]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    kept = {path.name for path in (tmp_path / "cells").iterdir() if path.suffix == ".json"}
    assert 0 < len(kept) < 6
    assert not (tmp_path / "results.json").exists()
    computed = []
    run = cell.run_cell
    # By the module, because the package gives its name to the function.
    monkeypatch.setattr(
        sys.modules["ellipsoid.evaluate.compare"], "run_cell", lambda *given: computed.append(given) or run(*given)
    )
    write(TINY, reproduce(TINY, tmp_path), tmp_path)
    assert len(computed) == 6 - len(kept)
    for name in SAME:
        assert (tmp_path / name).read_bytes() == (whole / name).read_bytes(), name


def test_processes_give_the_same_bytes(whole, tmp_path):
    reproduce(TINY, tmp_path, n_jobs=2)
    assert (tmp_path / "results.json").read_bytes() == (whole / "results.json").read_bytes()


def test_every_seed_is_in_the_results_and_times_are_not(whole):
    results = Results.read(whole)
    assert results.experiments == ("digits", "scaled digits")
    assert len(results.values("digits", "MIRA", "test_errors")) == 2
    first, last = (results.values("digits", "MIRA", "updates", after) for after in (1, 2))
    assert all(a <= b for a, b in zip(first, last, strict=True))
    assert "seconds" not in (whole / "results.json").read_text("utf-8")
    times = json.loads((whole / "times.json").read_text("utf-8"))
    assert times["seconds"] == pytest.approx(sum(each["seconds"] for each in times["cells"]))
    assert len(times["cells"]) == 6


@pytest.mark.parametrize("name", ["report.md", "report.html"])
def test_sets_that_were_not_run_are_named(whole, name):
    text = (whole / name).read_text("utf-8")
    assert "Not run: splice (its split is not published)." in text
    assert re.search(r"Not run: nowhere \(no data set .*no-such-set", text)
    assert "quick" not in text


def test_a_quick_run_says_so_and_is_smaller(tmp_path):
    results = reproduce(TINY, tmp_path, quick=True)
    write(TINY, results, tmp_path)
    assert results.setting("digits")["rows"] == 100
    assert results.setting("digits")["test_rows"] == 50
    assert len(results.values("digits", "MIRA", "updates")) == 1
    for name in ("report.md", "report.html"):
        text = (tmp_path / name).read_text("utf-8")
        assert "A quick run on a subsample of at most 100 rows" in text
        assert "Not run: scaled digits (left to the full run" in text
    assert "scaled digits" not in results.experiments


def test_the_page_needs_nothing_else(whole):
    text = (whole / "report.html").read_text("utf-8")
    assert "<svg" in text
    assert "&lt;Digits&gt;" in text
    assert not re.search(r'(src|href)="(?!#)', text)


def test_nothing_at_hand_is_an_error_with_the_reasons(tmp_path):
    gone = runpy.run_path(str(TINY_FILE))
    only = gone["experiments"]()[1:2]
    entry = gone["TINY"].__class__("gone", "t", "p", lambda: only, gone["report"])
    with pytest.raises(ValueError, match="none of the data sets of gone is at hand: nowhere: no data set"):
        reproduce(entry, tmp_path)
