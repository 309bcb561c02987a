"""Judges calls by a reference program: makes the call there and compares the answers.

The reference runs in a process of its own (`side_process.py`); `judging.pl` compares. The verdict
on a call that does not return there is unknown.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from whence.errors import WhenceError
from whence.langs.prolog.evaluation_tree import HANDLE, EvaluationTree, tells_all_before
from whence.langs.prolog.goal_execution import GoalExecution
from whence.langs.prolog.port_events import Run, RunLimits
from whence.langs.prolog.side_process import SideProcess
from whence.langs.prolog.swipl_process import (
    Engine,
    EngineProblem,
    Engines,
    TookTooLong,
    plain,
    quoted,
)
from whence.langs.prolog.trace_tree import TraceTree
from whence.langs.prolog.traced_call import (
    ChangeKind,
    Port,
    PortEvent,
    TracedCall,
    root_of,
    user_caller,
)
from whence.model.question import Question
from whence.model.verdict import Judgement, Verdict
from whence.tree.column_tree import ColumnTree

NAME = "reference"
INFERENCES = 5_000_000
SECONDS = 30.0
_TRACED = 100_000
_ANSWERS = 1000
_EVENTS = 8
"""At least the number of events per inference."""
_LEAST = 10
_VERDICTS = {
    "right": Verdict.RIGHT,
    "wrong": Verdict.WRONG,
    "inadmissible": Verdict.INADMISSIBLE,
}
_SIGNS = {ChangeKind.ADDED: "+", ChangeKind.REMOVED: "-"}
_RAISES = "raises"
_ENDLESS = "endless"
_NOT_MADE = Judgement(Verdict.INADMISSIBLE, "the reference does not make this call")
_Calls = set[str]
"""Digests of calls of one predicate."""


class ReferenceProgram:
    """The reference program, which judges events of a run of another program."""

    def __init__(
        self, file: Path, *, inferences: int = INFERENCES, seconds: float = SECONDS
    ) -> None:
        self._file = file
        self._inferences = inferences
        self.process = SideProcess(self._loaded, seconds)
        self._folder = tempfile.TemporaryDirectory(prefix="whence-")
        self._known = Run()
        self._has_run = False
        """Whether the goal ran in the process since the program was loaded."""
        self._made: dict[tuple[bool, str, str], dict[str, _Calls] | None] = {}
        if not file.is_file():
            raise WhenceError(f"{file}: there is no such file to take as the reference")

    def close(self) -> None:
        self.process.close()

    def judge(self, source: EvaluationTree, event: PortEvent, *, fresh: bool = False) -> Judgement:
        """The verdict of the reference on an event; UNKNOWN with the reason if it has none.

        `fresh`: no call ran before the event's, so a predicate that asserts clauses can be judged.
        """
        if event.port is Port.STOPPED and not self.makes(source, event.call):
            return _NOT_MADE
        texts = source.judged(event)
        if texts is None:
            why = "a stream, too large a number, or the like, exists in one process only"
            return Judgement(Verdict.UNKNOWN, why)
        inferences = self._inferences
        if event.port is Port.STOPPED:
            # The reference gets only as much time as the stopped call had.
            inferences = min(inferences, max(source.ran_for(event.call) // _EVENTS, _LEAST))
        if self._has_run and not fresh:
            self.close()  # the goal may have changed clauses
        self._has_run = fresh
        state = "" if fresh else self._state(source, event)
        options = f"[inferences({inferences}){', fresh' if fresh else ''}{state}]"
        goal, *items = (quoted(text) for text in texts)
        request = (
            f"judge({event.port.value}, {quoted(event.call.predicate.module)}, {goal}, "
            f"[{', '.join(items)}], {options})"
        )
        try:
            lines = self.process.asked(request)
        except TookTooLong as problem:
            lines = [["verdict", _ENDLESS, f"the reference: {problem}", ""]]
        except EngineProblem as problem:
            return Judgement(Verdict.UNKNOWN, f"the reference: {problem}")
        if not lines:
            return Judgement(Verdict.UNKNOWN, "the reference could not be asked")
        _, reply, why, expected = lines[0]
        verdict = _VERDICTS.get(reply, Verdict.UNKNOWN)
        if reply == _RAISES and tells_all_before(event):
            verdict = Verdict.WRONG
        elif reply == _ENDLESS and event.port is Port.RAISE and not self.makes(source, event.call):
            return _NOT_MADE
        return Judgement(verdict, plain(why), expected=plain(expected) or None)

    def _state(self, source: EvaluationTree, event: PortEvent) -> str:
        """What the program had changed before a call, and what the call changed, as an option."""
        state = source.state_of(event.call)
        before, change = state.before(event.call), state.change(event)
        sets = [term for _, term in change.set_to]
        terms = [*(c.term for c in before), *change.added, *change.removed, *sets]
        texts = dict(zip(terms, map(quoted, source.items(terms)), strict=True))
        if quoted(HANDLE) in texts.values() or any("/" in name for name, _ in change.set_to):
            return ""
        replay = []
        for c in before:
            if c.kind is not ChangeKind.SET:
                replay.append(f"{_SIGNS[c.kind]}({quoted(c.module)}, {texts[c.term]})")
            elif "/" not in c.name:
                replay.append(f"=({quoted(c.name)}, {texts[c.term]})")
        added = ", ".join(texts[term] for term in change.added)
        removed = ", ".join(texts[term] for term in change.removed)
        are_set = ", ".join(f"=({quoted(name)}, {texts[term]})" for name, term in change.set_to)
        effects = f"effects([{added}], [{removed}], [{are_set}], {quoted(change.printed)})"
        return f", state([{', '.join(replay)}], {effects})"

    def makes(self, source: EvaluationTree, call: TracedCall) -> bool:
        """Whether the reference makes this call, too, when it runs the goal.

        If the goal does not end there: whether it makes the call when it runs the call's caller.
        If that does not end either, yes.
        """
        caller = user_caller(call)
        if caller is None:
            return True
        indicator = call.predicate.indicator
        calls = self._made_by(source, root_of(call), indicator, is_top=True)
        if calls is None:
            calls = self._made_by(source, caller, indicator, is_top=False)
        return calls is None or source.digests([call.term])[0] in calls

    def _made_by(
        self, source: EvaluationTree, caller: TracedCall, indicator: str, *, is_top: bool
    ) -> _Calls | None:
        """The calls of a predicate that the reference makes below a goal, or directly in a call.

        None if the caller does not end; that holds for all predicates, so it runs only once.
        """
        name, digest = caller.predicate.indicator, source.digests([caller.term])[0]
        key = (is_top, name, digest)
        by_predicate = self._made.setdefault(key, {})
        if by_predicate is not None and indicator not in by_predicate:
            if is_top:
                self.close()  # the goal ran in the program as it was loaded
            calls = self._calls_of(source, caller, indicator, is_top=is_top)
            if calls is None:
                self._made[key] = None
                return None
            by_predicate[indicator] = calls
        return None if by_predicate is None else by_predicate[indicator]

    def _calls_of(
        self, source: EvaluationTree, caller: TracedCall, indicator: str, *, is_top: bool
    ) -> _Calls | None:
        text = source.items([caller.term])[0]
        if text == HANDLE:
            return None
        engine = self.process.engine()
        module = quoted(caller.predicate.module)
        if not is_top and self.process.asked(f"depends({module}, {quoted(text)})"):
            return None
        run = Run(predicates=self._known.predicates, clauses=self._known.clauses)
        limits = RunLimits(events=_TRACED, depth=_TRACED)
        try:
            lines = self.process.asked(f"run_item({module}, {quoted(text)}, {_ANSWERS}, {limits})")
            trace = TraceTree(lines, run)
            has_ended = run.exhausted or run.raised is not None
            if not has_ended or run.unseen or not trace.calls:
                self.close()
                return None
            terms = [
                call.term
                for call in trace.calls[1:]
                if call.predicate.indicator == indicator
                and (is_top or user_caller(call) is trace.root)
            ]
            return set(EvaluationTree(Engines(engine), trace, {}, "").digests(terms))
        except EngineProblem:
            return None

    def _loaded(self, engine: Engine) -> None:
        self._known = Run()
        engine.load(self._file)
        copy = quoted(str(Path(self._folder.name) / f"output-{engine.pid}"))
        engine.do(f"copy_output({copy})")


class ReferenceProgramOracle:
    """Answers questions about a run by asking the reference program."""

    name = NAME

    def __init__(self, program: ReferenceProgram, execution: GoalExecution) -> None:
        self._program = program
        program.process.note_goal(execution.goal)
        self._execution = execution
        self._unknown: Counter[str] = Counter()

    def judge(self, question: Question) -> Judgement | None:
        """The verdict of the reference on the event that a question is about."""
        source = self._execution.source
        judgement = self._program.judge(source, source.event(question.node))
        if judgement.verdict is Verdict.UNKNOWN:
            self._unknown[judgement.reason] += 1
            return None
        return judgement

    def notes(self) -> list[str]:
        """The most frequent reasons why it had no verdict."""
        return [
            f"The reference has no verdict on {count} call{'s' if count > 1 else ''}: {why}."
            for why, count in self._unknown.most_common(3)
        ]

    def close(self) -> None:
        """End the reference's process."""
        self._program.close()


def first_difference(
    execution: GoalExecution, program: ReferenceProgram, note: Callable[[str], None]
) -> ColumnTree | None:
    """The tree of the first outcome that differs in the reference; None if none does."""
    unknown = ""
    for event, tree in _events(execution):
        judgement = program.judge(execution.source, event, fresh=True)
        if judgement.verdict is Verdict.WRONG:
            has_it = not judgement.expected or judgement.expected in judgement.reason
            expected = "" if has_it else f" (it has {judgement.expected})"
            note(f"{execution.source.outcome(event)}: {judgement.reason}{expected}.")
            return tree()
        if judgement.verdict is Verdict.UNKNOWN:
            unknown = unknown or judgement.reason
    if not unknown and execution.run.raised is not None:
        return _missing_before_error(execution, program, note)
    if unknown:
        raise WhenceError(
            f"the reference does not show what is wrong: {unknown}; say --wrong N, --missing or "
            "--raised"
        )
    return None


def _missing_before_error(
    execution: GoalExecution, program: ReferenceProgram, note: Callable[[str], None]
) -> ColumnTree | None:
    """The tree of an answer that only the reference has before both raise the same exception.

    The answer is asked for alone: the whole goal did not end, so it cannot show what is missing.
    """
    event = PortEvent(Port.FAIL, execution.trace.root)
    judgement = program.judge(execution.source, event, fresh=True)
    if judgement.verdict is not Verdict.WRONG or judgement.expected is None:
        return None
    note(f"{judgement.reason[0].upper()}{judgement.reason[1:]} before it raises that.")
    tree = execution.missing_answer(judgement.expected)
    if tree is None:
        raise WhenceError(
            f"asked for alone, {judgement.expected} is found; why it is not among the answers "
            "before the error is unknown"
        )
    return tree


def _events(execution: GoalExecution) -> Iterator[tuple[PortEvent, Callable[[], ColumnTree]]]:
    root = execution.trace.root
    for number in range(len(root.answers)):
        yield PortEvent(Port.EXIT, root, number), partial(execution.wrong, number + 1)
    if execution.run.raised is not None and (root.raised, root.failed) != (None, None):
        port = Port.RAISE if root.raised is not None else Port.FAIL
        yield PortEvent(port, root), execution.raising
    elif execution.stopped is not None:
        yield PortEvent(Port.STOPPED, root), execution.endless
    elif execution.has_all_answers:
        yield PortEvent(Port.FAIL, root), execution.missing
