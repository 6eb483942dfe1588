import itertools
import json
import math

import pytest
from benchmarks import harness, report

FEW = harness.Effort(repeats=4, seconds=0.0, least=2)


def contender(name, calls, error=None, target=None, unavailable=""):
    def job(state):
        calls.append((name, state))
        return name

    return harness.Contender(name, lambda: f"{name}'s state", job, "a call", error, target, unavailable)


def case(calls, peers, **more):
    return harness.Case("toy", "a toy", 10, contender("ours", calls, error=len), peers, **more)


def test_ours_runs_before_every_run_of_a_peer_and_errors_are_judged_once():
    calls, judged = [], []
    peers = [contender(name, calls, error=lambda out: judged.append(out) or 0.5) for name in ("a", "b")]
    found = harness.compare(case(calls, peers), FEW)
    assert judged == ["a", "b"]
    assert [p["error"] for p in found["peers"]] == [0.5, 0.5]
    assert all(state == f"{name}'s state" for name, state in calls)
    # Three untimed first runs; then each short job runs twice in a row, ours and a peer in turn.
    order = [name for name, _ in calls[3:]]
    assert order[:8] == ["ours", "ours", "a", "a", "ours", "ours", "b", "b"]
    # No seconds are granted, so that the least number of repeats is made.
    assert [p["repeats"] for p in found["peers"]] == [2, 2]
    assert found["ours"]["repeats"] == 4


class FakeTime:
    """A clock that moves only when a job says so."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        return self.now

    process_time = perf_counter

    def job(self, *seconds):
        lengths = itertools.cycle(seconds)

        def work(_):
            self.now += next(lengths)

        return work


def test_ratio_is_their_median_over_ours_and_the_spread_is_that_of_the_pairs(monkeypatch):
    clock = FakeTime()
    monkeypatch.setattr(harness, "time", clock)
    # The first run of each is not timed; none is short, so that no run is made twice.
    ours = harness.Contender("ours", lambda: None, clock.job(9.0, 1.0, 2.0, 1.0), "")
    peer = harness.Contender("peer", lambda: None, clock.job(9.0, 4.0, 6.0, 5.0), "", target=harness.Target(5))
    case = harness.Case("toy", "a toy", 1, ours, [peer], limit=lambda: clock.job(0.5)(None))
    found = harness.compare(case, harness.Effort(3, math.inf, 3))
    (line,) = found["peers"]
    assert (line["ratio"], line["ratio_low"], line["ratio_high"]) == (5.0, 3.0, 5.0)
    assert line["met"]
    assert line["wall_min"] == 4.0
    assert found["limit"]["distance"] == 2.0


def test_setting_up_is_not_counted(monkeypatch):
    clock = FakeTime()
    monkeypatch.setattr(harness, "time", clock)
    found = harness.timed(harness.Contender("slow start", lambda: clock.job(100.0)(None), clock.job(1.0), ""), 2)
    assert found.wall == [1.0, 1.0]


def test_a_peer_that_is_not_installed_is_named():
    calls = []
    found = harness.compare(case(calls, [contender("gone", calls, unavailable="gone is not installed")]), FEW)
    assert [name for name, _ in calls if name == "gone"] == []
    assert found["ours"]["repeats"] == FEW.repeats
    assert "gone is not installed" in report.line(found)
    assert report.ratios([found])[0][2] == "gone is not installed"


def test_missing_data_is_named():
    def build():
        raise ValueError("no data set\n 'letter'")

    found = harness.attempt("pa-letter", build, FEW)
    assert found == {"case": "pa-letter", "skipped": "no data set 'letter'"}
    assert "no data set 'letter'" in report.line(found)


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_exponent_of_a_power_is_the_power(power):
    sizes = [3, 10, 70, 900]
    assert math.isclose(harness.exponent(sizes, [7 * s**power for s in sizes]), power)


@pytest.mark.parametrize(
    ("target", "met"), [(harness.Target(2), [False, True, True]), (harness.Target(2, False), [True, True, False])]
)
def test_target_knows_its_side(target, met):
    assert [target.met(value) for value in (1.9, 2.0, 2.1)] == met


def test_page_holds_every_result_and_names_what_was_missed(tmp_path):
    calls = []
    compared = harness.compare(case(calls, [contender("a", calls, target=harness.Target(math.inf))]), FEW)
    results = [
        compared,
        harness.figure("help", "a new process", 0.25, "s", harness.Target(0.2, False), bare=[0.01, 0.02]),
    ]
    machine = {"date": "2000-01-01", "processor": "abacus", "cores": 1, "load": 0, "system": "", "python": "3"}
    document = {"group": "toys", "machine": {**machine, "versions": {"numpy": None}}, "results": results}
    (tmp_path / "toys.json").write_text(json.dumps(document))
    page = report.write_page(tmp_path).read_text()
    assert page.count("| NO |") == 2
    for text in ("toy", "250 ms", "<= 0.2", "abacus", "numpy absent", "a: a call", "bare 0.01 0.02"):
        assert text in page
