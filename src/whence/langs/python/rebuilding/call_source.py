"""Writes a recorded call as an expression: the function by name, its arguments as it takes them."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from whence.langs.python.rebuilding.checked_source import CannotRebuild, dotted_name, is_identifier
from whence.langs.python.rebuilding.source_layout import Group, Text, flat
from whence.langs.python.rebuilding.value_source import ValueWriter, plain, same
from whence.langs.python.source.definitions import (
    NOT_LITERAL,
    ModuleDefinitions,
    is_wrapped,
    kind_of,
    literal,
)
from whence.langs.python.source.scopes import FunctionNode
from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace.call_recipes import CallRecipe
from whence.langs.python.trace.trace_tables import CodeEntry
from whence.langs.python.trace.value_recipes import (
    ClassRecipe,
    EntriesRecipe,
    InstanceRecipe,
    ItemsRecipe,
    LiteralRecipe,
    QualifiedName,
    Recipe,
    SharedRecipe,
)
from whence.model.call import OutcomeKind

_MAY_CHANGE = (InstanceRecipe, SharedRecipe)
"""Arguments that get a variable even if the call did not change them."""
_POSITIONAL = 2
"""How many arguments are written without keyword, where keywords are allowed."""


@dataclass(frozen=True, slots=True)
class CallExpression:
    """A call as source: the expression, and the variables that hold its arguments.

    `makes` is the parameter that the expression creates: `self` of an `__init__`.
    """

    call: Text
    variables: dict[str, str]
    makes: str = ""
    statement: bool = False
    """Whether it is an assignment, which has no value."""


def definition(code: CodeEntry, module: ModuleDefinitions) -> FunctionNode:
    """The definition of what was called; `CannotRebuild` if it cannot be called from outside."""
    if code.flags & (f.MODULE_BODY | f.CLASS_BODY):
        what = "module" if code.flags & f.MODULE_BODY else "class"
        raise CannotRebuild(f"it is the body of a {what}, which runs when it is defined")
    if "<" in code.qualname:
        outer = code.qualname.partition(".<locals>")[0]
        inner = "a lambda" if code.flags & f.LAMBDA else "a function"
        raise CannotRebuild(f"it is {inner} inside {outer}, which cannot be named from outside")
    if code.flags & f.ASYNC_GENERATOR:
        raise CannotRebuild("it is an async generator, for which no test can be written yet")
    function = module.function(code.qualname, code.first_line)
    if function is None:
        raise CannotRebuild(
            f"{code.qualname} is not in line {code.first_line} of {code.file}: it was changed"
        )
    if code.flags & f.GENERATOR and _is_sent_to(function):
        raise CannotRebuild("it takes what is sent to it, which was not recorded")
    return function


def _is_sent_to(node: FunctionNode) -> bool:
    dropped = {id(below.value) for below in ast.walk(node) if isinstance(below, ast.Expr)}
    return any(isinstance(e, ast.Yield) and id(e) not in dropped for e in ast.walk(node))


def write_call(writer: ValueWriter, call: CallRecipe, module: ModuleDefinitions) -> CallExpression:
    """The call as an expression; the writer collects the statements that prepare it."""
    node = definition(call.code, module)
    if call.disturbed:
        raise CannotRebuild(call.disturbed)
    owner = call.code.qualname.rpartition(".")[0]
    # The test inspects a changed argument after the call, so it needs a name.
    variables: dict[str, str] = {}
    arguments = dict(call.arguments)
    name = QualifiedName(call.code.module, call.code.qualname)
    if owner and module.is_class(owner):
        return _of_class(writer, call, node, name, variables)
    function = writer.imports.name(name)
    if is_wrapped(node):
        function = f"{writer.imports.module('inspect')}.unwrap({function})"
    expression = Group(
        f"{function}(", argument_parts(writer, call, node, arguments, variables), ")"
    )
    return CallExpression(_run(writer, call, expression), variables)


def _of_class(
    writer: ValueWriter,
    call: CallRecipe,
    node: FunctionNode,
    name: QualifiedName,
    variables: dict[str, str],
) -> CallExpression:
    arguments = dict(call.arguments)
    kind = kind_of(node)
    owner_name, _, last = dotted_name(name.qualname).rpartition(".")
    owner = QualifiedName(name.module, owner_name)

    def called(function: str, parts: Parts) -> CallExpression:
        return CallExpression(_run(writer, call, Group(f"{function}(", parts, ")")), variables)

    if last.startswith("__") and not last.endswith("__"):
        last = f"_{owner.qualname.rpartition('.')[2].lstrip('_')}{last}"
    if kind == "staticmethod":
        function = f"{writer.imports.name(owner)}.{last}"
        return called(function, argument_parts(writer, call, node, arguments, variables))
    own = next(iter(arguments), None)
    if own is None:
        raise CannotRebuild("what it was called on was not recorded")
    first = arguments.pop(own)
    if last == "__init__":
        if not isinstance(first, InstanceRecipe):
            raise CannotRebuild("what it was called on was not recorded")
        parts = argument_parts(writer, call, node, arguments, variables, skip=1)
        made = Group(f"{writer.imports.name(first.of)}(", parts, ")")
        return CallExpression(made, variables, own)
    if kind == "classmethod":
        if not isinstance(first, ClassRecipe):
            raise CannotRebuild("the class that it was called on was not recorded")
        parts = argument_parts(writer, call, node, arguments, variables, skip=1)
        function = f"{writer.imports.name(owner)}.{last}"
        if first.name != owner:
            function = f"{function}.__func__"
            parts = (("", writer.imports.name(first.name)), *parts)
        return called(function, parts)
    hint = own if own not in ("self", "this") else _snake(first, owner)
    variable = variables[own] = writer.variable(hint, first)
    if kind == "property":
        return CallExpression(f"{variable}.{last}", variables)
    parts = argument_parts(writer, call, node, arguments, variables, skip=1)
    if kind == "setter":
        return CallExpression(f"{variable}.{last} = {flat(parts[0][1])}", variables, statement=True)
    may_be_own = isinstance(first, _MAY_CHANGE) and getattr(first, "of", owner) == owner
    if may_be_own and not is_wrapped(node):
        return called(f"{variable}.{last}", parts)
    function = f"{writer.imports.name(owner)}.{last}"
    if is_wrapped(node):
        function = f"{writer.imports.module('inspect')}.unwrap({function})"
    return called(function, (("", variable), *parts))


def _snake(recipe: Recipe, owner: QualifiedName) -> str:
    of = getattr(recipe, "of", owner)
    last = of.qualname.rpartition(".")[2].lstrip("_")
    return "".join(f"_{c.lower()}" if c.isupper() and n else c.lower() for n, c in enumerate(last))


def _run(writer: ValueWriter, call: CallRecipe, expression: Text) -> Text:
    """Wrap a coroutine or generator so that it runs."""
    if call.code.flags & f.COROUTINE:
        writer.imports.module("asyncio")
        return Group("asyncio.run(", (("", expression),), ")")
    if not call.code.flags & f.GENERATOR:
        return expression
    if call.outcome.kind is OutcomeKind.YIELDED or call.outcome.closed:
        count = str(len(call.outcome.yielded))
        writer.imports.module("itertools")
        expression = Group("itertools.islice(", (("", expression), ("", count)), ")")
    return Group("list(", (("", expression),), ")")


Parts = tuple[tuple[str, Text], ...]


def argument_parts(
    writer: ValueWriter,
    call: CallRecipe,
    node: FunctionNode,
    arguments: dict[str, Recipe],
    variables: dict[str, str],
    skip: int = 0,
    positional: int = _POSITIONAL,
) -> Parts:
    """The arguments, without those that equal their defaults; the first few have no keyword."""
    signature = node.args
    ordered = [argument.arg for argument in (*signature.posonlyargs, *signature.args)][skip:]
    required = {argument.arg for argument in signature.posonlyargs}
    defaults = dict(
        zip(reversed(ordered), map(literal, reversed(signature.defaults)), strict=False)
    )
    star = arguments.get(signature.vararg.arg) if signature.vararg else None
    spread = isinstance(star, ItemsRecipe) and bool(star.items)

    def value(name: str) -> Text:
        recipe = arguments[name]
        changes = name in call.changed and not isinstance(recipe, LiteralRecipe)
        if changes or isinstance(recipe, _MAY_CHANGE):
            text = variables[name] = writer.variable(name, recipe)
            return text
        return writer.expression(recipe)

    def omitted(name: str, default: object) -> bool:
        return default is not NOT_LITERAL and same(plain(arguments[name]), default)

    parts: list[tuple[str, Text]] = []
    named = False
    for index, name in enumerate(ordered):
        if name not in arguments:
            raise CannotRebuild(f"{name} was not recorded")
        if omitted(name, defaults.get(name, NOT_LITERAL)) and name not in required and not spread:
            named = True
            continue
        label = named or (index >= positional and name not in required and not spread)
        parts.append((f"{name}=" if label else "", value(name)))
    if isinstance(star, ItemsRecipe):
        parts += [("", writer.expression(item)) for item in star.items]
    elif star is not None:
        parts.append(("*", writer.expression(star)))
    for parameter, default in zip(signature.kwonlyargs, signature.kw_defaults, strict=True):
        if not omitted(parameter.arg, literal(default)):
            parts.append((f"{parameter.arg}=", value(parameter.arg)))
    more = arguments.get(signature.kwarg.arg) if signature.kwarg else None
    if isinstance(more, EntriesRecipe):
        for key, recipe in more.entries:
            word = plain(key)
            if not isinstance(word, str) or not is_identifier(word):
                raise CannotRebuild("a keyword argument of it is no identifier")
            parts.append((f"{word}=", writer.expression(recipe)))
    elif more is not None:
        parts.append(("**", writer.expression(more)))
    return tuple(parts)
