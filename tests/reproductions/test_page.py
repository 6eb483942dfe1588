"""The page of all reproductions and the committed results that it is made from."""

from pathlib import Path

import pytest
from reproductions import ENTRIES
from reproductions.overview import PICTURES, page_text
from reproductions.results import Results

ROOT = Path(__file__).parents[2]
RUNS = ROOT / "reproductions"


def test_the_page_is_what_the_committed_results_say():
    page = (ROOT / "docs" / "reproductions.md").read_text(encoding="utf-8")
    assert page == page_text(RUNS), (
        "write it again: ellipsoid reproduce --output reproductions --page docs/reproductions.md"
    )


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_entry_was_run_as_it_is_described(entry):
    results = Results.read(RUNS / entry.name)
    assert not results.quick
    expected = {experiment.label: experiment for experiment in entry.experiments()}
    assert set(results.experiments) == set(expected)
    for label, experiment in expected.items():
        assert results.learners(label) == tuple(experiment.learners)
        for learner in experiment.learners:
            assert len(results.values(label, learner, "test_errors" if not experiment.curves else "updates")) == len(
                experiment.protocol.seeds
            )
    assert (ROOT / "docs" / PICTURES / f"{entry.name}.png").is_file()
