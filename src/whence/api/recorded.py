"""A recording as read-only objects: its calls and their values.

Invariant: nothing here runs anything of the program; a value is what was recorded of it, cut off
where the recording was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from whence.errors import UsageError
from whence.model.call import RESULT, OutcomeKind, expand_shared, find_mark
from whence.model.call import Call as RecordedCall
from whence.model.value import FULL, Kind, is_cut, show
from whence.model.value import Value as RecordedValue
from whence.oracle.python_function import plain
from whence.ports import Tree
from whence.protocol.call_views import callee_positions, count_callees

_MOST_PARTS = 100_000
"""A value of more parts is looked through no further."""


@dataclass(frozen=True, slots=True)
class Value:
    """A recorded value. `value["key"]`, `value[0]` and `value[".name"]` are its parts."""

    _value: RecordedValue

    @property
    def kind(self) -> str:
        """`atom`, `list`, `tuple`, `set`, `dict`, `object`, `term` or `same`."""
        return self._value.kind.value

    @property
    def type(self) -> str:
        """The type of an object; empty for what the language has literals for."""
        return "" if self._value.kind is Kind.ATOM else self._value.text

    @property
    def is_whole(self) -> bool:
        """Whether all of it was recorded."""
        return not any(is_cut(part) for _, part in self._value.paths(_MOST_PARTS))

    def python(self) -> Any:
        """The value as plain Python, as far as it can be: an object becomes a dictionary."""
        return plain(self._value)

    def parts(self) -> Iterator[tuple[str, Value]]:
        """The recorded parts, each with the step that leads to it."""
        for step, part in self._value.parts:
            yield step, Value(part)

    def __getitem__(self, key: object) -> Value:
        """The part at a step (`"[0]"`, `".name"`), or at an index or key."""
        steps = {step for step, _ in self._value.parts}
        text = key if isinstance(key, str) and key in steps else f"[{key!r}]"
        if isinstance(key, str) and f".{key}" in steps and text not in steps:
            text = f".{key}"
        try:
            return Value(self._value.part((text,)))
        except UsageError as problem:
            raise KeyError(str(problem)) from None

    def __len__(self) -> int:
        """How many parts it has, recorded or not."""
        return len(self._value.parts) + self._value.omitted

    def __bool__(self) -> bool:
        """True, so that `if call.returned` asks whether there is a value, not whether it is 0."""
        return True

    def __str__(self) -> str:
        return show(self._value, FULL)

    def __repr__(self) -> str:
        return f"<value {show(self._value)}>"


class Call:
    """One recorded call."""

    def __init__(
        self, tree: Callable[[], Tree], node: int, call: RecordedCall | None = None
    ) -> None:
        """`tree` gives the tree as it is now: a session may have expanded it."""
        self._now, self.number = tree, node
        self._call = None if call is None else expand_shared(call)

    @property
    def _tree(self) -> Tree:
        return self._now()

    @property
    def _read(self) -> RecordedCall:
        if self._call is None:
            self._call = expand_shared(self._tree.call(self._position))
        return self._call

    @property
    def _position(self) -> int:
        return self._tree.position(self.number)

    @property
    def function(self) -> str:
        """The qualified name of the function."""
        return self._read.function.short()

    @property
    def module(self) -> str:
        """The module of the function."""
        return self._read.function.module

    @property
    def place(self) -> tuple[str, int | None] | None:
        """The file and the line of the function, if they are known."""
        where = self._read.where()
        return None if where is None else (where.file, where.line)

    @property
    def arguments(self) -> Mapping[str, Value]:
        """The arguments by name; those without a name are `arg1`, `arg2` and so on."""
        pairs = enumerate(self._read.arguments, 1)
        return MappingProxyType({b.name or f"arg{n}": Value(b.value) for n, b in pairs})

    @property
    def reads(self) -> Mapping[str, Value]:
        """State that the call read besides its arguments."""
        return MappingProxyType({read.name: Value(read.value) for read in self._read.reads})

    @property
    def changes(self) -> Mapping[str, tuple[Value | None, Value | None]]:
        """What it changed, before and after."""
        return MappingProxyType(
            {
                effect.target: (
                    None if effect.before is None else Value(effect.before),
                    None if effect.after is None else Value(effect.after),
                )
                for effect in self._read.effects
            }
        )

    @property
    def outcome(self) -> str:
        """`returned`, `raised`, `yielded`, `not terminated` or `failed`."""
        return self._read.outcome.kind.name.lower().replace("_", " ")

    @property
    def returned(self) -> Value | None:
        """What it returned; None if it did not return, or if that was not recorded."""
        return self._result(OutcomeKind.RETURNED)

    @property
    def raised(self) -> Value | None:
        """The exception that left it, if one did."""
        return self._result(OutcomeKind.RAISED)

    def _result(self, kind: OutcomeKind) -> Value | None:
        outcome = self._read.outcome
        return Value(outcome.value) if outcome.kind is kind and outcome.value else None

    @property
    def yielded(self) -> tuple[Value, ...]:
        """What a generator yielded."""
        return tuple(map(Value, self._read.outcome.yielded))

    @property
    def printed(self) -> str:
        """What it printed itself."""
        return self._read.printed

    def part(self, path: str = RESULT, *, before: bool = False) -> Value:
        """The value at a path such as `result[2].name`; `before`: as it was before the call."""
        return Value(find_mark(self._read, path, input_side=before).value)

    @property
    def caller(self) -> Call | None:
        """The call that made this one."""
        parent = int(self._tree.columns.parent[self._position])
        return None if parent < 0 else Call(self._now, self._tree.id(parent))

    @property
    def callees(self) -> tuple[Call, ...]:
        """The calls that it made, in order, as far as they are in the recording."""
        position = self._position
        positions = callee_positions(self._tree, position, count_callees(self._tree, position))
        return tuple(Call(self._now, self._tree.id(at)) for at in positions)

    def __str__(self) -> str:
        return self._read.equation()

    def __repr__(self) -> str:
        return f"<call {self.number}: {self}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Call) and other._tree is self._tree and other.number == self.number

    def __hash__(self) -> int:
        return hash(self.number)


def calls_of(tree: Tree, function: str = "") -> Iterator[Call]:
    """All calls of a tree in preorder, or those of a function."""
    wanted = [
        number
        for number, known in enumerate(tree.functions)
        if not function or function in (known.name, known.short())
    ]
    if function and not wanted:
        raise UsageError(f"no function in this recording is named {function}")
    chosen = set(wanted)
    for position in range(len(tree.columns)):
        if int(tree.columns.function[position]) in chosen:
            yield Call(lambda: tree, tree.id(position))
