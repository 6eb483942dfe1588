"""The page where something goes wrong, in a real browser against a real server: nothing is lost, and it goes on."""

import shutil
import time
from urllib.parse import urlsplit

import pytest

from ellipsoid.service.http.tokens import add_token

from .browser import visiting
from .conftest import examples, serving, with_questions

pytestmark = pytest.mark.browser
# What a browser says of a request that fails.
FAILED = ("Failed to load resource", "net::ERR")


def hasten(page):
    """Let no label be held back for four seconds, and nothing be tried again after one."""
    page.evaluate("() => { const wait = setTimeout; window.setTimeout = (f, ms) => wait(f, ms % 1000 ? ms : 40); }")


def type_label(visitor, name, text):
    """Answer the question of a model that is shown by what is typed."""
    page = visitor.go(f"questions/{name}")
    page.wait_for_selector(".choice")
    page.wait_for_selector(".numbers")
    hasten(page)
    page.fill("input[type=search]", text)
    page.keyboard.press("Enter")
    return page


def learned(server, path, t):
    deadline = time.monotonic() + 30
    while server.call("GET", path)[1]["t"] < t:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_view_that_was_opened_while_the_service_was_away_heals(browser, quiet):
    path = with_questions(quiet, "away", 2)
    with visiting(browser, quiet, forgiven=FAILED) as visitor:
        page = visitor.go()
        page.evaluate("() => { const every = setInterval; window.setInterval = (f) => every(f, 50); }")
        for view, call, shown in (("model", f"{path}/history", ".confusion"), ("questions", path, ".choice")):
            page.route(f"**{call}", lambda route: route.abort())
            visitor.go(f"{view}/away")
            visitor.until("() => document.querySelector('.trouble')?.innerText.includes('cannot be reached')")
            page.unroute(f"**{call}")
            page.wait_for_selector(shown)
            visitor.until("() => document.querySelector('.trouble').innerText === ''")


def test_a_label_that_is_typed_is_the_one_that_is_meant(browser, quiet):
    path = with_questions(quiet, "typed", 1, labels=("champ", "ham"))
    with visiting(browser, quiet) as visitor:
        type_label(visitor, "typed", "ham")
        learned(quiet, path, 31)
    confusion = quiet.call("GET", f"{path}/portrait")[1]["confusion"]
    before = sum(each["y"] == "small" for each in examples(30))
    assert sum(each["count"] for each in confusion if each["label"] == "ham") == before + 1


def test_questions_go_on_after_many_were_skipped(browser, quiet):
    with_questions(quiet, "skipped", 58)
    with visiting(browser, quiet) as visitor:
        page = visitor.go("questions/skipped")
        for _ in range(60):
            page.wait_for_selector(".numbers")
            page.keyboard.press("s")
        page.wait_for_selector(".numbers")


def test_an_answer_that_is_refused_leaves_its_question(browser, quiet):
    path = with_questions(quiet, "closed", 1, classes=["big", "small"])
    with visiting(browser, quiet, forgiven=FAILED) as visitor:
        page = type_label(visitor, "closed", "huge")
        visitor.until("() => document.querySelector('.trouble').innerText.includes('is not among the classes')")
        page.wait_for_selector(".numbers")
        page.keyboard.press("1")
        learned(quiet, path, 31)


def test_an_answer_is_not_lost_by_leaving_the_view(browser, quiet):
    path = with_questions(quiet, "left", 1)
    with visiting(browser, quiet, forgiven=FAILED) as visitor:
        page = visitor.go("questions/left")
        page.wait_for_selector(".choice")
        page.wait_for_selector(".numbers")
        hasten(page)
        failed = []
        page.route("**/labels", lambda route: (failed.append(1), route.abort()))
        page.keyboard.press("1")
        page.keyboard.press("o")
        page.wait_for_selector(".cards")
        while not failed:
            page.wait_for_timeout(5)
        page.unroute("**/labels")
        learned(quiet, path, 31)


def test_a_text_that_no_header_takes_is_no_token(browser, tmp_path):
    token = add_token(tmp_path / "tokens", "ann", "read")
    with (
        serving(tmp_path / "store", "--tokens", tmp_path / "tokens") as server,
        visiting(browser, server, forgiven=("401",)) as visitor,
    ):
        visitor.page.goto(server.url)
        for text in ("ann.kJ2…", token):
            visitor.page.wait_for_selector("#token[open]")
            visitor.page.fill("#token-text", text)
            visitor.page.keyboard.press("Enter")
        visitor.until("() => document.getElementById('connection').dataset.state === 'live'")


def test_models_that_are_gone_and_come_again_are_shown(browser, tmp_path):
    with serving(tmp_path / "store") as server:
        server.call("PUT", "/v1/models/m", {"learner": "PassiveAggressive"})
        server.options += ["--port", str(urlsplit(server.url).port)]
        with visiting(browser, server, forgiven=FAILED) as visitor:
            visitor.go()
            visitor.page.wait_for_selector('[data-model="m"]')
            server.kill()
            shutil.rmtree(tmp_path / "store")
            server.start()
            visitor.page.wait_for_selector(".empty")
            server.call("PUT", "/v1/models/m", {"learner": "PassiveAggressive"})
            visitor.page.wait_for_selector('[data-model="m"]')


def test_long_names_and_labels_fit_a_phone(browser, quiet):
    name = "n" * 64
    path = with_questions(quiet, name, 1, labels=("a label that is " + "rather long " * 4, "x"))
    assert quiet.call("PUT", f"{path}/challengers/{'c' * 64}", {"learner": "Perceptron"})[0] == 201
    with visiting(browser, quiet, width=390) as visitor:
        for view, shown in (("", ".rivals button"), (f"model/{name}", ".confusion"), (f"questions/{name}", ".choice")):
            page = visitor.go(view)
            page.wait_for_selector(shown)
            assert page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0, view
        assert page.locator(".choice").first.bounding_box()["height"] < 150


def test_a_model_that_is_not_there_can_be_read_about(browser, quiet):
    with visiting(browser, quiet, forgiven=FAILED) as visitor:
        visitor.go("model/nobody")
        visitor.until("() => document.querySelector('.trouble').innerText.includes('no model')")
        assert visitor.violations() == []
