"""The entries themselves: described without error, and able to run on the command line."""

import math
import warnings

import pytest
from click.testing import CliRunner
from reproductions import ENTRIES, named
from reproductions.machines import machine
from reproductions.overview import page_text, write_page
from reproductions.render import markdown, verdict_lines

from ellipsoid.cli import main


def run(*arguments, code=0):
    result = CliRunner().invoke(main, ["reproduce", *map(str, arguments)])
    assert result.exit_code == code, result.output + repr(result.exception)
    return result


def test_the_list_names_every_entry():
    text = run("--list").stdout
    assert [entry.name for entry in ENTRIES if entry.name not in text] == []


def test_names_are_unique():
    assert len({entry.name for entry in ENTRIES}) == len(ENTRIES)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_learners_can_be_made(entry):
    experiments = entry.experiments()
    assert len({experiment.label for experiment in experiments}) == len(experiments)
    for experiment in experiments:
        for spec in experiment.learners.values():
            machine(spec)


def random_results(entry):
    """Results of the right shape whose every value is told by its place, for reports without hours of work."""
    from reproductions.records import CURVES
    from reproductions.results import Results

    def numbers(experiment, place, seed):
        passes = range(experiment.protocol.passes)
        errors = [0.1 + 0.01 * ((7 * place + 3 * seed + k) % 11) for k in passes]
        counts = [(100 + place + seed) * (k + 1) for k in passes]
        found = dict.fromkeys(("test_errors", "online_errors"), errors)
        found |= dict.fromkeys(("updates", "mistakes", "support"), counts)
        found["weights"] = [1.0 + place, 2.0 + seed]
        if experiment.curves:
            found["curves"] = {name: [1.0 + place, 2.0 + place] for name in CURVES} | {
                "mistake_bound": [None, 3.0 + place]
            }
        return found

    experiments = []
    for experiment in entry.experiments():
        cells = [
            {"learner": label, "seed": seed, **numbers(experiment, place, number)}
            for place, label in enumerate(experiment.learners)
            for number, seed in enumerate(experiment.protocol.seeds)
        ]
        setting = {"rows": 1000, "test_rows": 100, "classes": 10, "features": 2, "at_once": experiment.protocol.at_once}
        experiments.append({"label": experiment.label, "setting": setting, "learners": {}, "cells": cells})
    record = {
        "entry": entry.name,
        "quick": False,
        "versions": {"python": "3"},
        "not_run": [],
        "experiments": experiments,
    }
    times = [
        {
            "experiment": experiment["label"],
            "learner": cell["learner"],
            "seed": cell["seed"],
            "seconds": 0.5,
            "learning": 0.25,
        }
        for experiment in experiments
        for cell in experiment["cells"]
    ]
    return Results(record, times)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_a_report_has_a_verdict_and_even_tables(entry):
    report = entry.report(random_results(entry))
    assert report.verdicts
    assert report.choices
    for table in report.tables:
        assert table.lines
        assert {len(line) for line in table.lines} == {len(table.titles)}
    for panel in report.panels:
        for curve in panel.curves:
            assert len(curve.x) == len(curve.y)
            assert all(math.isfinite(y) for y in curve.y)


def test_the_page_of_all_runs_is_made_from_their_results(tmp_path):
    pytest.importorskip("matplotlib")
    entry = named("momma2010-table2")
    folder = tmp_path / "runs" / entry.name
    folder.mkdir(parents=True)
    results = random_results(entry)
    results.write(folder)
    assert write_page(tmp_path / "runs", tmp_path / "page.md") == [entry.name]
    text = (tmp_path / "page.md").read_text("utf-8")
    assert "## momma2010-table2" in text
    assert f"| {len(results.times)} | {0.5 * len(results.times):,.0f} |" in text
    assert entry.report(results).verdicts[0] in text
    assert (tmp_path / "_static" / "reproductions" / "momma2010-table2.png").is_file()


def test_a_quick_run_gives_no_verdict():
    entry = named("yang2009-fig2")
    results = random_results(entry)
    report = entry.report(results)
    assert verdict_lines(results, report) == list(report.verdicts)
    assert "## Verdict\n" in markdown(entry, results, report, "figure.png")
    results.record["quick"] = True
    assert verdict_lines(results, report) == []
    assert not any("Verdict" in line for line in markdown(entry, results, report, "figure.png"))


def test_cells_that_entries_share_are_counted_once(tmp_path):
    names = ("crammer2003-table4", "crammer2003-figures")
    shared = {}
    for name in names:
        results = random_results(named(name))
        for number, time in enumerate(results.times):
            place = (time["experiment"], time["learner"], time["seed"])
            time["seconds"] = shared.setdefault(place, 1.0 + number)
        (tmp_path / name).mkdir()
        results.write(tmp_path / name)
    assert f"| {len(shared)} | {sum(shared.values()):,.0f} |" in page_text(tmp_path)


def test_a_page_says_how_its_run_was_made(tmp_path):
    (tmp_path / "yang2009-fig2").mkdir()
    random_results(named("yang2009-fig2")).write(tmp_path / "yang2009-fig2")
    assert "abacus" not in page_text(tmp_path)
    (tmp_path / "about.md").write_text("Computed on an abacus.\n", encoding="utf-8")
    assert "\n\nComputed on an abacus.\n\n" in page_text(tmp_path)


def test_a_page_without_full_runs_is_refused(tmp_path):
    assert "holds no reproduction" in run("--page", tmp_path / "page.md", "--output", tmp_path, code=1).stderr


def test_an_interruption_says_how_to_go_on(monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("reproductions.run.reproduce", interrupted)
    result = run("yang2009-fig2", "--output", tmp_path, code=130)
    assert f"finished cells are kept in {tmp_path / 'cells'}, the same command goes on" in result.stderr
    assert "Aborted" not in result.stderr


@pytest.mark.filterwarnings("always")
def test_warnings_are_printed_once_and_without_code(monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    entry = named("momma2010-table2")

    def warning(*_, **__):
        for _ in range(2):
            warnings.warn("reduce nu", stacklevel=1)
        return random_results(entry)

    monkeypatch.setattr("reproductions.run.reproduce", warning)
    (tmp_path / entry.name).mkdir()
    assert run(entry.name, "--output", tmp_path).stderr == "Warning: reduce nu\n"


def test_an_unknown_name_is_refused():
    assert "no reproduction 'yang2010'; there are crammer2003-table2" in run("yang2010", code=1).stderr
    assert "--list" in run(code=2).stderr
