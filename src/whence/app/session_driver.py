"""Joins a tree, a session, oracles and an interface.

`SessionDriver` drives the pure session: it keeps the session log, expands implicit calls, asks the
oracles before a person, and counts. It returns only what a person has to decide, or the end.
Interfaces call `send`; they do not know logs or oracles.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Protocol

from whence.errors import UsageError, WhenceError
from whence.model.call import PRINTED, MarkedPart, OutcomeKind, locate_mark
from whence.model.diagnosis import Diagnosis, Status
from whence.model.question import Question
from whence.model.symptom import SYMPTOM
from whence.model.value import BRIEF
from whence.model.verdict import REMEMBERED, SAID_OUTSIDE, Answer, Verdict
from whence.ports import (
    Acquitter,
    Following,
    Note,
    Oracle,
    RegressionTestWriter,
    Reruns,
    Tree,
    Waiting,
    Zooming,
)
from whence.report.findings import Findings
from whence.report.inquiry import STOPPED, Inquiry
from whence.report.regression_test import LONGEST, RegressionTest, regression_test
from whence.report.source import Sources
from whence.search.registry import find_strategy
from whence.session import events, log_entries
from whence.session.engine import apply, expansion
from whence.session.events import Event, Outcome
from whence.session.log_entries import InnerLog, InsideCall, LogEntry
from whence.session.reaction import count_left, left_to_blame, narrow_diagnosis, only_suspect, react
from whence.session.state import Facts, Options, State, covered_functions
from whence.store.session_log import SessionLog
from whence.tree.readable_call import readable_call

MOST_CANDIDATES = 1000
CHOOSING = "choosing the next question"
UNREADABLE = "nobody: the call cannot be read"
_MOST_LISTED = 3
NOT_ALLOWED = "the program would have to be run again for it, and that was not allowed"
SAID_BY_ORACLE = {
    Verdict.RIGHT: "is right",
    Verdict.WRONG: "is wrong",
    Verdict.INADMISSIBLE: "should never get this",
    Verdict.UNKNOWN: "is not known",
}


_TriedTest = tuple[Diagnosis, tuple[Answer, ...], dict[Path | None, RegressionTest | WhenceError]]
"""The regression tests of a diagnosis, by the files that they are for."""


@dataclass
class Counts:
    """How much was asked of whom."""

    person: int = 0
    oracles: Counter[str] = field(default_factory=Counter)
    """How many answers each oracle gave."""
    characters: int = 0


class AnswerSink(Protocol):
    """Stores a person's answers for later sessions."""

    def begin(self, tree: Tree, answers: Sequence[Answer]) -> None:
        """A session resumes with these answers, which were stored when they were given."""

    def update(self, tree: Tree, answers: Sequence[Answer]) -> None:
        """These answers hold now: store the new ones, and withdraw those that are gone."""

    def why_not_stored(self, tree: Tree, node: int) -> str:
        """Why an answer about a call cannot be kept for other runs; empty if it can."""


@dataclass
class SessionDriver:
    """A session with all that surrounds it."""

    state: State
    oracles: Sequence[Oracle] = ()
    log: SessionLog[LogEntry] | InnerLog | None = None
    notify: Note = lambda text: None
    counts: Counts = field(default_factory=Counts)
    entries: list[LogEntry] = field(default_factory=list)
    """All that happened since the session began, in this process or an earlier one."""
    reruns: Reruns | None = None
    failures: list[str] = field(default_factory=list)
    """What oracles did wrong. One that fails is not asked again."""
    sources: Sources = field(default_factory=Sources)
    """Where the source of the program is."""
    answer_sink: AnswerSink | None = None
    marks_lines: bool = False
    """Whether to find the lines that the call at fault ran, by re-runs that are harmless."""
    may_run: bool = False
    """Whether a person allowed that the program is run again."""
    follows_unasked: bool = False
    """Whether the program runs again for a marked part although no person can be asked."""
    ask_to_run: Callable[[Reruns], bool] = lambda reruns: False
    """Asks a person who resumes a session whether the program may run again for the marks."""
    waiting: Waiting = nullcontext
    recording_notes: tuple[str, ...] = ()
    """What the recorder noted about the run."""
    tests: RegressionTestWriter | None = None
    """Writes regression tests in the language of the program."""
    inside: SessionDriver | None = None
    """The session inside the call at fault, if one was held."""

    def __post_init__(self) -> None:
        """Keep the first tree: the log is about it, even if the tree is expanded."""
        self._first_tree = self.state.tree
        self._sink_problems: set[str] = set()
        self._tried_test: _TriedTest | None = None
        if isinstance(self.reruns, Following):
            self.state = replace(self.state, options=replace(self.state.options, trace_marks=True))
        self._inquiry = Inquiry(self.reruns, self.sources, self.waiting, self.recording_notes)

    def start(self, settings: Sequence[Event] = ()) -> Outcome:
        """Apply the log and then the settings of the command line; returns the first outcome.

        A setting that changes nothing is skipped.
        """
        self._replay()
        resumes = bool(self.entries)
        for setting in settings:
            if not self._holds(setting):
                self._step(setting)
        if self.entries and not resumes:
            self._step(events.Begun())
        with self.waiting(CHOOSING):
            outcome, is_allowed = react(self.state), True
        if resumes and isinstance(outcome, events.Trace) and self._needs_permission(outcome.answer):
            assert self.reruns is not None
            self.may_run = self.ask_to_run(self.reruns)
        while resumes and isinstance(outcome, events.Trace):
            is_allowed = self._trace(outcome.answer) and is_allowed
            outcome = self._step(events.MarkTraced(outcome.answer))
        if not is_allowed:
            self.notify(f"The origin of what you marked is not known now: {NOT_ALLOWED}.")
        if self.answer_sink is not None:
            self.answer_sink.begin(self.state.tree, self.state.facts.answers)
        return self._settled(outcome)

    def send(self, event: Event) -> Outcome:
        """Take in an event and say what is needed next."""
        if isinstance(event, events.Undone | events.Redone):
            steps = self._steps_back() if isinstance(event, events.Undone) else self._steps_forth()
            with self.waiting(CHOOSING):
                for _ in range(steps):
                    self.state = apply(self.state, event)
                    self._keep(event)
                self._remember()
                outcome = react(self.state)
            return self._settled(outcome)
        outcome = self._step(event)
        if isinstance(event, events.Answered):
            self.counts.person += len(event.answers)
        self._remember()
        return self._settled(outcome)

    def outcome_since(self, before: State) -> Outcome | None:
        """What is needed if an event was taken in before something else failed, say an oracle.

        None if the state is that of `before`, or if the session itself has to go on first.
        """
        if self.state is before:
            return None
        outcome = react(self.state)
        return None if isinstance(outcome, events.Expand | events.Trace) else outcome

    def count_shown(self, text: str) -> None:
        """Count what a person had to read."""
        self.counts.characters += len(text)

    def save(self, path: Path) -> None:
        """Write the whole session to a file, from which another process can go on."""
        copy = SessionLog(path, self._first_tree, "the same tree", log_entries)
        for entry in self.entries:
            copy.append(entry)
        copy.close()

    def diagnosis(self, outcome: Outcome, left: str = "") -> Diagnosis:
        """How the session ended; one that did not end is undetermined for the reason given."""
        if isinstance(outcome, events.Found | events.Exhausted):
            return outcome.diagnosis
        reason = left or "the session was left before its end"
        candidates = left_to_blame(self.state, MOST_CANDIDATES)
        return Diagnosis(
            Status.UNDETERMINED,
            candidates=candidates,
            reason="; ".join([reason, *self.failures]),
            more_candidates=count_left(self.state) - len(candidates),
        )

    def findings(self, diagnosis: Diagnosis) -> Findings:
        """What re-runs find out about a diagnosis, as far as they are allowed."""
        harmless = self.marks_lines and self.reruns is not None and self.reruns.is_harmless
        return self._inquiry.findings(
            self.state, diagnosis, lines=self.marks_lines, may_run=self.may_run or harmless
        )

    def regression_test(
        self, diagnosis: Diagnosis, path: Path | None = None, seconds: float = LONGEST
    ) -> RegressionTest:
        """A test of a diagnosis that was seen to fail; `WhenceError` says why there is none.

        It is tried for so many seconds, and again if that was too short.
        """
        if self.tests is not None and not (self.marks_lines or self.may_run):
            raise UsageError("a test is run before it is shown, and --no-rerun forbids that")
        answers = self.state.facts.answers
        if self._tried_test is None or self._tried_test[:2] != (diagnosis, answers):
            self._tried_test = diagnosis, answers, {}
        tried, began = self._tried_test[2], time.monotonic()
        if path not in tried:
            try:
                with self.waiting("trying a regression test"):
                    tried[path] = regression_test(self.state, diagnosis, self.tests, path, seconds)
            except WhenceError as problem:
                if time.monotonic() - began >= seconds:
                    raise
                tried[path] = problem
        result = tried[path]
        if isinstance(result, WhenceError):
            raise result
        return result

    @property
    def can_undo(self) -> bool:
        """Whether there is something that undo takes back."""
        try:
            return self._steps_back() > 0
        except UsageError:
            return False

    def why_not_remembered(self, node: int) -> str:
        """Why an answer about a call counts in this session only; empty if others know it."""
        if self.answer_sink is None:
            return ""
        return self.answer_sink.why_not_stored(self.state.tree, node)

    def judged_right(self) -> list[int]:
        """The calls that were said to be right."""
        answers = self.state.facts.answers
        return [answer.node for answer in answers if answer.verdict is Verdict.RIGHT]

    def zoom(self, node: int) -> tuple[SessionDriver, Outcome]:
        """A session inside a call that is wrong. What was said of calls holds there, too."""
        if not isinstance(self.reruns, Zooming):
            raise UsageError("the calls of this tree cannot be zoomed into")
        if not (self.may_run or self._may_run_unasked(self.reruns)):
            raise UsageError(f"no zoom: {NOT_ALLOWED}")
        with self.waiting("running it again"):
            tree, provenance = self.reruns.zoom(node)
        state = State(tree, provenance, options=Options(ask_top=False, confirm_top=False))
        for event in (*said_before(self.state, tree), events.Begun()):
            state = apply(state, event)
        log = InnerLog(self.entries, self._keep, node, tree, self.log)
        if log.has_outdated:
            self.notify(
                f"Earlier answers inside call {node} are about steps that it no longer has."
            )
        self.inside = inner = SessionDriver(
            state, log=log, notify=self.notify, sources=self.sources, waiting=self.waiting
        )
        return inner, inner.start()

    def _may_run_unasked(self, reruns: Reruns) -> bool:
        """Whether a re-run that a person's command needs is made without asking again."""
        return self.follows_unasked or (self.marks_lines and reruns.is_harmless)

    def _needs_permission(self, answer: Answer) -> bool:
        """Whether a person has to allow a re-run before a marked part is followed."""
        reruns, part = self.reruns, self._marked_part(answer)
        return (
            isinstance(reruns, Following)
            and part is not None
            and answer.in_dialogue
            and reruns.needs_run(answer.node, part)
            and not (self.may_run or self._may_run_unasked(reruns))
        )

    def _marked_part(self, answer: Answer) -> MarkedPart | None:
        """The part that an answer marks; None if its call cannot be read."""
        assert answer.mark is not None, "only a mark is traced"
        is_input = answer.verdict is Verdict.INADMISSIBLE
        try:
            call = self.state.tree.call(self.state.tree.position(answer.node))
            return locate_mark(call, answer.mark, input_side=is_input)
        except WhenceError:
            return None

    def _trace(self, answer: Answer) -> bool:
        """Find the origin of a marked part, or give it up; returns whether that was allowed."""
        reruns, part = self.reruns, self._marked_part(answer)
        assert isinstance(reruns, Following), "marks are traced only if reruns can follow them"
        if part is None:
            return True  # nothing to follow; the report says that the call cannot be read
        if not reruns.needs_run(answer.node, part):
            return True
        # Nobody asked for a re-run if a symptom or an oracle made the mark.
        by_person = answer.in_dialogue
        # Words of a line are named by a person who wants to know where they came from.
        names_words = answer.mark.root == PRINTED and len(answer.mark.steps) > 1
        is_free = names_words and self.marks_lines and reruns.is_harmless
        if not (self.may_run or is_free or (by_person and self._may_run_unasked(reruns))):
            reruns.give_up(answer.node, part, NOT_ALLOWED)
            return not by_person
        try:
            reruns.follow(answer.node, part)
        except KeyboardInterrupt:
            reruns.give_up(answer.node, part, STOPPED)
        return True

    def _step(self, event: Event) -> Outcome:
        with self.waiting(CHOOSING):
            # Kept before the reaction, which may take long and be interrupted.
            self.state = apply(self.state, event)
            if not isinstance(event, events.Started | events.Expanded | events.MarkTraced):
                self._keep(event)
            return react(self.state)

    def _steps_back(self) -> int:
        """How many steps undo takes: an oracle's answer alone would be given again at once."""
        later = self.state.facts
        for count, earlier in enumerate(reversed(self.state.past), 1):
            if not _by_oracle(earlier.facts, later):
                return count
            later = earlier.facts
        raise UsageError("there is nothing to undo")

    def _steps_forth(self) -> int:
        """How many steps redo takes: a person's one and what oracles answered after it."""
        if not self.state.future:
            raise UsageError("there is nothing to redo")
        count = 1
        for earlier, later in pairwise(self.state.future):
            if not _by_oracle(earlier.facts, later.facts):
                break
            count += 1
        return count

    def _holds(self, setting: Event) -> bool:
        facts = self.state.facts
        match setting:
            case events.TrustGiven(trust):
                return trust in facts.trusts
            case events.StrategyChosen(name):
                return find_strategy(name).name == facts.strategy
            case events.SwitchTurned(name, on):
                return getattr(facts.switches, name) is on
            case events.OracleTurned(name, on):
                return on is (name not in facts.silenced)
            case _:
                return False

    def _settled(self, outcome: Outcome) -> Outcome:
        """Do all that needs no person, and say which oracle answered what."""
        answers: list[Answer] = []
        try:
            return self._without_person(outcome, answers)
        finally:
            for line in _answer_lines(self.state, answers):
                self.notify(line)

    def _without_person(self, outcome: Outcome, answers: list[Answer]) -> Outcome:
        while True:
            if isinstance(outcome, events.Expand):
                event = self._expansion(outcome)
                if isinstance(event, events.Expanded):
                    self._keep(outcome)
                outcome = self._step(event)
            elif isinstance(outcome, events.Trace):
                self._trace(outcome.answer)
                outcome = self._step(events.MarkTraced(outcome.answer))
            elif isinstance(outcome, events.Ask) and outcome.question.problem:
                self.notify(f"Skipped: {outcome.question.problem}.")
                unknown = Answer(outcome.question.node, Verdict.UNKNOWN, by=UNREADABLE)
                outcome = self._step(events.Answered((unknown,)))
            elif isinstance(outcome, events.Ask):
                answer = self._ask_oracles(outcome.question)
                if answer is None:
                    only = only_suspect(self.state, self._acquitted, self._doubted, self._limited)
                    return outcome if only is None else events.Found(only)
                self.counts.oracles[answer.by] += 1
                answers.append(answer)
                outcome = self._step(events.Answered((answer,)))
            elif isinstance(outcome, events.Found):
                found = outcome.diagnosis
                return events.Found(
                    narrow_diagnosis(
                        self.state, found, self._acquitted, self._doubted, self._limited
                    )
                )
            else:
                return outcome

    def _acquitted(self, node: int) -> str | None:
        """Why a call cannot be at fault, if an oracle knows that."""
        reasons = (oracle.acquits(node) for oracle in self._acquitters())
        return next((reason for reason in reasons if reason is not None), None)

    def _doubted(self, node: int) -> str | None:
        """Why a call may not be at fault though no other one is left, if an oracle doubts it."""
        reasons = (oracle.doubts(node) for oracle in self._acquitters())
        return next((reason for reason in reasons if reason is not None), None)

    def _limited(self, nodes: Sequence[int]) -> str | None:
        """Why one of some calls has to be at fault, if an oracle knows that."""
        reasons = (oracle.limits(nodes) for oracle in self._acquitters())
        return next((reason for reason in reasons if reason is not None), None)

    def _acquitters(self) -> list[Acquitter]:
        silenced = self.state.facts.silenced
        return [
            oracle
            for oracle in self.oracles
            if isinstance(oracle, Acquitter) and oracle.name not in silenced
        ]

    def _ask_oracles(self, question: Question) -> Answer | None:
        facts = self.state.facts
        for oracle in list(self.oracles):
            doubted = oracle.name == REMEMBERED and facts.rejected
            if doubted or oracle.name in facts.silenced:
                continue
            try:
                with self.waiting(f"asking {oracle.name}"):
                    judgement = oracle.judge(question)
            except WhenceError as problem:
                self.oracles = [other for other in self.oracles if other is not oracle]
                self.failures.append(str(problem))
                self.notify(str(problem))
                continue
            if isinstance(judgement, Verdict):
                return Answer(question.node, judgement, by=oracle.name)
            if judgement is not None:
                return Answer(
                    question.node,
                    judgement.verdict,
                    judgement.mark,
                    oracle.name,
                    judgement.expected,
                    judgement.reason,
                )
        return None

    def _remember(self) -> None:
        if self.answer_sink is None:
            return
        try:
            self.answer_sink.update(self.state.tree, self.state.facts.answers)
        except WhenceError as problem:  # tried again after the next answer
            if str(problem) not in self._sink_problems:
                self._sink_problems.add(str(problem))
                self.notify(str(problem))

    def _expansion(self, request: events.Expand) -> Event:
        self.notify(f"finding out what lies below call {request.node} …")
        try:
            with self.waiting("running it again"):
                return expansion(self.state, request)
        except UsageError as problem:
            return events.NotExpandable(request.node, str(problem))

    def _replay(self) -> None:
        """Apply the entries of the log, except those about calls that no longer exist."""
        lost = 0
        gaps = Counter(self.log.gaps if isinstance(self.log, SessionLog) else ())
        for index, entry in enumerate(list(self.log.entries) if self.log else []):
            for _ in range(gaps[index]):
                self._hold_place()
            if isinstance(entry, InsideCall):
                self.entries.append(entry)
                continue
            event = self._expansion(entry) if isinstance(entry, events.Expand) else entry
            try:
                self.state = apply(self.state, event)
            except WhenceError:
                lost += 1
                if not isinstance(
                    event, events.Undone | events.Redone | events.Expanded | events.NotExpandable
                ):
                    self._hold_place()
            else:
                self.entries.append(entry)
                self._count(event)
        if lost:
            self.notify(f"{lost} earlier answers are about calls that no longer exist.")

    def _count(self, event: Event) -> None:
        """Count the answers of an earlier process."""
        for answer in event.answers if isinstance(event, events.Answered) else ():
            if answer.in_dialogue:
                self.counts.person += 1
            elif answer.by not in (SYMPTOM, UNREADABLE, SAID_OUTSIDE):
                self.counts.oracles[answer.by] += 1

    def _hold_place(self) -> None:
        """Stand in for an entry that is lost: an undo that follows takes back nothing before it."""
        entry = events.StrategyChosen(self.state.facts.strategy)
        self.state = apply(self.state, entry)
        self.entries.append(entry)

    def _keep(self, entry: LogEntry) -> None:
        self.entries.append(entry)
        if self.log is None:
            return
        try:
            self.log.append(entry)
        except WhenceError as problem:
            self.notify(str(problem))


def _answer_lines(state: State, answers: Sequence[Answer]) -> list[str]:
    """Which oracle answered what, or how many answers each gave if there are many."""
    if len(answers) > _MOST_LISTED:
        counts = Counter(answer.by for answer in answers)
        return [f"Answered by {name}: {count} questions." for name, count in counts.items()]
    lines = []
    for answer in answers:
        call, _ = readable_call(state.tree, state.tree.position(answer.node))
        reason = f": {answer.reason}" if answer.reason else ""
        verdict = SAID_BY_ORACLE[answer.verdict]
        # A whole sentence cannot be followed by "is wrong".
        is_sentence = call.text and call.outcome.kind is not OutcomeKind.RETURNED
        equation = f"{call.equation(BRIEF)}{': it' if is_sentence else ''}"
        lines.append(f"{equation} {verdict}, says {answer.by}{reason}.")
    return lines


def said_before(state: State, tree: Tree) -> list[Event]:
    """A session's verdicts on the calls of another tree, whose top is wrong."""
    space = state.space()
    top = tree.id(0)
    of_top = (answer for answer in reversed(state.facts.answers) if answer.node == top)
    wrong = (answer.mark for answer in of_top if answer.verdict is Verdict.WRONG and answer.mark)
    answers = [Answer(top, Verdict.WRONG, next(wrong, None), by=SYMPTOM)]
    for position in range(1, len(tree.columns)):
        node = tree.id(position)
        try:
            verdict = space.verdict(state.tree.position(node))
        except UsageError:
            continue  # a step
        if verdict in (Verdict.RIGHT, Verdict.INADMISSIBLE):
            answers.append(Answer(node, verdict, by=SAID_OUTSIDE))
    facts = state.facts
    trusts = [events.TrustGiven(trust) for trust in facts.trusts if covered_functions(tree, trust)]
    return [events.StrategyChosen(facts.strategy), *trusts, events.Answered(tuple(answers))]


def _by_oracle(before: Facts, after: Facts) -> bool:
    """Whether facts grew by oracles' answers and by nothing else."""
    count = len(before.answers)
    added = after.answers[count:]
    same = replace(after, answers=before.answers) == before
    return same and bool(added) and not any(answer.in_dialogue for answer in added)
