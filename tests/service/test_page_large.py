"""Twenty models with a million examples of history each: the page opens at once, and stays small."""

import time
from pathlib import Path

import pytest

from ellipsoid.service.messages import NewLearner, NewModel
from ellipsoid.service.store import Store
from ellipsoid.service.views.history import HistoryPoint, write_points

from .browser import started, visiting
from .conftest import examples, serving

MODELS, ROWS, STEP = 20, 1_000_000, 100


def with_history(folder):
    """A store whose models have come a long way, thinned as the service does it."""
    store = Store(folder)
    store.start()
    for i in range(MODELS):
        name = f"model-{i:02}"
        store.make_model(name, NewModel(learner="PassiveAggressive"))
        store.make_challenger(name, "rival", NewLearner(learner="Perceptron"))
        number = store.models[name].id
        for learner in ("first", "rival"):
            fresh, gone = [], []
            for t in range(STEP, ROWS + 1, STEP):
                wrong = int(t**0.7)
                point = HistoryPoint(t, 1.7e9 + t, wrong, 0.3 * t**-0.3, wrong, 3 * wrong, 2.0 * wrong, None, None)
                store.history.add(number, learner, point, fresh, gone)
            store.submit_change(lambda connection, f=fresh, g=gone: write_points(connection, f, g))
    store.close()


def renderers(browser):
    """The processes that draw, with the seconds of a processor that each has had."""
    session = browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    return {int(each["id"]): each["cpuTime"] for each in processes if each["type"] == "renderer"}


def memory(browser):
    """Megabytes of the process that draws the page (a browser keeps a spare one), shared ones counted in part."""
    largest = 0.0
    for number in renderers(browser):
        for line in Path(f"/proc/{number}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                largest = max(largest, int(line.split()[1]) / 1024)
    return largest


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.interpreted
def test_twenty_models_and_a_million_examples(tmp_path, capsys):
    with started() as browser:
        with_history(tmp_path / "store")
        with serving(tmp_path / "store") as server, visiting(browser, server) as visitor:
            for i in range(MODELS):
                server.batch(f"/v1/models/model-{i:02}/learn", examples(20))
            visitor.go()  # the browser itself has started, and has the files of nothing
            page, times, costs = visitor.page, [], []
            drawn = (
                "() => [...document.querySelectorAll('.card canvas')].length === 20 && "
                "[...document.querySelectorAll('.card .unseen')].every((it) => /after 9..,...,/.test(it.textContent))"
                " && performance.now()"
            )
            for _ in range(3):
                page.goto("about:blank")
                before = renderers(browser)
                page.goto(f"{server.url}/")
                times.append(visitor.until(drawn) / 1000)
                costs.append(sum(spent - before.get(number, 0.0) for number, spent in renderers(browser).items()))
            used = memory(browser)
            heap = page.evaluate("() => performance.memory.usedJSHeapSize / 2 ** 20")
            page.goto(f"{server.url}/#/model/model-00")
            began = time.monotonic()
            visitor.until("() => /no more than/.test(document.querySelector('.heart .note')?.innerText)")
            opened = time.monotonic() - began
            with capsys.disabled():
                print(
                    f"\n20 models drawn after {min(times):.2f} to {max(times):.2f} s, a model after {opened:.2f} s; "
                    f"{min(costs):.2f} s of a processor; {used:.0f} MB in the renderer, {heap:.1f} of them JavaScript's"
                )
            # Of a processor: how long that takes on the clock is a matter of what else runs.
            assert min(costs) < 1.0
            assert used < 150
