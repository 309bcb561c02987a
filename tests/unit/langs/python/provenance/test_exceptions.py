"""Exceptions: whatever led to one has a say in it, and in all that is done because of it."""

from __future__ import annotations

import textwrap

import pytest
from marked_runs import mark

from whence.langs.python.provenance.influence_slices import influencing_calls
from whence.langs.python.provenance.marked_parts import Criterion
from whence.langs.python.provenance.rewriter.rewriting_importer import run_source
from whence.langs.python.provenance.tags import Activation
from whence.langs.python.provenance.value_origins import find_origin

PROGRAM = """
def make(value): return value
def unused(): return 1
def none(): return 2
def given(x): return x
def generate(x):
    yield x.y
def main(value):
    x = make(value)
    unused()
    {statement}
def top(value):
    try:
        main(value)
        found = "no"
    except BaseException:
        found = "yes"
    return found
top({value})
"""

FORMS = [
    ("x.items()", "None", "x.items"),
    ("x.y", "'text'", "x.y"),
    ("x[5]", "[1]", "x[5]"),
    ("x()", "None", "x()"),
    ("x + 'a'", "5", "x + 'a'"),
    ("a, b = x", "[1]", "x"),
    ("none(x)", "5", "none(x)"),
    ("none(**x)", "5", "none(**x)"),
    ("given(*x)", "[]", "given(*x)"),
    ("given(y=x)", "5", "given(y=x)"),
    ("raise x", "5", "raise x"),
    ("raise KeyError(x)", "5", "raise KeyError(x)"),
    ("assert not x", "5", "assert not x"),
    ("assert x == 3, x", "5", "assert x == 3, x"),
    ("list(generate(x))", "5", "x.y"),
    ("(lambda: x.y)()", "5", "x.y"),
    ("[each.y for each in [x]]", "5", "each.y"),
    ("del x.y", "5", "del x.y"),
    ("x.y = 1", "5", "x.y"),
    ("int(x)", "'q'", "int(x)"),
    ("{**x}", "5", "{**x}"),
    ("exec('x.y')", "5", "exec('x.y')"),
    ("with x: pass", "5", "x"),
    ("for _ in x: pass", "5", "x"),
    ("class A(x): pass", "5", "class A(x): pass"),
    ("match x:\n        case str(): raise KeyError", "'q'", "raise KeyError"),
]


@pytest.mark.parametrize(("statement", "value", "expression"), FORMS)
def test_what_led_to_an_exception_is_in_its_slice(
    statement: str, value: str, expression: str
) -> None:
    source = PROGRAM.format(statement=statement, value=value).lstrip("\n")
    seen: list[Criterion] = []

    def left(activation: Activation) -> None:
        if activation.name == "main":
            seen.append(Criterion(activation, None, activation.failure, (), ()))

    run_source(source, "program.py", on_leave=left)
    [raised] = seen
    assert raised.tag is not None, "it did not raise"
    for width in (1, 2, 3):
        assert "make" in {each.name for each in influencing_calls(raised, width)}
    [maker] = find_origin(raised).makers
    assert expression in maker.site.text


@pytest.mark.parametrize(("statement", "value", "expression"), FORMS)
def test_what_led_to_an_exception_had_a_say_in_what_its_handler_does(
    statement: str, value: str, expression: str
) -> None:
    marked = mark(PROGRAM.format(statement=statement, value=value), "top", "")
    assert {"make", "main"} <= marked.calls(1)


def test_a_module_that_fails_tells_what_failed() -> None:
    source = """
        def make(): return None
        def other(): return 1
        other()
        make().items()
    """
    with pytest.raises(AttributeError) as raised:
        run_source(textwrap.dedent(source).lstrip("\n"), "program.py")
    from whence.langs.python.provenance.runtime.run_state import RUN
    from whence.langs.python.provenance.runtime.shadow_memory import shadow_of

    shadow = shadow_of(raised.value)
    assert shadow is not None
    found = Criterion(RUN.root, None, shadow.shape, (), ())
    assert {each.name for each in influencing_calls(found, 3)} == {"make"}
    told = find_origin(found)
    assert [each.site.text for each in told.makers] == ["make().items"]
    assert [each.activation.name for each in told.made_of] == ["make"]


@pytest.mark.parametrize("joined", ["(part(n) for n in range(5))", "[part(n) for n in range(5)]"])
def test_of_what_a_wrong_type_was_met_in_the_odd_one_is_told_first(joined: str) -> None:
    source = f"""
        def missing(): return None
        def part(n): return missing() if n == 3 else f"<{{n}}>"
        "".join({joined})
    """
    with pytest.raises(TypeError) as raised:
        run_source(textwrap.dedent(source).lstrip("\n"), "program.py")
    from whence.langs.python.provenance.runtime.run_state import RUN
    from whence.langs.python.provenance.runtime.shadow_memory import shadow_of

    shadow = shadow_of(raised.value)
    assert shadow is not None
    told = find_origin(Criterion(RUN.root, None, shadow.shape, (), ())).made_of
    assert told[0].activation.name == "missing"
