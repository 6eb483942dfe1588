"""Lazy imports, by which a command starts quickly and uses little memory.

Where pandas is installed, scikit-learn 1.9 imports it with its first module, and pandas imports pyarrow: 90 MB and a
third of a second, for one function that fills missing values of a data frame. No data frame reaches a learner from the
command line, so commands import scikit-learn as if pandas were not installed. A later import of pandas works as usual.

Most of the rest of scikit-learn's import time goes into modules of which no learner calls anything, ``scipy.stats``
above all. Their import is deferred: the file is still looked for at once, so that a missing module raises its error as
always, but its code runs when a name in it is first used. ``importlib.util.LazyLoader`` does the same, with two
differences: here a package may be deferred together with modules in it, and such a module runs once, after its package.
"""

import gc
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from threading import RLock
from types import ModuleType
from typing import Any

# Imported by scikit-learn, SciPy, joblib and numba as whole modules, and used only inside functions.
LATER_IMPORTS = (
    "asyncio",
    "narwhals",
    "narwhals.stable",
    "narwhals.stable.v2",
    "numpy.f2py",
    "numpy.testing",
    "scipy.special",
    "scipy.stats",
    "yaml",
)


def import_libraries() -> None:
    """Import learners and readers with what they need, unless scikit-learn or pandas has been imported already."""
    if "sklearn" in sys.modules or "pandas" in sys.modules:
        return
    with _without_garbage_collection():
        _import_scikit_learn()
        import_module("ellipsoid.estimators.shell.base")
        import_module("ellipsoid.streams.opening")
        import_module("ellipsoid.engine.native.compile_server").compile_server.open = True


def _import_scikit_learn() -> None:
    defer_imports(LATER_IMPORTS)
    # None makes the import statement fail as for a module that is not there.
    sys.modules["pandas"] = None  # type: ignore[assignment]
    try:
        import_module("sklearn.base")
    finally:
        del sys.modules["pandas"]


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Never search for garbage among the hundred thousand objects that imports make: they stay to the end."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if before:
            gc.enable()


def defer_imports(names: Collection[str]) -> None:
    """Defer the import of these modules from now on; one that has been imported already stays as it is.

    >>> defer_imports(["a_module_that_was_never_there"])
    >>> import a_module_that_was_never_there
    Traceback (most recent call last):
    ModuleNotFoundError: No module named 'a_module_that_was_never_there'
    """
    sys.meta_path.insert(0, _Finder(frozenset(names)))


class _Waiting(ModuleType):
    """A deferred module: it has been found, and its code has not yet run."""

    def __getattr__(self, name: str) -> Any:
        # Python calls this only for names without a value.
        if not run(self):
            raise AttributeError(f"module {self.__name__!r} has no {name!r} yet: it is being imported")
        return getattr(self, name)


def run(module: _Waiting) -> bool:
    """Run the code of a deferred module; False if this thread is already running it."""
    loader: _Loader = module.__dict__["__waits__"]
    with loader.lock:
        if type(module) is _Waiting:
            return loader.run(module)
    return True


class _Loader:
    def __init__(self, inner: Any) -> None:
        self.inner, self.lock, self.begun = inner, RLock(), False

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        spec: Any = module.__spec__
        module.__loader__ = spec.loader = self.inner
        module.__dict__["__waits__"] = self
        module.__class__ = _Waiting

    def run(self, module: ModuleType) -> bool:
        if self.begun:
            return False
        self.begun = True
        try:
            self.inner.exec_module(module)
        finally:
            self.begun = False
        module.__class__ = ModuleType
        return True


class _Found:
    """A loader for a module that its package has imported while it was looked for."""

    def __init__(self, module: ModuleType) -> None:
        self.module, self.spec = module, module.__spec__
        # A module with a spec would be run again by it.
        module.__spec__ = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec


class _Finder:
    def __init__(self, names: frozenset[str]) -> None:
        self.names = names

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        if fullname in self.names:
            spec: Any = PathFinder.find_spec(fullname, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader = _Loader(spec.loader)
            return spec
        package = sys.modules.get(fullname.rpartition(".")[0])
        if isinstance(package, _Waiting):
            run(package)
            if fullname in sys.modules:
                there: Any = _Found(sys.modules[fullname])
                return ModuleSpec(fullname, there)
        return None
