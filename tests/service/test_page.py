"""The page, driven in a real browser against a real server: what a person sees and does."""

import math
import re
import time
from contextlib import closing
from itertools import pairwise
from urllib.parse import urlsplit

import pytest

from ellipsoid.service.http.tokens import add_token

from .browser import visiting
from .conftest import Server, examples, serving, with_questions

pytestmark = pytest.mark.browser
EVIL = '<img src=x onerror="window.hurt=1">'


def test_an_empty_service_shows_how_to_fill_it(browser, tmp_path):
    with serving(tmp_path / "store") as server, visiting(browser, server) as visitor:
        visitor.go()
        visitor.page.wait_for_selector(".empty pre")
        assert visitor.page.locator(".empty pre").count() == 3
        server.call("PUT", "/v1/models/first", {"learner": "PassiveAggressive"})
        visitor.page.wait_for_selector('[data-model="first"]')
        assert visitor.page.locator(".empty").count() == 0
        assert visitor.violations() == []


def test_a_curve_grows_while_examples_come(browser, quiet):
    quiet.call("PUT", "/v1/models/grows", {"learner": "PassiveAggressive"})
    quiet.batch("/v1/models/grows/learn", examples(20))
    with visiting(browser, quiet) as visitor:
        visitor.go()
        card = '[data-model="grows"]'
        visitor.until("(card) => /after 20,/.test(document.querySelector(card)?.textContent)", card)
        before = visitor.page.locator(f"{card} canvas").screenshot()
        quiet.batch("/v1/models/grows/learn", examples(400, 20))
        visitor.until("(card) => /after 420,/.test(document.querySelector(card).textContent)", card)
        assert visitor.page.locator(f"{card} canvas").screenshot() != before
        assert visitor.page.locator("#connection").inner_text() == "live"


def test_a_key_press_is_a_label_and_can_be_taken_back(browser, quiet):
    path = with_questions(quiet, "keys", 4)
    with visiting(browser, quiet) as visitor:
        page = visitor.go("questions/keys")
        page.wait_for_selector(".choice")
        assert page.locator(".choice").all_inner_texts() == ["1\nbig", "2\nsmall"]
        first = visitor.text(".numbers")
        page.keyboard.press("1")
        visitor.until("(was) => document.querySelector('.numbers').innerText !== was", first)
        page.keyboard.press("u")
        visitor.until("(was) => document.querySelector('.numbers').innerText === was", first)
        page.keyboard.press("s")
        visitor.until("(was) => document.querySelector('.numbers').innerText !== was", first)
        assert quiet.call("GET", path)[1]["t"] == 30
        # A label is held back for four seconds, which nobody need sit through once taking back has been tried.
        page.evaluate(
            "() => { const wait = setTimeout; window.setTimeout = (f, ms) => wait(f, ms === 4000 ? 40 : ms); }"
        )
        page.keyboard.press("2")
        visitor.until("() => document.querySelector('.learned').innerText === '31'")
        # What was taken back, and what was skipped, was not learned.
        answer = quiet.call("GET", path)[1]
        assert (answer["t"], answer["kept"]) == (31, 3)


def test_two_browsers_never_get_the_same_question(browser, quiet):
    path = with_questions(quiet, "two", 12)
    shown = []
    with visiting(browser, quiet) as ann, visiting(browser, quiet) as bob:
        for visitor in (ann, bob):
            visitor.go("questions/two")
            visitor.page.wait_for_selector(".choice")
            visitor.page.wait_for_selector(".numbers")
        for _ in range(3):
            for visitor in (ann, bob):
                shown.append(seen := visitor.text(".numbers"))
                visitor.page.keyboard.press("1")
                visitor.until("(was) => document.querySelector('.numbers')?.innerText !== was", seen)
    assert len(set(shown)) == 6
    deadline = time.monotonic() + 60
    # Whoever leaves sends what was held back.
    while quiet.call("GET", path)[1]["t"] < 36:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_proofs_of_change_are_marked(browser, quiet):
    """A truth that turns round twice is refuted after each turn: that is drawn across the chart, and said."""
    path = "/v1/models/turns"
    params = {"margin": 0.3, "cut": "minvol", "on_infeasible": "restart"}
    quiet.call("PUT", path, {"learner": "CELLIP", "params": params, "classes": [0, 1]})
    points = [(math.cos(2.4 * t), math.sin(2.4 * t)) for t in range(300)]
    clear = [x for x in points if abs(x[0]) > 0.4]
    lines = [{"x": x, "y": int((x[0] > 0) != (t // 60 == 1))} for t, x in enumerate(clear)]
    # The browser says that a picture is read often, which only this test does.
    with visiting(browser, quiet, forgiven=("willReadFrequently",)) as visitor:
        visitor.go("model/turns")
        # Both turns come before the first point of the curves.
        for begin, end in pairwise([0, 160, 180, len(lines)]):
            assert quiet.batch(f"{path}/learn", lines[begin:end])[0] == 200
            visitor.until("(t) => document.querySelector('.tally').innerText.startsWith(t)", f"{end} ")
        first, second = quiet.call("GET", f"{path}/portrait")[1]["changes"]
        assert 60 < first <= 120 < second
        visitor.until(
            "(said) => document.querySelector('.chart .unseen')?.innerText.includes(said)", f"{first}, {second}"
        )
        # Columns of the picture that hold the colour of alarms stand in two places.
        visitor.until(
            """() => {
                const canvas = document.querySelector('.heart .chart canvas');
                const { data, width } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
                const columns = new Set();
                for (let i = 0; i < data.length; i += 4)
                    if (data[i] > 150 && data[i + 1] < 140 && data[i + 2] < 140 && data[i + 3] > 100)
                        columns.add((i / 4) % width);
                const red = [...columns].sort((a, b) => a - b);
                return red.filter((column, i) => column - red[i - 1] > 2).length === 1;
            }"""
        )


def test_a_lost_connection_shows_and_heals(browser, tmp_path):
    with serving(tmp_path / "store") as server:
        server.call("PUT", "/v1/models/m", {"learner": "PassiveAggressive"})
        server.batch("/v1/models/m/learn", examples(10))
        with visiting(browser, server, forgiven=("Failed to load resource", "net::ERR")) as visitor:
            visitor.go()
            visitor.until("() => document.getElementById('connection').dataset.state === 'live'")
            server.options += ["--port", str(urlsplit(server.url).port)]
            server.kill()
            visitor.until("() => document.getElementById('connection').innerText.includes('lost')")
            server.start()
            visitor.until("() => document.getElementById('connection').dataset.state === 'live'")
            server.batch("/v1/models/m/learn", examples(10, 10))
            visitor.until("() => /\\b20, /.test(document.querySelector('[data-model=\"m\"]').innerText)")


def test_markup_in_names_and_labels_is_text(browser, quiet):
    path = "/v1/models/evil"
    quiet.call("PUT", path, {"learner": "PassiveAggressive"})
    lines = [{"x": {EVIL: float(i % 3), "b": EVIL if i % 2 else "c"}, "y": EVIL if i % 2 else "<b>"} for i in range(12)]
    assert quiet.batch(f"{path}/learn", lines)[0] == 200
    quiet.call("POST", f"{path}/predict", {"x": {EVIL: 1.0, "b": EVIL}, "keep": True})
    with visiting(browser, quiet) as visitor:
        for view, where in (
            ("questions", ".named"),
            ("questions", ".choices"),
            ("model", ".confusion"),
            ("try", ".verdict table"),
        ):
            visitor.go(f"{view}/evil")
            visitor.until("([where, text]) => document.querySelector(where)?.innerText.includes(text)", [where, EVIL])
            assert visitor.page.evaluate(
                "() => [window.hurt ?? null, document.querySelectorAll('main img').length]"
            ) == [None, 0]


def test_a_token_is_asked_for_and_its_role_counts(browser, tmp_path):
    tokens = tmp_path / "tokens"
    reader, labeller = add_token(tokens, "ann", "read"), add_token(tokens, "bob", "label")
    boss = {"authorization": f"Bearer {add_token(tokens, 'cid', 'admin')}"}
    with serving(tmp_path / "store", "--tokens", tokens) as server:
        server.call("PUT", "/v1/models/m", {"learner": "PassiveAggressive"}, headers=boss)
        server.batch("/v1/models/m/learn", examples(10), **boss)
        server.call("POST", "/v1/models/m/predict", {"x": [0.1, 1.0, 1.0], "keep": True}, headers=boss)
        for token, sees in ((reader, ".stage p"), (labeller, ".numbers")):
            with visiting(browser, server, forgiven=("401",)) as visitor:
                visitor.page.goto(f"{server.url}/#/questions/m")
                visitor.page.wait_for_selector("#token[open]")
                visitor.page.fill("#token-text", token)
                visitor.page.keyboard.press("Enter")
                visitor.page.wait_for_selector(sees)
                if token == reader:
                    assert "may read but not label" in visitor.text(".stage p")
                else:
                    visitor.page.wait_for_selector(".choice")


def test_a_view_can_be_saved(browser, quiet):
    quiet.call("PUT", "/v1/models/saved", {"learner": "PassiveAggressive"})
    quiet.batch("/v1/models/saved/learn", examples(50))
    with visiting(browser, quiet) as visitor:
        page = visitor.go("model/saved")
        visitor.until("() => /mistakes/.test(document.querySelector('.heart .note').innerText)")
        visitor.until("() => document.querySelectorAll('.panel .chart canvas').length === 2")
        for button, name in (("Save CSV", "saved.csv"), ("Save PNG", "saved.png")):
            with page.expect_download() as download:
                page.get_by_role("button", name=button).click()
            assert download.value.suggested_filename == name
            content = download.value.path().read_bytes()
            if name.endswith("png"):
                assert content.startswith(b"\x89PNG")
            else:
                header, *rows = content.decode().splitlines()
                assert header.startswith("learner,t,time,errors,windowed,mistakes")
                assert rows[-1].startswith("first,50,")


def test_everything_can_be_reached_by_keys(browser, quiet):
    with_questions(quiet, "reached", 2)
    with visiting(browser, quiet) as visitor:
        page = visitor.go("model/reached")
        for key, title in (("o", "Overview"), ("q", "Questions of"), ("t", "Try"), ("m", "reached")):
            page.keyboard.press(key)
            visitor.until("(title) => document.title.startsWith(title)", title)
        page.keyboard.press("l")
        assert page.get_by_role("button", name="log scale").get_attribute("aria-pressed") == "true"
        page.keyboard.press("?")
        assert page.locator("#keys").is_visible()
        page.keyboard.press("Escape")
        assert page.locator("#keys").is_hidden()
        page.keyboard.press("Tab")
        assert page.evaluate("() => document.activeElement.tagName") in ("SELECT", "BUTTON", "A", "DIV")


def test_what_is_typed_is_judged_at_once(browser, quiet):
    with_questions(quiet, "typed", 0)
    with visiting(browser, quiet) as visitor:
        page = visitor.go("try/typed")
        visitor.until("() => document.querySelector('.verdict b')")
        for x, y in (("[0, 3, 0]", "big"), ("[0, -3, 0]", "small")):
            page.fill("textarea", x)
            visitor.until("(y) => document.querySelector('.verdict b').innerText === y", y)
            scores = [float(each) for each in page.locator(".verdict .number").all_inner_texts()]
            assert scores == sorted(scores, reverse=True)
        page.fill("textarea", "[1, 2")
        visitor.until("() => document.querySelector('.try .trouble').innerText.startsWith('This is not JSON')")
        page.fill("textarea", "[1, 2]")
        visitor.until("() => /must hold 3 numbers/.test(document.querySelector('.try .trouble').innerText)")
        visitor.noted[:] = [each for each in visitor.noted if "422" not in each]


def test_the_front_door_is_a_page_for_browsers_alone(quiet):
    with closing(quiet.connect()) as connection:
        status, headers, content = Server.ask(connection, "GET", "/", headers={"accept": "text/html,*/*"})
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    policy = headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    named = re.findall(r'(?:src|href)="(/[^"]+)"', content.decode())
    assert len(named) >= 6
    for path in named:
        assert quiet.call("GET", path)[0] == 200
    for path in ("/page/", "/page/../store.py", "/page/%2e%2e/store.py", "/page/vendor"):
        assert quiet.call("GET", path)[0] == 404
