"""Hand-written machine code for a function, which the interpreter runs as plain Python.

numba's public way is a pair, an intrinsic and an overload that calls it: one more function to compile for each
combination of types, and a kernel has dozens. Here compiled code finds the machine code under the function's name.
"""

import inspect
from collections.abc import Callable
from typing import Any

from numba import types
from numba.extending import intrinsic, overload

from . import PUBLIC_ONLY
from .digest import SOURCES, Source

try:
    from numba.core.typing.templates import infer, infer_global, make_intrinsic_template
except ImportError:
    make_intrinsic_template = None  # type: ignore[assignment]

Typed = Callable[..., Any]


def machine_code(function: Callable[..., Any], *, literal: bool = False) -> Callable[[Typed], Typed]:
    """Register the machine code for calls of ``function`` in compiled code.

    The decorated function gets a typing context and the types of the arguments, and returns a signature and a function
    that writes the code, as for ``numba.extending.intrinsic``; arguments are cast to the types of the signature. With
    ``literal`` numbers that are written in the calling code come as literal types.
    """

    def register(typed: Typed) -> Typed:
        SOURCES.append(Source(function))
        if PUBLIC_ONLY or make_intrinsic_template is None:
            _register_publicly(function, typed, literal)
            return typed
        template = make_intrinsic_template(function, typed, function.__name__, prefer_literal=literal)
        infer(template)
        infer_global(function, types.Function(template))
        return typed

    return register


def _register_publicly(function: Callable[..., Any], typed: Typed, literal: bool) -> None:
    """The same by an overload that calls an intrinsic; numba wants both to name their arguments alike."""
    _, *parameters = inspect.signature(typed).parameters.values()
    names = ", ".join(parameter.name for parameter in parameters)
    scope = {f"default_{p.name}": p.default for p in parameters if p.default is not p.empty}
    given = ", ".join(f"{p.name}=default_{p.name}" if f"default_{p.name}" in scope else p.name for p in parameters)
    scope["code"] = intrinsic(prefer_literal=literal)(typed)
    scope["call"] = eval(f"lambda {given}: code({names})", scope)
    overload(function, prefer_literal=literal)(eval(f"lambda {given}: call", scope))
