"""Generic functions: one name, a body for each kind of part, in Python and in compiled code alike.

A part (a rule, a representation, a kind of rows) is a ``NamedTuple`` type that holds numbers and arrays only. A generic
function picks its body by the types of its leading arguments. Compiled code resolves the choice while it is being
typed, so the loop pays nothing for it and its machine code can be kept on disk; with ``NUMBA_DISABLE_JIT=1`` the same
choice is made at every call, which is what a debugger and a coverage run see.
"""

from collections.abc import Callable, Set
from functools import wraps
from typing import Any

from numba import types
from numba.extending import overload, register_jitable

Body = Callable[..., Any]

# What a body may let the compiler assume. SUM: sums may be regrouped and fused, NaN and infinity keep their meaning;
# only where one body sums every row in the same order whatever the chunk. FUSE: products and sums may be fused, in
# their order. MAXIMUM: a maximum of numbers none of which is NaN.
SUM = frozenset({"reassoc", "contract", "nsz"})
FUSE = frozenset({"contract"})
MAXIMUM = frozenset({"nnan", "nsz"})

# Every body that compiled code may inline, for the digest that keeps the disk cache fresh.
BODIES: list[Body] = []


def generic(arity: int, default: bool = False) -> Callable[[Body], Any]:
    """Make a stub a generic function that chooses its body by the types of its first ``arity`` arguments.

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
    """

    def decorate(stub: Body) -> Any:
        bodies: dict[tuple[type, ...], Body] = {}

        @wraps(stub)
        def choose(*args: Any) -> Any:
            parts = tuple(type(arg) for arg in args[:arity])
            if parts not in bodies:
                if default:
                    return stub(*args)
                names = ", ".join(part.__name__ for part in parts)
                raise TypeError(f"no body of {stub.__name__} is registered for ({names})")
            return bodies[parts](*args)

        def register(*kinds: type, fast: Set[str] = frozenset()) -> Callable[[Body], Body]:
            """Give the body for these part types; ``fast`` is SUM, FUSE or MAXIMUM where that is all it computes."""
            if len(kinds) != arity:
                raise TypeError(f"{stub.__name__} chooses by {arity} part types, got {len(kinds)}")

            def keep(body: Body) -> Body:
                bodies[kinds] = body
                BODIES.append(body)

                def typed(*args: Any) -> Body | None:
                    parts = tuple(_part(arg) for arg in args[:arity])
                    return body if parts == kinds else None

                # A body takes whole parts, dozens of machine words: as a call it would cost more than a short row.
                options: Any = {"forceinline": True, **({"fastmath": set(fast)} if fast else {})}
                overload(choose, jit_options=options, strict=False)(typed)
                return body

            return keep

        if default:
            overload(choose, jit_options={"forceinline": True}, strict=False)(
                lambda *args: None if tuple(_part(arg) for arg in args[:arity]) in bodies else stub
            )
        choose.register = register
        return choose

    return decorate


def helper(fast: Set[str] = frozenset(), inline: bool = True) -> Callable[[Body], Body]:
    """A function that bodies call: plain Python to the interpreter; always inlined in compiled code, unless it is long
    and seldom called, where a call costs less than compiling it in several places.
    """
    options: Any = {"forceinline": inline, **({"fastmath": set(fast)} if fast else {})}
    return register_jitable(**options)


def _part(kind: Any) -> type:
    """The part type behind one of numba's types."""
    return kind.instance_class if isinstance(kind, types.BaseNamedTuple) else type(kind)
