"""A real Chromium for the tests of the page, and what it noted: requests, errors, what the console said."""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

AXE = Path(__file__).parent / "vendor" / "axe.min.js"
# Milliseconds: a machine may have much else to do.
WAIT = 60_000
# The windows of a browser that nobody uses: to open one takes longer than to load the page into one that is open.
IDLE = {}
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-precise-memory-info",
]


def program():
    """Where the browser is, None if there is none."""
    names = (os.environ.get("ELLIPSOID_BROWSER"), "chromium", "chromium-browser", "google-chrome")
    return next((found for name in names if name and (found := shutil.which(name))), None)


@contextmanager
def started():
    """A browser without a past; skips where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if program() is None:
        pytest.skip("no Chromium is installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program(), headless=True, args=FLAGS)
        IDLE[browser] = []
        try:
            yield browser
        finally:
            del IDLE[browser]
            browser.close()


class Visitor:
    """Somebody with a browser of their own, who looks at a server; ``noted`` is what went wrong in the browser."""

    def __init__(self, browser):
        self.context = browser.new_context(accept_downloads=True)
        self.context.set_default_timeout(WAIT)
        self.page = self.context.new_page()
        self.requested, self.noted = [], []
        self.page.on("request", lambda request: self.requested.append(request.url))
        self.page.on("pageerror", lambda error: self.noted.append(str(error)))
        self.page.on("console", self._console)

    def enter(self, server, width, scheme):
        self.server = server
        self.page.set_viewport_size({"width": width, "height": 900 if width > 600 else 800})
        self.page.emulate_media(color_scheme=scheme)
        self.requested.clear()
        self.noted.clear()

    def leave(self):
        """Let nothing be left of the visit but the files of the page, which the browser keeps."""
        self.page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
        self.page.goto("about:blank")

    def _console(self, message):
        if message.type in ("error", "warning"):
            self.noted.append(message.text)

    def go(self, view=""):
        self.page.goto(f"{self.server.url}/#/{view}")
        self.page.wait_for_selector("#view h1")
        return self.page

    def text(self, selector):
        return self.page.locator(selector).first.inner_text()

    def until(self, expression, argument=None):
        """Wait until an expression of the page is true."""
        return self.page.wait_for_function(expression, arg=argument, timeout=WAIT).json_value()

    def strangers(self):
        """Requests to anywhere else."""
        here = urlsplit(self.server.url).netloc
        return [url for url in self.requested if not url.startswith("blob:") and urlsplit(url).netloc != here]

    def violations(self):
        """What axe finds that is serious."""
        # The page allows no script but its own; a test may bring one past that, as an extension does.
        self.page.evaluate(AXE.read_text("utf-8"))
        found = self.page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
        return [
            (each["id"], each["help"], [node["html"][:200] for node in each["nodes"]])
            for each in found["violations"]
            if each["impact"] in ("serious", "critical")
        ]

    def close(self):
        self.context.close()


@contextmanager
def visiting(browser, server, *, forgiven=(), width=1300, scheme="light"):
    """A visitor whose browser must have nothing to complain of, and must have gone nowhere else."""
    visitor = IDLE[browser].pop() if IDLE[browser] else Visitor(browser)
    try:
        visitor.enter(server, width, scheme)
        yield visitor
        assert visitor.strangers() == []
        assert [each for each in visitor.noted if not any(words in each for words in forgiven)] == []
        visitor.leave()
    except BaseException:
        visitor.close()
        raise
    IDLE[browser].append(visitor)
