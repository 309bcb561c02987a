"""The ports of whence: every way in which a language, a strategy or an oracle plugs in.

Strategies, oracles, slices, sessions and reports see a program only through these Protocols. Each
docstring is the contract of its port; `whence.testing.laws` checks the contracts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from enum import IntEnum
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from whence.model.call import Call, Function, Mark, MarkedPart, Rule
from whence.model.equation import StableEquation
from whence.model.origin import Influence, Origin
from whence.model.primitive import RaisingOperation, Span, WorkedOut
from whence.model.question import Question
from whence.model.recording import RecordingFacts, RunSummary
from whence.model.replay_settings import Progress, ReplaySettings
from whence.model.symptom import Symptom, SymptomTime
from whence.model.trial import Trial
from whence.model.verdict import Answer, Judgement, Trust, Verdict

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Columns:
    """A tree as arrays, one entry for each call, in preorder.

    So the calls below call `n` are exactly those at `n + 1 … end[n] - 1`, a caller stands before
    its callees, and callees stand in the order in which they were made. The root is at 0, with
    parent -1. The arrays are read only; they may be memory-mapped.

    `own` is a call's own weight (for an *implicit* call, whose callees are not in the tree, the
    weight of all that it stands for), `weight` the sum of `own` over its subtree. `equation` is
    equal for calls with equal equations. `effort` is about how many characters a question shows.
    """

    parent: Int32s
    end: Int32s
    function: Int32s
    rule: Int32s
    depth: Int32s
    outcome: Bytes
    own: Floats
    weight: Floats
    equation: Int64s
    effort: Int32s
    implicit: Bytes

    def __len__(self) -> int:
        return len(self.parent)

    def of(self, calls: npt.NDArray[np.generic]) -> Columns:
        """The columns of some calls, in which `parent` and `end` still are old positions."""
        return Columns(*(getattr(self, field.name)[calls] for field in fields(self)))


class Tree(Protocol):
    """An execution tree. It does not change while it is searched: `expand` gives another tree.

    A call has a *position* (its index in the columns, which changes when a tree is expanded) and
    an *id* (which never does, and which answers are kept by).
    """

    @property
    def columns(self) -> Columns:
        """The tree's arrays."""

    @property
    def functions(self) -> Sequence[Function]:
        """The functions that `columns.function` numbers."""

    @property
    def rules(self) -> Sequence[Rule]:
        """The rules that `columns.rule` numbers."""

    def call(self, position: int) -> Call:
        """The call in full; read on demand."""

    def id(self, position: int) -> int:
        """The stable id of the call at a position."""

    def position(self, node: int) -> int:
        """The position of the call with an id; `UsageError` if there is none."""

    def positions(self, nodes: Collection[int]) -> Int64s:
        """The positions of many calls, in any order."""

    def expand(self, position: int, levels: int) -> Tree:
        """The tree with `levels` more levels below an implicit call, its weights corrected.

        Raises `CannotExpand` if the callees cannot be found.
        """


class Provenance(Protocol):
    """Where values came from. It never guesses: an origin that is unknown has a reason."""

    def origin(self, node: int, part: MarkedPart) -> Origin:
        """The call that created the marked part of call `node`.

        If that call is hidden below an implicit one, `Origin.below` names the implicit call: the
        session expands it and asks again.
        """

    def influence(self, node: int, part: MarkedPart) -> Influence | None:
        """The calls that could have influenced the part, or None if they are unknown."""

    def with_tree(self, tree: Tree) -> Provenance:
        """The same provenance for an expansion of its tree."""


class Oracle(Protocol):
    """Answers questions in place of a person.

    Oracles are asked in order, before a person is; the first one that knows the answer gives it.
    One that raises a `WhenceError` is not asked again in this session.
    """

    @property
    def name(self) -> str:
        """Identifies the oracle in answers, and in `--no-oracle`."""

    def judge(self, question: Question) -> Verdict | Judgement | None:
        """The verdict, or None if the oracle does not know. A `Judgement` also says why.

        The verdict must be that of a person who knows the program: when in doubt, None. A call
        with input that it should never receive is INADMISSIBLE, whatever its outcome.
        """


@runtime_checkable
class Acquitter(Protocol):
    """An oracle that also knows of some code that it cannot be at fault."""

    def acquits(self, node: int) -> str | None:
        """Why this call cannot be at fault; None if it can."""

    def doubts(self, node: int) -> str | None:
        """Why this call may not be at fault although no other one is left; None if it is."""


class Reruns(Protocol):
    """Runs the program again to learn what its recording does not say.

    A re-run that is not harmless repeats the program's effects on the world, so a person has to
    allow it. Only `lines_alone` needs no permission. A re-run that diverges or is impossible raises
    a `WhenceError`.
    """

    @property
    def is_harmless(self) -> bool:
        """Whether a re-run changes nothing in the world."""

    @property
    def command(self) -> str:
        """The command and its folder, for a person who has to allow it."""

    @property
    def how(self) -> str:
        """Where a re-run starts, for a person to read."""

    def whole(self, node: int) -> Call:
        """The call with its values in full."""

    def lines(self, node: int) -> frozenset[int]:
        """The lines of source that the call itself ran."""

    def tried(self, expected: Mapping[int, str]) -> Trial:
        """How the run ends if these calls return these values instead of their own."""

    def debug(self, node: int, *, at_end: bool = False) -> None:
        """Let a person step through the call at this terminal, from its start or its end."""

    def lines_alone(self, node: int) -> frozenset[int]:
        """The same, learned by making this one call again, isolated from the world."""


@runtime_checkable
class Following(Protocol):
    """Re-runs that follow a marked part back to its origin, for the provenance to report.

    Without `give_up`, the provenance makes the run as soon as it is asked about the part.
    """

    def needs_run(self, node: int, part: MarkedPart) -> bool:
        """Whether the origin of a part is known only after a re-run."""

    def follow(self, node: int, part: MarkedPart) -> None:
        """Make the re-run; an origin that it does not find is unknown, with the reason."""

    def give_up(self, node: int, part: MarkedPart, why: str) -> None:
        """Make no re-run for this part: its origin is unknown, for this reason."""


@runtime_checkable
class Freezing(Protocol):
    """Re-runs that replace calls that were judged right by their recorded effects."""

    def frozen(self, node: int) -> str:
        """Says that a call is frozen, or why it cannot be; "" if no one tried to freeze it."""


@runtime_checkable
class Zooming(Protocol):
    """Re-runs that can zoom into one call."""

    def can_zoom(self, node: int) -> bool:
        """Whether nothing is known that prevents a zoom into a call."""

    def zoom(self, node: int) -> tuple[Tree, Provenance]:
        """The steps of a call as a tree, and the provenance of values among them.

        The call is the root; the calls that a step made are below the step, with their old ids.
        """

    def worked_out(self, node: int) -> WorkedOut:
        """The variables and intermediate values of a call at the moment it raised."""


class Prior(Protocol):
    """How likely each call is to be at fault before anyone is asked, apart from its weight.

    A prior is evidence, not a verdict: it changes the order of questions, never what can be found.
    """

    def factors(self, tree: Tree) -> Floats:
        """For each position, a factor for its own weight, from 0 to 1. Factors
        close to 0 are raised to a floor, so that no call is ruled out."""


class Presumed(IntEnum):
    """Whether a call is presumed right, and when it is searched all the same."""

    NOT = 0
    WHOLE = 1
    """It is searched when no other call is left: one question for it and all below it."""
    INSIDE = 2
    """It is below such a call, and is searched last."""


class Presumption(Protocol):
    """Calls that are hardly ever at fault and that nobody can judge, such as imports.

    They are set aside until nothing else is left. Like a prior, a presumption changes the order of
    questions, never what can be found.
    """

    def presumed(self, tree: Tree) -> Bytes:
        """A `Presumed` for each position."""


class Chronology(Protocol):
    """The order in which calls began, which is not that of a tree: a generator or thread stands
    below the call that created it."""

    def began_later(self, tree: Tree, last_begun: int) -> npt.NDArray[np.bool_]:
        """For each position, whether it is certain that the call began after call `last_begun`
        had. If so, this holds for all calls below it."""


class CallGraph(Protocol):
    """Which functions a function may call, according to the source text."""

    def callees(self, function: Function, among: Sequence[Function]) -> Sequence[int] | None:
        """The indices of those functions `among` the given ones that it may call, in the order in
        which its text first names them; None if there is no text. Too many do no harm.
        """


@dataclass(frozen=True, slots=True)
class Choice:
    """The position of the call to ask about next, and why that one."""

    position: int
    why: str
    function: int | None = None
    """The function whose calls are shown with the question, so that any of them can be judged."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """A strategy's request to expand an implicit call by `levels` levels before it can choose."""

    position: int
    levels: int


@dataclass(frozen=True, slots=True)
class Judged:
    """An answer as a strategy sees it: what was said of the call at a position."""

    position: int
    verdict: Verdict
    origin: Origin | None = None
    influence: Influence | None = None
    """Where the part that was marked with the answer came from, and what could have made it."""
    holds_others: bool = False
    """Whether the part holds others: then what is wrong may be what it lacks, or has too much."""
    is_symptom: bool = False
    """Whether the call is wrong because of what was seen of the run."""


class OpenCalls(Protocol):
    """The calls that may be asked about, and scans over a weight of theirs. Ties go left."""

    def positions(self) -> Int64s:
        """All of them."""

    def first(self) -> int | None:
        """The left-most."""

    def heaviest_up_to(self, weight: Floats, limit: float) -> int | None:
        """The heaviest that weighs at most `limit`."""

    def lightest_from(self, weight: Floats, limit: float) -> int | None:
        """The lightest that weighs at least `limit`."""

    def closest(
        self, weight: Floats, goal: float, own: Floats | None = None
    ) -> tuple[int, float] | None:
        """The one whose weight, less half of its own, is closest to `goal`, and how close."""

    def within(self, weight: Floats, low: float, high: float, most: int) -> Int64s:
        """The first `most` that weigh from `low` to `high`."""

    def lowest(self, end: Int32s) -> int | None:
        """The first one that has no other one below it."""


class Suspects(Protocol):
    """The part of the tree that can still hold the fault, as strategies see it.

    It lies strictly below `top`, a call that is wrong (or taken to be): positions `top + 1` to
    `stop - 1` without those that were judged, removed or trusted. All weights count suspects only.
    """

    @property
    def tree(self) -> Tree:
        """The whole tree."""

    @property
    def columns(self) -> Columns:
        """Its columns."""

    @property
    def top(self) -> int:
        """The call that is known, or taken, to be wrong."""

    @property
    def stop(self) -> int:
        """The end of the top's subtree."""

    @property
    def top_is_open(self) -> bool:
        """Whether the top has no verdict yet."""

    @property
    def weight(self) -> Floats:
        """For each position the weight of the suspects in its subtree, itself included."""

    @property
    def prior(self) -> Floats | None:
        """For each position what a strategy may multiply its own weight by, always above 0."""

    @property
    def graph(self) -> CallGraph | None:
        """The call graph in the text of the program."""

    @property
    def yes(self) -> Int64s:
        """For each rule, how many of its calls lie in subtrees that were judged right."""

    @property
    def no(self) -> Int64s:
        """For each rule, how many of its calls were judged wrong."""

    @property
    def history(self) -> Sequence[Judged]:
        """What was answered so far, in order."""

    def callees(self, position: int) -> Int64s:
        """The suspects that a call leads to directly: trusted calls in between do not count."""

    def frontier(self) -> Iterator[OpenCalls]:
        """What one may ask next in a walk from the top down: groups of callees, nearest first."""

    def askable(self, positions: Int64s) -> Int64s:
        """Those of the positions that may be asked about now."""

    @property
    def open_calls(self) -> OpenCalls:
        """All calls below the top that may be asked about now."""

    def sums(self, own: Floats) -> Floats:
        """The sums of another own weight over the suspects of each subtree."""

    def kept_sums(self, key: Hashable, own: Callable[[], Floats]) -> tuple[Floats, Floats]:
        """Nearly these sums, and the own weight, which is computed only if the key is not that of
        the last time: it says which weight it is. They hold at and below the top."""


class Strategy(Protocol):
    """Chooses the next question. It keeps nothing: what it needs is among the suspects."""

    @property
    def name(self) -> str:
        """The name that `strategy NAME` takes."""

    @property
    def asks_top(self) -> bool:
        """Whether the top of the tree, which is taken to be wrong anyway, is asked about first."""

    def choose(self, suspects: Suspects) -> Choice | Expansion | None:
        """The next question, below the top; None only if no position may be asked about."""


# --- front ends ----------------------------------------------------------------------------------

Note = Callable[[str], None]
"""Shows a person one sentence."""
Waiting = Callable[[str], AbstractContextManager[object]]
"""Tells a person what takes long while it does."""
Identify = Callable[[int, Call], StableEquation | str]
"""The equation of a call, by its id and content, or why it is not the same in every run."""


class ReplayControl(Protocol):
    """The processes in which a recorded program runs again."""

    def configure(self, settings: ReplaySettings) -> None:
        """Obey these settings from now on."""

    def close(self) -> None:
        """End every process that was kept for another re-run."""


class RecordingTrust(Protocol):
    """Whether what a recording names may be executed. Nothing is executed before `allow`, unless
    the recording is this user's own."""

    def why_foreign(self) -> str:
        """Why the recording is not this user's own, in half a sentence; empty if it is."""

    def consequences(self) -> Sequence[str]:
        """What would be executed, line by line."""

    def allow(self) -> None:
        """Count the recording as this user's own."""


class MarkHistory(Protocol):
    """Explains a marked part in more detail than a session needs."""

    def history(self, node: int, part: MarkedPart) -> tuple[Origin, Sequence[frozenset[int]]]:
        """The origin of a part and its slices, each wider than the one before."""


@dataclass(frozen=True, slots=True)
class AttributeUse:
    """The attributes that some code names, and whether it may use others."""

    names: frozenset[str] = frozenset()
    uses_wholes: bool = False
    """Whether it may compare, hash or print whole objects. If code for that was generated for a
    class, it uses attributes that no text names."""
    reaches_all: bool = False
    """Whether it may use attributes of any object that it does not name."""

    def __or__(self, other: AttributeUse) -> AttributeUse:
        return AttributeUse(
            self.names | other.names,
            self.uses_wholes or other.uses_wholes,
            self.reaches_all or other.reaches_all,
        )


class SourceSyntax(Protocol):
    """What the text of a source file says. It never raises: a text that is not understood says
    nothing."""

    def outline(self, text: str, line: int) -> Sequence[str]:
        """A line for each attribute and method of the class that begins at a line."""

    def attributes_named(self, text: str, function: Function) -> AttributeUse:
        """Which attributes the code of a function names."""

    def tuple_fields(self, text: str, name: str) -> Sequence[str]:
        """The fields of a named tuple that is defined in the text; empty for other names."""

    def is_plain_class(self, text: str, name: str) -> bool:
        """Whether a class of this name is defined in the text, and by nothing but the text."""

    def summary(self, text: str, call: Call) -> str:
        """The first line of the documentation of the called function; empty without one."""

    def defaults(self, text: str, call: Call) -> Mapping[str, str]:
        """The defaults of the called function's parameters, as a question writes such values."""

    def calling_expression(self, expression: str, function: Function) -> str:
        """The part of an expression that called a function; empty if that is not known."""

    def operation_at(self, text: str, span: Span) -> RaisingOperation | None:
        """The operation that stands in exactly this place."""

    def calls_out_of_sight(
        self,
        text: str,
        call: Call,
        callees: Sequence[Function],
        functions: Sequence[Function],
        calls: Sequence[Call] | None,
        read: Callable[[str], str | None],
    ) -> Mapping[str, Collection[int]]:
        """The names of what a call may have run without its being recorded, each with the lines of
        which one ran if it did; without lines where they cannot tell.

        `callees` are the functions that it called, `functions` all that were recorded; `calls` are
        the calls that it made, None if they are too many. `read` gives the text of another file.
        """


@dataclass(frozen=True, slots=True)
class TestRequest:
    """A regression test to be written: of which call, and what is wrong about it."""

    node: int
    path: Path
    """The file that the test is meant for; nothing is written to it here."""
    summary: str
    expected: str | None = None
    mark: Mark | None = None
    checks_output: bool = False
    is_typed: bool = True
    """Whether the user typed `expected`. A stored text is data: it does not become code."""
    deadline: float = math.inf
    """When to give up trying the test, by `time.monotonic`."""


class RegressionTestWriter(Protocol):
    """Writes tests in the language of the program."""

    def write(self, tree: Tree, request: TestRequest) -> str:
        """The text of a test that was seen to fail because of the fault; else `CannotWriteTest`."""


class RunSymptoms(Protocol):
    """The symptoms of one recorded run, and what follows from each."""

    @property
    def is_test(self) -> bool:
        """Whether the run was one test."""

    def summary(self) -> RunSummary:
        """What can be seen of the run."""

    def stored(self) -> Symptom | None:
        """The symptom that is stored beside the recording."""

    def store(self, symptom: Symptom) -> None:
        """Store a symptom beside the recording."""

    def first_answers(self, symptom: Symptom) -> tuple[Sequence[Answer], Sequence[str]]:
        """The answers that follow from a symptom, and notes for the person; `UsageError` if the
        symptom does not fit the run."""

    def time(self, symptom: Symptom) -> SymptomTime | None:
        """When it had happened; None if that is not known."""

    def assertion(self, symptom: Symptom) -> tuple[str, Sequence[str]]:
        """The source of a failed assertion, and the values of its operands, empty if unknown."""


@runtime_checkable
class ClosableOracle(Protocol):
    """An oracle that holds processes."""

    def notes(self) -> Sequence[str]:
        """What the oracle could not find out, for a person to read after the session."""

    def close(self) -> None:
        """End its processes."""


class RunJudge(Protocol):
    """Judges a run as a whole, before any call of it is judged."""

    def judge_run(self, note: Note, waiting: Waiting) -> tuple[Sequence[Answer], Sequence[Trust]]:
        """The first answers of a session, and code that cannot be at fault."""


@dataclass(frozen=True, slots=True)
class OracleSet:
    """The oracles of a language, in the order in which they are asked."""

    first: Sequence[Oracle] = ()
    last: Sequence[Oracle] = ()
    """Oracles that are asked after those that the user names."""
    run_judge: RunJudge | None = None


class OracleSource(Protocol):
    """Makes the oracles of a session, when they are wanted: they cost time and processes."""

    def gather(self, reference: str | None) -> OracleSet:
        """The oracles, with the reference version that is named, if one is."""


class PriorSource(Protocol):
    """Makes the prior of a session."""

    def prior(self, folder: Path, note: Note) -> Prior | None:
        """What tests have taught, stored in a project's `folder`."""

    def presumption(self) -> Presumption | None:
        """Which calls are presumed right."""


@dataclass(frozen=True)
class Opened:
    """One execution tree with everything that its language offers for it.

    Only the tree is always there. A port that is None is not offered.
    """

    tree: Tree
    provenance: Provenance | None = None
    reruns: Reruns | None = None
    replay: ReplayControl | None = None
    trust: RecordingTrust | None = None
    history: MarkHistory | None = None
    oracles: OracleSource | None = None
    priors: PriorSource | None = None
    symptoms: RunSymptoms | None = None
    call_graph: CallGraph | None = None
    chronology: Chronology | None = None
    folder: Path | None = None
    """The working directory of the program: the files that the tree names are relative to it."""
    began: float | None = None
    """When the run began, in seconds: a source file that is newer may not be what ran."""
    syntax: SourceSyntax | None = None
    tests: RegressionTestWriter | None = None
    recording: RecordingFacts | None = None
    identify: Callable[[Path], Identify] | None = None
    """Gives the stable equations of calls, given the folder of the project."""
    computes_origins: bool = False
    """Whether origins are computed from the file, which a converted file must then hold."""


class Frontend(Protocol):
    """Opens the executions of one language, or of one file format."""

    @property
    def name(self) -> str:
        """The language or format."""

    def recognizes(self, start: bytes) -> bool:
        """Whether a file that starts like this is one of its own."""

    def open(self, path: Path, progress: Progress | None = None) -> Opened:
        """Open a file; `WhenceError` if it cannot be read."""
