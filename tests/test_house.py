"""The rules of the house that no other tool holds."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import ellipsoid

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "ellipsoid"
MODULES = sorted(PACKAGE.rglob("*.py"))
SCRIPTS = [path for path in sorted(PACKAGE.rglob("*")) if path.suffix in (".js", ".css") and "vendor" not in path.parts]
SOURCES = MODULES + SCRIPTS + sorted((ROOT / "tests").rglob("*.py"))
PAGES = sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").rglob("*.md"))
LONGEST_FILE = 400


def relative(path):
    return str(path.relative_to(ROOT))


@cache
def tree_of(path):
    return ast.parse(path.read_text("utf-8"))


def test_every_module_says_what_it_is_for():
    assert [relative(path) for path in MODULES if not ast.get_docstring(tree_of(path))] == []


def test_every_file_can_be_read_in_one_sitting():
    assert [relative(path) for path in SOURCES if len(path.read_text("utf-8").splitlines()) > LONGEST_FILE] == []


def test_changelog_opens_with_this_version():
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), flags=re.MULTILINE)
    assert headings[0] == ellipsoid.__version__


@pytest.mark.parametrize("statement", ["import ellipsoid", "import ellipsoid.cli"])
def test_heavy_libraries_wait_until_they_are_needed(statement):
    probe = f"import sys; {statement}; print(*{{'numba', 'numpy', 'sklearn', 'scipy'}} & set(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []


def test_every_public_name_resolves():
    assert [name for name in ellipsoid.__all__ if getattr(ellipsoid, name, None) is None] == []


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        ellipsoid.nonsense  # noqa: B018


def test_static_names_agree_with_the_lazy_ones():
    tree = tree_of(PACKAGE / "__init__.py")
    static = {
        alias.asname: node.module
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert static == ellipsoid._EXPORTS


@pytest.mark.parametrize("page", ["README.md", "docs/learners.md"])
def test_every_learner_is_presented(page):
    from ellipsoid.estimators import LEARNERS

    text = (ROOT / page).read_text("utf-8")
    assert [name for name in LEARNERS if not re.search(rf"\b{name}\b", text)] == []
    assert set(LEARNERS) <= set(ellipsoid.__all__)


def test_links_between_files_lead_somewhere():
    missing = [
        (relative(page), target)
        for page in PAGES
        for target in re.findall(r"\]\((?![a-z]+:|#)([^)#\s]+)", page.read_text("utf-8"))
        if not (page.parent / target).exists()
    ]
    assert missing == []


def test_every_promise_names_tests_that_exist():
    text = (ROOT / "docs" / "guarantees.md").read_text("utf-8")
    named = set(re.findall(r"`(tests/[^`]+)`", text))
    assert len(named) > 25
    assert [name for name in sorted(named) if not (ROOT / name).is_file()] == []
    promises, _, _ = text.partition("## What is not promised")
    parts = re.split(r"^#{2,3} ", promises, flags=re.M)[1:]
    # A heading over others holds nothing itself.
    idle = [part.splitlines()[0] for part in parts if "*Tests.*" not in part and part.strip().count("\n") > 1]
    assert idle == []


def test_every_long_test_exists():
    for line in (ROOT / "tests" / "long_tests.txt").read_text().splitlines():
        path, *_, name = line.split()[1].split("::")
        assert re.search(rf"^ *def {name}\(", (ROOT / path).read_text(), re.MULTILINE), line


# Names that two modules of the package define, and why. Everything else has one home and is imported from there.
SHARED_NAMES = {
    "load": "ellipsoid.load reads a model, ellipsoid.datasets.load a data set",
    "command": "each file of the command line adds one",
    "compare": "ellipsoid.compare here, ellipsoid.distributed.compare on a cluster",
    "Table": "a report's table of figures, and the table of weights that a learner asks",
}


def defined_names(path):
    """The public names that a module defines itself: functions, classes, constants."""
    for node in tree_of(path).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            targets = [ast.Name(node.name)]
        else:
            targets = getattr(node, "targets", [getattr(node, "target", None)])
        for target in targets:
            for each in getattr(target, "elts", [target]):
                if isinstance(each, ast.Name) and not each.id.startswith("_"):
                    yield each.id


def test_a_public_name_is_defined_once():
    homes = {}
    for path in MODULES:
        for name in set(defined_names(path)):
            homes.setdefault(name, []).append(relative(path))
    several = {name: paths for name, paths in homes.items() if len(paths) > 1}
    assert set(several) - set(SHARED_NAMES) == set(), several
    assert set(SHARED_NAMES) - set(several) == set(), "these have one home now: take them off the list"


def guards_with_loops(tree):
    """Lines of each ``while`` with a condition that lies, in one function, within a ``try`` which must hold."""
    for guard in (node for node in ast.walk(tree) if isinstance(node, ast.Try)):
        caught = [ast.unparse(handler.type) for handler in guard.handlers if handler.type is not None]
        if not (guard.finalbody or "BaseException" in caught):
            continue
        inside = list(guard.body)
        while inside:
            node = inside.pop()
            if isinstance(node, ast.While) and not isinstance(node.test, ast.Constant):
                yield node.lineno
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                inside.extend(ast.iter_child_nodes(node))


def test_no_interrupt_comes_between_a_guard_and_its_loop():
    """From Python 3.12 on, what comes as a ``while`` tests its condition again is not caught by a ``try`` around it."""
    # The one holds nothing while it waits; the other is called by an event loop, which takes the interrupts itself.
    harmless = [PACKAGE / "estimators" / "state" / "one_thread.py", PACKAGE / "service" / "calls" / "events.py"]
    found = {relative(path): lines for path in MODULES if (lines := list(guards_with_loops(tree_of(path))))}
    assert [*found] == [*map(relative, harmless)]
