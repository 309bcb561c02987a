"""What the expressions of a function may hold: recorded values, or values out of sight.

An operation such as `a + b` runs code of the class of `a`. Which class that is follows from the
recorded inputs, results and effects of the call, and from the text between them.

Invariant: a value counts as seen only if it was recorded as one of a builtin or recorded class, or
if the text makes it from such values by builtins and the standard library. Of a container that was
recorded in part, the items that were left out count as the others.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from whence.langs.python.source.classes_out_of_sight import (
    Classes,
    ClassFacts,
    ClassSight,
    dotted_name,
    is_elsewhere,
)
from whence.model.call import Call, expand_shared
from whence.model.value import Kind, Value

_MOST_THINGS = 200
_ROUNDS = 8
_LITERAL = re.compile(
    r"""b?['"]|-?[\d.(]|None\b|True\b|False\b|…|-?inf\b|nan\b|bytearray\(|<(unbound|secret)\b"""
)
_NAMED = re.compile(r"<(?:class|function|module|method) (?P<name>[^>]*)>")
_OPAQUE = re.compile(r"<(?P<name>[\w.]+)>")
_BEGINNING = re.compile(r"[\w.]+")
_KEY_TYPES = re.compile(r"(?<![\w.])([A-Za-z_][\w.]*)\(|<([\w.]+)>")
_SUMMARIES = frozenset(
    {
        "Decimal", "Fraction", "IPv4Address", "IPv6Address", "Path", "PurePath", "PurePosixPath",
        "PureWindowsPath", "UUID", "ZoneInfo", "date", "datetime", "deque", "range", "re.Match",
        "re.compile", "slice", "struct_time", "time", "timedelta", "timezone",
    }
)  # fmt: skip
"""How the summaries of the standard library begin."""
_LAZY = frozenset(
    {
        "async_generator", "coroutine", "enumerate", "filter", "functools.partial", "generator",
        "map", "partial", "reversed", "zip",
    }
)  # fmt: skip
"""Builtin objects that run other code when they are used."""
_CONTENTS_OF_ARGUMENTS = frozenset({"max", "min", "next", "sum", "getattr", "abs", "round", "pow"})
_ATOM_MAKERS = frozenset(
    {
        "all", "any", "ascii", "bin", "bool", "bytearray", "bytes", "callable", "chr", "complex",
        "delattr", "float", "format", "globals", "hasattr", "hash", "hex", "id", "input", "int",
        "isinstance", "issubclass", "len", "oct", "open", "ord", "print", "range", "repr",
        "setattr", "slice", "str",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Thing:
    """A value that an expression may hold, and whether its class was recorded (None: unknown)."""

    seen: bool | None
    value: Value | None = None
    contents: frozenset[Thing] = frozenset()
    """For what the text makes: all that it may hold, at any depth."""
    facts: tuple[ClassFacts, ...] = ()
    is_lazy: bool = False


class How(Enum):
    """How a local variable gets what it holds."""

    IS = "is the value"
    ITEM = "is an item of the value"
    PART = "is the value or a part of it"
    HOLDS = "holds the value"
    LEFT_BY = "was changed by a call"


_SETS = (How.IS, How.ITEM, How.PART)


@dataclass(frozen=True)
class Binding:
    """One way in which a local variable gets a value."""

    name: str
    how: How
    value: ast.expr | None = None
    called: str = ""
    """The name of the function that changed it."""


SEEN, UNSEEN, UNKNOWN = Thing(True), Thing(False), Thing(None)


@dataclass
class Values:
    """What the expressions of one body may hold."""

    call: Call
    imports: Mapping[str, str]
    defined: Iterable[str]
    """Functions and classes of the module, methods included."""
    classes: Classes
    results: Mapping[str, Sequence[Value]]
    """What the functions that it called returned and yielded, by their names."""
    left: Mapping[str, Sequence[Value]]
    """What these functions left in their arguments, by their names."""
    module: str = ""
    bindings: Sequence[Binding] = ()
    never_called: Collection[str] = ()
    """Functions of the module that would have been recorded, and were not called."""
    _known: dict[ast.expr, list[Thing]] = field(default_factory=dict)
    _variables: dict[str, set[Thing]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        call = expand_shared(self.call)
        self._inputs: dict[str, list[Value]] = {}
        for binding in (*call.arguments, *call.reads):
            self._inputs.setdefault(binding.name, []).append(binding.value)
        for effect in call.effects:
            if effect.after is not None:
                self._inputs.setdefault(effect.target, []).append(effect.after)
        self._solve()

    def _solve(self) -> None:
        """Find what the local variables may hold: a fixed point, as they are set in loops."""
        self._variables = {binding.name: set() for binding in self.bindings}
        self._locals = {binding.name for binding in self.bindings if binding.how in _SETS}
        for _ in range(_ROUNDS):
            before = self._variables
            self._known.clear()
            found: dict[str, set[Thing]] = {name: set() for name in before}
            for binding in self.bindings:
                found[binding.name].update(self._bound(binding))
            self._variables = {
                name: things if len(things) <= _MOST_THINGS else {UNKNOWN}
                for name, things in found.items()
            }
            if self._variables == before:
                break
        else:
            changed = [name for name in before if before[name] != self._variables[name]]
            for name in changed:
                self._variables[name].add(UNKNOWN)
        self._known.clear()

    def _bound(self, binding: Binding) -> Iterator[Thing]:
        if binding.how is How.LEFT_BY:
            for value in self.left.get(binding.called, ()):
                yield self.thing(value)
                yield from self._parts(self.thing(value))
            return
        assert binding.value is not None
        things = self.of(binding.value)
        if binding.how is How.HOLDS:
            yield container(things)
            return
        for thing in things:
            if binding.how is How.IS:
                yield thing
            else:
                yield from self.items(thing)
            if binding.how is How.PART:
                yield thing
                yield from self._parts(thing)

    # --- recorded values -------------------------------------------------------------------------

    def thing(self, value: Value) -> Thing:
        """A recorded value."""
        if value.kind is Kind.ATOM:
            return self._atom(value)
        if value.kind is Kind.OBJECT and not value.text.startswith("<"):
            facts = tuple(self.classes.named(value.text))
            if value.text in _LAZY:
                return Thing(None, value, is_lazy=True)
            unseen = any(known.sight in (ClassSight.PARTLY, ClassSight.UNSEEN) for known in facts)
            return Thing(not unseen, value, facts=facts)
        return Thing(value.kind is not Kind.SHARED or None, value)

    def _atom(self, value: Value) -> Thing:
        text = value.text
        if _LITERAL.match(text):
            return SEEN
        named = _NAMED.match(text)
        if named is not None:
            is_class = text.startswith("<class ")
            facts = tuple(self.classes.named(named["name"])) if is_class else ()
            return Thing(True, value, facts=facts)
        opaque = _OPAQUE.fullmatch(text)
        if opaque is not None:
            name = opaque["name"]
            if name in _LAZY or name.startswith("itertools."):
                return Thing(None, value, is_lazy=True)
            facts = tuple(self.classes.named(name))
            is_seen = all(
                known.sight in (ClassSight.TRUSTED, ClassSight.RECORDED) for known in facts
            )
            return Thing(is_seen, value, facts=facts)
        beginning = _BEGINNING.match(text)
        name = "" if beginning is None else beginning[0]
        facts = tuple(self.classes.named(name))
        if facts:
            seen = (ClassSight.TRUSTED, ClassSight.RECORDED)
            return Thing(all(known.sight in seen for known in facts), value, facts=facts)
        return Thing(name in _SUMMARIES or not self.classes.has_unseen, value)

    def is_deeply_seen(self, thing: Thing) -> bool | None:
        """Whether its class and those of all that it holds were recorded."""
        if thing.seen is not True:
            return thing.seen
        states = [self.is_deeply_seen(part) for part in thing.contents]
        if thing.value is not None:
            for steps, part in thing.value.paths():
                states.append(self.thing(part).seen if steps else True)
                if not self.has_seen_keys(Thing(True, part)):
                    states.append(False)
        return False if False in states else (None if None in states else True)

    def has_seen_keys(self, thing: Thing) -> bool:
        """Whether the keys are of recorded classes, if it is a dict."""
        value = thing.value
        if value is None or value.kind is not Kind.DICT:
            return True
        for step, _ in value.parts:
            if _LITERAL.match(step[1:]) and "(" not in step[2:] and "<" not in step:
                continue
            if step[1:2] in "'\"":
                continue
            for match in _KEY_TYPES.finditer(step):
                facts = self.classes.named(match[1] or match[2])
                if any(known.sight in (ClassSight.PARTLY, ClassSight.UNSEEN) for known in facts):
                    return False
        return True

    def items(self, thing: Thing) -> list[Thing]:
        """What iterating over it, or a subscript, gives."""
        if thing.seen is not True:
            return [Thing(thing.seen)]
        found = [*thing.contents, thing] if thing.contents else []
        if thing.value is not None:
            parts = [part for step, part in thing.value.parts if not step.startswith(".")]
            found += [self.thing(part) for part in parts]
        if not found and thing.facts and not _is_trusted(thing):
            names = ("__iter__", "__getitem__", "__next__", "__enter__")
            found = [result for name in names for result in self._of(name)] or [UNKNOWN]
            found += [item for result in found for item in self._shallow_items(result)]
        return found or [SEEN]

    def _shallow_items(self, thing: Thing) -> list[Thing]:
        if thing.value is None:
            return []
        return [self.thing(part) for step, part in thing.value.parts if step[0] != "."]

    def attribute(self, thing: Thing, name: str) -> list[Thing]:
        """What an attribute of it may be."""
        if thing.value is not None:
            for step, part in thing.value.parts:
                if step == f".{name}":
                    return [self.thing(part)]
        if thing.seen is not True:
            return [Thing(thing.seen)]
        if not thing.facts or all(known.sight is ClassSight.TRUSTED for known in thing.facts):
            is_whole = thing.value is None or not thing.value.omitted
            return [SEEN if is_whole else UNKNOWN]
        found = self._of(name)
        if found:
            return found
        for known in thing.facts:
            constant = known.constants.get(name)
            if not isinstance(constant, ast.Constant) and name not in known.own:
                return [UNKNOWN]
            if constant is not None and not isinstance(constant, ast.Constant):
                return [UNKNOWN]
        return [SEEN]

    def _of(self, name: str) -> list[Thing]:
        """What recorded callees of this name returned or yielded."""
        return [self.thing(value) for value in self.results.get(name, ())]

    # --- expressions -----------------------------------------------------------------------------

    def of(self, node: ast.expr) -> list[Thing]:
        """What an expression may hold."""
        if node not in self._known:
            things = list(dict.fromkeys(self._of_expression(node)))
            self._known[node] = things if len(things) <= _MOST_THINGS else [UNKNOWN]
        return self._known[node]

    def _all(self, nodes: Iterable[ast.expr]) -> Iterator[Thing]:
        for node in nodes:
            yield from self.of(node)

    def _of_expression(self, node: ast.expr) -> Iterator[Thing]:
        if isinstance(node, ast.Name):
            yield from self._of_name(node.id)
        elif isinstance(node, ast.Attribute):
            yield from self._of_attribute(node)
        elif isinstance(node, ast.Subscript):
            for thing in self.of(node.value):
                yield from [thing] if isinstance(node.slice, ast.Slice) else self.items(thing)
        elif isinstance(node, ast.Call):
            yield from self._of_call(node)
        elif isinstance(node, ast.List | ast.Tuple | ast.Set):
            yield container(self._all(node.elts))
        elif isinstance(node, ast.Dict):
            keys = [key for key in node.keys if key is not None]
            yield container(self._all([*keys, *node.values]))
        elif isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            yield container(self.of(node.elt))
        elif isinstance(node, ast.DictComp):
            yield container(self._all([node.key, node.value]))
        elif isinstance(node, ast.BoolOp):
            yield from self._all(node.values)
        elif isinstance(node, ast.IfExp):
            yield from self._all([node.body, node.orelse])
        elif isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare):
            yield from self._of_operator(node)
        elif isinstance(node, ast.NamedExpr | ast.Await):
            yield from self.of(node.value)
        elif isinstance(node, ast.Starred):
            for thing in self.of(node.value):
                yield from self.items(thing)
        elif isinstance(node, ast.Yield | ast.YieldFrom):
            yield UNKNOWN
        else:
            yield SEEN

    def _of_operator(self, node: ast.BinOp | ast.UnaryOp | ast.Compare) -> Iterator[Thing]:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield SEEN
            return
        things = list(self._all(operands(node)))
        for thing in things:
            if thing.seen is not True or thing.contents or (thing.value and thing.value.parts):
                yield thing
        yield SEEN

    def _of_name(self, name: str) -> Iterator[Thing]:
        recorded = self._inputs.get(name, [])
        yield from map(self.thing, recorded)
        yield from self._variables.get(name, ())
        if recorded or name in self._locals:
            return
        if name in self.imports:
            # A module, or what one holds: using it is an operation of its own.
            yield UNSEEN if self.is_elsewhere(ast.Name(name)) else SEEN
        elif name in self.defined or hasattr(builtins, name) or name.startswith("__"):
            yield SEEN
        else:
            yield UNKNOWN

    def _parts(self, thing: Thing) -> Iterator[Thing]:
        if thing.value is not None:
            yield from (self.thing(part) for _, part in thing.value.paths())

    def _of_attribute(self, node: ast.Attribute) -> Iterator[Thing]:
        recorded = self._inputs.get(ast.unparse(node))
        if recorded:
            yield from map(self.thing, recorded)
        dotted = dotted_name(node, self._unbound_imports)
        if dotted is not None:
            if not recorded:
                yield UNSEEN if self.is_elsewhere(node) else SEEN
            return
        for thing in self.of(node.value):
            yield from self.attribute(thing, node.attr)

    @property
    def _unbound_imports(self) -> dict[str, str]:
        """Imported names that are not local variables as well."""
        return {name: dotted for name, dotted in self.imports.items() if name not in self._locals}

    def is_input(self, node: ast.expr) -> bool:
        """Whether what an expression read was recorded."""
        return ast.unparse(node) in self._inputs

    def is_elsewhere(self, node: ast.expr) -> bool:
        """Whether an expression names something of a library, or a library."""
        return is_elsewhere(node, self._unbound_imports, self.classes.files)

    def _of_call(self, node: ast.Call) -> Iterator[Thing]:
        function = node.func
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        name = function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)
        if self.is_elsewhere(function):
            yield UNSEEN
            return
        if self.results.get(name):
            yield from self._of(name)
            yield from (thing for thing in self._receiver(function) if thing.seen is False)
            return
        is_attribute = isinstance(function, ast.Attribute)
        if not is_attribute and any(thing.seen is False for thing in self.of(function)):
            yield UNSEEN
            return
        dotted = dotted_name(function, self._unbound_imports)
        package = (dotted or "").partition(".")[0]
        if isinstance(function, ast.Name) and name not in self._locals:
            if name in _ATOM_MAKERS and name not in self.defined:
                yield SEEN
                return
            if name in self.defined and name not in self.imports:
                yield from self._made(name)
                return
        is_builtin = isinstance(function, ast.Name) and hasattr(builtins, name)
        if is_builtin or package in sys.stdlib_module_names:
            yield from self._handed_on(arguments)
            return
        if isinstance(function, ast.Attribute):
            receiver = list(self._receiver(function))
            if any(thing.seen is not True for thing in receiver):
                yield from (Thing(thing.seen) for thing in receiver if thing.seen is not True)
                return
            own = [thing for thing in receiver if thing.facts and not _is_trusted(thing)]
            if own:
                yield UNKNOWN
                return
            items = [item for thing in receiver for item in self.items(thing)]
            yield container(items)
            yield from items
            yield from self._handed_on(arguments)
            return
        # Some function that was passed in or stored: one of those that were recorded.
        yield from (thing for known in self.results for thing in self._of(known))
        if not self.results:
            yield UNKNOWN

    def _receiver(self, function: ast.expr) -> Iterator[Thing]:
        if isinstance(function, ast.Attribute):
            yield from self.of(function.value)

    def _made(self, name: str) -> Iterator[Thing]:
        """What a function or class of the module gives of which no result is known."""
        if name in self.never_called:
            return
        facts = self.classes.defined(self.module, name)
        if facts.sight is ClassSight.UNSEEN:
            yield UNKNOWN  # a function, or a class that its text does not explain
        else:
            yield Thing(facts.sight is ClassSight.RECORDED, facts=(facts,))

    def _handed_on(self, arguments: Iterable[ast.expr]) -> Iterator[Thing]:
        """What trusted code may give back: its arguments, what they hold, or both in a new one."""
        things = list(self._all(arguments))
        items = [item for thing in things for item in self.items(thing)]
        yield container([*things, *items])
        yield from items
        yield from things


def container(things: Iterable[Thing]) -> Thing:
    """A new builtin container that holds these, at any depth."""
    held: set[Thing] = set()
    for thing in things:
        held |= thing.contents or {thing}
    return Thing(True, contents=frozenset(held - {SEEN}))


def _is_trusted(thing: Thing) -> bool:
    return all(known.sight is ClassSight.TRUSTED for known in thing.facts)


def operands(node: ast.BinOp | ast.UnaryOp | ast.Compare) -> list[ast.expr]:
    """The operands of an operator."""
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    return [node.operand] if isinstance(node, ast.UnaryOp) else [node.left, *node.comparators]
