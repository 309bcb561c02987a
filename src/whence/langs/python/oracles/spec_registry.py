"""What a program declares about its functions: `whence.spec`.

The debugged program imports it, so it imports nothing and only stores the declarations. A worker
calls them; the program itself never does.
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
    """Declare what the calls of a function should do.

    The decorated function either has one parameter named `call`, and returns True if that call is
    right, False if it is wrong, None if it cannot tell; or it has the parameters of the function,
    and does what the function should do. It stays as it is, and only whence calls it.

    >>> @spec(sorted_copy)
    ... def _(call):
    ...     return call.result == sorted(call.before.items)
    """

    def declare(declared: _Function) -> _Function:
        SPECS.append((function, declared))
        return declared

    return declare
