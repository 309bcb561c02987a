"""A digest of a recorded call that is the same in every run: its function, inputs and outcome.

`Columns.equation` recognizes equal calls within one recording. This digest is also the same in
another run, on another machine and in another version of Python, so that answers about a call can
be kept. It exists only if everything is known: nothing is cut off or hidden, and the function has a
name of its own.

Functions that a call merely calls do not count: a module variable that holds the function, class or
module of its own name is code, not data. Else every answer would be lost with the next import.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePath

from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace import value_recipes as r
from whence.langs.python.trace.call_recipes import (
    CallRecipe,
    CallTooLong,
    call_recipe,
    dangling,
    place_of,
)
from whence.langs.python.trace.trace_source import TraceSource
from whence.langs.python.trace.trace_tables import CodeEntry
from whence.model.call import OutcomeKind
from whence.ports import Tree

_VERSION = 1
"""Raise this whenever digests of equal calls change: answers kept until then are lost."""
_MAIN = "__main__"
_NO_FILE = "it is code that no file holds"


class NoEquationDigest(Exception):
    """A call has no digest; the text says why."""


class EquationDigests:
    """The digests of one recording's calls. `project` is the folder that files are named from."""

    def __init__(self, tree: Tree, project: Path) -> None:
        self._tree = tree
        self._project = project
        self._codes: dict[int, Counter[tuple[str, str]]] = {}
        self._main: dict[int, str] = {}

    def of(self, position: int) -> tuple[str, str, str]:
        """The function's name, the digest of the equation, and that of the function and inputs.

        `NoEquationDigest` says why there is none.
        """
        source, number = place_of(self._tree, position)
        if number < 1:
            raise NoEquationDigest("it is the whole run" if number == 0 else "it was not recorded")
        if not source.file.header.knows_effects:
            raise NoEquationDigest("not all that it read and changed was recorded")
        try:
            call = call_recipe(self._tree, position)
        except CallTooLong as problem:
            raise NoEquationDigest(str(problem)) from None
        name = self._function(source, call.code)
        writer = _Writer(lambda module: self._module(source, module))
        inputs = {"version": _VERSION, "function": name, **_inputs(call, writer)}
        outcome = _outcome(call, writer)
        return name, _digest({**inputs, **outcome}), _digest(inputs)

    # --- which function --------------------------------------------------------------------------

    def _function(self, source: TraceSource, code: CodeEntry) -> str:
        names = self._codes.get(id(source))
        if names is None:
            distinct = set(source.tables.codes())
            names = Counter((entry.module, entry.qualname) for entry in distinct)
            self._codes[id(source)] = names
        if code.flags & (f.MODULE_BODY | f.CLASS_BODY):
            raise NoEquationDigest("what a module or class defines is no value that is compared")
        if "<lambda>" in code.qualname:
            raise NoEquationDigest("a lambda has no name by which it is known again")
        if names[code.module, code.qualname] != 1:
            raise NoEquationDigest(f"several functions are named {code.qualname}")
        if code.module == _MAIN and code.is_text:
            raise NoEquationDigest(_NO_FILE)
        return f"{self._module(source, code.module)}.{code.qualname}"

    def _module(self, source: TraceSource, module: str) -> str:
        """The name of a module in every run; that of a script is its file."""
        if module != _MAIN:
            return module
        if id(source) not in self._main:
            codes = [entry for entry in source.tables.codes() if entry.module == _MAIN]
            files = {entry.file for entry in codes if not entry.is_text}
            self._main[id(source)] = next(iter(files)) if len(files) == 1 else ""
        file = self._main[id(source)]
        if not file:
            raise NoEquationDigest(_NO_FILE)
        path = Path(source.file.header.cwd or ".", file)
        if path.is_relative_to(self._project):
            return path.relative_to(self._project).as_posix()
        return PurePath(file).name


# --- what is judged ------------------------------------------------------------------------------


def _inputs(call: CallRecipe, writer: _Writer) -> dict[str, object]:
    if call.disturbed:
        raise NoEquationDigest(call.disturbed)
    if dangling(call):
        raise NoEquationDigest("a value of it refers to one that was not recorded")
    captured = {
        name: recipe for name, recipe in call.captured.items() if not _is_code(name, recipe)
    }
    reads = {
        name: recipe for name, recipe in call.reads.items() if not _is_code(name.qualname, recipe)
    }
    return {
        "arguments": writer.named(call.arguments),
        "captured": writer.named(captured),
        "reads": writer.variables(reads),
    }


def _outcome(call: CallRecipe, writer: _Writer) -> dict[str, object]:
    outcome = call.outcome
    left = outcome.kind is OutcomeKind.YIELDED and not outcome.closed
    if left or outcome.kind is OutcomeKind.NOT_TERMINATED:
        raise NoEquationDigest("it did not end")
    return {
        "kind": outcome.kind.name,
        "value": None if outcome.value is None else writer.item("its outcome", outcome.value),
        "yielded": [writer.item("what it yielded", recipe) for recipe in outcome.yielded],
        "changed": writer.named(call.changed),
        "changed_reads": writer.variables(call.changed_reads),
        "printed": _joined(call.printed),
    }


def _is_code(name: str, value: r.Recipe) -> bool:
    """Whether a variable holds a function, class or module of its own name."""
    match value:
        case r.FunctionRecipe(own) | r.ClassRecipe(own):
            return own.qualname == name
        case r.ModuleRecipe():
            return True
        case _:
            return False


def _joined(printed: Iterable[tuple[int, str]]) -> list[tuple[int, str]]:
    """Join consecutive output to one stream: the number of pieces means nothing."""
    out: list[tuple[int, str]] = []
    for stream, text in printed:
        if out and out[-1][0] == stream:
            out[-1] = stream, out[-1][1] + text
        else:
            out.append((stream, text))
    return out


def _digest(item: Mapping[str, object]) -> str:
    text = json.dumps(item, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


class _Writer:
    """Recipes as JSON with one spelling for equal ones.

    Which number a shared value has says nothing, so they are numbered as they appear. What is in a
    set has no order that would last, so it is sorted, and nothing in it may be shared.
    """

    def __init__(self, module: Callable[[str], str]) -> None:
        self._module = module
        self._labels: dict[int, int] = {}

    def named(self, recipes: Mapping[str, r.Recipe]) -> list[object]:
        """Values by name, in the order of their names."""
        return [[name, self.item(name, recipes[name])] for name in sorted(recipes)]

    def variables(self, recipes: Mapping[r.QualifiedName, r.Recipe]) -> list[object]:
        """Module variables, in the order of their names."""
        return self.named(
            {f"{self._module(name.module)}.{name.qualname}": recipes[name] for name in recipes}
        )

    def item(self, name: str, recipe: r.Recipe) -> object:
        """One value; `NoEquationDigest` if a part of it is not."""
        try:
            return self._item(recipe)
        except NoEquationDigest as problem:
            raise NoEquationDigest(f"{name}: {problem}") from None

    def _item(self, recipe: r.Recipe) -> object:
        match recipe:
            case r.SecretRecipe(digest=digest):
                return ["secret", *digest]
            case r.UnknownRecipe(reason):
                raise NoEquationDigest(reason)
            case r.LiteralRecipe(value):
                return _literal(value)
            case r.SharedRecipe(label):
                return ["same", self._number(label)]
            case r.UnboundRecipe():
                return ["unbound"]
            case r.ClassRecipe(name):
                return ["class", self._module(name.module), name.qualname]
            case r.FunctionRecipe(name):
                return ["function", self._module(name.module), name.qualname]
            case r.ModuleRecipe(name=module):
                return ["module", module]
            case _:
                return [self._label(recipe), *self._compound(recipe)]

    def _compound(self, recipe: r.Recipe) -> list[object]:
        match recipe:
            case r.ItemsRecipe("set" | "frozenset" as kind, items):
                return [kind, sorted((self._apart(item) for item in items), key=json.dumps)]
            case r.ItemsRecipe(kind, items):
                return [kind, [self._item(item) for item in items]]
            case r.EntriesRecipe(entries):
                return ["dict", [[self._item(key), self._item(item)] for key, item in entries]]
            case r.BytearrayRecipe(content):
                return ["bytearray", content.hex()]
            case r.InstanceRecipe(of, state):
                return ["object", *self._name(of), self._state(state)]
            case r.ExtendedRecipe(of, content, state):
                return ["extended", *self._name(of), self._item(content), self._state(state)]
            case r.ExceptionRecipe(of, args, state):
                return ["exception", *self._name(of), self._item(args), self._state(state)]
            case r.MemberRecipe(of, name):
                return ["member", *self._name(of), name]
            case r.SummaryRecipe(of, text):
                return ["written", *self._name(of), text]
            case r.MethodRecipe(qualname, owner):
                return ["method", qualname, self._item(owner)]
            case _:
                raise NoEquationDigest(f"{type(recipe).__name__} is not known here")

    def _apart(self, recipe: r.Recipe) -> object:
        for part in r.walk(recipe):
            if isinstance(part, r.SharedRecipe) or getattr(part, "label", None) is not None:
                raise NoEquationDigest("what a set holds is also held elsewhere")
        return self._item(recipe)

    def _state(self, state: r.State) -> list[object]:
        return [[name, self._item(value)] for name, value in sorted(state, key=lambda one: one[0])]

    def _name(self, name: r.QualifiedName) -> list[str]:
        return [self._module(name.module), name.qualname]

    def _label(self, recipe: r.Recipe) -> int | None:
        label = getattr(recipe, "label", None)
        return None if label is None else self._number(label)

    def _number(self, label: int) -> int:
        return self._labels.setdefault(label, len(self._labels))


def _literal(value: object) -> object:
    """A literal with its type, since 1, 1.0 and True are equal and yet not the same."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return ["s", value]
    if isinstance(value, bytes):
        return ["b", value.hex()]
    if isinstance(value, int):
        return ["i", hex(value)]
    return ["n", repr(value)]
