"""A digest of all source that a compiled function may contain, which no comment and no docstring changes.

What a function inlines depends on the parts among its arguments: the bodies that are registered for those parts in
the generic functions of modules it can reach, and whatever the modules of these bodies import in turn from modules with
compiled code. Another learner's rule is not included, nor a body that some other program registers for parts of its
own: the digest does not depend on what else has been imported. The modules that define how all others are compiled are
always included.

A module counts by its code objects, without line numbers and docstrings, and by the constants in its name space.
"""

import hashlib
import inspect
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from numba import types


class Source(NamedTuple):
    """A function that compiled code may inline; of a body also which parts it is for, and of which generic function."""

    function: Callable[..., Any]
    kinds: tuple[type, ...] | None = None
    home: str = ""
    """The module of the generic function."""


SOURCES: list[Source] = []

_COMPILERS = {f"ellipsoid.engine.{name}" for name in ("generic", "compile", "native.inlining", "native.intrinsics")}
_DOCSTRING = 0x4000000  # inspect.CO_HAS_DOCSTRING, from Python 3.13 on
_known: dict[tuple[Any, ...], str] = {}


def source_digest(function: Callable[..., Any], signature: Any) -> str:
    """The digest for a function with arguments of these types."""
    key = (function, frozenset(_parts_of(signature)), len(SOURCES))
    if key not in _known:
        digest = hashlib.sha256()
        for name in sorted(_reachable(function, set(key[1]))):
            digest.update(f"{name} {_module_digest(name, len(SOURCES))}\n".encode())
        _known[key] = digest.hexdigest()
    return _known[key]


def _parts_of(kind: Any) -> Iterator[type]:
    """The part types in a signature, also those inside others."""
    if isinstance(kind, types.BaseNamedTuple):
        yield kind.instance_class
    for member in kind if isinstance(kind, tuple) else getattr(kind, "types", ()):
        yield from _parts_of(member)


def _reachable(function: Callable[..., Any], parts: set[type]) -> set[str]:
    """Names of the modules whose code a function of these parts may contain."""
    compiled = {source.function.__module__ for source in SOURCES}
    found: set[str] = set()
    waiting = {function.__module__, *(part.__module__ for part in parts), *_COMPILERS & sys.modules.keys()}
    while waiting:
        name = waiting.pop()
        found.add(name)
        for value in list(vars(sys.modules[name]).values()):
            home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
            if home in compiled:
                waiting.add(home)
                if inspect.isclass(value) and hasattr(value, "_fields"):
                    parts.add(value)
        waiting |= {
            source.function.__module__
            for source in SOURCES
            if source.kinds is not None and source.home in found and parts.issuperset(source.kinds)
        }
        waiting -= found
    return found


@cache
def _module_digest(name: str, sources: int) -> str:
    """Of the code in a module; ``sources`` because a session without a file may go on to define bodies."""
    module = sys.modules[name]
    code = _code_of(module)
    here = (source.function for source in SOURCES if source.function.__module__ == name)
    codes = [code] if code else [function.__code__ for function in here]
    constants = sorted(
        (key, _spelled(value))
        for key, value in vars(module).items()
        if isinstance(value, int | float)
        or (isinstance(value, tuple | frozenset) and all(isinstance(v, int | float | str) for v in value))
    )
    return hashlib.sha256(repr((list(map(_plain, codes)), constants)).encode()).hexdigest()


def _code_of(module: ModuleType) -> CodeType | None:
    """The code of a module as its loader keeps it, or compiled from its file; None where there is no file."""
    get_code = getattr(module.__loader__, "get_code", None)
    if get_code is not None:
        return get_code(module.__name__)
    path = Path(getattr(module, "__file__", None) or "")
    return compile(path.read_bytes(), str(path), "exec", dont_inherit=True) if path.is_file() else None


def _plain(code: CodeType) -> tuple[Any, ...]:
    """What a code object does, without where it stands and what is said about it."""
    function = bool(code.co_flags & inspect.CO_OPTIMIZED)
    documented = (
        code.co_flags & _DOCSTRING
        if sys.version_info >= (3, 13)
        else any(isinstance(value, str) for value in code.co_consts[:1])
    )
    inside = [
        _plain(value) if isinstance(value, CodeType) else _spelled(value)
        for value in code.co_consts[1 if function and documented else 0 :]
        # In the code of a module or a class texts are docstrings, and from Python 3.13 on numbers may be of lines.
        if function or isinstance(value, CodeType)
    ]
    return (code.co_name, code.co_code, code.co_names, code.co_varnames, code.co_freevars, inside)


def _spelled(value: Any) -> str:
    """The same for equal constants in every process, which the order of a set is not."""
    return f"{type(value).__name__} {sorted(map(repr, value)) if isinstance(value, frozenset) else repr(value)}"
