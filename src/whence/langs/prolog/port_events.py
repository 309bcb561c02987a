"""The lines that capture.pl writes: events, and the tables that they refer to.

An event identifies its call by the stack frame, a number that Prolog reuses when the frame is gone;
`trace_tree.py` resolves frames to calls. A term is a number, under which Prolog keeps it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from functools import cache
from typing import Protocol

from whence.errors import WhenceError
from whence.langs.prolog.swipl_process import Engine, plain, quoted

GOAL = "whence goal"
"""The predicate whose body is the goal, unless the goal is one call of a user's predicate."""


class ConstructKind(IntEnum):
    """A control construct that the compiler inlines."""

    OR = 0
    NOT = 1
    IF = 2
    SOFT_IF = 3


@dataclass(frozen=True, slots=True)
class Construct:
    """Its start, where execution continues if its (first) goal fails, and the condition's end.

    All are program counters. A call's is the one after it, so a call is in the condition if
    `start < pc <= condition_end`.
    """

    start: int
    otherwise: int
    kind: ConstructKind
    condition_end: int

    def holds(self, pc: int) -> bool:
        """Whether a call is in the part that failed if execution continued at `otherwise`."""
        return self.start < pc <= self.condition_end


class Tabling(Enum):
    """How a predicate is tabled."""

    NONE = ""
    VARIANT = "tabled"
    MODED = "moded"
    """Some arguments are aggregated: the answers depend on all others."""
    LATTICE = "lattice"
    """They are aggregated by a predicate of the program."""


class Code(Enum):
    """What a predicate consists of."""

    CLAUSES = ""
    FOREIGN = "foreign"
    """Code in C of the user."""
    RULES = "chr"
    """CHR rules for a constraint, which read and change the constraint store."""


_TABLED = {tabling.value for tabling in Tabling} - {""}
_CODE = {code.value for code in Code} - {""}
_TRUSTED = ("library", "chr_part")


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate that was called."""

    module: str
    name: str
    arity: int
    is_user: bool
    tabling: Tabling
    code: Code
    file: str
    line: int

    @property
    def is_tabled(self) -> bool:
        return self.tabling is not Tabling.NONE

    @property
    def is_traced(self) -> bool:
        """Whether the calls of its clauses can be traced."""
        return self.code is Code.CLAUSES

    @property
    def indicator(self) -> str:
        return f"{self.name}/{self.arity}"


@dataclass(frozen=True, slots=True)
class Literal:
    """A goal of a clause's body: its path in the clause, and the variables in each argument."""

    path: tuple[int, ...]
    variables: tuple[frozenset[int], ...]


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause: its location, and the parts of its text that slices need."""

    number: int
    nth: int
    file: str
    line: int
    head: tuple[frozenset[int], ...]
    literals: tuple[Literal, ...]
    constructs: tuple[Construct, ...]
    cuts: tuple[int, ...]
    paths: dict[int, tuple[int, ...]]
    """The path of the literal, by a call's program counter."""
    negations: tuple[Construct, ...]
    conditions: tuple[Construct, ...]
    """The constructs that keep the first answer of their condition."""

    def construct_at(self, otherwise: int) -> Construct | None:
        """The innermost construct that continues at a program counter."""
        matching = [construct for construct in self.constructs if construct.otherwise == otherwise]
        return max(matching, key=lambda construct: construct.start, default=None)


class EventListener(Protocol):
    """Receives the events of a run in order. A call is identified by its frame.

    Each kind has a method, because a trace has millions of events and an object for each is slow.
    """

    def call(
        self, frame: int, caller: int, pc: int, predicate: int, term: int, states: str
    ) -> None:
        """A call; `caller` is a frame, or 0 for the root."""

    def unify(self, frame: int, clause: int) -> None:
        """The head of a clause was unified with a call."""

    def exit(self, frame: int, more: bool, term: int, states: str) -> None:
        """An answer; `more` if there may be further ones."""

    def fail(self, frame: int) -> None:
        """No (further) answer."""

    def redo(self, frame: int, pc: int) -> None:
        """Execution continues in a frame: at a program counter, or (0) where it left off."""

    def exception(self, frame: int, term: int, refused: bool) -> None:
        """An exception leaves a call; `refused`: it was declared det and left a choice point."""

    def cut(self, frame: int, pc: int, pruned: Sequence[tuple[int, int]]) -> None:
        """A cut ran; `pruned` are frames, each with the next clause that it will not try."""

    def effort(self, frame: int, inferences: int) -> None:
        """The number of inferences so far, at the entry or exit of a skipped call."""

    def change(self, frame: int, kind: str, module: str, name: str, term: int) -> None:
        """A clause was added or removed, or a global variable was set or read, in a call."""

    def printed(self, count: int) -> None:
        """So many characters were printed before the next event."""

    def hidden(self, frame: int, what: str) -> None:
        """Something out of sight happened in a call, or in libraries that it called."""


@dataclass
class Run:
    """The outcome of a goal, and the tables that its events refer to."""

    predicates: dict[int, Predicate] = field(default_factory=dict)
    clauses: dict[int, Clause] = field(default_factory=dict)
    answers: list[str] = field(default_factory=list)
    names: dict[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    """The paths in the goal of each named variable."""
    raised: int | None = None
    exhausted: bool = False
    """Whether there is no further answer."""
    stopped: str = ""
    """The limit that stopped it: `events`, `depth` or `seconds`."""
    unseen: list[str] = field(default_factory=list)
    """What ran untraced, such as engines and threads."""


@dataclass(frozen=True)
class RunLimits:
    """When a run is stopped, and below which depth calls are skipped; 0 is never."""

    events: int = 0
    depth: int = 0
    seconds: float = 0
    skip_below: int = 0
    opened: tuple[int, ...] = ()
    """The numbers of calls that are traced although they are deeper than that."""

    def __str__(self) -> str:
        return (
            f"limits({self.events}, {self.depth}, {self.seconds:g}, {self.skip_below}, "
            f"{list(self.opened)})"
        )


NO_LIMITS = RunLimits()


def run_goal(
    engine: Engine, goal: str, *, solutions: int, limits: RunLimits = NO_LIMITS
) -> Iterator[list[str]]:
    """Run a goal for a number of answers; yields the lines that `read` parses."""
    return engine.stream(f"run({quoted(goal)}, {solutions}, {limits})")


def read(lines: Iterable[list[str]], run: Run, events: EventListener) -> int:
    """Pass the events in lines to the listener and put the rest into `run`; counts the events.

    The branches are in order of frequency.
    """
    count = notes = 0
    for count, fields in enumerate(lines, 1):  # noqa: B007
        kind = fields[0]
        if kind == "c":
            _, frame, caller, pc, predicate, term, states = fields
            events.call(
                int(frame), int(caller), int(pc), int(predicate), int(term), _states(states)
            )
        elif kind == "x":
            _, frame, more, term, states = fields
            events.exit(int(frame), more == "1", int(term), _states(states))
        elif kind == "u":
            events.unify(int(fields[1]), int(fields[2]))
        elif kind == "f":
            events.fail(int(fields[1]))
        elif kind == "r":
            events.redo(int(fields[1]), int(fields[2]))
        elif kind == "t":
            pairs = [(pruned_frame, clause) for pruned_frame, clause in json.loads(fields[3])]
            events.cut(int(fields[1]), int(fields[2]), pairs)
        elif kind == "e":
            events.exception(int(fields[1]), int(fields[2]), fields[3] == "1")
        elif kind == "i":
            events.effort(int(fields[1]), int(fields[2]))
        elif kind == "j":
            _, frame, what, module, name, term = fields
            events.change(int(frame), what, plain(module), plain(name), int(term))
        elif kind == "o":
            events.printed(int(fields[1]))
        elif kind == "n":
            events.hidden(int(fields[1]), fields[2])
        else:
            notes += 1
            _take_note(fields, run)
    return count - notes


@cache
def _states(number: str) -> str:
    """A letter for each argument: `v`ariable, `g`round or `p`artly known."""
    bits = f"{int(number):b}"[1:]
    return "".join("vgp"[int(bits[at : at + 2], 2)] for at in range(0, len(bits), 2))


def _take_note(fields: list[str], run: Run) -> None:
    match fields:
        case ["predicate", *rest]:
            run.predicates[int(rest[0])] = _predicate(rest)
        case ["clause", *rest]:
            run.clauses[int(rest[0])] = _clause(rest)
        case ["name", name, places]:
            run.names[plain(name)] = tuple(tuple(path) for path in json.loads(places))
        case ["answer", text]:
            run.answers.append(plain(text))
        case ["raised", term]:
            run.raised = int(term)
        case ["end", how]:
            run.exhausted = how == "exhausted"
        case ["unseen", what]:
            run.unseen.append(plain(what))
        case ["stopped", why]:
            run.stopped = why
        case ["hook", text]:
            raise WhenceError(f"the capture of the run failed: {plain(text)}")
        case _:
            raise WhenceError(f"the capture of the run wrote an unknown line: {fields}")


def _predicate(fields: list[str]) -> Predicate:
    _, kind, arity, line, module, name, file = fields
    return Predicate(
        plain(module),
        plain(name),
        int(arity),
        kind not in _TRUSTED,
        Tabling(kind) if kind in _TABLED else Tabling.NONE,
        Code(kind) if kind in _CODE else Code.CLAUSES,
        plain(file),
        int(line),
    )


def _clause(fields: list[str]) -> Clause:
    number, nth, line, head, goals, places, cuts, paths, file = fields
    constructs = tuple(
        Construct(start, otherwise, ConstructKind(kind), end)
        for start, otherwise, kind, end in json.loads(places)
    )
    return Clause(
        int(number),
        int(nth),
        plain(file),
        int(line),
        tuple(frozenset(variables) for variables in json.loads(head)),
        tuple(
            Literal(tuple(path), tuple(frozenset(variables) for variables in arguments))
            for path, arguments in json.loads(goals)
        ),
        constructs,
        tuple(json.loads(cuts)),
        {pc: tuple(path) for pc, path in json.loads(paths)},
        tuple(construct for construct in constructs if construct.kind is ConstructKind.NOT),
        tuple(construct for construct in constructs if construct.kind is ConstructKind.IF),
    )
