"""Tags: how a value was computed. Activations: the calls that computed them.

A `Tag` is an immutable record. It has a `kind`, a `site` (its place in the program), a `control`,
the fields of its kind, and its *needs*: the tags of everything that influenced the value.

| kind | fields before the needs | |
|---|---|---|
| CONST, OP | | a value begins here |
| LOST | | code out of sight changed it |
| BOUND | `name` | a method of a value, whose tag is the only need; "" if it cannot be replaced |
| TEXT | `text` | an OP that gave a text, as `text_pieces.Text` |
| NEW | `run` | a new object; of a generator or coroutine its `GeneratorRun`, else None |
| INPUT | `name` | an argument of the shadowed call |
| EXC | `source` | an exception; the source may be None |
| WHOLE | `time`, `address` | all that an object held was read, or which places it has |
| ARG, PHI, SEL | `source` | a copy: the source is the tag of the same value, a step earlier |
| RET | `source`, `returned_by` | a copy; the activation that returned it, or None |
| STORE | `source`, `time` | a copy |
| LOAD | `source`, `time`, `address`, `key` | a copy |
| PART | `source`, `step` | a part of the value of the source: nothing nearer is known |
| AMBIG | `choices` | a copy of one of these |

`control` is the innermost test that the value depended on (CTL: `predicate`, `activation`,
`outcome`, and in a comprehension the list of `dropped` tests), or the call itself (FRAME: its
callee, `activation`). None as a tag means that nothing is known of the value.

There is one class and not one for each kind, so that a tag is made by a single allocation: a shadow
run makes millions of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import itemgetter
from types import CodeType
from typing import TYPE_CHECKING, Any

from whence.langs.python.provenance.runtime.native_tagging import NATIVE_TAG
from whence.langs.python.provenance.runtime.type_inspection import IdentitySet

if TYPE_CHECKING:
    from whence.langs.python.provenance.runtime.text_pieces import Text

CONST, OP, LOST, BOUND, TEXT, NEW, INPUT, EXC, WHOLE = range(9)
ARG, RET, LOAD, STORE, PHI, SEL, PART, AMBIG = range(9, 17)
CTL, FRAME = 17, 18
COPIES = frozenset({ARG, RET, LOAD, STORE, PHI, SEL})
CONTROLS = frozenset({CTL, FRAME})
_FIRST_NEED = {
    CONST: 3, OP: 3, LOST: 3, BOUND: 4, TEXT: 4, NEW: 4, INPUT: 4, EXC: 4, WHOLE: 5, ARG: 4, RET: 5,
    LOAD: 7, STORE: 5, PHI: 4, SEL: 4, PART: 5, AMBIG: 4,
}  # fmt: skip


def _field(index: int) -> Any:
    return property(itemgetter(index))


class PythonTag(tuple[Any, ...]):
    """The provenance record of one value; which fields it has depends on its kind.

    Made from a tuple of its fields. Where whence was built with C, `_tagging.Tag` takes its place:
    the same fields in half the memory.
    """

    __slots__ = ()

    kind: int = _field(0)
    site: int = _field(1)
    control: Tag = _field(2)
    source: MaybeTag = _field(3)
    name: str = _field(3)
    text: Text = _field(3)
    run: GeneratorRun | None = _field(3)
    choices: tuple[MaybeTag, ...] = _field(3)
    predicate: MaybeTag = _field(3)
    activation: Activation = _field(4)
    returned_by: Activation | None = _field(4)
    step: tuple[str, Any] = _field(4)
    receiver: MaybeTag = _field(4)
    """Of BOUND: its only need."""
    outcome: bool = _field(5)
    key: Any = _field(6)
    dropped: list[MaybeTag] | None = _field(6)

    @property
    def time(self) -> int:
        """When a place was written or read."""
        return self[3 if self[0] == WHOLE else 4]  # type: ignore[no-any-return]

    @property
    def address(self) -> Any:
        """Of the object that was read; for a variable, a tuple that identifies its place."""
        return self[4 if self[0] == WHOLE else 5]


if TYPE_CHECKING:
    Tag = PythonTag
else:
    Tag = NATIVE_TAG or PythonTag

MaybeTag = Tag | None
Control = Tag
Pair = tuple[Any, MaybeTag]

FORGOTTEN: Control = Tag((FRAME, -1, None, None, None))
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
        lines = [line.encode() for line in self.source[self.line - 1 : self.end_line]]
        if not lines:
            return ""
        lines[-1] = lines[-1][: self.end_column]
        lines[0] = lines[0][self.column :]
        return "\n".join(line.decode(errors="replace") for line in lines)


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
    """Those of them that are bound exactly once: they need no check at each call."""
    sets_globals: frozenset[str]
    sets_cells: frozenset[tuple[str, str]]
    """The variables of functions around it that it sets."""
    free_names: frozenset[str]
    module: int = 0
    namespace: dict[str, Any] = field(default_factory=dict, repr=False)
    """The variables of its module."""

    @property
    def fixed(self) -> list[object]:
        """The objects that it reaches by variables that are bound exactly once."""
        return [self.namespace.get(name) for name in self.fixed_names]

    @property
    def parameters(self) -> int:
        """The number of values that a call of it receives."""
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
        """Of a generator or coroutine: its number among those of its function (0: unknown)."""
        self.start = 0
        self.end = -1
        self.control: Control = FORGOTTEN
        self.arguments: tuple[MaybeTag, ...] = ()
        self.values: tuple[Any, ...] = ()
        self.roots: tuple[object, ...] = ()
        """What its code reaches besides its arguments: closure cells and module variables."""
        self.result: MaybeTag = None
        self.value: Any = None
        self.failure: MaybeTag = None
        # Most calls have none of these: a list is made when there is something to put into it.
        self.tests: Sequence[Any] = ()
        """When and how it decided whether to change something: times and tests, in turn. Among the
        tests are the tags of objects that it chose to change, and of what it attempted in `try`."""
        self.calls: Sequence[Activation] = ()
        self.yielded: Sequence[Pair] = ()
        """Of a generator: what it has yielded."""
        self.sent: MaybeTag = None
        self.operation: Any = None
        """The operation out of sight that called it, or resumed it last."""
        if parent is not None:
            if type(parent.calls) is list:
                parent.calls.append(self)
            else:
                parent.calls = [self]

    def forget(self) -> None:
        """Drop all references. A tag refers only to earlier tags and to calls.

        So every cycle of tags goes through a call, and the garbage collector, which cannot see
        native tags, has none to find.
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

    def note_yield(self, value: object, tag: MaybeTag) -> None:
        """Note a value that a generator yielded."""
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
    """A generator or coroutine, with its activation once it has begun."""

    __slots__ = ("activation", "callbacks", "dropped", "number", "position")

    def __init__(self, number: int = 0) -> None:
        self.activation: Activation | None = None
        self.position: MaybeTag = None
        """The tag of everything that advanced it so far."""
        self.callbacks: Sequence[Pair] = ()
        """Of the patterns of `match`: what the program's code returned to them."""
        self.number = number
        """Its number among those of its function, from 1 on."""
        self.dropped: list[MaybeTag] = []
        """Of a generator expression: the tests that left something out."""


SITES: list[Site] = [Site("", 0, 0, 0, 0, "", ())]
FUNCTIONS: list[FunctionInfo] = []
_INSTRUCTION_SITES: dict[tuple[int, int], tuple[CodeType, int]] = {}


def site_of(code: CodeType, instruction: int) -> int:
    """The place that an instruction of rewritten code stands for; 0 if it is not known."""
    entry = _INSTRUCTION_SITES.get((id(code), instruction))
    if entry is None:
        entry = _INSTRUCTION_SITES[id(code), instruction] = (code, _new_site(code, instruction))
    return entry[1]


def _new_site(code: CodeType, instruction: int) -> int:
    file = code.co_filename
    source = next((site.source for site in reversed(SITES) if site.file == file), None)
    position = next(islice(code.co_positions(), instruction // 2, None), None)
    if source is None or position is None or None in position:
        return 0
    line, end_line, column, end_column = (number or 0 for number in position)
    SITES.append(Site(file, line, column, end_line, end_column, code.co_qualname, source))
    return len(SITES) - 1


def needs_of(tag: Tag) -> tuple[MaybeTag, ...]:
    """The tags of everything that influenced a value, besides its source."""
    return tag[_FIRST_NEED[tag.kind] :]


def with_control(tag: Tag, control: Control) -> Tag:
    """The same tag under another control."""
    return Tag((*tag[:2], control, *tag[3:]))


def with_source(tag: Tag, source: MaybeTag) -> Tag:
    """The same copy, of another source."""
    return Tag((*tag[:3], source, *tag[4:]))


def attribute_owner(tag: Tag) -> MaybeTag:
    """Of a LOAD of an attribute: the tag of the object, which is its only need."""
    return tag[_FIRST_NEED[LOAD]]  # type: ignore[no-any-return]


def is_attribute_load(tag: Tag) -> bool:
    """Whether a tag is a LOAD that needs only the object: nothing else chose the place."""
    return tag.kind == LOAD and len(tag) == _FIRST_NEED[LOAD] + 1


def sources_of(tag: Tag) -> tuple[MaybeTag, ...]:
    """The tags of the same value a step earlier, and of what a part is a part of."""
    kind = tag.kind
    if kind == AMBIG:
        return tag.choices
    return (tag.source,) if kind >= ARG or kind == EXC else ()


def activation_of(tag: MaybeTag) -> Activation | None:
    """The call in which a tag was made."""
    if tag is None:
        return None
    if tag.kind >= CTL:
        return tag.activation
    control = tag.control
    return control.activation if control is not None else None
