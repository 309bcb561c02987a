"""The sentences of the dialogue: contradictions, what undo took back, origins of marks, trials."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Collection, Sequence
from typing import TypeVar

from whence.errors import WhenceError
from whence.model.call import PRINTED, RESULT, Mark, OutcomeKind, Step
from whence.model.origin import Origin
from whence.model.question import Question
from whence.model.symptom import SYMPTOM
from whence.model.trial import Trial
from whence.model.value import BRIEF, cut, show
from whence.model.verdict import PERSON, Answer, Trust, Verdict
from whence.printable_text import printable
from whence.report.source import Sources
from whence.session.events import Revise
from whence.session.state import Facts, State
from whence.tree.readable_call import readable_call
from whence.ui import DrivenSession
from whence.ui.terminal.listing import SAID, suspects
from whence.ui.terminal.multiline import brief
from whence.ui.terminal.screen import Line, Tone, hanging, wrap

_WIDTH = 100
_MOST_CALLS = 8
_MOST_CHANGED = 3
"""How many changed lines of an output are shown."""


def contradiction(state: State, outcome: Revise) -> list[Line]:
    """Two statements that cannot both hold, and who made them."""
    return [
        Line(f"These contradict each other ({outcome.why}):", Tone.TITLE),
        Line(f"  1  earlier: {_statement(state, outcome.earlier)}"),
        Line(f"  2  later:   {_statement(state, outcome.later)}"),
    ]


def _statement(state: State, statement: Answer | Trust) -> str:
    if isinstance(statement, Trust):
        return f"{statement} is trusted"
    call, _ = readable_call(state.tree, state.tree.position(statement.node))
    by = "you" if statement.by == "person" else statement.by
    mark = f" at {statement.mark}" if statement.mark else ""
    equation = brief(call, _WIDTH)
    return f"call {statement.node}, {equation}, is {_IS[statement.verdict]}{mark} (said by {by})"


_IS = SAID | {Verdict.INADMISSIBLE: "given input that it should never get"}


def difference(state: State, before: Facts) -> str:
    """What changed between earlier facts and the current ones, in a few words."""
    now = state.facts
    if now.rejected != before.rejected:
        return "the rejected diagnosis"
    if (now.clash is None) != (before.clash is None):
        return "the last answer" if now.clash is None else "the decision between the two"
    if now.silenced != before.silenced:
        return "an oracle that was turned"
    answers = _only_in_longer(now.answers, before.answers)
    if answers:
        return ", ".join(f"call {answer.node} is {_IS[answer.verdict]}" for answer in answers)
    trusts = _only_in_longer(now.trusts, before.trusts)
    if trusts:
        return ", ".join(f"{trust} is trusted" for trust in trusts)
    if now.strategy != before.strategy:
        return f"the strategy is {now.strategy} again"
    if now.switches != before.switches:
        return "a switch"
    return "the search of the rest" if now.rest != before.rest else "a change without effect"


_Statement = TypeVar("_Statement", Answer, Trust)


def _only_in_longer(one: Sequence[_Statement], other: Sequence[_Statement]) -> list[_Statement]:
    longer, shorter = (one, other) if len(one) > len(other) else (other, one)
    return [statement for statement in longer if statement not in shorter]


def skipped_twice(state: State) -> bool:
    """Whether the person could not answer the last two questions, but the one before them."""
    said = [answer.verdict for answer in state.facts.answers if answer.in_dialogue]
    skipped = [verdict is Verdict.UNKNOWN for verdict in said[-3:]]
    return skipped[-2:] == [True, True] and skipped != [True, True, True]


def other_ways(state: State, width: int) -> list[str]:
    """What can be said instead, for a person who cannot answer."""
    listed = suspects(state).positions
    node = state.tree.id(int(listed[0])) if len(listed) else state.tree.id(state.space().top)
    last = state.tree.position(state.facts.answers[-1].node)
    module = state.tree.functions[int(state.tree.columns.function[last])].module
    trust = f"trust module {module}" if module not in ("", "__main__") else "trust"
    ways = (
        f"Other ways to tell: n {node} judges any of these, n {node} result marks a wrong part of "
        f"it, {trust} leaves code out that you trust; suspects, source and full show more."
    )
    return wrap(ways, width)


def answers_noted(answers: Sequence[Answer]) -> str:
    """Confirms an answer about calls that were named by their ids."""
    nodes = ", ".join(str(answer.node) for answer in answers[:10])
    more = f" and {len(answers) - 10} more" if len(answers) > 10 else ""
    noun = "call" if len(answers) == 1 else "calls"
    return f"Noted for {noun} {nodes}{more}: {SAID[answers[0].verdict]}."


def origin_lines(state: State, answer: Answer, sources: Sources) -> list[str]:
    """What an answer marked, where it came from, and through which calls."""
    verdict = "Wrong" if answer.verdict is Verdict.WRONG else "Inadmissible"
    marked = f"{verdict}: {answer.mark}."
    if state.provenance is None:
        return [f"{marked} (This tree does not say where values came from.)"]
    position = state.tree.position(answer.node)
    judged = next(
        (past for past in reversed(state.space().history) if past.position == position),
        None,
    )
    if judged is None or judged.origin is None:
        return [marked]
    origin = judged.origin
    if origin.node is None:
        return [f"{marked} Its origin is unknown: {origin.unknown or 'no reason is given'}."]
    call, _ = readable_call(state.tree, state.tree.position(origin.node))
    if call.step is not None:
        return [f"{marked} {_set_by(state, answer, origin, call.step)}"]
    where = origin.location or call.where()
    at = f", at {sources.shown(where)}" if where else ""
    expression = f", as {origin.expression}" if origin.expression else ""
    made = f"It was made in call {origin.node}: {brief(call, 60)}{at}{expression}."
    return [f"{marked} {made}", *source_line(origin, sources), *_chain(state, answer, origin)]


def followed_symptom(state: State, question: Question, width: int) -> list[str]:
    """Where the symptom that was marked leads to, unless the first question is about that call."""
    lines = []
    for answer, judged in zip(state.facts.answers, state.space().history, strict=True):
        origin = judged.origin if answer.by == SYMPTOM and answer.mark is not None else None
        if origin is None or origin.node == question.node:
            continue
        known = None if origin.node is None else state.tree.position(origin.node)
        if known is not None and state.space().verdict(known) is Verdict.WRONG:
            continue  # it leads to where the search begins
        what = _symptom(state, answer)
        if origin.node is None:
            lines += wrap(f"{what} was not followed: {origin.unknown or 'no reason'}.", width)
        else:
            call, _ = readable_call(state.tree, state.tree.position(origin.node))
            text = f"{what} was followed to call {origin.node}, "
            lines.append(f"{text}{cut(call.left(BRIEF), max(20, width - len(text) - 1))}.")
    return lines


def _symptom(state: State, answer: Answer) -> str:
    """What is wrong about the run, as a person would name it."""
    assert answer.mark is not None
    number = wrong_line_of(answer.mark)
    if number is not None:
        return f"Line {number}" if len(answer.mark.steps) == 1 else f"That part of line {number}"
    if answer.mark != Mark(RESULT):
        return str(answer.mark)
    outcome = state.tree.columns.outcome[state.tree.position(answer.node)]
    return "The exception" if outcome == OutcomeKind.RAISED else "The result"


def _set_by(state: State, answer: Answer, origin: Origin, step: Step) -> str:
    """For a part of a variable inside a call: the step that set it."""
    if origin.node == answer.node:
        return "It was set right here."
    copies = [node for node in origin.chain if node not in (origin.node, answer.node)]
    labels = [state.tree.call(state.tree.position(node)).step for node in copies[:_MOST_CALLS]]
    through = "; then by ".join(copy.label for copy in labels if copy is not None)
    passed = f" and put there by {through}" if through else ""
    return f"It was set by {step.label}{passed}."


def source_line(origin: Origin, sources: Sources) -> list[str]:
    """The line of source that created a part, if it can be read."""
    where = origin.location
    if where is None or where.line is None:
        return []
    try:
        lines = sources.read(where.file).splitlines()
    except WhenceError:
        return []
    if not 0 < where.line <= len(lines):
        return []
    return [f"    {where.line}  {lines[where.line - 1]}"]


def _chain(state: State, answer: Answer, origin: Origin) -> list[str]:
    """The calls that a part passed through, from its origin to the mark."""
    between = [node for node in origin.chain if node not in (origin.node, answer.node)]
    if not between:
        return []
    names = []
    for node in between[:_MOST_CALLS]:
        function = int(state.tree.columns.function[state.tree.position(node)])
        names.append(f"{state.tree.functions[function].short()} ({node})")
    more = f", and {len(between) - _MOST_CALLS} more" if len(between) > _MOST_CALLS else ""
    return [f"  It came through {', '.join(names)}{more}."]


def expectation_noted(state: State, answer: Answer) -> str:
    """Confirms what a call should have returned, and says how that was understood."""
    what = f"{answer.mark} of call {answer.node}" if answer.mark else f"call {answer.node}"
    text = f"Noted: {what} should give {answer.expected}"
    call, _ = readable_call(state.tree, state.tree.position(answer.node))
    if is_what_it_returned(state, answer):
        return f"{text}, which is what it returned"
    where = call.where()
    if where is None or not where.file.endswith(".py") or _is_expression(answer.expected or ""):
        return text
    return f"{text} (kept as words: it is no Python expression)"


def is_what_it_returned(state: State, answer: Answer) -> bool:
    """Whether a call returned what was expected; it may still have done something wrong."""
    call, _ = readable_call(state.tree, state.tree.position(answer.node))
    returned = call.outcome.value if call.outcome.kind is OutcomeKind.RETURNED else None
    return answer.mark is None and returned is not None and answer.expected == show(returned)


def can_be_tried(answer: Answer) -> bool:
    """Whether the expected value can replace the value that a call returned."""
    is_value = answer.mark is None and not answer.expects_exception
    return is_value and _is_expression(answer.expected or "")


def expected_elsewhere(state: State, node: int) -> dict[int, str]:
    """The values that a person expects of calls that are neither callers nor callees of this one.

    With a caller or callee replaced, the value of this call would not matter any more.
    """
    tree, end = state.tree, state.tree.columns.end
    here = tree.position(node)
    values = {}
    for other in state.facts.answers:
        other_position = tree.position(other.node)
        apart = other_position >= end[here] or here >= end[other_position]
        if other.by == PERSON and other.expected is not None and apart and can_be_tried(other):
            values[other.node] = other.expected
    return values


def together_with(values: Collection[int], node: int) -> str:
    """Says which other values are tried at the same time."""
    others = sorted(other for other in values if other != node)
    calls = f"call{'s' if len(others) > 1 else ''} {', '.join(map(str, others))}"
    return f" together with what {calls} should give" if others else ""


def wrong_line(state: State) -> int | None:
    """The number of the wrong line of output, from 1, if the session began with such a symptom."""
    marks = (answer.mark for answer in state.facts.answers if answer.by == SYMPTOM)
    return next(filter(None, (wrong_line_of(mark) for mark in marks if mark)), None)


def wrong_line_of(mark: Mark) -> int | None:
    """The number of the line of output that a mark is about, from 1."""
    is_line = mark.root == PRINTED and bool(mark.steps)
    return int(mark.steps[0].strip("[]")) + 1 if is_line else None


def trial_lines(
    tried: Trial, width: int, head: str = "Tried", wrong: int | None = None
) -> list[str]:
    """What happens to the run if calls return what was expected, the wrong line first."""
    lines = sorted(tried.lines, key=lambda line: line.number != wrong)
    is_first = bool(lines) and lines[0].number == wrong
    became = "the line that is wrong becomes" if is_first else "the output becomes"
    if tried.helps:
        what = "the symptom goes away"
    elif tried.ends:
        what = f"{tried.ends}{', as before' if tried.ends == tried.ended else ''}"
    elif lines:
        stays = wrong is not None and not is_first
        what = f"line {wrong}, which is wrong, stays; {became}" if stays else became
    else:
        what = "nothing changes: this is not why the run is wrong, or not all of why"
    both = f"; {became}" if lines and (tried.helps or tried.ends) else ""
    out = wrap(f"{head}: with that {what}{both}{':' if lines else '.'}", width)
    for line in lines[:_MOST_CHANGED]:
        out += hanging(printable(f"  {line.number}  {line.after}   (was: {line.before})"), width)
    more = len(lines) - _MOST_CHANGED
    return [*out, f"  and {more:,} more lines"] if more > 0 else out


def _is_expression(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return True


def trust_noted(trust: Trust, *, withdrawn: bool) -> str:
    """Confirms a trust and says what it means."""
    if withdrawn:
        return f"No longer trusted: {trust}. Its calls may be asked about again."
    return (
        f"Trusted: {trust}. It cannot be at fault itself; what it calls is still searched. "
        "distrust takes this back."
    )


def left_early(session: DrivenSession, reason: str) -> str:
    """Why the session was left early, and where its answers are kept."""
    text = f"No fault was found yet: {reason}."
    log = session.log
    if log is None or log.path is None:
        return text
    if not log.is_saved:
        return f"{text} Not all answers could be saved in {log.path}."
    return f"{text} The answers are kept in {log.path}; the next session resumes from there."
