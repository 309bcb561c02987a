"""Turns what a session needs into views: questions, contradictions, symptoms, diagnoses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from whence.app.session_driver import SessionDriver
from whence.model.call import Call
from whence.model.diagnosis import Diagnosis
from whence.model.question import Question
from whence.model.symptom import Symptom, SymptomKind
from whence.model.value import cut
from whence.model.verdict import Answer, Trust
from whence.ports import RunSymptoms, Zooming
from whence.protocol.call_views import call_row, equation_of, question_call
from whence.protocol.views import (
    AnswersView,
    AnswerView,
    CallRow,
    ContradictionView,
    DiagnosisView,
    OperandView,
    QuestionView,
    SessionView,
    SymptomView,
)
from whence.report.question_content import last_judged
from whence.report.raising import own_primitive
from whence.report.record import record
from whence.report.text import lines as report_lines
from whence.search.instances import retained_instances
from whence.session.events import Ask, Exhausted, Found, Outcome, Revise
from whence.tree.readable_call import functions_that_ran, readable_call
from whence.ui.terminal.question_text import QuestionContext, question_lines

WIDTH = 100
MOST_OUTPUT, LONGEST_LINE, MOST_INSTANCES, MOST_EXPECTED = 40, 300, 20, 2000


@dataclass(frozen=True)
class SessionViews:
    """The views of one session at one moment."""

    driver: SessionDriver
    handle: str
    path: Path
    revision: int

    def of(self, outcome: Outcome, notes: tuple[str, ...]) -> SessionView:
        """What the session needs."""
        match outcome:
            case Ask(question):
                asked = self.question(question)
                return self._session("question", notes, question=asked)
            case Revise():
                clash = self._contradiction(outcome)
                return self._session("contradiction", notes, contradiction=clash)
            case Found() | Exhausted():
                return self._session("nothing", notes, diagnosis=self.diagnosis(outcome))
            case _:
                raise AssertionError(f"the driver carries {outcome} out itself")

    def symptom(
        self,
        symptoms: RunSymptoms | None,
        failed: Symptom | None,
        notes: tuple[str, ...],
        *,
        nothing: bool,
    ) -> SessionView:
        """What can be seen of the run; `failed`: of whose assertion an operand is wrong."""
        assert symptoms is not None, "only a recorded run has symptoms"
        if nothing:
            return self._session("nothing", ("Nothing is wrong with this run.", *notes))
        run = symptoms.summary()
        statement, operands = "", tuple[OperandView, ...]()
        if failed is not None and failed.assertion is not None:
            statement, values = symptoms.assertion(failed)
            sides = failed.assertion.operands
            given = [*values, *([""] * (len(sides) - len(values)))]
            operands = tuple(
                OperandView(" ".join(side.expression.split()), value)
                for side, value in zip(sides, given, strict=False)
            )
        output = tuple(cut(line, LONGEST_LINE) for line in run.lines[:MOST_OUTPUT])
        default = "" if run.default is None else _named(run.default)
        ending = "\n".join(filter(None, (run.ending, run.cycle)))
        shown = SymptomView(
            ending, output, len(run.lines) - len(output), default, run.failed, statement, operands
        )
        return self._session("symptom", notes, symptom=shown)

    def _session(
        self,
        needs: str,
        notes: tuple[str, ...],
        *,
        question: QuestionView | None = None,
        contradiction: ContradictionView | None = None,
        symptom: SymptomView | None = None,
        diagnosis: DiagnosisView | None = None,
    ) -> SessionView:
        driver, state = self.driver, self.driver.state
        space = state.space()
        log = driver.log
        return SessionView(
            self.handle,
            self.revision,
            needs,
            question,
            contradiction,
            symptom,
            diagnosis,
            str(self.path),
            state.facts.strategy,
            space.count() + space.top_is_open,
            len(state.tree.columns),
            len(state.facts.answers),
            driver.can_undo,
            bool(state.future),
            notes,
            "" if log is None or log.path is None else str(log.path),
        )

    def question(self, question: Question) -> QuestionView:
        """A question with its call."""
        state, sources = self.driver.state, self.driver.sources
        number = sum(answer.in_dialogue for answer in state.facts.answers) + 1
        least, most = question.to_come or (None, None)
        default = question.default
        return QuestionView(
            number,
            question_call(state, question, sources),
            question.why,
            question.strategy,
            question.suspects,
            least,
            most,
            "\n".join(self._text(question, number)),
            None if default is None else self.answer(-1, default),
            () if question.function is None else self._instances(question.function),
        )

    def _text(self, question: Question, number: int) -> list[str]:
        driver, state = self.driver, self.driver.state
        tree, position = state.tree, state.tree.position(question.node)
        raised = own_primitive(state, question.node, driver.sources)
        context = QuestionContext(
            driver.sources,
            last_judged(state),
            raised_by="" if raised is None else raised.text,
            ran=functions_that_ran(tree, position),
            knows_show=True,
        )
        return [line.text for line in question_lines(question, number, WIDTH, context)]

    def _instances(self, function: int) -> tuple[CallRow, ...]:
        rows = retained_instances(self.driver.state.space(), function).rows
        return tuple(
            call_row(self.driver.state, row.position, self.driver.sources)
            for row in rows[:MOST_INSTANCES]
        )

    def _contradiction(self, outcome: Revise) -> ContradictionView:
        earlier, later = outcome.earlier, outcome.later
        return ContradictionView(
            self._statement(earlier),
            self._statement(later),
            outcome.why,
            earlier.node if isinstance(earlier, Answer) else None,
            later.node,
        )

    def _statement(self, statement: Answer | Trust) -> str:
        if isinstance(statement, Trust):
            return f"{statement} is trusted"
        mark = f" at {statement.mark}" if statement.mark else ""
        equation = equation_of(self._call(statement.node))
        return (
            f"call {statement.node}, {equation}, is {statement.verdict.value}{mark} (said by "
            f"{statement.by})"
        )

    def _call(self, node: int) -> Call:
        tree = self.driver.state.tree
        return readable_call(tree, tree.position(node))[0]

    def diagnosis(self, outcome: Outcome, left: str = "") -> DiagnosisView:
        """How the search ended, or what is left to blame if it did not."""
        driver, state = self.driver, self.driver.state
        found = driver.diagnosis(outcome, left)
        findings = driver.findings(found)
        counts = driver.counts
        data = record(
            state,
            found,
            person=counts.person,
            oracles=counts.oracles,
            characters=counts.characters,
            sources=driver.sources,
            findings=findings,
        )
        text = "\n".join(report_lines(state, found, driver.sources, findings))
        rest = isinstance(outcome, Exhausted) and outcome.rest
        return DiagnosisView(found.status.value, text, data, rest, self._can_zoom(found))

    def _can_zoom(self, found: Diagnosis) -> bool:
        reruns = self.driver.reruns
        can = isinstance(reruns, Zooming) and found.node is not None
        return can and isinstance(reruns, Zooming) and reruns.can_zoom(found.node or 0)

    def answers(self) -> AnswersView:
        """All answers that hold."""
        facts = self.driver.state.facts
        return AnswersView(
            tuple(self.answer(index, answer) for index, answer in enumerate(facts.answers)),
            tuple(map(str, facts.trusts)),
            tuple(dict.fromkeys(oracle.name for oracle in self.driver.oracles)),
            facts.silenced,
        )

    def answer(self, index: int, answer: Answer) -> AnswerView:
        """One answer."""
        return AnswerView(
            index,
            answer.node,
            equation_of(self._call(answer.node)),
            answer.verdict.value,
            answer.by,
            "" if answer.mark is None else str(answer.mark),
            cut(answer.expected or "", MOST_EXPECTED),
            cut(answer.reason, MOST_EXPECTED),
        )


def _named(symptom: Symptom) -> str:
    """A symptom as `--wrong` takes it."""
    if symptom.kind is SymptomKind.OUTPUT and symptom.line is not None:
        words = f":{symptom.expression}" if symptom.expression else ""
        return f"output:{symptom.line}{words}"
    if symptom.kind is SymptomKind.EXPRESSION:
        return symptom.expression
    return symptom.expected or symptom.kind.value.replace(" ", "-")
