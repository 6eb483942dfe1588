"""Machine code kept on disk: never stale, one file for each specialisation, and loaded without a compiler.

numba's cache notices an edit only in the file of the outermost function: after a change of a rule in another file, the
old rule would go on running. Here the key of every cached function also holds a digest of all source it may inline.

numba's cache keeps one index for each function, which two processes may rewrite at the same time, and which cannot be
read if an entry names a module that only another program has. Here each specialisation has a file of its own.

numba initialises its whole compiler before it loads anything, which takes a third of a second. Loaded machine code
needs only the addresses of the functions that it calls, and compiling initialises the compiler anyway.
"""

import hashlib
import os
import pickle
import uuid
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba import types
from numba.core import config
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from .compile_server import NOTHING_KEPT, compile_server
from .digest import SOURCES, source_digest
from .shipped import FOLDER, shipped_level


@cache
def warn_of_no_cache() -> None:
    """Warn once: the installation is read-only and the user has no home, or the disk is full."""
    warnings.warn(
        f"{NOTHING_KEPT}, so every process compiles again; set NUMBA_CACHE_DIR to a writable folder",
        RuntimeWarning,
        stacklevel=4,
    )


def keep_on_disk(dispatcher: Any) -> None:
    """Let what numba's dispatcher compiles be kept, or warn where there is no folder for it."""
    try:
        dispatcher._cache = DigestCache(dispatcher.py_func)
    except RuntimeError:
        warn_of_no_cache()


class DigestCache(FunctionCache):
    """numba's function cache with the digest of all inlinable source in its key, and a file for each key."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = Files(Path(self.cache_path) / self._impl.filename_base)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The machine code for the signature, or None."""
        # Instead of refresh(), which initialises the compiler and does this too.
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            found = self._load_overload(sig, target_context) or self._load_shipped(sig, target_context)
            if found is None and compile_server.open and compile_server.run_ahead(self._py_func.__module__):
                found = self._load_overload(sig, target_context)
            if found is None and compile_server.open:
                compile_server.request(
                    self._py_func, sig, dict.fromkeys(source.function.__module__ for source in SOURCES)
                )
                found = self._load_overload(sig, target_context)
                # Where nothing can be kept, further requests would be in vain.
                compile_server.open = found is not None
            return found

    def _load_shipped(self, sig: Any, target_context: Any) -> Any:
        """The machine code in the package for the signature and this kind of processor, or None."""
        level = shipped_level()
        if level is None:
            return None
        codegen = target_context.codegen()
        key = self._key(sig, codegen, (codegen.magic_tuple()[0], level, ""))
        data = Files(FOLDER / level / self._impl.filename_base).load(key)
        return None if data is None else self._impl.rebuild(target_context, data)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled, where there is room."""
        try:
            super().save_overload(sig, data)
        except OSError:
            warn_of_no_cache()

    def _index_key(self, sig: Any, codegen: Any) -> str:
        return self._key(sig, codegen, codegen.magic_tuple())

    def _key(self, sig: Any, codegen: Any, processor: tuple[str, str, str]) -> str:
        _, _, code = super()._index_key(sig, codegen)
        made_by = numba.__version__, llvmlite.__version__, str(config.OPT), bool(config.BOUNDSCHECK)
        return repr((_spelling(sig), processor, code, made_by, source_digest(self._py_func, sig)))


class Files(IndexDataCacheFile):
    """A file of machine code for each key, written whole or not at all."""

    def __init__(self, base: Path) -> None:
        self._base = base

    def _path(self, key: str) -> str:
        return f"{self._base}.{hashlib.sha256(key.encode()).hexdigest()[:32]}.nbc"

    def load(self, key: str) -> Any:
        """The data saved under the key, or None; also for a file that was damaged or belongs to another key."""
        try:
            with open(self._path(key), "rb") as file:
                saved, data = pickle.load(file)
        except (OSError, EOFError, pickle.UnpicklingError):
            return None
        return data if saved == key else None

    def save(self, key: str, data: Any) -> None:
        """Keep data under the key."""
        path = self._path(key)
        temporary = f"{path}.{uuid.uuid4().hex[:16]}"
        try:
            with open(temporary, "wb") as file:
                file.write(dumps((key, data)))
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise

    def flush(self) -> None:
        """Do nothing: data is written at once."""


def _spelling(kind: Any) -> str:
    """A type in full: numba's name of a part leaves out the module, and parts of two modules may share a name."""
    if isinstance(kind, tuple):
        return f"({', '.join(map(_spelling, kind))})"
    if isinstance(kind, types.BaseTuple):
        part = getattr(kind, "instance_class", tuple)
        return f"{part.__module__}.{part.__qualname__}{_spelling(tuple(kind.types))}"
    return str(kind)
