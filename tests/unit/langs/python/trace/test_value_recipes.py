"""Recorded values as recipes: what they say, what is shared, and what is not known."""

from __future__ import annotations

from pathlib import Path

import pytest
from recorded import BACKENDS, recording

from whence.langs.python.record.options import Bound, RecordOptions
from whence.langs.python.trace.call_recipes import CallRecipe, call_recipe
from whence.langs.python.trace.trace_reader import open_trace
from whence.langs.python.trace.value_recipes import (
    BytearrayRecipe,
    ClassRecipe,
    EntriesRecipe,
    ExceptionRecipe,
    ExtendedRecipe,
    FunctionRecipe,
    InstanceRecipe,
    ItemsRecipe,
    LiteralRecipe,
    MemberRecipe,
    MethodRecipe,
    ModuleRecipe,
    QualifiedName,
    Recipe,
    SharedRecipe,
    SummaryRecipe,
    UnknownRecipe,
    literal_arguments,
    why_unknown,
)
from whence.model.call import OutcomeKind

WIDE = Bound(depth=50, width=1000, attributes=1000, text=10_000, budget=10_000)
WHOLE = RecordOptions(bound=WIDE, first_bound=WIDE)


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def calls(
    source: str, folder: Path, backend: str, options: RecordOptions = WHOLE
) -> dict[str, CallRecipe]:
    """The last call of each function."""
    program = folder / "program.py"
    program.write_text(source)
    output = folder / "program.whence"
    namespace = {"__name__": "program", "__file__": str(program)}
    with recording(output, program, backend, options):
        exec(compile(source, str(program), "exec"), namespace)
    tree = open_trace(output)
    return {
        tree.functions[int(tree.columns.function[at])].qualname: call_recipe(tree, at)
        for at in range(1, len(tree.columns))
    }


def given(value: str, folder: Path, backend: str, before: str = "") -> Recipe:
    """A value that a call was given."""
    source = f"{before}\ndef take(value): pass\ntake({value})\n"
    return calls(source, folder, backend)["take"].arguments["value"]


@pytest.mark.parametrize(
    ("text", "recipe"),
    [
        ("None", LiteralRecipe(None)),
        ("True", LiteralRecipe(True)),
        ("-7", LiteralRecipe(-7)),
        ("2**200", LiteralRecipe(2**200)),
        ("-2**64", LiteralRecipe(-(2**64))),
        ("0.1", LiteralRecipe(0.1)),
        ("1+2j", LiteralRecipe(1 + 2j)),
        ("'tea\\udc80'", LiteralRecipe("tea\udc80")),
        ("b'ab'", LiteralRecipe(b"ab")),
        ("bytearray(b'ab')", BytearrayRecipe(b"ab")),
        (
            "[1, (2,)]",
            ItemsRecipe("list", (LiteralRecipe(1), ItemsRecipe("tuple", (LiteralRecipe(2),)))),
        ),
        ("{3}", ItemsRecipe("set", (LiteralRecipe(3),))),
        ("frozenset({3})", ItemsRecipe("frozenset", (LiteralRecipe(3),))),
        (
            "{'a': [], 1: 2}",
            EntriesRecipe(
                (
                    (LiteralRecipe("a"), ItemsRecipe("list", ())),
                    (LiteralRecipe(1), LiteralRecipe(2)),
                )
            ),
        ),
        ("int", ClassRecipe(QualifiedName("builtins", "int"))),
        ("len", FunctionRecipe(QualifiedName("builtins", "len"))),
        ("take", FunctionRecipe(QualifiedName("program", "take"))),
        ("range(3)", SummaryRecipe(QualifiedName("builtins", "range"), "range(0, 3)")),
    ],
)
def test_a_value_is_told_exactly(text: str, recipe: Recipe, tmp_path: Path, backend: str) -> None:
    assert given(text, tmp_path, backend) == recipe


@pytest.mark.parametrize(
    ("before", "text", "recipe"),
    [
        (
            "class Box:\n def __init__(self): self.n = 1",
            "Box()",
            InstanceRecipe(QualifiedName("program", "Box"), (("n", LiteralRecipe(1)),)),
        ),
        (
            "class Box:\n class Lid:\n  __slots__ = ('n',)\n  def __init__(self): self.n = 1",
            "Box.Lid()",
            InstanceRecipe(QualifiedName("program", "Box.Lid"), (("n", LiteralRecipe(1)),)),
        ),
        (
            "class Words(list): pass",
            "Words('ab')",
            ExtendedRecipe(
                QualifiedName("program", "Words"),
                ItemsRecipe("list", (LiteralRecipe("a"), LiteralRecipe("b"))),
                (),
            ),
        ),
        (
            "",
            "KeyError('a', 1)",
            ExceptionRecipe(
                QualifiedName("builtins", "KeyError"),
                ItemsRecipe("tuple", (LiteralRecipe("a"), LiteralRecipe(1))),
                (),
            ),
        ),
        (
            "import enum\nclass Colour(enum.Enum):\n RED = 1",
            "Colour.RED",
            MemberRecipe(QualifiedName("program", "Colour"), "RED"),
        ),
        (
            "import decimal",
            "decimal.Decimal('1.50')",
            SummaryRecipe(QualifiedName("decimal", "Decimal"), "Decimal('1.50')"),
        ),
        ("import math", "math", ModuleRecipe("math")),
        (
            "class Box:\n def open(self): pass",
            "Box().open",
            MethodRecipe("Box.open", InstanceRecipe(QualifiedName("program", "Box"), ())),
        ),
    ],
)
def test_an_object_is_told_by_its_class_and_state(
    before: str, text: str, recipe: Recipe, tmp_path: Path, backend: str
) -> None:
    assert given(text, tmp_path, backend, before) == recipe


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ("", "object()"),
        ("", "iter([1])"),
        ("", "lambda: 1"),
        ("def make():\n class Local: pass\n return Local()", "make()"),
        ("def make():\n class Local: pass\n return Local", "make()"),
        ("", "open(__file__)"),
        ("", "[1, [object()]]"),
        ("", "list(range(1001))"),
        ("", "'x' * 10_001"),
    ],
)
def test_what_cannot_be_made_again_is_unknown_with_a_reason(
    before: str, text: str, tmp_path: Path, backend: str
) -> None:
    assert why_unknown(given(text, tmp_path, backend, before))


def test_sharing_and_cycles_are_kept_across_inputs_and_outcome(
    tmp_path: Path, backend: str
) -> None:
    source = """
def take(first, second):
    first.append(7)
    return [second]
inner = []
inner.append(inner)
take(inner, inner)
"""
    call = calls(source, tmp_path, backend)["take"]
    first, second = call.arguments["first"], call.arguments["second"]
    assert isinstance(first, ItemsRecipe)
    assert first.label is not None
    assert first.items == (SharedRecipe(first.label),)
    assert second == SharedRecipe(first.label)
    assert call.changed["first"] == ItemsRecipe(
        "list", (SharedRecipe(first.label), LiteralRecipe(7)), first.label
    )
    assert call.outcome.value == ItemsRecipe("list", (SharedRecipe(first.label),))


def test_a_call_has_its_reads_captures_changes_and_output(tmp_path: Path, backend: str) -> None:
    source = """
count = 3
def make(step):
    def bump(by):
        global count
        count += step * by
        print("bumped")
        raise ValueError(count)
    return bump
try:
    make(2)(5)
except ValueError:
    pass
"""
    call = calls(source, tmp_path, backend)["make.<locals>.bump"]
    assert call.arguments == {"by": LiteralRecipe(5)}
    assert call.captured == {"step": LiteralRecipe(2)}
    assert call.reads[QualifiedName("program", "count")] == LiteralRecipe(3)
    assert call.changed_reads == {QualifiedName("program", "count"): LiteralRecipe(13)}
    assert call.outcome.kind is OutcomeKind.RAISED
    assert call.outcome.value == ExceptionRecipe(
        QualifiedName("builtins", "ValueError"), ItemsRecipe("tuple", (LiteralRecipe(13),)), ()
    )


def test_a_generator_has_what_it_yielded(tmp_path: Path, backend: str) -> None:
    source = "def count(n):\n for i in range(n): yield [i]\n return 9\nlist(count(2))\n"
    outcome = calls(source, tmp_path, backend)["count"].outcome
    assert outcome.yielded == (
        ItemsRecipe("list", (LiteralRecipe(0),)),
        ItemsRecipe("list", (LiteralRecipe(1),)),
    )
    assert outcome.value == LiteralRecipe(9)


def test_what_was_not_recorded_is_unknown(tmp_path: Path, backend: str) -> None:
    narrow = RecordOptions(first_calls=0)
    source = "def take(value): return [[1]]\ntake([[[1]]])\n"
    call = calls(source, tmp_path, backend, narrow)["take"]
    assert isinstance(call.arguments["value"], ItemsRecipe)
    assert why_unknown(call.arguments["value"])


def test_a_text_that_is_a_call_is_taken_apart_without_running_it() -> None:
    assert literal_arguments("Decimal('1.5')") == ("Decimal", ["1.5"], {})
    assert literal_arguments("deque([1, 2], maxlen=3)") == ("deque", [[1, 2]], {"maxlen": 3})
    assert literal_arguments("f(open('x'))") is None
    assert literal_arguments("array([1, …2 more])") is None
    assert not isinstance(literal_arguments("f()"), UnknownRecipe)
