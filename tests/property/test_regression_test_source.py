"""A regression test holds no code of a recording, whatever the names and texts in it are.

Each template puts a text at one place of a recorded call: the name of a class, an attribute, a
string. The test that is written for a hostile text must have the syntax tree of the test for a
harmless one, with the text in the same places and nowhere else; or there is no test.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from whence.langs.python.rebuilding.checked_source import CannotRebuild, is_identifier
from whence.langs.python.rebuilding.outcome_assertion import Complaint
from whence.langs.python.rebuilding.program_modules import RecordedProgram
from whence.langs.python.rebuilding.pytest_source import RecordedTest, regression_test_source
from whence.langs.python.trace import value_recipes as r
from whence.langs.python.trace.call_recipes import CallRecipe, OutcomeRecipe
from whence.langs.python.trace.trace_tables import CodeEntry
from whence.langs.python.trace.value_recipes import QualifiedName
from whence.model.call import Mark, OutcomeKind

SOURCE = "LIMIT = [1]\n\n\ndef take(x, **more):\n    return x\n"
CODE = CodeEntry(0, "program.py", "program", "take", 4, ("x", "more"), (), (), b"")
NONE = r.LiteralRecipe(None)
ONE = r.LiteralRecipe(1)
HARMLESS = "Zzyzx"
NO_COMPLAINT = Complaint()

_PIECES = [
    "a", "Box", "_", ".", " ", "\n", "\r", "\x0c", "\x00", "\\", "'", '"', "'''", '"""', "#", ";",
    "(", ")", "{", "}", "[", "]", ",", "=", ":", "import os", "__import__('os').system('x')",
    "lambda: 0",
    " if eval('1') else ", "class", "None", "\u202e", "\u2066", "\ud800", "\u2028", "ﬁ",
    "é", "0", "…",
]  # fmt: skip
hostile = st.lists(st.sampled_from(_PIECES), min_size=1, max_size=6).map("".join)
ATTACK = 'P if __import__("os").system("touch /tmp/x") else dict'


def named(name: str) -> QualifiedName:
    return QualifiedName("library", name)


def call(x: r.Recipe, **changes: object) -> CallRecipe:
    more = r.EntriesRecipe(())
    outcome = OutcomeRecipe(OutcomeKind.RETURNED, r.LiteralRecipe(7))
    whole = CallRecipe(CODE, {"x": x, "more": more}, {}, {}, outcome, {}, {}, ())
    return replace(whole, **changes)  # type: ignore[arg-type]


def raised(name: str) -> OutcomeRecipe:
    error = r.ExceptionRecipe(named(name), r.ItemsRecipe("tuple", ()), ())
    return OutcomeRecipe(OutcomeKind.RAISED, error)


def keywords(name: str) -> dict[str, r.Recipe]:
    return {"x": ONE, "more": r.EntriesRecipe(((r.LiteralRecipe(name), ONE),))}


NAMES: dict[str, Callable[[str], CallRecipe]] = {
    "a class": lambda text: call(r.ClassRecipe(named(text))),
    "an inner class": lambda text: call(r.ClassRecipe(named(f"Outer.{text}"))),
    "a builtin": lambda text: call(r.ClassRecipe(QualifiedName("builtins", text))),
    "a function": lambda text: call(r.FunctionRecipe(named(text))),
    "a module": lambda text: call(r.ModuleRecipe(text)),
    "the module of a class": lambda text: call(r.ClassRecipe(QualifiedName(text, "Box"))),
    "the class of an object": lambda text: call(r.InstanceRecipe(named(text), (("size", ONE),))),
    "the class of an exception": lambda text: call(
        r.ExceptionRecipe(named(text), r.ItemsRecipe("tuple", (ONE,)), ())
    ),
    "the class of a member": lambda text: call(r.MemberRecipe(named(text), "RED")),
    "a member": lambda text: call(r.MemberRecipe(named("Colour"), text)),
    "a method": lambda text: call(r.MethodRecipe(text, r.ClassRecipe(named("Box")))),
    "a flag": lambda text: call(r.SummaryRecipe(named("Flag"), f"Flag.{text}")),
    "a keyword argument": lambda text: call(ONE, arguments=keywords(text)),
    "a changed attribute": lambda text: call(
        r.InstanceRecipe(named("Box"), ((text, ONE),)),
        changed={"x": r.InstanceRecipe(named("Box"), ((text, r.LiteralRecipe(2)),))},
    ),
    "a changed variable": lambda text: call(
        ONE, changed_reads={QualifiedName("program", text): r.LiteralRecipe(2)}
    ),
}
TEXTS: dict[str, Callable[[str], CallRecipe]] = {
    "a text": lambda text: call(r.LiteralRecipe(text)),
    "a key": lambda text: call(r.EntriesRecipe(((r.LiteralRecipe(text), ONE),))),
    "an attribute": lambda text: call(r.InstanceRecipe(named("Box"), ((text, ONE),))),
    "a module variable": lambda text: call(ONE, reads={QualifiedName("program", f"v{text}"): ONE}),
    "what it returned": lambda text: call(
        ONE, outcome=OutcomeRecipe(OutcomeKind.RETURNED, r.LiteralRecipe(text))
    ),
    "an argument of an exception": lambda text: call(
        r.ExceptionRecipe(
            QualifiedName("builtins", "ValueError"),
            r.ItemsRecipe("tuple", (r.LiteralRecipe(text),)),
            (),
        )
    ),
    "a path": lambda text: call(
        r.SummaryRecipe(QualifiedName("pathlib", "PosixPath"), f"PosixPath({text!r})")
    ),
}
COMMENTS: dict[str, Callable[[str], tuple[CallRecipe, Complaint, str]]] = {
    "the exception that it raised": lambda text: (
        call(ONE, outcome=raised(text)), Complaint(), "About it.",
    ),
    "what it should be": lambda text: (call(ONE), Complaint(f"something {text}"), "About it."),
    "a stored expectation": lambda text: (
        call(ONE), Complaint(f"print({text!r})", is_typed=False), "About it.",
    ),
}  # fmt: skip


def written(
    recorded: CallRecipe,
    complaint: Complaint = NO_COMPLAINT,
    about: str = "About it.",
    folder: str = "project",
    test: str = "/work/tests/test_it.py",
) -> ast.Module:
    """The parsed test; nothing of it may be lost when it is stored."""
    program = RecordedProgram(
        {"program": "program.py"}, lambda file: SOURCE, Path("/work") / folder
    )
    order = RecordedTest(recorded, complaint, Path(test), about, False)
    source = regression_test_source(order, program).text
    assert source.encode().decode() == source
    return ast.parse(source)


def shape(tree: ast.AST) -> list[str]:
    """The kinds of all nodes, without names and constants."""
    return [type(node).__name__ for node in ast.walk(tree)]


def words(tree: ast.AST) -> Iterator[str]:
    """All names and constants, in the order of `shape`."""
    for node in ast.walk(tree):
        for _, value in ast.iter_fields(node):
            if isinstance(value, str | bytes | int | float | complex):
                yield str(value)


def variables(tree: ast.AST) -> set[str]:
    names = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, ast.Store)}


def check_same(tree: ast.Module, harmless: ast.Module, text: str) -> None:
    """The tree is the harmless one with the text in its place."""
    assert sorted(shape(tree)) == sorted(shape(harmless))
    own = variables(tree) | variables(harmless)
    allowed = [word.replace(HARMLESS, text) for word in words(harmless) if word not in own]
    assert sorted(word for word in words(tree) if word not in own) == sorted(allowed)


@pytest.mark.parametrize("template", NAMES)
@given(text=hostile)
@example(text=ATTACK)
@example(text="Fine")
@example(text="eval")
@example(text="class")
@example(text="a\nimport os")
def test_a_name_becomes_source_only_if_it_is_an_identifier(template: str, text: str) -> None:
    assume(HARMLESS not in text)
    make = NAMES[template]
    try:
        tree = written(make(text))
    except CannotRebuild:
        assert not is_identifier(text), "a test of a harmless name was refused"
        return
    used = text.rpartition(".")[2] if template == "a method" else text
    assert all(map(is_identifier, used.split(".")))
    # A name that is taken is reached through its module.
    if "." not in text and not hasattr(builtins, text):
        check_same(tree, written(make(HARMLESS)), text)


@pytest.mark.parametrize("template", TEXTS)
@given(text=hostile)
@example(text=ATTACK)
@example(text='"""\nimport os\n"""')
def test_a_text_becomes_a_literal(template: str, text: str) -> None:
    make = TEXTS[template]
    check_same(written(make(text)), written(make(HARMLESS)), text)


@pytest.mark.parametrize("template", COMMENTS)
@given(text=hostile)
@example(text="Error\nimport os")
@example(text="\r__import__('os')")
def test_a_comment_stays_a_comment(template: str, text: str) -> None:
    assume(text.strip())
    tree, harmless = (written(*COMMENTS[template](word)) for word in (text, HARMLESS))
    assert ast.dump(tree) == ast.dump(harmless)


@given(text=hostile)
@example(text='"')
@example(text='"""\nimport os\n"""')
@example(text="\\")
def test_a_docstring_stays_a_docstring(text: str) -> None:
    tree = written(call(ONE), about=text)
    assert ast.get_docstring(tree, clean=False) == text.replace('"""', "'''")
    assert ast.dump(ast.Module(tree.body[1:], [])) == ast.dump(
        ast.Module(written(call(ONE)).body[1:], [])
    )


@given(text=hostile.filter(lambda text: "." not in text))
@example(text='"); import os; ("')
def test_a_folder_is_a_literal(text: str) -> None:
    assume(text.strip())
    for test in ("/work/tests/test_it.py", "/other/test_it.py"):
        tree, harmless = (written(call(ONE), folder=name, test=test) for name in (text, HARMLESS))
        check_same(tree, harmless, text)


@given(text=hostile)
@example(text=ATTACK)
@example(text="Decimal[__import__('os').system('x')]('')")
@example(text="datetime.date(*__import__('os').environ)")
def test_a_summary_is_a_call_of_literals(text: str) -> None:
    known = {"datetime": "date", "decimal": "Decimal", "re": "Pattern", "builtins": "slice"}
    known |= {"pathlib": "PosixPath", "collections": "deque", "array": "array", "numpy": "int64"}
    for module, name in known.items():
        for whole in (text, f"{name}({text})", f"{module}.{name}({text})"):
            recipe = r.SummaryRecipe(QualifiedName(module, name), whole)
            try:
                tree = written(call(recipe))
            except CannotRebuild:
                continue
            calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
            called = {ast.unparse(node.func).rpartition(".")[2] for node in calls}
            assert called <= {
                *known.values(),
                "Path",
                "compile",
                "take",
                "insert",
                "str",
                "resolve",
            }


@pytest.mark.parametrize("text", ["eval", "exec", "print", "type", "open"])
def test_an_exception_of_a_recording_calls_no_builtin_function(text: str) -> None:
    arguments = r.ItemsRecipe("tuple", (r.LiteralRecipe("1 / 0"),))
    recipe = r.ExceptionRecipe(QualifiedName("builtins", text), arguments, ())
    with pytest.raises(CannotRebuild):
        written(call(recipe))


@pytest.mark.parametrize("steps", [("[__import__('os')]",), (".a if b else c",), ("; x",), ("y",)])
def test_a_marked_part_is_attributes_and_literal_keys(steps: tuple[str, ...]) -> None:
    try:
        tree = written(call(ONE), Complaint("3", Mark("result", steps)))
    except CannotRebuild:
        return
    assert "os" not in set(words(tree))


def test_what_the_user_typed_may_be_an_expression_and_what_was_stored_may_not() -> None:
    typed = written(call(ONE), Complaint("sum([1, 2])"))
    stored = written(call(ONE), Complaint("sum([1, 2])", is_typed=False))
    assert "sum" in set(words(typed))
    assert "sum" not in set(words(stored))
    assert "3" in set(words(written(call(ONE), Complaint("3", is_typed=False))))
    error = written(call(ONE), Complaint("raises ValueError", is_typed=False))
    assert "ValueError" in set(words(error))
