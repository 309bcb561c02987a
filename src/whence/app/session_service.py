"""One open session as the session protocol offers it.

It drives the same `SessionDriver` as the terminal's loop: every statement becomes one event, and
the outcome becomes a view. Nothing here decides about verdicts or chooses a question.

Invariant: requests of several threads are carried out one after the other, and one that fails
leaves the session as it was.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from whence.app.first_answers import store_symptom, symptom_events
from whence.app.session_driver import SessionDriver
from whence.app.session_opening import PreparedSession
from whence.app.session_views import SessionViews
from whence.errors import UsageError, WhenceError
from whence.model.call import Call, MarkedPart, find_mark
from whence.model.symptom import Symptom
from whence.model.verdict import AGENT, PERSON, Answer, TrustScope, Verdict
from whence.ports import RunSymptoms, Zooming
from whence.protocol import requests, views
from whence.protocol.problems import Code, Problem
from whence.session import events
from whence.session.events import Event, Outcome
from whence.ui.terminal import messages
from whence.ui.terminal.commands import TrustCode
from whence.ui.terminal.switches import find_oracle, find_switch
from whence.ui.terminal.symptom_prompt import understood
from whence.ui.terminal.trust_command import find_trust

Listener = Callable[[str, int], None]
"""Is told the handle and the revision of a session that has changed."""
NOTHING = "nothing"
_VERDICTS = {verdict.value: verdict for verdict in Verdict}


class SessionService:
    """A session that is open in this process."""

    def __init__(
        self,
        handle: str,
        path: Path,
        driver: SessionDriver,
        resources: ExitStack,
        notes: list[str],
        symptoms: RunSymptoms | None = None,
    ) -> None:
        """`notes` is where the driver's notes arrive; `symptoms`: those of a recorded run."""
        self.handle, self.path, self.driver = handle, path, driver
        self.lock = threading.RLock()
        self.outcome: Outcome | None = None
        """What the session needs; None as long as it is not known what is wrong with the run."""
        self.revision = 0
        self.listeners: list[Listener] = []
        self._symptom: Symptom | None = None
        self._symptoms, self._resources, self._notes = symptoms, resources, notes
        self._settings: Sequence[Event] = ()
        self._nothing_is_wrong = False

    # --- beginning -------------------------------------------------------------------------------

    def begin(
        self,
        prepared: PreparedSession,
        opening: Sequence[Event],
        wrong: str | Symptom,
        *,
        fresh: bool,
    ) -> None:
        """Go on with the session in the log, or begin with what is wrong as far as that is known.

        `opening`: the first events, if the run was judged as a whole; `fresh`: what was said of an
        assertion before does not count.
        """
        self._settings = prepared.settings
        symptoms = self._symptoms
        if prepared.resumes or opening or symptoms is None:
            if wrong and not prepared.resumes and symptoms is None:
                raise Problem(Code.CANNOT, "what is wrong can be named only for a recorded run")
            self._start(opening)
            return
        self._symptom = _without_operands(symptoms.stored()) if fresh else symptoms.stored()
        if wrong:
            named = wrong if isinstance(wrong, Symptom) else self._named(symptoms, wrong)
            self._say_wrong(named)
        elif self._symptom is not None and not self._asks_operand():
            self._say_wrong(self._symptom)
        else:
            self._changed()

    def _named(self, symptoms: RunSymptoms, text: str) -> Symptom:
        run = symptoms.summary()
        symptom = understood(text, run.default, run.lines)
        return replace(symptom, by_person=True)

    def _asks_operand(self) -> bool:
        """Whether it has to be said which operand of an assertion is wrong."""
        failed = None if self._symptom is None else self._symptom.assertion
        if failed is None or not failed.operands:
            return False
        return all(operand.wrong is None for operand in failed.operands)

    def wrong(self, request: requests.Wrong) -> None:
        """Say what is wrong about the run."""
        symptoms = self._symptoms
        if self.outcome is not None or symptoms is None:
            raise Problem(Code.NOT_NOW, "it is known what is wrong about this run")
        if request.what == NOTHING:
            self._nothing_is_wrong = True
            self._changed()
            return
        symptom = self._symptom
        if request.what or symptom is None:
            symptom = self._named(symptoms, request.what)
        elif symptom.assertion is not None and request.operands is not None:
            operands = symptom.assertion.operands
            if not set(request.operands) <= set(range(len(operands))):
                raise Problem(
                    Code.BAD_PARAMETERS,
                    f"the assertion has {len(operands)} operands, numbered from 0",
                )
            marked = tuple(
                replace(operand, wrong=number in request.operands)
                for number, operand in enumerate(operands)
            )
            symptom = replace(symptom, assertion=replace(symptom.assertion, operands=marked))
        self._say_wrong(symptom)

    def _say_wrong(self, symptom: Symptom) -> None:
        symptoms = self._symptoms
        assert symptoms is not None
        answers, notes = symptoms.first_answers(symptom)
        self._notes.extend(notes)
        store_symptom(symptoms, symptom)
        self._start(symptom_events(symptoms, symptom, answers))

    def _start(self, opening: Sequence[Event]) -> None:
        self.outcome = self.driver.start([*self._settings, *opening])
        self._changed()

    # --- statements ------------------------------------------------------------------------------

    def answer(self, request: requests.AnswerCall) -> None:
        """Judge calls."""
        if request.revision is not None and request.revision != self.revision:
            raise Problem(
                Code.STALE,
                f"the session is at revision {self.revision}, not at {request.revision}",
            )
        verdict, by = _verdict(request.verdict), _giver(request.by)
        if isinstance(self.outcome, events.Revise):
            raise Problem(
                Code.NOT_NOW,
                "two answers contradict each other",
                "keep says which of them holds; undo takes the later one back",
            )
        nodes = request.calls or (self._asked(),)
        mark = None
        if request.part:
            if len(nodes) != 1:
                raise Problem(Code.BAD_PARAMETERS, "a part is marked in one call at a time")
            mark = self.marked_part(nodes[0], request.part, verdict).mark
        answers = tuple(
            Answer(node, verdict, mark, by, request.expected or None, request.reason)
            for node in nodes
        )
        self._send(events.Answered(answers))
        self._note_answers(answers)

    def _asked(self) -> int:
        if not isinstance(self.outcome, events.Ask):
            raise Problem(
                Code.NOT_NOW,
                "no question is open",
                "name the calls that are meant in `calls`; next says what the session needs",
            )
        return self.outcome.question.node

    def marked_part(self, node: int, path: str, verdict: Verdict) -> MarkedPart:
        """The part of a call that a path marks, if the verdict can be about it."""
        if verdict not in (Verdict.WRONG, Verdict.INADMISSIBLE):
            raise Problem(
                Code.BAD_PARAMETERS, f"a part is wrong or inadmissible, not {verdict.value}", ""
            )
        part = find_part(self.call(node), path, input_side=verdict is Verdict.INADMISSIBLE)
        if part.is_input and verdict is Verdict.WRONG:
            raise Problem(
                Code.BAD_PARAMETERS,
                f"{part.mark} is what the call was given",
                f"say inadmissible with {part.mark} if it should never get that, and wrong with a "
                "part of its outcome",
            )
        if not part.is_input and verdict is Verdict.INADMISSIBLE:
            raise Problem(
                Code.BAD_PARAMETERS,
                f"{part.mark} is part of the outcome",
                f"say wrong with {part.mark} if that is wrong, and inadmissible with a part of "
                "what the call was given",
            )
        return part

    def _note_answers(self, answers: Sequence[Answer]) -> None:
        """What came of answers: where marked parts came from, what was understood as expected."""
        if isinstance(self.outcome, events.Revise):
            return
        state = self.driver.state
        for answer in answers:
            if answer not in state.facts.answers:
                continue
            if answer.mark is not None:
                self._notes.extend(messages.origin_lines(state, answer, self.driver.sources))
            if answer.expected is not None:
                self._notes.append(messages.expectation_noted(state, answer))

    def keep(self, request: requests.Keep) -> None:
        """Resolve a contradiction."""
        if request.which not in ("earlier", "later"):
            raise Problem(Code.BAD_PARAMETERS, "`which` is earlier or later", "")
        if not isinstance(self.outcome, events.Revise):
            raise Problem(Code.NOT_NOW, "nothing contradicts")
        self._send(events.Resolved(keep_earlier=request.which == "earlier"))

    def trust(self, request: requests.Trust) -> None:
        """Trust code, or withdraw that."""
        scopes = {scope.value: scope for scope in TrustScope}
        if request.scope not in scopes:
            raise Problem(Code.BAD_PARAMETERS, f"`scope` is one of {', '.join(scopes)}", "")
        if isinstance(self.outcome, events.Revise):
            raise Problem(Code.NOT_NOW, "first say which of two answers holds", "keep does that")
        command = TrustCode(scopes[request.scope], request.name, withdraw=request.withdraw)
        trust = find_trust(self.driver.state, command, self.current())
        self._send(events.TrustWithdrawn(trust) if request.withdraw else events.TrustGiven(trust))

    def undo(self, request: requests.Undo) -> None:
        """Take the last statement back."""
        self._send(events.Undone())

    def redo(self, request: requests.Redo) -> None:
        """Say again what was taken back."""
        self._send(events.Redone())

    def reject(self, request: requests.Reject) -> None:
        """Do not believe the diagnosis."""
        if not isinstance(self.outcome, events.Found):
            raise Problem(Code.NOT_NOW, "there is no diagnosis that could be rejected")
        self._send(events.Rejected())

    def rest(self, request: requests.Rest) -> None:
        """Search on below a top that was judged right."""
        self._send(events.RestSearched())

    def choose_strategy(self, name: str) -> None:
        """Let another strategy choose the questions."""
        self._send(events.StrategyChosen(name))

    def turn_oracle(self, request: requests.Oracle) -> None:
        """Turn an oracle off or on."""
        self._send(events.OracleTurned(find_oracle(self.driver, request.name), request.on))

    def turn_switch(self, request: requests.Switch) -> None:
        """Turn a switch of the search."""
        self._send(find_switch(request.name, request.on))

    def allow(self, request: requests.Allow) -> None:
        """Allow that the program runs again."""
        self.driver.may_run = request.on
        self._changed()

    def revise(self, request: requests.ReviseAnswer) -> None:
        """Replace an answer: it is taken back with all later ones, which are then given again."""
        answers = self.driver.state.facts.answers
        if not 0 <= request.index < len(answers):
            raise Problem(
                Code.BAD_PARAMETERS, f"there is no answer {request.index}", "answers lists them"
            )
        old = answers[request.index]
        if not old.in_dialogue:
            raise Problem(
                Code.CANNOT,
                f"answer {request.index} was given by {old.by}",
                "oracle turns an oracle off, which withdraws its answers; answer with the call's "
                "number contradicts it",
            )
        new = None
        if request.verdict:
            verdict, mark = _verdict(request.verdict), None
            if request.part:
                mark = self.marked_part(old.node, request.part, verdict).mark
            expected = request.expected or None
            new = Answer(old.node, verdict, mark, _giver(request.by), expected, request.reason)
        later = [a for a in answers[request.index + 1 :] if a.in_dialogue]
        while old in self.driver.state.facts.answers:
            self._send(events.Undone())
        for answer in [*([new] if new else []), *later]:
            if answer in self.driver.state.facts.answers:
                continue
            try:
                self._send(events.Answered((answer,)))
            except WhenceError as problem:
                self._notes.append(f"Not said again of call {answer.node}: {problem}")
            while isinstance(self.outcome, events.Revise):
                self._notes.append(f"Dropped, for it contradicts that: call {answer.node}.")
                self._send(events.Resolved(keep_earlier=True))
        if new is not None:
            self._note_answers((new,))

    def zoom(self) -> tuple[SessionDriver, Outcome]:
        """A session inside the call at fault."""
        node = self.outcome.diagnosis.node if isinstance(self.outcome, events.Found) else None
        if node is None:
            raise Problem(Code.NOT_NOW, "no call was found to be at fault")
        reruns = self.driver.reruns
        if reruns is None or not isinstance(reruns, Zooming):
            raise Problem(Code.CANNOT, "zoom works only for calls of recorded Python programs")
        if not (self.driver.may_run or reruns.is_harmless):
            raise Problem(Code.NOT_ALLOWED, "the program would have to be run again for it")
        return self.driver.zoom(node)

    # --- what others read ------------------------------------------------------------------------

    def call(self, node: int) -> Call:
        """A call by its id."""
        tree = self.driver.state.tree
        try:
            position = tree.position(node)
        except UsageError as problem:
            raise Problem(Code.NO_CALL, str(problem)) from None
        return tree.call(position)

    def current(self) -> int:
        """The call that the session is about now."""
        outcome, state = self.outcome, self.driver.state
        if isinstance(outcome, events.Ask):
            return outcome.question.node
        if isinstance(outcome, events.Revise) and isinstance(outcome.later, Answer):
            return outcome.later.node
        if isinstance(outcome, events.Found | events.Exhausted):
            diagnosis = outcome.diagnosis
            nodes = [diagnosis.node] if diagnosis.node is not None else diagnosis.candidates
            if nodes:
                return nodes[0]
        return state.tree.id(state.space().top)

    def view(self) -> views.SessionView:
        """The session at this moment."""
        shown = SessionViews(self.driver, self.handle, self.path, self.revision)
        if self.outcome is not None:
            return shown.of(self.outcome, tuple(self._notes))
        return shown.symptom(
            self._symptoms,
            self._symptom if self._asks_operand() else None,
            tuple(self._notes),
            nothing=self._nothing_is_wrong,
        )

    @contextmanager
    def new_notes(self) -> Iterator[None]:
        """Begin a new list of notes for a change: those so far were about an earlier one. They stay
        if the change fails."""
        earlier, revision = list(self._notes), self.revision
        self._notes.clear()
        try:
            yield
        except BaseException:
            if self.revision == revision:
                self._notes[:] = earlier
            raise

    def close(self) -> None:
        """End what was opened for the session."""
        with self.lock:
            self._resources.close()

    def _send(self, event: Event) -> None:
        if self.outcome is None:
            raise Problem(
                Code.NOT_NOW, "it is not known yet what is wrong about this run", "wrong says that"
            )
        before = self.driver.state
        try:
            self.outcome = self.driver.send(event)
        except WhenceError:
            taken_in = self.driver.outcome_since(before)
            if taken_in is not None:
                self.outcome = taken_in
                self._changed()
            raise
        self._changed()

    def _changed(self) -> None:
        self.revision += 1
        for listener in list(self.listeners):
            listener(self.handle, self.revision)


def _without_operands(symptom: Symptom | None) -> Symptom | None:
    """A symptom without what was said of the operands of its assertion."""
    if symptom is None or symptom.assertion is None:
        return symptom
    operands = tuple(replace(operand, wrong=None) for operand in symptom.assertion.operands)
    return replace(symptom, assertion=replace(symptom.assertion, operands=operands))


def find_part(call: Call, path: str, *, input_side: bool) -> MarkedPart:
    """The part that a path leads to."""
    try:
        return find_mark(call, path, input_side=input_side)
    except UsageError as problem:
        raise Problem(Code.NO_PART, str(problem)) from None


def _verdict(text: str) -> Verdict:
    if text not in _VERDICTS:
        raise Problem(Code.BAD_PARAMETERS, f"a verdict is one of {', '.join(_VERDICTS)}", "")
    return _VERDICTS[text]


def _giver(text: str) -> str:
    if text != PERSON and text.partition(" ")[0] != AGENT:
        raise Problem(
            Code.BAD_PARAMETERS, f"`by` is {PERSON}, {AGENT}, or {AGENT} with a name after it", ""
        )
    return text
