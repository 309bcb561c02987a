"""What `whence.spec` declared in this process, by the function that it is about."""

from __future__ import annotations

from types import CodeType, FunctionType
from typing import Any

from whence.langs.python.oracles.spec_registry import SPECS
from whence.langs.python.oracles.worker.program_names import CannotBuild

_STEPPED = 32 | 128 | 512


def specs_of(order: dict[str, Any]) -> list[FunctionType]:
    """What is declared of a function."""
    found = []
    for target, declared in SPECS:
        inner = target
        while hasattr(inner, "__wrapped__"):
            inner = inner.__wrapped__
        code = getattr(getattr(inner, "__func__", inner), "__code__", None)
        same = code is not None and code.co_qualname == order["qualname"]
        module = getattr(inner, "__module__", None)
        if same and module == order["module"] and isinstance(declared, FunctionType):
            found.append(declared)
    return found


def takes_a_call(declared: FunctionType) -> bool:
    """Whether it judges a call; else it does what the function should do."""
    code = declared.__code__
    return code.co_argcount == 1 and code.co_varnames[0] == "call"


def reference_function(order: dict[str, Any]) -> FunctionType:
    """The function that does what one should do."""
    for declared in specs_of(order):
        code: CodeType = declared.__code__
        if not takes_a_call(declared) and not code.co_flags & _STEPPED:
            return declared
    raise CannotBuild("nothing is declared that does what it should do")
