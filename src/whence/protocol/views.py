"""What a session shows, as messages: calls, questions, contradictions, diagnoses, answers.

`SessionView` is what every request that changes a session is answered with. Paths are those of
marks; a path with `side` "input" is marked with the verdict `inadmissible`, one with "outcome" with
`wrong`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from whence.protocol.values import ValueView


@dataclass(frozen=True, slots=True)
class PlaceView:
    """A place in source text; `shown` is how a person would type it here."""

    file: str
    line: int | None
    column: int | None
    shown: str


@dataclass(frozen=True, slots=True)
class FunctionView:
    """A function of the program."""

    name: str
    qualname: str
    module: str = ""


@dataclass(frozen=True, slots=True)
class CallRow:
    """A call on one line. `state` is what is known of it (see docs/protocol.md)."""

    call: int
    function: str
    equation: str
    state: str
    calls: int
    """How many calls are in its subtree, itself included."""
    place: PlaceView | None = None
    is_implicit: bool = False
    """Whether only the number of calls below it is known."""


@dataclass(frozen=True, slots=True)
class InputView:
    """An argument, or state that the call read."""

    name: str
    value: ValueView
    side: str = "input"
    differs: bool = False
    """Whether it differs from that of the last judged call of the function."""
    is_default: bool = False
    """Whether it is as the function's definition has it."""


@dataclass(frozen=True, slots=True)
class OutcomeView:
    """How a call ended: `returned`, `raised`, `yielded`, `not terminated` or `failed`."""

    kind: str
    value: ValueView | None = None
    yielded: tuple[ValueView, ...] = ()
    more_yielded: int = 0
    place: PlaceView | None = None
    """Where the exception left the call."""
    raised_by: str = ""
    """The operation in the call's own code that raised it."""


@dataclass(frozen=True, slots=True)
class ChangeView:
    """A part that the call changed, before and after.

    `kind`: `made`, `changed`, `removed`, `inserted`, `added`, `reordered`, or `not recorded` if the
    change is in a part that the recording does not hold.
    """

    path: str
    kind: str
    text: str
    before: ValueView | None = None
    after: ValueView | None = None


@dataclass(frozen=True, slots=True)
class PrintedView:
    """What a call printed. Line `n`, from 0, is marked as `printed[n]`."""

    lines: tuple[str, ...] = ()
    more: int = 0


@dataclass(frozen=True, slots=True)
class StepView:
    """For a step inside a call: which piece of code it is."""

    label: str
    ending: str = ""
    parts: tuple[InputView, ...] = ()
    same: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CallView:
    """One call with all that is needed to judge it."""

    call: int
    function: FunctionView
    equation: str
    """The call and its outcome on one line."""
    state: str
    asked: str
    """The question in a few words, which the verdict `right` affirms."""
    place: PlaceView | None
    arguments: tuple[InputView, ...]
    outcome: OutcomeView
    changes: tuple[ChangeView, ...] = ()
    more_changes: int = 0
    reads: tuple[InputView, ...] = ()
    printed: PrintedView = PrintedView()
    documentation: str = ""
    outline: tuple[str, ...] = ()
    called_as: str = ""
    called_at: PlaceView | None = None
    text: str = ""
    """The equation in the language's own words, if it has some; then arguments may be terms."""
    step: StepView | None = None
    callers: tuple[CallRow, ...] = ()
    """From the nearest one up to the top."""
    callees: tuple[CallRow, ...] = ()
    more_callees: int = 0
    problem: str = ""
    """Why the call cannot be read in full; empty if it can."""


@dataclass(frozen=True, slots=True)
class AnswerView:
    """An answer that holds. `index` is its place in the list, by which it is revised."""

    index: int
    call: int
    equation: str
    verdict: str
    by: str
    part: str = ""
    expected: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class QuestionView:
    """A question: is this call right?"""

    number: int
    call: CallView
    why: str
    """Why this call is asked about."""
    strategy: str
    suspects: int
    """How many calls can still be at fault."""
    least: int | None
    """At least and at most so many questions follow; both null if nobody can tell."""
    most: int | None
    text: str
    """The question as a terminal shows it."""
    default: AnswerView | None = None
    """An earlier answer to this question, offered again after a diagnosis was rejected."""
    instances: tuple[CallRow, ...] = ()
    """Other calls that are shown beside it, because the strategy compares them."""


@dataclass(frozen=True, slots=True)
class ContradictionView:
    """Two statements that cannot both hold; `keep` says which one does."""

    earlier: str
    later: str
    why: str
    earlier_call: int | None = None
    later_call: int | None = None


@dataclass(frozen=True, slots=True)
class OperandView:
    """A side of an assertion that failed."""

    expression: str
    value: str


@dataclass(frozen=True, slots=True)
class SymptomView:
    """What can be seen of the run, from which `wrong` chooses what is wrong about it."""

    ending: str
    output: tuple[str, ...] = ()
    more_output: int = 0
    default: str = ""
    """What is most likely wrong; `wrong` without `what` says so."""
    failed: bool = False
    statement: str = ""
    """The source of an assertion that failed: `operands` are its sides."""
    operands: tuple[OperandView, ...] = ()


@dataclass(frozen=True, slots=True)
class DiagnosisView:
    """How the search ended. `record` is the report of docs/report.md."""

    status: str
    text: str
    """The report as a terminal shows it."""
    record: dict[str, object]
    can_search_rest: bool = False
    """Whether `rest` searches on, although the top was judged right."""
    can_zoom: bool = False
    """Whether `zoom` can search on among the statements of the call at fault."""


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session at this moment. Exactly one of the five things that it may need is there.

    `needs` says which: `symptom`, `question`, `contradiction`, or `nothing` if there is a
    diagnosis.
    """

    session: str
    revision: int
    """Counts the changes of the session; a request may name the one that it is about."""
    needs: str
    question: QuestionView | None = None
    contradiction: ContradictionView | None = None
    symptom: SymptomView | None = None
    diagnosis: DiagnosisView | None = None
    recording: str = ""
    strategy: str = ""
    suspects: int = 0
    calls: int = 0
    answers: int = 0
    can_undo: bool = False
    can_redo: bool = False
    notes: tuple[str, ...] = ()
    """What happened since the last view: what oracles answered, where a marked part came from."""
    log: str = ""
    """The file that keeps the session."""


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of source; `ran` is null if it is not known."""

    number: int
    text: str
    ran: bool | None = None
    calls: tuple[int, ...] = ()
    """The calls that this line made."""


@dataclass(frozen=True, slots=True)
class SourceView:
    """The source of a function."""

    call: int
    place: PlaceView | None
    lines: tuple[SourceLine, ...]
    more: int = 0
    changed: bool = False
    """Whether the file was written to after the run began."""
    raised: int | None = None
    """The line that raised."""
    unknown: str = ""
    """Why it is not known which lines ran."""


@dataclass(frozen=True, slots=True)
class OriginView:
    """The expression that created a part of a value."""

    call: CallRow | None
    place: PlaceView | None = None
    expression: str = ""
    source: str = ""
    """The line of source."""


@dataclass(frozen=True, slots=True)
class WhyView:
    """Where a part of a value came from; `unknown` says why that is not known."""

    call: int
    path: str
    value: ValueView
    origin: OriginView | None
    through: tuple[CallRow, ...] = ()
    """The calls that the part passed through, from its origin to this call."""
    made_of: tuple[OriginView, ...] = ()
    candidates: tuple[OriginView, ...] = ()
    influenced_by: int | None = None
    """How many calls could have influenced it; null if that is not known."""
    unknown: str = ""
    needs_run: bool = False
    """Whether the program has to run again for it: `why` with `run` does that."""


@dataclass(frozen=True, slots=True)
class CallsView:
    """Calls that were searched for. `total` of them were found; these begin at `offset`."""

    rows: tuple[CallRow, ...]
    total: int
    offset: int = 0
    is_complete: bool = True
    """Whether all calls were looked at; a search by value stops after a number of them."""


@dataclass(frozen=True, slots=True)
class AnswersView:
    """All answers that hold, in order."""

    answers: tuple[AnswerView, ...]
    trusted: tuple[str, ...] = ()
    oracles: tuple[str, ...] = ()
    """The oracles that are asked before anybody else."""
    silenced: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StrategyView:
    """A strategy."""

    name: str
    description: str
    is_current: bool = False


@dataclass(frozen=True, slots=True)
class StrategiesView:
    """All strategies."""

    strategies: tuple[StrategyView, ...]


@dataclass(frozen=True, slots=True)
class TestView:
    """A regression test that was seen to fail."""

    text: str
    path: str
    note: str = ""
    is_written: bool = False


@dataclass(frozen=True, slots=True)
class JobView:
    """A recording in the making. `state`: `running`, `done`, `failed` or `stopped`."""

    job: str
    state: str
    seconds: float
    command: tuple[str, ...]
    recording: str = ""
    recordings: tuple[str, ...] = ()
    """Of tests: one for each that failed."""
    exit_code: int | None = None
    output: str = ""
    """The end of what the program printed."""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class JobsView:
    """All recordings that were begun here."""

    jobs: tuple[JobView, ...]


@dataclass(frozen=True, slots=True)
class SessionRow:
    """One open session."""

    session: str
    recording: str
    needs: str
    answers: int


@dataclass(frozen=True, slots=True)
class SessionsView:
    """The sessions that are open here."""

    sessions: tuple[SessionRow, ...]


@dataclass(frozen=True, slots=True)
class ServerView:
    """Who answers."""

    whence: str
    protocol: int
    methods: tuple[str, ...]
    folder: str = ""


@dataclass(frozen=True, slots=True)
class Done:
    """Nothing else is to be said."""

    text: str = field(default="")


View = (
    SessionView | CallView | ValueView | CallsView | AnswersView | SourceView | WhyView
    | StrategiesView | TestView | JobView | JobsView | SessionsView | ServerView | Done
    | DiagnosisView
)  # fmt: skip
