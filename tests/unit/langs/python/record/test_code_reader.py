"""Which code is user code, and how it is described."""

from __future__ import annotations

import dataclasses
import dis
import json
import sys
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from whence.langs.python.record.backend import CodeDescription
from whence.langs.python.record.code_reader import PythonCodeReader, global_names, inputs_of_body
from whence.langs.python.record.user_code import UserCode, UserCodeRules
from whence.langs.python.trace.trace_format import (
    CLASS_BODY,
    COROUTINE,
    GENERATOR,
    LAMBDA,
    MODULE_BODY,
    STAR_ARGS,
    STAR_KWARGS,
)

USER_MODULE: dict[str, Any] = {"__name__": "program", "__file__": "/home/me/program.py"}


def compiled(source: str, file: str = "/home/me/program.py") -> CodeType:
    return compile(source, file, "exec")


def inner(code: CodeType, name: str) -> CodeType:
    return next(c for c in nested(code) if c.co_name == name)


def nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from nested(constant)


def described(source: str, name: str) -> CodeDescription:
    found = PythonCodeReader(UserCode()).describe(inner(compiled(source), name), USER_MODULE)
    assert found is not None
    return found


def test_parameters_come_in_the_order_of_the_format() -> None:
    found = described("def f(a, /, b, *args, c, d=1, **kw): pass", "f")
    assert found.parameters == ("a", "b", "c", "d", "args", "kw")
    assert found.flags == STAR_ARGS | STAR_KWARGS
    assert found.module == "program"
    assert found.first_line == 1


@pytest.mark.parametrize(
    ("source", "name", "flags"),
    [
        ("x = 1", "<module>", MODULE_BODY),
        ("class A: x = 1", "A", CLASS_BODY),
        ("f = lambda: 1", "<lambda>", LAMBDA),
        ("def f(): yield", "f", GENERATOR),
        ("async def f(): pass", "f", COROUTINE),
        ("async def f(): yield", "f", 16),
    ],
)
def test_flags_say_what_kind_of_code_it_is(source: str, name: str, flags: int) -> None:
    assert described(source, name).flags == flags


def test_module_variables_are_those_that_a_function_and_its_comprehensions_name() -> None:
    source = """
def f(a):
    global WRITTEN, GONE
    WRITTEN = READ + a.attribute
    del GONE
    local = [INSIDE for x in ITERATED]
    return sum(DEEP for y in local), lambda: NOT_OURS
"""
    names = described(source, "f").global_names
    assert set(names) == {"WRITTEN", "GONE", "READ", "INSIDE", "ITERATED", "DEEP", "sum"}
    assert described(source, "<module>").global_names == ()


def test_class_bodies_name_what_they_read_and_not_what_they_define() -> None:
    found = described("class A:\n    x = LIMIT\n    y = x\n    del x", "A")
    assert found.global_names == ("LIMIT", "x")


def test_names_beyond_the_first_256_are_found() -> None:
    lines = "\n".join(f"    v{n}.attribute_{n}" for n in range(700))
    code = inner(compiled(f"def f():\n{lines}"), "f")
    assert global_names(code) == tuple(f"v{n}" for n in range(700))


@pytest.mark.parametrize("module", [json.decoder, dataclasses, dis])
def test_the_names_are_those_that_dis_sees(module: Any) -> None:
    """Also where the interpreter has specialised the code by running it."""
    json.loads('{"a": [1, 2]}')
    source = Path(module.__file__).read_text()
    for code in nested(compile(source, module.__file__, "exec")):
        if code.co_name == "<module>" or not code.co_flags & 1:
            continue
        seen = {
            instruction.argval
            for part in _with_comprehensions(code)
            for instruction in dis.get_instructions(part)
            if instruction.opname in {"LOAD_GLOBAL", "STORE_GLOBAL", "DELETE_GLOBAL"}
        }
        assert set(global_names(code)) == seen - {"__name__"}, code


def _with_comprehensions(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType) and constant.co_name.endswith(("comp>", "genexpr>")):
            yield from _with_comprehensions(constant)


def test_comprehensions_are_no_calls_of_their_own() -> None:
    assert described("x = (i for i in y)", "<genexpr>").transparent
    assert not described("x = lambda: 1", "<lambda>").transparent


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters are new in 3.12")
def test_scopes_of_type_parameters_are_no_calls_of_their_own() -> None:
    assert described("def f[T](x: T): return x", "<generic parameters of f>").transparent
    assert not described("def f[T](x: T): return x", "f").transparent


@pytest.mark.skipif(sys.version_info < (3, 14), reason="up to 3.13 annotations do not wait")
def test_what_the_compiler_puts_off_is_no_call_of_its_own() -> None:
    assert described("def f(x: int): return x", "__annotate__").transparent
    assert described("type A = list[int]", "A").transparent
    assert not described("def __annotate__(format, /): return {}", "__annotate__").transparent


def owns(file: str, namespace: dict[str, Any] | None = None, **rules: tuple[str, ...]) -> bool:
    code = inner(compiled("def f(): pass", file), "f")
    user_code = UserCode(UserCodeRules(**rules), directory="/home/me")
    return user_code.owns(code, USER_MODULE if namespace is None else namespace)


def test_the_library_and_installed_packages_and_whence_are_not_user_code() -> None:
    import whence

    assert owns("/home/me/program.py")
    assert owns("program.py")
    assert not owns(json.__file__, vars(json))
    assert not owns("<frozen importlib._bootstrap>")
    assert not owns("/home/me/.venv/lib/python3.12/site-packages/attr/_make.py")
    assert not owns("/usr/lib/python3/dist-packages/six.py")
    assert not owns(str(Path(whence.__file__).parent / "app.py"))


def test_an_installed_package_can_be_made_user_code() -> None:
    file = "/usr/lib/python3/site-packages/attr/_make.py"
    assert owns(file, {"__name__": "attr._make", "__file__": file}, added=("attr",))
    assert not owns(file, {"__name__": "attribute", "__file__": file}, added=("attr",))
    assert owns(file, added=("/usr/lib/python3/site-packages/attr",))
    assert not owns(file, added=("/usr/lib/python3/site-packages/at",))


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("program.py", True), ("/home/me/*", True), ("program", True), ("f", True),
        ("program.f", True), ("prog*.f", True), ("g", False), ("/home/you/*", False),
    ],
)  # fmt: skip
def test_patterns_leave_out_or_take_only_what_they_match(pattern: str, matches: bool) -> None:
    assert owns("/home/me/program.py", left_out=(pattern,)) is not matches
    assert owns("/home/me/program.py", only=(pattern,)) is matches


def test_code_from_exec_belongs_to_the_module_in_which_it_runs() -> None:
    assert owns("<string>", USER_MODULE)
    assert owns("<string>", {"__name__": "__main__"})
    assert not owns("<string>", vars(json))
    assert not owns("<string>", {})
    assert not owns("<string>", {"__name__": "__main__", "__file__": json.__file__})


def test_methods_that_libraries_generate_are_not_user_code() -> None:
    point = dataclasses.make_dataclass("Point", ["x"])
    pair = namedtuple("pair", "a b")
    user_code = UserCode()
    # dataclasses compile in the namespace of the user's module, namedtuple in one of its own.
    for name in ("__init__", "__eq__"):
        method = getattr(point, name)
        assert not user_code.owns(method.__code__, {**method.__globals__, **USER_MODULE})
    assert not user_code.owns(pair.__new__.__code__, pair.__new__.__globals__)
    body = compile("def __create_fn__():\n def __init__(self): pass", "<string>", "exec")
    assert not user_code.owns(body, USER_MODULE)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("print(counts[0])", ["print", "counts"]),
        ("counts = [1]\nprint(counts)", ["print"]),
        ("counts = counts + [1]", ["counts"]),
        ("counts.append(1)\ncounts = []", ["counts"]),
        ("total = sum([x for x in rows if keep])", ["sum", "rows", "keep"]),
        ("rows = []\ntotal = [x for x in rows]", []),
        ("def f(): return counts\nif __name__ == '__main__': f()", []),
    ],
)
def test_a_body_reads_what_it_did_not_bind_before(source: str, names: list[str]) -> None:
    assert sorted(inputs_of_body(compile(source, "cell", "exec"))) == sorted(names)
