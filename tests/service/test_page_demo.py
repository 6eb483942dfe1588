"""``ellipsoid serve --demo`` in a browser: alive within seconds, well laid out, and readable by everybody.

With ELLIPSOID_PICTURES=docs/_static/page the pictures of the documentation are taken.
"""

import os
import re
from pathlib import Path

import pytest

from .browser import visiting
from .conftest import Server

pytestmark = pytest.mark.browser
PICTURES = os.environ.get("ELLIPSOID_PICTURES")
# The documentation shows a model that has come a little further.
EXAMPLES = 400 if PICTURES else 60
# What must be there before a view is looked at.
VIEWS = {
    "": ".card canvas",
    "model/digits": ".shadow canvas[aria-label], .confusion .right",
    "questions/digits": ".stage canvas",
    "try/digits": ".verdict .number",
}


@pytest.fixture(scope="module")
def demo(browser, tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("demo") / "store", compiled=True)
    server.place = ["--demo"]
    try:
        yield server.start()
        assert server.stop()[0] == 0
    finally:
        server.close()


def half_length(visitor):
    answer = visitor.page.locator(".shadow canvas").get_attribute("aria-label")
    return float(re.search(r"Half-lengths ([\d.e-]+)", answer)[1])


def test_an_ellipsoid_shrinks_and_there_is_a_question(browser, demo):
    with visiting(browser, demo) as visitor:
        visitor.go("model/digits")
        visitor.page.wait_for_selector(".shadow canvas[aria-label]")
        first = half_length(visitor)
        visitor.until(
            "(first) => Number(/Half-lengths ([0-9.e-]+)/.exec("
            "document.querySelector('.shadow canvas').getAttribute('aria-label'))[1]) < first",
            first,
        )
        visitor.page.keyboard.press("q")
        visitor.page.wait_for_selector(".stage canvas.picture")
        visitor.page.wait_for_selector(".choice")
        assert visitor.page.locator(".choice").all_inner_texts() == list("01234")


@pytest.mark.parametrize(("width", "scheme"), [(1300, "light"), (1300, "dark"), (400, "light"), (400, "dark")])
def test_every_view_fits_and_can_be_read(browser, demo, width, scheme):
    with visiting(browser, demo, width=width, scheme=scheme) as visitor:
        for view, there in VIEWS.items():
            page = visitor.go(view)
            for selector in there.split(", "):
                page.wait_for_selector(selector)
            if view.startswith("model"):
                visitor.page.set_default_timeout(60_000)
                while int(re.sub(r"\D", "", visitor.text(".tally").partition(" ")[0])) < EXAMPLES:
                    page.wait_for_timeout(200)
            assert page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0
            # Contrast and names do not depend on the width.
            if (width, scheme) in ((1300, "light"), (400, "dark")):
                assert visitor.violations() == []
                if PICTURES and (width == 1300 or view.startswith("model")):
                    name = f"{view.partition('/')[0] or 'overview'}-{width}.png"
                    page.screenshot(path=Path(PICTURES) / name, full_page=True)
