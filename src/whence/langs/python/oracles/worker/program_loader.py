"""Brings one version of a program into this process without running its main part.

The script runs under another name than `__main__`, as in multiprocessing, and gets that name
afterwards: calls that are made later see the script that was recorded. What a script does outside
of `if __name__ == "__main__"` is done, and its output is thrown away.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import os
import sys
from collections.abc import Sequence
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import CodeType, FunctionType, ModuleType
from typing import Any

from whence.langs.python.objects.raw_class import own_names
from whence.langs.python.source.code_digest import all_code

_WHILE_LOADED = "__mp_main__"
"""The name of the script while it runs."""


class CannotLoad(Exception):
    """Why the version of the program cannot be loaded."""


def load(kind: str, name: str, modules: Sequence[str]) -> list[str]:
    """Load the program and its modules; return what went wrong, as texts."""
    problems = []
    try:
        _load_main(kind, name)
    except BaseException as problem:
        problems.append(f"{name}: {type(problem).__name__}: {problem}")
    for module in modules:
        if module not in sys.modules:
            try:
                importlib.import_module(module)
            except BaseException as problem:
                problems.append(f"{module}: {type(problem).__name__}: {problem}")
    return problems


def _load_main(kind: str, name: str) -> None:
    module = ModuleType(_WHILE_LOADED)
    module.__dict__["__builtins__"] = __builtins__
    if kind == "script":
        path = os.path.abspath(name)
        if os.path.isdir(path):
            path = os.path.join(path, "__main__.py")
        with open(path, "rb") as file:
            code = compile(file.read(), path, "exec", dont_inherit=True)
        module.__file__ = path
    elif kind == "-m":
        code = _of_module(name, module)
    elif kind == "-c":
        code = compile(name, "<string>", "exec", dont_inherit=True)
    else:
        return
    _codes["__main__"] = code
    sys.modules[_WHILE_LOADED] = sys.modules["__main__"] = module
    try:
        exec(code, module.__dict__)
    except SystemExit:
        pass
    finally:
        _rename(module)


def _of_module(name: str, module: ModuleType) -> CodeType:
    spec = importlib.util.find_spec(name)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = importlib.util.find_spec(f"{name}.__main__")
    code = None
    if spec is not None and spec.loader is not None and hasattr(spec.loader, "get_code"):
        code = spec.loader.get_code(spec.name)
    if spec is None or code is None:
        raise CannotLoad(f"the module {name} has no code that can be loaded")
    module.__file__ = spec.origin
    module.__package__ = spec.parent
    module.__spec__ = spec
    return code  # type: ignore[no-any-return]


def _rename(module: ModuleType) -> None:
    module.__dict__["__name__"] = "__main__"
    for value in gc.get_objects():
        if isinstance(value, type):
            if own_names(value).get("__module__") == _WHILE_LOADED:
                type.__setattr__(value, "__module__", "__main__")
        elif isinstance(value, FunctionType) and value.__module__ == _WHILE_LOADED:
            value.__module__ = "__main__"


# --- code by its name ----------------------------------------------------------------------------

_codes: dict[str, CodeType | None] = {}
"""The code of each module's body."""


def module_code(name: str) -> CodeType | None:
    """The code of a module's body, which holds that of all its functions."""
    if name not in _codes:
        _codes[name] = None
        module = sys.modules.get(name)
        loader: Any = getattr(getattr(module, "__spec__", None), "loader", None)
        if hasattr(loader, "get_code"):
            _codes[name] = loader.get_code(name)
    return _codes[name]


def find_code(
    module: str, qualname: str, parameters: Sequence[str], free: Sequence[str], line: int | None
) -> CodeType:
    """The one code of a module with this name and these inputs; of several, the one at a line."""
    body = module_code(module)
    if body is None:
        raise CannotLoad(f"there is no module {module}")
    named = [code for code in all_code(body) if code.co_qualname == qualname]
    if not named:
        raise CannotLoad(f"there is no {qualname} in {module}")
    matches = [code for code in named if list(parameters_of(code)) == list(parameters)]
    if not matches:
        raise CannotLoad(f"{qualname} has other parameters there")
    if len(matches) > 1 and line is not None:
        matches = [code for code in matches if code.co_firstlineno == line]
    if len(matches) != 1:
        raise CannotLoad(f"there are several functions of the name {qualname} in {module}")
    if {*matches[0].co_freevars} - {"__class__"} != {*free} - {"__class__"}:
        raise CannotLoad(f"{qualname} has other free variables there")
    return matches[0]


def parameters_of(code: CodeType) -> tuple[str, ...]:
    """The names of the parameters of code, `*args` and `**kwargs` included."""
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & CO_VARARGS) + bool(code.co_flags & CO_VARKEYWORDS)
    return code.co_varnames[:count]
