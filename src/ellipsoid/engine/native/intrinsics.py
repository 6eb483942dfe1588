"""Machine code in place of a plain function: the interpreter runs the function, compiled code what is written for it.

numba's public way is a pair, an intrinsic and an overload that calls it: one more function to compile for each
combination of types, and a kernel has dozens. Here compiled code finds the machine code under the function's name.
"""

from collections.abc import Callable
from typing import Any

from numba import types
from numba.core.typing.templates import infer, infer_global, make_intrinsic_template

Typed = Callable[..., Any]


def machine_code(function: Callable[..., Any], *, literal: bool = False) -> Callable[[Typed], Typed]:
    """Give what compiled code does where it calls ``function``.

    The decorated function gets a typing context and the types of the arguments, and returns a signature and a function
    that writes the code, as for ``numba.extending.intrinsic``; arguments are cast to the types of the signature. With
    ``literal`` numbers that are written in the calling code come as literal types.
    """

    def register(typed: Typed) -> Typed:
        template = make_intrinsic_template(function, typed, function.__name__, prefer_literal=literal)
        infer(template)
        infer_global(function, types.Function(template))
        return typed

    return register
