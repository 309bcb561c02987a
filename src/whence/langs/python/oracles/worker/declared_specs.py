"""The functions that `whence.spec` declared in this process, by the function that they describe."""

from __future__ import annotations

from types import CodeType, FunctionType

from whence.langs.python.oracles.spec_registry import SPECS
from whence.langs.python.oracles.worker.program_names import CannotBuild

_STEPPED = 32 | 128 | 512


def specs_of(module: str, qualname: str) -> list[FunctionType]:
    """What is declared of a function."""
    specs = []
    for target, declared in SPECS:
        inner = target
        while hasattr(inner, "__wrapped__"):
            inner = inner.__wrapped__
        code = getattr(getattr(inner, "__func__", inner), "__code__", None)
        is_named = code is not None and code.co_qualname == qualname
        of_module = getattr(inner, "__module__", None) == module
        if is_named and of_module and isinstance(declared, FunctionType):
            specs.append(declared)
    return specs


def takes_a_call(declared: FunctionType) -> bool:
    """Whether it judges a call; otherwise it does what the function should do."""
    code = declared.__code__
    return code.co_argcount == 1 and code.co_varnames[0] == "call"


def reference_function(module: str, qualname: str) -> FunctionType:
    """The function that is declared to do what another one should do."""
    for declared in specs_of(module, qualname):
        code: CodeType = declared.__code__
        if not takes_a_call(declared) and not code.co_flags & _STEPPED:
            return declared
    raise CannotBuild("nothing is declared that does what it should do")
