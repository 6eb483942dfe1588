"""Modules that wait: run by the first look at them, once, and as if they had never waited."""

import subprocess
import sys
import textwrap

import pytest


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """A package to be put off, and a process that runs code which may import it."""
    package = tmp_path / "packed"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text("print('packed')\nfrom packed import needed\nvalue = needed.value + 1\n")
    (package / "needed.py").write_text("print('needed')\nvalue = 1\n")
    (package / "aside.py").write_text("print('aside')\nfrom packed import value\n")
    (package / "inner" / "__init__.py").write_text("print('inner')\nvalue = 3\n")
    (package / "broken.py").write_text("print('broken')\nraise ValueError('no such luck')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")

    def run(code, *names):
        start = f"from ellipsoid.cli.startup import defer_imports\ndefer_imports({list(names)!r})\n"
        command = [sys.executable, "-c", start + textwrap.dedent(code)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.stderr, done.returncode) == ("", 0)
        return done.stdout.split()

    return run


def test_a_module_waits_for_the_first_look(outside):
    code = """
        import sys, packed
        print(packed.__name__, packed is sys.modules["packed"])
        print(packed.value, packed.value, type(packed).__name__, hasattr(packed, "nothing"))
    """
    assert outside(code, "packed") == ["packed", "True", "packed", "needed", "2", "2", "module", "False"]


def test_a_package_and_a_module_in_it_may_both_wait(outside):
    code = """
        import packed.inner as inner
        print("waits")
        print(inner.value)
    """
    assert outside(code, "packed", "packed.inner") == ["waits", "inner", "3"]


@pytest.mark.parametrize(
    ("statement", "said"),
    [("import packed.needed", "packed needed"), ("import packed.aside", "packed needed aside")],
)
def test_a_module_in_a_package_that_waits_is_run_once_and_after_it(outside, statement, said):
    code = f"""
        import sys, packed
        {statement}
        name = {statement.split(".")[1]!r}
        module = sys.modules["packed." + name]
        print(getattr(packed, name) is module, module.__spec__.name, module.__spec__.loader is module.__loader__)
    """
    assert outside(code, "packed") == [*said.split(), "True", f"{statement.split()[1]}", "True"]


def test_a_missing_module_fails_at_once(outside):
    code = """
        try:
            import absent
        except ImportError as error:
            print(error.name)
    """
    assert outside(code, "absent") == ["absent"]


def test_a_module_that_fails_fails_at_every_look(outside):
    code = """
        from importlib import import_module
        broken = import_module("packed.broken")
        for _ in range(2):
            try:
                broken.value
            except ValueError as error:
                print(len(str(error)))
    """
    assert outside(code, "packed.broken") == ["packed", "needed", "broken", "12", "broken", "12"]


def test_threads_that_look_together_see_the_whole_module(outside, tmp_path):
    (tmp_path / "slow.py").write_text("import time\ntime.sleep(0.2)\nprint('ran')\nvalue = 7\n")
    code = """
        from concurrent.futures import ThreadPoolExecutor
        import slow
        with ThreadPoolExecutor(4) as pool:
            print(*pool.map(lambda _: slow.value, range(4)))
    """
    assert outside(code, "slow") == ["ran", "7", "7", "7", "7"]
