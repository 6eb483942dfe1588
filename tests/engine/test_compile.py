"""Compiled code: the same numbers without the compiler, and never stale on disk."""

import shutil
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from numba import types
from numba.core import config
from numba.core.registry import cpu_target

import ellipsoid
from ellipsoid.engine import compile as keeping
from ellipsoid.engine import loop
from ellipsoid.engine.native import cache as caching

from ..nursery import Nursery

PACKAGE = Path(ellipsoid.__file__).parent

RUN_ALL = """
import sys
import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from ellipsoid import MIRA, PassiveAggressive, Perceptron

rng = np.random.default_rng(3)
X = rng.normal(size=(40, 3))
X[rng.random(X.shape) < 0.3] = 0.0
y = rng.integers(0, 3, 40)
models = [Perceptron(multiclass=u) for u in ("uniform", "max", "proportional", "ovr")] + [PassiveAggressive(), MIRA()]
weights = {}
for model in models:
    for kind, rows in (("dense", X), ("csr", sp.csr_matrix(X)), ("single", X.astype(np.float32))):
        learned = clone(model).partial_fit(rows, y, classes=range(3))
        # Counts stand beside the weights: a different run would show there first.
        weights[f"{model} {kind}"] = np.append(learned.coef_.ravel(), [learned.mistakes_, learned.updates_])
np.savez(sys.argv[1], **weights)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """Run code where nothing of ours has been imported; its standard output."""
    with Nursery(tmp_path_factory.mktemp("nursery"), "import scipy.sparse, sklearn.base, numba") as nursery:

        def run(code, *args, **environment):
            done = nursery.run(textwrap.dedent(code), *args, **{"PYTHONDONTWRITEBYTECODE": "1", **environment})
            assert done.returncode == 0, done.stderr
            return done.stdout

        yield run


def test_plain_python_learns_the_same(python, tmp_path):
    """NUMBA_DISABLE_JIT=1 is what a debugger and a coverage run see."""
    python(RUN_ALL, tmp_path / "plain.npz", NUMBA_DISABLE_JIT=1)
    scope = {"sys": sys}
    argv, sys.argv = sys.argv, ["", str(tmp_path / "compiled.npz")]
    try:
        exec(compile(RUN_ALL, "run", "exec"), scope)
    finally:
        sys.argv = argv
    plain, fast = np.load(tmp_path / "plain.npz"), np.load(tmp_path / "compiled.npz")
    assert set(plain) == set(fast)
    for name in plain:
        np.testing.assert_allclose(fast[name], plain[name], rtol=1e-12, atol=1e-12, err_msg=name)


@pytest.mark.slow
def test_without_numbas_insides_the_same_is_learned(python):
    """What a newer numba may leave us with; sparse rows of many classes use every kind of machine code of ours."""
    code = """
    import numpy as np, scipy.sparse as sp
    from ellipsoid import Perceptron
    rng = np.random.default_rng(3)
    X, y = sp.random(60, 30, 0.2, format="csr", rng=rng), rng.integers(0, 6, 60)
    print(Perceptron().partial_fit(X, y, classes=range(6)).coef_.tobytes().hex())
    """
    assert python(code, ELLIPSOID_PUBLIC_NUMBA=1) == python(code)


def test_checked_code_is_kept_apart(monkeypatch):
    """Who asks for bounds checks must not be given code that was compiled without them, nor the other way round."""
    cache = loop.learn._cache
    kinds, codegen = (types.int64,), cpu_target.target_context.codegen()
    keys = set()
    for asked in (None, 0, 1):
        monkeypatch.setattr(config, "BOUNDSCHECK", asked)
        keys.add(cache._index_key(kinds, codegen))
    assert len(keys) == 2


LEARN_ONCE = """
import sys
import numpy as np
from numba.core import event

# Count what the compiler does; reading the cache is not among it.
with event.install_recorder("numba:compile") as compiling:
    from ellipsoid import Perceptron
    model = Perceptron(fit_intercept=False).partial_fit(np.array([[1.0, 2.0], [2.0, 1.0]]), [0, 1], classes=[0, 1])
# numba imports its dictionaries when it makes the compiler ready.
print(model.coef_.tolist(), "numba.typed.typeddict" in sys.modules, len(compiling.buffer))
"""


@pytest.fixture
def copied(python, tmp_path):
    """A copy of the package that may be edited, with a cache of its own."""
    home = tmp_path / "home" / "ellipsoid"
    skip = shutil.ignore_patterns("__pycache__", "batch", "cli", "convex", "evaluate", "report")
    shutil.copytree(PACKAGE, home, ignore=skip)

    def run(code=LEARN_ONCE):
        # Bytecode may be kept: every edit below changes the size of its file.
        environment = {"PYTHONPATH": home.parent, "NUMBA_CACHE_DIR": tmp_path / "cache", "PYTHONDONTWRITEBYTECODE": ""}
        return python(code, **environment).strip()

    return home, tmp_path / "cache", run


def test_cached_code_is_used_and_never_stale(copied):
    home, cache, run = copied
    first, ready, compiled = run().rsplit(" ", 2)
    assert first == "[[1.0, -1.0]]"
    assert ready == "True"
    assert int(compiled) > 0
    assert list(cache.rglob("*.nbc"))
    assert run() == f"{first} False 0", "a second identical run must load everything from the cache, and no compiler"

    rule = home / "rules" / "perceptron.py"
    text = rule.read_text("utf-8")
    assert "return rule.size if margin" in text
    rule.write_text(text.replace("return rule.size if margin", "return 5.0 if margin"), "utf-8")
    second, _, compiled = run().rsplit(" ", 2)
    assert second == "[[5.0, -5.0]]", "an edit in a rule's file must reach the compiled loop"
    assert int(compiled) > 0

    remarked = text.replace("@step.register", "# Said anew.\n\n\n@step.register").replace("Rosenblatt (1958)", "1958")
    assert len(remarked) != len(text)
    rule.write_text(remarked, "utf-8")
    (home / "rules" / "nherd.py").write_text("BROKEN = 1 / 0\n", "utf-8")
    assert run() == f"{first} False 0", "neither comments nor another learner's rule are part of the code"


DIGESTS = """
import sys
from types import SimpleNamespace
import numba, numpy as np
from ellipsoid.engine import compile
from ellipsoid.engine.native.digest import source_digest
from ellipsoid.estimators import HOMES, learner_named

def interpreted(function, args):
    kinds = tuple(map(numba.typeof, args))
    print(function.__name__, source_digest(function.py_func, kinds))
    return SimpleNamespace(entry_point=function.py_func), kinds

compile._compiled_for = interpreted
X, y = np.random.default_rng(0).normal(size=(6, 2)), [0, 1, 2] * 2
if sys.argv[2:]:
    for name in HOMES:
        learner_named(name)
learner_named(sys.argv[1])().partial_fit(X, y, classes=range(3)).predict(X)
"""


@pytest.mark.parametrize("learner", ["PassiveAggressive", "Winnow", "CELLIP"])
def test_what_else_is_imported_is_no_part_of_the_code(python, learner):
    alone = python(DIGESTS, learner).splitlines()
    assert any(line.startswith("learn ") for line in alone)
    assert set(alone) == set(python(DIGESTS, learner, "all").splitlines())


FOREIGN = """
import numpy as np
from typing import NamedTuple
from ellipsoid.engine import Binary, Dense, call, entry, learn
from ellipsoid.engine.protocol import WORK_ROWS, step
from ellipsoid.engine.tally import SIZE
from ellipsoid.representation.linear import ClassMajor

class Perceptron(NamedTuple):
    sharing: int
    margin: float

@step.register(Perceptron)
def _(rule, margin, energy):
    return {step}

table = np.zeros((1, 3))
parts = Perceptron(1, 0.0), Binary(np.array([[1]]), 0), ClassMajor(table, np.zeros((0, 0))), Dense(np.ones((1, 2)), 0.0)
args = (*parts, np.zeros(SIZE), np.zeros((WORK_ROWS, 1)), 0, 1, np.zeros(0))
call(learn, *args)
print(table.tolist())
"""


@pytest.mark.slow
def test_rules_of_other_programs_share_the_cache_in_peace(copied):
    """A rule from outside, even one with the name and the fields of ours, leaves our code alone; so does its loss."""
    home, cache, run = copied
    outside = home.parent / "outside.py"
    outside.write_text(FOREIGN.replace("{step}", "7.0"), "utf-8")
    assert run("import outside") == "[[0.0, 7.0, 7.0]]"
    outside.unlink()
    ours, _, compiled = run().rsplit(" ", 2)
    assert ours == "[[1.0, -1.0]]"
    assert int(compiled) > 0
    outside.write_text(FOREIGN.replace("{step}", "8.0"), "utf-8")
    assert run("import outside") == "[[0.0, 8.0, 8.0]]"
    assert run() == f"{ours} False 0"
    # No index that two processes could rewrite at the same time.
    assert not list(cache.rglob("*.nbi"))


def test_a_file_that_lost_its_content_counts_as_missing(tmp_path):
    """A machine that crashes may leave a file of its full length or none, and nothing in it."""
    files = caching.Files(tmp_path / "function")
    files.save("key", [1, 2])
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    assert files.load("key") == [1, 2]
    for content in (b"", bytes(len(whole)), whole[:-3]):
        path.write_bytes(content)
        assert files.load("key") is None
    files.save("key", [3])
    assert files.load("key") == [3]
    path.unlink()
    path.mkdir()  # as of a file of somebody else, reading fails
    assert files.load("key") is None


def test_without_a_writable_cache_there_is_a_warning_and_everything_works(monkeypatch):
    def nowhere(*args):
        raise RuntimeError("no locator available")

    monkeypatch.setattr(caching, "DigestCache", nowhere)
    caching.warn_of_no_cache.cache_clear()
    with pytest.warns(RuntimeWarning, match="set NUMBA_CACHE_DIR"):
        successor = keeping.compiled(lambda x: x + 1)
    assert keeping.call(successor, 2) == 3


def test_a_full_disk_gives_a_warning_and_everything_works(monkeypatch, tmp_path):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(keeping.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(caching.Files, "save", full)
    caching.warn_of_no_cache.cache_clear()

    def successor(x):
        return x + 1

    with pytest.warns(RuntimeWarning, match="set NUMBA_CACHE_DIR"):
        assert keeping.entry(keeping.compiled(successor), 2)(2) == 3


def test_without_the_compiler_a_function_is_its_own_machine_code(python):
    code = """
    from ellipsoid.engine import compiled, entry
    def twice(x): return 2 * x
    print(compiled(twice) is twice is entry(twice, 1))
    """
    assert python(code, NUMBA_DISABLE_JIT=1) == "True\n"
