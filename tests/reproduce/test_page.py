"""The page of all reproductions and the committed results that it is made from."""

from pathlib import Path

from ellipsoid.reproduce.overview import page_text

ROOT = Path(__file__).parents[2]
RUNS = ROOT / "reproductions"


def test_the_page_is_what_the_committed_results_say():
    page = (ROOT / "docs" / "reproductions.md").read_text(encoding="utf-8")
    assert page == page_text(RUNS), (
        "write it again: ellipsoid reproduce --output reproductions --page docs/reproductions.md"
    )
