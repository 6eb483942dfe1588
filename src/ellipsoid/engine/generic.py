"""Generic functions: one name, a body for each kind of part, in Python and in compiled code alike.

A part (a rule, a representation, a kind of rows) is a ``NamedTuple`` type that holds numbers and arrays only. A generic
function picks its body by the types of its leading arguments. Compiled code resolves the choice while it is being
typed, so the loop pays nothing for it and its machine code can be kept on disk; with ``NUMBA_DISABLE_JIT=1`` the same
choice is made at every call, which is what a debugger and a coverage run see.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from numba import types
from numba.extending import overload

Body = Callable[..., Any]

# Sums may be regrouped and fused; NaN and infinity keep their meaning.
REGROUP = frozenset({"reassoc", "contract", "nsz"})

# Every body that compiled code may inline, for the digest that keeps the disk cache fresh.
BODIES: list[Body] = []


def generic(arity: int) -> Callable[[Body], Any]:
    """Make a stub a generic function that chooses its body by the types of its first ``arity`` arguments.

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
                names = ", ".join(part.__name__ for part in parts)
                raise TypeError(f"no body of {stub.__name__} is registered for ({names})")
            return bodies[parts](*args)

        def register(*kinds: type, regroup: bool = False) -> Callable[[Body], Body]:
            """Give the body for these part types; ``regroup`` lets its sums be vectorised.

            Regrouping is safe only where one compiled body sums every row in the same order whatever the chunk: a
            score or a norm, never a decision.
            """
            if len(kinds) != arity:
                raise TypeError(f"{stub.__name__} chooses by {arity} part types, got {len(kinds)}")

            def keep(body: Body) -> Body:
                bodies[kinds] = body
                BODIES.append(body)

                def typed(*args: Any) -> Body | None:
                    parts = tuple(_part(arg) for arg in args[:arity])
                    return body if parts == kinds else None

                options = {"fastmath": set(REGROUP)} if regroup else {}
                overload(choose, jit_options=options, strict=False)(typed)
                return body

            return keep

        choose.register = register
        return choose

    return decorate


def _part(kind: Any) -> type:
    """The part type behind one of numba's types."""
    return kind.instance_class if isinstance(kind, types.BaseNamedTuple) else type(kind)
