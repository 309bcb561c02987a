"""The oracle of remembered answers: what persons said of equal calls in earlier sessions.

Only persons' answers are remembered, and only about calls that are known in full: a value that was
cut off may differ the next time. Which equation a call has in every run (`Identify`) is for its
language to say. The answers are in a file, which `whence.store` reads and writes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from whence.errors import UsageError
from whence.model.call import Call, Mark, find_mark
from whence.model.equation import StableEquation
from whence.model.question import Question
from whence.model.value import Kind, Limits, Value
from whence.model.verdict import REMEMBERED, Judgement, Verdict
from whence.ports import Identify
from whence.tree.codec import encode_call, stable_digest

_TEXT = Limits(depth=4, parts=12, characters=200)


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """What one person said of an equation; without a verdict, the person withdrew it."""

    equation: StableEquation
    verdict: Verdict | None
    by: str
    date: str
    expected: str | None = None
    mark: str = ""


class AnswerStore(Protocol):
    """The answers of earlier sessions that hold."""

    notify: Callable[[str], None]
    """Called with problems that a person should know of."""

    def about(self, digest: str) -> Sequence[StoredAnswer]:
        """The answers about an equation, one of each person, the oldest first."""


@dataclass
class RememberedAnswers:
    """Repeats what persons said."""

    store: AnswerStore
    identify: Identify
    notify: Callable[[str], None] = lambda text: None
    name: str = REMEMBERED

    def __post_init__(self) -> None:
        """Start with no conflict reported."""
        self._reported: set[str] = set()

    def judge(self, question: Question) -> Judgement | None:
        """What was said of an equal call, unless persons disagree about it."""
        equation = self.identify(question.node, question.call)
        if isinstance(equation, str):
            return None
        answers = self.store.about(equation.digest)
        if not answers:
            return None
        if len({answer.verdict for answer in answers}) > 1:
            self._report_conflict(equation, answers)
            return None
        last = answers[-1]
        assert last.verdict is not None, "the store gives no withdrawn answers"
        return Judgement(
            last.verdict,
            f"{last.by} said so on {last.date[:10]}",
            _mark(question.call, last),
            last.expected,
        )

    def _report_conflict(self, equation: StableEquation, answers: Sequence[StoredAnswer]) -> None:
        if equation.digest in self._reported:
            return
        self._reported.add(equation.digest)
        verdicts = ", ".join(
            f"{answer.verdict.value} ({answer.by}, {answer.date[:10]})"
            for answer in answers
            if answer.verdict
        )
        self.notify(
            f"The remembered answers about {equation.text} contradict each other: {verdicts}. "
            "What you say now will hold."
        )


def _mark(call: Call, answer: StoredAnswer) -> Mark | None:
    if not answer.mark:
        return None
    try:
        return find_mark(call, answer.mark, input_side=answer.verdict is Verdict.INADMISSIBLE).mark
    except UsageError:
        return None


# --- calls of trees from other tracers -----------------------------------------------------------


def identify(node: int, call: Call) -> StableEquation | str:
    """The equation of a call as its tracer wrote it."""
    if call.text:
        return "the tracer gave its equation as a text"
    for value in _values(call):
        for _, part in value.paths():
            if part.omitted or (part.kind is Kind.ATOM and _is_vague(part.text)):
                return "not all of its values are known"
    record = encode_call(call)
    digest = stable_digest(record)
    if digest is None:
        return "its outcome is not known"
    inputs = {key: record[key] for key in record if key in {"function", "args", "reads"}}
    inputs_digest = stable_digest({**inputs, "returned": None}) or ""
    return StableEquation(call.function.name, call.equation(_TEXT), digest, inputs_digest)


def _values(call: Call) -> list[Value]:
    values = [binding.value for binding in (*call.arguments, *call.reads)]
    for effect in call.effects:
        values += [value for value in (effect.before, effect.after) if value is not None]
    return [*values, *call.outcome.yielded, *([call.outcome.value] if call.outcome.value else [])]


def _is_vague(text: str) -> bool:
    """Whether an atom only describes a value, so that another value may fit it as well."""
    return "…" in text or (text.startswith("<") and text.endswith(">"))
