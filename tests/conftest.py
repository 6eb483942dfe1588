"""What every test may rely on: the hypothesis profile, and the data sets where they are at hand.

A test that takes the ``dataset`` fixture, or carries the ``data`` marker, needs the data sets. It is skipped,
with the reason, when ELLIPSOID_DATA is not set; the summary counts those that ran, so that a gate can insist. So it is
with tests marked ``browser``, which drive a real one.
"""

import gc
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from ellipsoid.estimators import HOMES

# Compilation happens inside the first example, so a deadline would measure the compiler. A gate must not be a
# lottery: there the examples are drawn from a fixed seed.
settings.register_profile("house", deadline=None, print_blob=True)
settings.register_profile("gate", parent=settings.get_profile("house"), derandomize=True, database=None)
settings.load_profile("gate" if os.environ.get("CI") else "house")

# A shell without job control starts what runs in the background deaf to Ctrl-C, and children inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

NEEDS_DATA = ("needs_data", True)
NEEDS_BROWSER = ("needs_browser", True)


# Learners of every kind of loop there is: one direction, many classes, a matrix, an ellipsoid, several copies at once.
FEW_LEARNERS = {"PassiveAggressive", "MIRA", "AROW", "CELLIP", "EllipsoidClassifier"}


def values_of(item: pytest.Item) -> list[Any]:
    """What the test is given, where it is a case of a grid."""
    return list(item.callspec.params.values()) if hasattr(item, "callspec") else []


def names_case(marker: pytest.Mark, item: pytest.Item) -> bool:
    """Does a marker name this case of a grid, by a value or the name of one?"""
    names = item.callspec.id.split("-") if hasattr(item, "callspec") else []
    return any(case in (value, str(value)) for case in marker.args for value in (*values_of(item), *names))


def is_left_to_slow_runs(item: pytest.Item) -> bool:
    """Is this a case of a grid that `make test` leaves out? Each learner and kind of rows compiles for seconds."""
    values = values_of(item)
    gate = item.get_closest_marker("gate")
    if gate is not None and values:
        return not names_case(gate, item)
    names = {value for value in values if isinstance(value, str)} & set(HOMES)
    return bool(item.get_closest_marker("few_learners") and names and not names & FEW_LEARNERS)


# Written by tools/long_tests.py: seconds and name of each.
LONG_TESTS = {line.split()[1] for line in Path(__file__).with_name("long_tests.txt").read_text().splitlines()}


def pytest_collection_modifyitems(items: Iterable[pytest.Item]) -> None:
    for item in items:
        if is_left_to_slow_runs(item):
            item.add_marker(pytest.mark.slow)
        if item.nodeid.partition("[")[0] in LONG_TESTS:
            item.add_marker(pytest.mark.long)
        if "dataset" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.data)
        if item.get_closest_marker("data"):
            # Properties, unlike markers, travel with the report from an xdist worker to the summary.
            item.user_properties.append(NEEDS_DATA)
        if item.get_closest_marker("browser"):
            item.user_properties.append(NEEDS_BROWSER)


def pytest_collection_finish() -> None:
    """Let the collector of garbage pass over thousands of tests, and look less often while the compiler works."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("data") and not os.environ.get("ELLIPSOID_DATA"):
        pytest.skip("ELLIPSOID_DATA is not set: point it to the folder of data sets")


def interpreted(function: Any, *_args: object, **_options: object) -> Callable[..., Any]:
    """In place of machine code the Python that it was made of, which like machine code says nothing of overflow."""
    source = getattr(function, "py_func", function)

    def run(*args: object) -> Any:
        with np.errstate(all="ignore"):
            return source(*args)

    return run


def run_as_python(patch: pytest.MonkeyPatch, modules: Iterable[ModuleType]) -> None:
    """Let these modules call no machine code, but the Python that it was made of."""
    from ellipsoid.engine.compile import call, entry

    for module in modules:
        if getattr(module, "entry", None) is entry:
            patch.setattr(module, "entry", interpreted)
        if getattr(module, "call", None) is call:
            patch.setattr(module, "call", lambda function, *args, **_options: interpreted(function)(*args))


@pytest.fixture
def interpret(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """``interpret(module, ...)`` lets these modules run as Python until the end of the test: nothing is compiled."""
    return lambda *modules: run_as_python(monkeypatch, modules)


@pytest.fixture
def compiled() -> None:
    """Run machine code among tests that are interpreted: bits are promised of it, or its speed is needed."""


def is_interpreted(item: pytest.Item) -> bool:
    """Are the loops of this test run as Python? Slow runs have the time to compile the cases of a grid."""
    marker = item.get_closest_marker("interpreted")
    if marker is None or "compiled" in getattr(item, "fixturenames", ()):
        return False
    return not marker.args or (names_case(marker, item) and not is_left_to_slow_runs(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Spare a test marked ``interpreted`` the seconds of compiling."""
    with pytest.MonkeyPatch.context() as patch:
        if is_interpreted(item):
            run_as_python(patch, [module for name, module in sys.modules.items() if name.startswith("ellipsoid.")])
        return (yield)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    def count(kind: tuple[str, bool], *outcomes: str) -> int:
        reports = (report for outcome in outcomes for report in terminalreporter.stats.get(outcome, ()))
        return sum(kind in map(tuple, getattr(report, "user_properties", ())) for report in reports)

    for name, kind in (("data", NEEDS_DATA), ("browser", NEEDS_BROWSER)):
        ran, skipped = count(kind, "passed", "failed", "error", "xfailed", "xpassed"), count(kind, "skipped")
        terminalreporter.write_line(f"{name} tests: {ran} ran, {skipped} skipped")


@pytest.fixture
def dataset() -> Callable[..., Any]:
    """``dataset("usps")`` loads a named set."""
    from ellipsoid import datasets

    return datasets.load
