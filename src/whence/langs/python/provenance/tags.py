"""Tags: what is remembered of how a value came to be. Activations: the calls that made them.

A tag is an immutable tuple `(kind, site, control, ..., *needs)`, so that a tag once made never
changes and millions of them are cheap; one that was made in C only reads as a tuple. `needs` are
the tags of all that had a say; what stands before them depends on the kind:

| kind | before the needs | |
|---|---|---|
| CONST, OP | | a value begins here |
| LOST | | it was changed by code out of sight |
| BOUND | its name | a method of a value, whose tag is the only need; "": nobody can replace it |
| TEXT | the pieces | an OP that gave a text: `texts.Text` |
| NEW | a `Run`, or None | a new object; of a generator or coroutine, what it becomes |
| INPUT | the name | what the shadowed call was given |
| EXC | the source, or None | an exception |
| WHOLE | time, object | all that an object held was read, or which places it has |
| ARG, PHI, SEL | the source | copies: the tag of the same value, a step earlier |
| RET | the source, the call | the same; the activation that returned it, or None |
| STORE | the source, time | the same |
| LOAD | the source, time, object, key | the same |
| PART | the source, the step | a part of the value that the source is of: nothing nearer is known |
| AMBIG | the sources | it is one of these |

`control` is the innermost test that the tag's making depended on: `(CTL, site, outer, predicate,
activation)`, or the call itself, `(FRAME, site, control of the caller, callee, activation)`.
None as a tag means that nothing is known of the value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from types import CodeType
from typing import Any

from whence.langs.python.provenance.runtime.type_inspection import IdentitySet

Tag = tuple[Any, ...] | None
Control = tuple[Any, ...]
Pair = tuple[Any, Tag]

CONST, OP, LOST, BOUND, TEXT, NEW, INPUT, EXC, WHOLE = range(9)
ARG, RET, LOAD, STORE, PHI, SEL, PART, AMBIG = range(9, 17)
CTL, FRAME = 17, 18
COPIES = frozenset({ARG, RET, LOAD, STORE, PHI, SEL})
CONTROLS = frozenset({CTL, FRAME})
_FIRST_NEED = {
    CONST: 3, OP: 3, LOST: 3, BOUND: 4, TEXT: 4, NEW: 4, INPUT: 4, EXC: 4, WHOLE: 5, ARG: 4, RET: 5,
    LOAD: 7, STORE: 5, PHI: 4, SEL: 4, PART: 5, AMBIG: 4,
}  # fmt: skip

FORGOTTEN: Control = (FRAME, -1, None, None, None)
"""The control of a call of a run that is forgotten: what is suspended there may still end."""

SCALARS = IdentitySet(int, float, bool, str, type(None), complex, bytes, type(...), range)
"""Types whose values have no parts that could change or be marked."""


@dataclass(frozen=True, slots=True)
class Site:
    """A place in the program: an expression or statement of one of its functions."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    function: str
    source: Sequence[str] = field(repr=False, compare=False)
    """The lines of the file."""
    is_guarded: bool = False
    """Whether an exception that is raised there may be caught in the same function."""

    def is_inside(self, other: Site) -> bool:
        """Whether it is a part of another place, or the same."""
        begins = (other.line, other.column) <= (self.line, self.column)
        ends = (self.end_line, self.end_column) <= (other.end_line, other.end_column)
        return self.file == other.file and begins and ends

    @property
    def text(self) -> str:
        """The expression as it is written; of one over several lines, its lines."""
        lines = [each.encode() for each in self.source[self.line - 1 : self.end_line]]
        if not lines:
            return ""
        lines[-1] = lines[-1][: self.end_column]
        lines[0] = lines[0][self.column :]
        return "\n".join(each.decode(errors="replace") for each in lines)


@dataclass(slots=True)
class FunctionInfo:
    """What the rewriter knows of a function: its parameters, and what its code may change."""

    name: str
    file: str
    line: int
    positional: tuple[str, ...]
    keyword_only: tuple[str, ...]
    has_rest: bool
    has_named_rest: bool
    is_stepped: bool
    attributes: frozenset[str]
    """The attributes that it may set or delete."""
    sets_items: bool
    sets_anything: bool
    global_names: frozenset[str]
    """The module variables that it names, in its own body."""
    fixed_names: frozenset[str]
    """The same of those that are bound once and for all: nobody has to look at each call."""
    sets_globals: frozenset[str]
    sets_cells: frozenset[tuple[str, str]]
    """The variables of functions around it that it sets."""
    free_names: frozenset[str]
    module: int = 0
    namespace: dict[str, Any] = field(default_factory=dict, repr=False)
    """The variables of its module."""

    @property
    def fixed(self) -> list[Any]:
        """What it reaches by variables that are bound once and for all."""
        return [self.namespace.get(name) for name in self.fixed_names]

    @property
    def parameters(self) -> int:
        """How many values a call of it is given."""
        named = len(self.positional) + len(self.keyword_only)
        return named + self.has_rest + self.has_named_rest


class Activation:
    """A call that ran, from `start` to `end` in the time of the shadow run (-1: not yet)."""

    __slots__ = (
        "arguments", "calls", "control", "end", "failure", "function", "guarded", "made", "number",
        "operation", "parent", "result", "roots", "sent", "start", "tests", "value", "values",
        "yielded",
    )  # fmt: skip

    def __init__(self, number: int, function: FunctionInfo | None, parent: Activation | None):
        self.number = number
        self.function = function
        self.parent = parent
        self.guarded = False
        """Whether an exception of its may be caught below the shadowed call."""
        self.made = 0
        """Of a generator or coroutine: the how manieth of its function was made (0: not known)."""
        self.start = 0
        self.end = -1
        self.control: Control = ()
        self.arguments: tuple[Tag, ...] = ()
        self.values: tuple[Any, ...] = ()
        self.roots: tuple[Any, ...] = ()
        """What its code reaches besides its arguments: closure cells and module variables."""
        self.result: Tag = None
        self.value: Any = None
        self.failure: Tag = None
        # Most calls have none of these: a list is made when there is something to put into it.
        self.tests: Sequence[Any] = ()
        """When and how it decided whether to change something: times and tests, in turn."""
        self.calls: Sequence[Activation] = ()
        self.yielded: Sequence[Pair] = ()
        """Of a generator: what it has yielded."""
        self.sent: Tag = None
        self.operation: Any = None
        """What is out of sight and called it, or resumed it last."""
        if parent is not None:
            if type(parent.calls) is list:
                parent.calls.append(self)
            else:
                parent.calls = [self]

    def forget(self) -> None:
        """Let go of all: a tag refers to what was there before it, and to calls.

        So there is no way from a tag back to itself but by a call, and the garbage collector,
        which sees no tags that were made in C, need not look for one.
        """
        self.control = FORGOTTEN
        self.arguments = self.values = self.roots = ()
        self.tests = self.calls = self.yielded = ()
        self.result = self.value = self.failure = self.sent = self.operation = None

    def note_decision(self, time: int, test: Control) -> None:
        """Note a test that decides whether something is changed."""
        if type(self.tests) is list:
            self.tests += (time, test)
        else:
            self.tests = [time, test]

    def decisions(self) -> Iterator[tuple[int, Control]]:
        """The tests that it noted, each with its time."""
        return zip(self.tests[::2], self.tests[1::2], strict=True)

    def note_yield(self, value: Any, tag: Tag) -> None:
        """Note what a generator has yielded."""
        if type(self.yielded) is list:
            self.yielded.append((value, tag))
        else:
            self.yielded = [(value, tag)]

    @property
    def name(self) -> str:
        """The qualified name of what was called."""
        return self.function.name if self.function is not None else "<run>"

    def __repr__(self) -> str:
        return f"<{self.name} {self.number}>"


class GeneratorRun:
    """Something that goes on: a generator or coroutine, by the activation that it becomes."""

    __slots__ = ("activation", "dropped", "number", "position", "told")

    def __init__(self, number: int = 0) -> None:
        self.activation: Activation | None = None
        self.position: Tag = None
        """Who made it go on so far."""
        self.told: Sequence[Pair] = ()
        """Of the patterns of `match`: what the program's own code told them."""
        self.number = number
        """The how manieth that was made of its function."""
        self.dropped: list[Tag] = []
        """Of a generator expression: the tests that left something out."""


SITES: list[Site] = [Site("", 0, 0, 0, 0, "", ())]
FUNCTIONS: list[FunctionInfo] = []


_FOUND: dict[tuple[int, int], tuple[CodeType, int]] = {}


def site_of(code: CodeType, instruction: int) -> int:
    """The place that an instruction of rewritten code stands for; 0 if it is not known."""
    known = _FOUND.get((id(code), instruction))
    if known is None:
        known = _FOUND[id(code), instruction] = (code, _new_site(code, instruction))
    return known[1]


def _new_site(code: CodeType, instruction: int) -> int:
    file = code.co_filename
    source = next((each.source for each in reversed(SITES) if each.file == file), None)
    place = next(islice(code.co_positions(), instruction // 2, None), None)
    if source is None or place is None or None in place:
        return 0
    line, end_line, column, end_column = (each or 0 for each in place)
    SITES.append(Site(file, line, column, end_line, end_column, code.co_qualname, source))
    return len(SITES) - 1


def needs_of(tag: tuple[Any, ...]) -> tuple[Tag, ...]:
    """The tags of what had a say in a value, besides its source."""
    return tag[_FIRST_NEED[tag[0]] :]


def sources_of(tag: tuple[Any, ...]) -> tuple[Tag, ...]:
    """The tags of the same value a step earlier, and of what a part is a part of."""
    kind = tag[0]
    if kind == AMBIG:
        return tag[3]  # type: ignore[no-any-return]
    return (tag[3],) if kind >= ARG or kind == EXC else ()


def activation_of(tag: Tag) -> Activation | None:
    """The call in which a tag was made."""
    if tag is None:
        return None
    if tag[0] >= CTL:
        return tag[4]  # type: ignore[no-any-return]
    control = tag[2]
    return control[4] if control else None
