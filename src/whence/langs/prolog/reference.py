"""A program that is right as the oracle: the call atom is run in it, and what it says is compared.

It runs in a process of its own, which reads nothing and whose output goes nowhere. `judging.pl`
compares; here is what is asked, and what becomes of a call that does not come back: the process is
ended, the call is unknown, and the program is loaded again.
"""

from __future__ import annotations

import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from whence.errors import WhenceError
from whence.langs.prolog.engine import Engine, EngineProblem, Engines, plain, quoted
from whence.langs.prolog.evaluation_tree import EvaluationTree
from whence.langs.prolog.events import Run, RunLimits, read
from whence.langs.prolog.frontend import Execution
from whence.langs.prolog.trace_tree import TraceTree
from whence.langs.prolog.traced_call import Left, Port, TracedCall
from whence.model.question import Question
from whence.model.verdict import Judgement, Verdict
from whence.tree.memory import ColumnTree

NAME = "reference"
INFERENCES = 5_000_000
SECONDS = 30.0
_STACK = "1g"
_HANDLE = "handle"
_TRACED = 100_000
_ANSWERS = 1000
_EVENTS = 8
"""More events than an inference makes."""
_LEAST = 10
_VERDICTS = {
    "right": Verdict.RIGHT,
    "wrong": Verdict.WRONG,
    "inadmissible": Verdict.INADMISSIBLE,
}


class ReferenceProgram:
    """The right program, and how it judges events of a run of another one."""

    def __init__(
        self, file: Path, *, inferences: int = INFERENCES, seconds: float = SECONDS
    ) -> None:
        self._file = file
        self._inferences = inferences
        self._seconds = seconds
        self._engine: Engine | None = None
        self._known = Run()
        self._made: dict[tuple[str, ...], set[tuple[str, ...]] | None] = {}
        if not file.is_file():
            raise WhenceError(f"{file}: there is no such file to take as the reference")

    def close(self) -> None:
        """End its process."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def judge(self, source: EvaluationTree, left: Left, *, fresh: bool = False) -> Judgement:
        """What the reference says of an event; UNKNOWN with the reason where it cannot tell.

        `fresh`: the program is as it was loaded, so what it asserts is no reason not to run it.
        """
        if left.port is Port.STOPPED and not self.makes(source, left.call):
            return Judgement(Verdict.INADMISSIBLE, "the reference does not make this call")
        terms = _terms(left)
        texts = source.items(terms)
        if _HANDLE in texts:
            return Judgement(Verdict.UNKNOWN, "a stream, or the like, is known to one process only")
        inferences = self._inferences
        if left.port is Port.STOPPED:
            # One that had just begun is no worse than one that takes as long in the reference.
            inferences = min(inferences, max(source.ran_for(left.call) // _EVENTS, _LEAST))
        options = f"[inferences({inferences}){', fresh' if fresh else ''}]"
        goal, *items = (quoted(text) for text in texts)
        request = (
            f"judge({left.port.value}, {quoted(left.call.predicate.module)}, {goal}, "
            f"[{', '.join(items)}], {options})"
        )
        try:
            lines = self._asked(request)
        except EngineProblem as problem:
            return Judgement(Verdict.UNKNOWN, f"the reference: {problem}")
        if not lines:
            return Judgement(Verdict.UNKNOWN, "the reference could not be asked")
        _, verdict, why, expected = lines[0]
        return Judgement(
            _VERDICTS.get(verdict, Verdict.UNKNOWN), plain(why), expected=plain(expected) or None
        )

    def makes(self, source: EvaluationTree, call: TracedCall) -> bool:
        """Whether the reference makes this call, too, where its caller is called as it was.

        Where that cannot be told it is taken to.
        """
        caller = _user_caller(call)
        if caller is None:
            return True
        key = (caller.predicate.indicator, *source.digests([caller.term]))
        if key not in self._made:
            self._made[key] = self._calls_of(source, caller)
        known = self._made[key]
        return known is None or (call.predicate.indicator, *source.digests([call.term])) in known

    def _calls_of(self, source: EvaluationTree, caller: TracedCall) -> set[tuple[str, ...]] | None:
        """What the reference calls directly in a call; None where that is not known."""
        text = source.items([caller.term])[0]
        if text == _HANDLE:
            return None
        run = Run(predicates=self._known.predicates, clauses=self._known.clauses)
        limits = RunLimits(events=_TRACED, depth=_TRACED)
        module = quoted(caller.predicate.module)
        try:
            lines = self._asked(f"run_item({module}, {quoted(text)}, {_ANSWERS}, {limits})")
            trace = TraceTree(read(lines, run), run)
            if run.stopped or not trace.calls:
                self.close()
                return None
            made = [each for each in trace.calls[1:] if _user_caller(each) is trace.root]
            digests = EvaluationTree(Engines(self._loaded()), trace, {}, "").digests(
                [each.term for each in made]
            )
        except EngineProblem:
            return None
        return {
            (each.predicate.indicator, digest) for each, digest in zip(made, digests, strict=True)
        }

    def _asked(self, request: str) -> list[list[str]]:
        engine = self._loaded()
        ended = threading.Event()

        def end() -> None:
            ended.set()
            engine.kill()

        timer = threading.Timer(self._seconds, end)
        timer.start()
        try:
            return engine.do(request)
        except EngineProblem:
            self.close()
            if ended.is_set():
                raise EngineProblem(f"it did not end within {self._seconds:g} s") from None
            raise
        finally:
            timer.cancel()

    def _loaded(self) -> Engine:
        if self._engine is None:
            nowhere = subprocess.DEVNULL
            self._known = Run()
            self._engine = Engine(stdin=nowhere, stdout=nowhere, stack=_STACK)
            self._engine.load(self._file)
        return self._engine


def _user_caller(call: TracedCall) -> TracedCall | None:
    caller = call.caller
    while caller is not None and not caller.predicate.is_user:
        caller = caller.caller
    return caller


def _terms(left: Left) -> list[int]:
    """The call, then what is judged of it."""
    call = left.call
    match left.port:
        case Port.EXIT:
            return [call.term, call.answers[left.number].term]
        case Port.FAIL:
            return [call.term, *(each.term for each in call.answers)]
        case Port.RAISE:
            assert call.raised is not None
            return [call.term, call.raised]
        case Port.STOPPED:
            return [call.term]


class ReferenceOracle:
    """Answers questions about a run by asking the reference; nobody else has to be asked."""

    name = NAME

    def __init__(self, program: ReferenceProgram, execution: Execution) -> None:
        self._program = program
        self._execution = execution
        self._unknown: Counter[str] = Counter()

    def judge(self, question: Question) -> Judgement | None:
        """What the reference says of the event that a question is about."""
        source = self._execution.source
        found = self._program.judge(source, source.event(question.node))
        if found.verdict is Verdict.UNKNOWN:
            self._unknown[found.reason] += 1
            return None
        return found

    def notes(self) -> list[str]:
        """What it could not tell, and why."""
        return [
            f"The reference could not tell of {count} call{'s' if count > 1 else ''}: {why}."
            for why, count in self._unknown.most_common(3)
        ]

    def close(self) -> None:
        """End the reference's process."""
        self._program.close()


def first_difference(
    execution: Execution, program: ReferenceProgram, note: Callable[[str], None]
) -> ColumnTree | None:
    """The tree of the first thing that the reference does otherwise; None where there is none."""
    for left, tree in _events(execution):
        found = program.judge(execution.source, left, fresh=True)
        if found.verdict is Verdict.WRONG:
            expected = f" (it has {found.expected})" if found.expected else ""
            note(f"{execution.source.equation(left)}: {found.reason}{expected}.")
            return tree()
        if found.verdict is Verdict.UNKNOWN:
            raise WhenceError(
                f"what is wrong is not known from the reference: {found.reason}; say --wrong N, "
                "--missing or --raised"
            )
    return None


def _events(execution: Execution) -> Iterator[tuple[Left, Callable[[], ColumnTree]]]:
    root = execution.trace.root
    for number in range(len(root.answers)):
        yield Left(Port.EXIT, root, number), partial(execution.wrong, number + 1)
    if execution.run.raised is not None and root.raised is not None:
        yield Left(Port.RAISE, root), execution.raising
    elif execution.stopped is not None:
        yield Left(Port.STOPPED, root), execution.endless
    elif execution.has_all_answers:
        yield Left(Port.FAIL, root), execution.missing
