"""Generic functions: one name, a body for each kind of part, in Python and in compiled code alike.

A part (a rule, a representation, a kind of rows) is a ``NamedTuple`` type that holds numbers and arrays only. A generic
function picks its body by the types of its leading arguments. Compiled code resolves the choice while it is being
typed, so the loop pays nothing for it and its machine code can be kept on disk; with ``NUMBA_DISABLE_JIT=1`` the same
choice is made at every call, which is what a debugger and a coverage run see.
"""

from collections.abc import Callable, Set
from functools import wraps
from itertools import product
from types import FunctionType, UnionType
from typing import Any, get_args

from numba import types
from numba.extending import overload, register_jitable

from .native import INLINED
from .native.digest import SOURCES, Source

Body = Callable[..., Any]
Fast = frozenset[str]

# What the compiler may assume of a body. SUM: sums may be regrouped and fused, NaN and infinity keep their meaning;
# only where one body sums every row in the same order whatever the block. FUSE: products and sums may be fused, in
# their order. MAXIMUM: a maximum of numbers none of which is NaN.
SUM = frozenset({"reassoc", "contract", "nsz"})
FUSE = frozenset({"contract"})
MAXIMUM = frozenset({"nnan", "nsz"})
EXACT: Fast = frozenset()


class NoBody(TypeError):
    """A generic function has no body for the parts it was called with."""


def generic(arity: int, default: bool = False) -> Callable[[Body], Any]:
    """Turn a stub into a generic function, which chooses its body by the types of its first ``arity`` arguments.

    With ``default`` the stub itself is the body for all types that have none of their own.

    >>> from typing import NamedTuple
    >>> class Square(NamedTuple):
    ...     side: float
    >>> @generic(1)
    ... def area(shape):
    ...     '''Area of a shape.'''
    >>> @area.register(Square)
    ... def _(shape):
    ...     return shape.side * shape.side
    >>> area(Square(3.0))
    9.0
    >>> area(4.0)
    Traceback (most recent call last):
        ...
    ellipsoid.engine.generic.NoBody: area is not written for float: register a body for it with @area.register(float)
    """

    def decorate(stub: Body) -> Any:
        name = stub.__name__
        bodies: dict[tuple[type, ...], tuple[Body, Fast]] = {}

        def body_for(parts: tuple[type, ...]) -> tuple[Body, Fast]:
            if parts in bodies:
                return bodies[parts]
            if default:
                return stub, EXACT
            names = ", ".join(part.__name__ for part in parts)
            raise NoBody(f"{name} is not written for {names}: register a body for it with @{name}.register({names})")

        @wraps(stub)
        def choose(*args: Any) -> Any:
            return body_for(tuple(map(type, args[:arity])))[0](*args)

        def compile_those_that_are(fast: Fast) -> None:
            """Let compiled code find the bodies for which the compiler may assume the same."""

            def typed(*args: Any) -> Body | None:
                body, own = body_for(tuple(_part(arg) for arg in args[:arity]))
                return body if own == fast else None

            # A body takes whole parts, dozens of machine words: as a call it would cost more than a short row.
            overload(choose, jit_options=_options(fast), strict=False)(typed)

        def register(*kinds: type | UnionType, fast: Set[str] = EXACT) -> Callable[[Body], Body]:
            """Give the body for these part types, where ``A | B`` stands for either of two.

            ``fast`` is SUM, FUSE or MAXIMUM where that is all the body computes.
            """
            if len(kinds) != arity:
                raise TypeError(f"{name} chooses by {arity} part types, got {len(kinds)}")

            def keep(body: Body) -> Body:
                for parts in product(*(get_args(kind) or (kind,) for kind in kinds)):
                    named = _named(body, f"{name}[{', '.join(part.__name__ for part in parts)}]")
                    bodies[parts] = named, frozenset(fast)
                    SOURCES.append(Source(named, parts, stub.__module__))
                if fast not in flavours:
                    flavours.add(frozenset(fast))
                    compile_those_that_are(frozenset(fast))
                return body

            return keep

        flavours: set[Fast] = {EXACT}
        compile_those_that_are(EXACT)
        SOURCES.append(Source(stub))
        choose.register = register
        return choose

    return decorate


def helper(fast: Set[str] = EXACT, inline: bool = True) -> Callable[[Body], Body]:
    """A function that bodies call: plain Python to the interpreter; always inlined in compiled code, unless it is long
    and seldom called, where a call costs less than compiling it in several places.
    """

    def register(function: Body) -> Body:
        SOURCES.append(Source(function))
        return register_jitable(**_options(frozenset(fast), inline))(function)

    return register


def _options(fast: Fast, inline: bool = True) -> Any:
    """How functions are compiled that only compiled code calls."""
    return {"forceinline": inline, **INLINED, **({"fastmath": set(fast)} if fast else {})}


def _named(body: Body, name: str) -> Body:
    """The body under a name that says which one it is, in a profile and in the compiler's messages."""
    assert isinstance(body, FunctionType)
    code = body.__code__.replace(co_name=name, co_qualname=name)
    named = FunctionType(code, body.__globals__, name, body.__defaults__, body.__closure__)
    named.__module__, named.__doc__ = body.__module__, body.__doc__
    return named


def _part(kind: Any) -> type:
    """The part type behind one of numba's types."""
    return kind.instance_class if isinstance(kind, types.BaseNamedTuple) else type(kind)
