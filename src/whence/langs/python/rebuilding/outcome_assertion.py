"""Writes what a test asserts: the expected outcome of a call, or at least not the wrong one.

Invariant: the assertion fails for what was recorded. Where that is not certain (an object without
equality, a value that was not fully recorded), `CannotRebuild` says so.
"""

from __future__ import annotations

import ast
import builtins
import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from whence.langs.python.rebuilding.call_source import CallExpression
from whence.langs.python.rebuilding.checked_source import (
    CannotRebuild,
    comment,
    dotted_name,
    identifier,
    literal_source,
)
from whence.langs.python.rebuilding.source_layout import Group, Text, flat, fold
from whence.langs.python.rebuilding.test_trial import Failure
from whence.langs.python.rebuilding.value_source import ValueWriter, plain, same
from whence.langs.python.record import matches
from whence.langs.python.source.definitions import NOT_LITERAL, ModuleDefinitions, literal
from whence.langs.python.source.scopes import stored
from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace.call_recipes import CallRecipe
from whence.langs.python.trace.value_recipes import (
    BytearrayRecipe,
    EntriesRecipe,
    ExceptionRecipe,
    ExtendedRecipe,
    InstanceRecipe,
    ItemsRecipe,
    LiteralRecipe,
    QualifiedName,
    Recipe,
    SharedRecipe,
    SummaryRecipe,
    UnknownRecipe,
    walk,
)
from whence.model.call import Mark, OutcomeKind

_SECONDS = 10
_ROOT = re.compile(r"([^\W\d]\w*)(.*)\Z", re.DOTALL)
_MATCH = QualifiedName("re", "Match")
_MUTABLE = (ItemsRecipe, EntriesRecipe, InstanceRecipe, BytearrayRecipe, ExtendedRecipe)


@dataclass(frozen=True, slots=True)
class Complaint:
    """What is wrong about a call: which part, and what it should have been."""

    expected: str | None = None
    mark: Mark | None = None
    is_typed: bool = True
    """Whether the user typed `expected`; of a stored text only a literal or an exception counts."""


@dataclass(frozen=True, slots=True)
class _Expected:
    """An expected value as source, or an exception that should have been raised."""

    text: str
    value: object = NOT_LITERAL
    raises: str = ""


class OutcomeAssertion:
    """Writes the call and what is asserted about it, as the lines of a test's body."""

    def __init__(
        self,
        writer: ValueWriter,
        call: CallRecipe,
        written: CallExpression,
        module: Callable[[str], ModuleDefinitions | None],
    ) -> None:
        self._writer = writer
        self._call = call
        self._written = written
        self._module = module
        self.fixtures: list[str] = []
        self.failure = Failure()
        """How the test fails."""
        self._result = ""

    def lines(self, complaint: Complaint, *, prints: bool) -> list[str]:
        """The lines. `prints`: all output during the call was its own."""
        expected, description = self._parse_expected(complaint)
        self.failure = self._failure(expected)
        about = [comment(f"It should be: {description}")] if description else []
        if expected is not None and expected.raises:
            return self._raises(expected)
        kind = self._call.outcome.kind
        if kind is OutcomeKind.RAISED:
            return about + self._should_return(expected, complaint.mark)
        if kind is OutcomeKind.NOT_TERMINATED:
            return self._should_end(expected, about)
        if expected is not None:
            return self._equals(expected, complaint.mark)
        return self._differs(complaint.mark, about, prints=prints)

    def _failure(self, expected: _Expected | None) -> Failure:
        outcome = self._call.outcome
        if outcome.kind is OutcomeKind.NOT_TERMINATED:
            return Failure(by_assertion=False, raised="builtins.KeyboardInterrupt")
        if outcome.kind is not OutcomeKind.RAISED:
            return Failure()
        of = getattr(outcome.value, "of", None)
        raises = expected is not None and bool(expected.raises)
        return Failure(
            by_assertion=raises, raised="" if of is None else f"{of.module}.{of.qualname}"
        )

    # --- what was expected -----------------------------------------------------------------------

    def _parse_expected(self, complaint: Complaint) -> tuple[_Expected | None, str]:
        """The expected value as source, or as a comment if it is no expression that the test can
        evaluate."""
        if complaint.expected is None:
            return None, ""
        bare = complaint.expected.strip()
        raising = re.match(r"(?:raises?)\s+(.+)\Z", bare)
        try:
            tree = ast.parse(raising[1] if raising else bare, mode="eval")
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            return None, bare
        is_name = raising is not None and isinstance(tree.body, ast.Name)
        if not complaint.is_typed and not is_name and not _is_data(tree.body):
            return None, bare
        source = self._resolve_names(tree)
        if source is None:
            return None, bare
        called = tree.body.func if isinstance(tree.body, ast.Call) else tree.body
        if raising or self._is_exception(called):
            return _Expected(source, raises=self._raised(tree.body, source)), ""
        return _Expected(source, literal(tree.body)), ""

    def _resolve_names(self, tree: ast.Expression) -> str | None:
        """The expression with its names imported; None if the program lacks one."""
        own = stored(tree) | {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
        module = self._call.code.module
        definitions = self._module(module)
        for node in ast.walk(tree):
            if not isinstance(node, ast.Name) or node.id in own or hasattr(builtins, node.id):
                continue
            if definitions is None or node.id not in definitions.names:
                return None
            node.id = self._writer.imports.name(QualifiedName(module, node.id))
        return ast.unparse(tree)

    def _is_exception(self, called: ast.expr) -> bool:
        name = ast.unparse(called).rpartition(".")[2]
        builtin = getattr(builtins, name, None)
        if isinstance(builtin, type) and issubclass(builtin, BaseException):
            return True
        definitions = self._module(self._call.code.module)
        if definitions is not None and definitions.is_exception(name):
            return True
        return bool(re.search(r"(Error|Exception)\Z", name))

    def _raised(self, node: ast.expr, source: str) -> str:
        if not isinstance(node, ast.Call):
            return source
        kind = ast.unparse(node.func)
        if len(node.args) == 1 and isinstance(node.args[0], ast.Constant):
            text = node.args[0].value
            if isinstance(text, str) and self._shows_message(node.func):
                return f"{kind}, match={literal_source(re.escape(text))}"
        return kind

    def _shows_message(self, called: ast.expr) -> bool:
        """Whether an exception is known to show the text that it is made with."""
        name = ast.unparse(called).rpartition(".")[2]
        builtin = getattr(builtins, name, None)
        if isinstance(builtin, type) and issubclass(builtin, BaseException):
            return not issubclass(builtin, KeyError | UnicodeError | BaseExceptionGroup)
        definitions = self._module(self._call.code.module)
        return (
            definitions is not None
            and definitions.extends_plainly(name)
            and definitions.methods(name, "__str__") is None
        )

    # --- what is asserted ------------------------------------------------------------------------

    def _raises(self, expected: _Expected) -> list[str]:
        pytest = self._writer.imports.module("pytest")
        return [f"with {pytest}.raises({expected.raises}):", *self._bare(indent=4)]

    def _should_return(self, expected: _Expected | None, mark: Mark | None) -> list[str]:
        if expected is not None and not self._written.statement:
            return self._equals(expected, mark)
        raised = self._call.outcome.value
        name = getattr(raised, "of", None)
        what = f"It raised {name.qualname}" if isinstance(name, QualifiedName) else "It raised"
        return [comment(f"{what}, which it should not."), *self._bare()]

    def _should_end(self, expected: _Expected | None, about: list[str]) -> list[str]:
        signal = self._writer.imports.module("signal")
        alarm = [
            f"# It did not end: after {_SECONDS} seconds the signal stops it.",
            f"{signal}.signal({signal}.SIGALRM, {signal}.default_int_handler)",
            f"{signal}.alarm({_SECONDS})",
        ]
        inner = self._bare() if expected is None else self._equals(expected, None)
        return [*about, *alarm, "try:", *(f"    {line}" for line in inner), "finally:",
                f"    {signal}.alarm(0)"]  # fmt: skip

    def _bare(self, indent: int = 0) -> list[str]:
        return fold(self._written.call, indent=indent)

    def _value(self) -> list[str]:
        """The call, assigned to a variable."""
        if self._written.statement:
            return self._bare()
        hint = "result"
        if self._written.makes:
            of = getattr(self._call.arguments[self._written.makes], "of", None)
            if isinstance(of, QualifiedName):
                hint = of.qualname.rpartition(".")[2].lower()
        self._result = self._writer.imports.variable(hint)
        return fold(self._written.call, before=f"{self._result} = ")

    def _equals(self, expected: _Expected, mark: Mark | None) -> list[str]:
        if mark is None or (mark.root in ("result", "raised") and not mark.steps):
            recorded = self._outcome()
            self._check_differs(recorded, expected)
            if self._written.makes or self._written.statement:
                raise CannotRebuild(
                    "it gives back nothing; say which part is wrong, as in: n self.name = 3"
                )
            lines = self._comparison(self._written.call, expected, recorded)
            if len(lines) == 1:
                return lines
            return [*self._value(), *self._comparison(self._result, expected, recorded)]
        prepared = self._value()
        target, recorded = self._part(mark)
        self._check_differs(recorded, expected)
        return prepared + self._comparison(target, expected, recorded)

    def _check_differs(self, recorded: Recipe | None, expected: _Expected) -> None:
        recorded_value = NOT_LITERAL if recorded is None else plain(recorded)
        is_comparable = recorded_value is not NOT_LITERAL and expected.value is not NOT_LITERAL
        if is_comparable and _equal(recorded_value, expected.value):
            raise CannotRebuild(f"what was expected, {expected.text}, is what it gave")

    def _comparison(self, left: Text, expected: _Expected, recorded: Recipe | None) -> list[str]:
        text, value = expected.text, expected.value
        if value is None or value is True or value is False:
            return fold(left, before="assert ", after=f" is {text}")
        if isinstance(recorded, SummaryRecipe) and recorded.text.startswith("array("):
            numpy = self._writer.imports.module("numpy")
            return [f"assert {numpy}.array_equal({flat(left)}, {text})"]
        if isinstance(value, float):
            old = NOT_LITERAL if recorded is None else plain(recorded)
            near = isinstance(old, float | int) and math.isclose(old, value, rel_tol=1e-5)
            if not near:
                pytest = self._writer.imports.module("pytest")
                return fold(left, before="assert ", after=f" == {pytest}.approx({text})")
        return fold(left, before="assert ", after=f" == {text}")

    # --- parts -----------------------------------------------------------------------------------

    def _outcome(self) -> Recipe | None:
        outcome = self._call.outcome
        if self._call.code.flags & f.GENERATOR:
            return ItemsRecipe("list", outcome.yielded)
        return None if outcome.kind is OutcomeKind.RAISED else outcome.value

    def _part(self, mark: Mark) -> tuple[str, Recipe | None]:
        """A marked part as an expression, and its recorded value."""
        match = _ROOT.match(mark.root)
        if match is None:
            raise CannotRebuild(f"{mark} cannot be written in Python")
        name = match[1]
        try:
            steps = _steps(match[2] + "".join(mark.steps))
        except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
            raise CannotRebuild(f"{mark} cannot be written in Python") from None
        path = _path(steps)
        if name in ("result", "raised", "yielded") and name not in self._call.arguments:
            return self._result + path, _follow_steps(self._outcome(), steps)
        if name == self._written.makes:
            return self._result + path, _follow_steps(self._call.changed.get(name), steps)
        if name in self._written.variables:
            after = self._call.changed.get(name, self._call.arguments[name])
            return self._written.variables[name] + path, _follow_steps(after, steps)
        for variable, recipe in self._call.changed_reads.items():
            if variable.qualname == name:
                return self._global(variable) + path, _follow_steps(recipe, steps)
        raise CannotRebuild(f"{mark} cannot be reached from a test")

    def _global(self, variable: QualifiedName) -> str:
        return f"{self._writer.imports.module(variable.module)}.{dotted_name(variable.qualname)}"

    # --- not what was wrong ----------------------------------------------------------------------

    def _differs(self, mark: Mark | None, about: list[str], *, prints: bool) -> list[str]:
        if not about:
            about = ["# This is what was wrong; write here what it should be."]
        prepared = self._value()
        if mark is not None:
            target, recorded = self._part(mark)
            if recorded is None:
                raise CannotRebuild(f"what {mark} was is not known; say what it should be")
            pairs = self._comparable(target, recorded)
        else:
            pairs = self._whole_outcome(prints=prints)
        statements = self._writer.statements
        count = len(statements)
        written = [(left, self._writer.expression(recipe)) for left, recipe in pairs]
        # Prepared after the call, so that its arguments are not touched before.
        more, statements[count:] = statements[count:], []
        return [*prepared, *more, *about, *self._unequal(pairs, written)]

    def _unequal(
        self, pairs: list[tuple[str, Recipe]], written: list[tuple[str, Text]]
    ) -> list[str]:
        if len(written) > 1:
            lefts = Group("(", tuple(("", part) for part, _ in written), ")")
            rights = Group("(", tuple(("", part) for _, part in written), ")")
            line = f"assert {flat(lefts)} != {flat(rights)}"
            if len(line) <= 84:
                return [line]
            joined = []
            for number, (part, value) in enumerate(written):
                sign = "is" if value in ("None", "True", "False") else "=="
                link = "and " if number else ""
                joined += fold(value, before=f"{link}{part} {sign} ", indent=4)
            return ["assert not (", *joined, ")"]
        (left, recipe), (_, value) = pairs[0], written[0]
        if isinstance(recipe, LiteralRecipe):
            if recipe.value is None or isinstance(recipe.value, bool):
                return [f"assert {left} is not {recipe.value}"]
            if isinstance(recipe.value, float) and math.isnan(recipe.value):
                return [f"assert {left} == {left}  # it was nan"]
        if isinstance(recipe, SummaryRecipe) and recipe.text.startswith("array("):
            numpy = self._writer.imports.module("numpy")
            return [f"assert not {numpy}.array_equal({left}, {flat(value)})"]
        return fold(value, before=f"assert {left} != ")

    def _whole_outcome(self, *, prints: bool) -> list[tuple[str, Recipe]]:
        """Everything that the call returned and changed: some of it is wrong."""
        outcome, call = self._outcome(), self._call
        pairs: list[tuple[str, Recipe]] = []
        nothing = isinstance(outcome, LiteralRecipe) and outcome.value is None
        if self._result and not self._written.makes and not nothing:
            shared = isinstance(outcome, SharedRecipe)
            if outcome is None or isinstance(outcome, UnknownRecipe):
                raise CannotRebuild("what it gave back was not recorded; say what it should be")
            if not (shared and call.changed):
                pairs += self._comparable(self._result, self._resolve_recipe(outcome))
        for name, after in call.changed.items():
            variable = self._written.variables.get(name, "")
            if name == self._written.makes:
                variable = self._result
            if variable:
                pairs += self._differences(variable, call.arguments[name], after)
        for changed, after in call.changed_reads.items():
            pairs += self._comparable(self._global(changed), after)
        printed = "".join(text for stream, text in call.printed if stream == 1)
        if printed and prints:
            self.fixtures.append("capsys")
            pairs.append(("capsys.readouterr().out", LiteralRecipe(printed)))
        if not pairs and call.printed:
            raise CannotRebuild("what it printed is all that came of it; say what it should be")
        if pairs or not self._result:
            return pairs
        for name, variable in self._written.variables.items():
            argument = call.arguments[name]
            if isinstance(argument, _MUTABLE):
                pairs += self._comparable(variable, argument)
        return [(self._result, LiteralRecipe(None)), *pairs]

    def _resolve_recipe(self, recipe: Recipe) -> Recipe:
        if not isinstance(recipe, SharedRecipe):
            return recipe
        for part in (part for root in self._call.recipes() for part in walk(root)):
            is_shared = isinstance(part, SharedRecipe)
            if not is_shared and getattr(part, "label", None) == recipe.label:
                return part
        raise CannotRebuild("what it gave back was not recorded; say what it should be")

    def _differences(self, target: str, before: Recipe, after: Recipe) -> list[tuple[str, Recipe]]:
        if not isinstance(before, InstanceRecipe) or not isinstance(after, InstanceRecipe):
            return self._comparable(target, after)
        old = dict(before.state)
        pairs: list[tuple[str, Recipe]] = []
        for name, value in dict(after.state).items():
            if old.get(name) != value:
                pairs += self._comparable(f"{target}.{identifier(name)}", value)
        return pairs or self._comparable(target, after)

    def _comparable(self, target: str, recipe: Recipe) -> list[tuple[str, Recipe]]:
        """A value that `!=` can tell from another; of an object without equality its attributes."""
        if isinstance(recipe, InstanceRecipe) and not self._has_equality(recipe):
            pairs: list[tuple[str, Recipe]] = []
            for name, value in recipe.state:
                pairs += self._comparable(f"{target}.{identifier(name)}", value)
            return pairs
        if isinstance(recipe, SummaryRecipe) and recipe.of == _MATCH:
            return _parts_of_match(target, recipe)
        for part in walk(recipe):
            if isinstance(part, UnknownRecipe):
                raise CannotRebuild(f"{part.reason}; say what it should be")
            if isinstance(part, SharedRecipe):
                raise CannotRebuild("it shares parts with others; say what it should be")
            if (
                isinstance(part, ExceptionRecipe)
                or (isinstance(part, InstanceRecipe) and not self._has_equality(part))
                or (isinstance(part, SummaryRecipe) and part.of == _MATCH)
            ):
                raise CannotRebuild(
                    f"objects of {part.of.qualname} cannot be compared; mark the part that is "
                    "wrong, or say what it should be"
                )
        return [(target, recipe)]

    def _has_equality(self, recipe: InstanceRecipe) -> bool:
        definitions = self._module(recipe.of.module)
        return definitions is not None and definitions.has_value_equality(recipe.of.qualname)


def _parts_of_match(target: str, recipe: SummaryRecipe) -> list[tuple[str, Recipe]]:
    """What `!=` can tell of a match, which is equal to itself only."""
    match = matches.read(recipe.text)
    if match is None:
        raise CannotRebuild("a match of which less was recorded than there is")
    parts = [
        LiteralRecipe(None) if begin < 0 else LiteralRecipe(match.string[begin:end])
        for begin, end in match.spans[1:]
    ]
    span = ItemsRecipe("tuple", tuple(LiteralRecipe(span) for span in match.spans[0]))
    groups = [(f"{target}.groups()", ItemsRecipe("tuple", tuple(parts)))] if parts else []
    return [(f"{target}.span()", span), *groups]


def _is_data(expression: ast.expr) -> bool:
    """Whether it is a literal, or the name of a builtin exception, perhaps with literals."""
    if literal(expression) is not NOT_LITERAL:
        return True
    called = expression.func if isinstance(expression, ast.Call) else expression
    arguments = expression.args if isinstance(expression, ast.Call) else []
    kind = getattr(builtins, called.id, None) if isinstance(called, ast.Name) else None
    return (
        isinstance(kind, type)
        and issubclass(kind, BaseException)
        and not (isinstance(expression, ast.Call) and expression.keywords)
        and all(literal(argument) is not NOT_LITERAL for argument in arguments)
    )


def _equal(one: object, other: object) -> bool:
    try:
        return bool(one == other)
    except Exception:
        return False


def _steps(path: str) -> list[tuple[str, object]]:
    """The keys and attribute names (as ast nodes' values) that a path leads through."""
    node = ast.parse(f"x{path}", mode="eval").body
    steps: list[tuple[str, object]] = []
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute):
            steps.append(("attribute", node.attr))
        elif isinstance(node, ast.Subscript):
            steps.append(("item", ast.literal_eval(node.slice)))
        else:
            raise ValueError(path)
        node = node.value
    return steps[::-1]


def _path(steps: list[tuple[str, object]]) -> str:
    """The steps as source."""
    return "".join(
        f".{identifier(str(key))}" if kind == "attribute" else f"[{key!r}]" for kind, key in steps
    )


def _follow_steps(recipe: Recipe | None, steps: list[tuple[str, object]]) -> Recipe | None:
    """The part that steps lead to, if it was recorded."""
    for kind, key in steps:
        part: Recipe | None = None
        if isinstance(recipe, ExtendedRecipe | ExceptionRecipe) and kind == "item":
            recipe = recipe.content if isinstance(recipe, ExtendedRecipe) else recipe.args
        if isinstance(recipe, ItemsRecipe) and kind == "item" and isinstance(key, int):
            part = recipe.items[key] if -len(recipe.items) <= key < len(recipe.items) else None
        elif isinstance(recipe, EntriesRecipe) and kind == "item":
            part = next((v for k, v in recipe.entries if same(plain(k), key)), None)
        elif (
            isinstance(recipe, InstanceRecipe | ExtendedRecipe | ExceptionRecipe)
            and kind == "attribute"
        ):
            part = dict(recipe.state).get(str(key))
        if part is None:
            return None
        recipe = part
    return recipe
