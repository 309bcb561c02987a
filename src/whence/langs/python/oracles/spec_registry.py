"""What a program declares about its functions: `whence.spec`.

Imported by the program that is debugged, so it imports nothing and does nothing but keep what it is
given. Only the debugger's own process of that program ever calls it.
"""

from __future__ import annotations

TYPE_CHECKING = False  # for type checkers it is true
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    _Function = TypeVar("_Function", bound=Callable[..., Any])

SPECS: list[tuple[Any, Callable[..., Any]]] = []
"""Functions, and what is declared of them."""


def spec(function: Callable[..., Any]) -> Callable[[_Function], _Function]:
    """Declare, beside the code, what calls of a function should come to.

    What is decorated either has one parameter named `call`, and says True if that call is right,
    False if it is wrong, None if it cannot tell; or it has the parameters of the function, and does
    what the function should do. It is left as it is, and is called by whence alone.

    >>> @spec(sorted_copy)
    ... def _(call):
    ...     return call.result == sorted(call.before.items)
    """

    def declare(declared: _Function) -> _Function:
        SPECS.append((function, declared))
        return declared

    return declare
