"""The command `info`: where a call is and how the search is going."""

from __future__ import annotations

from collections import Counter

from whence.model.question import Question
from whence.model.verdict import PERSON
from whence.ports import Freezing, Tree
from whence.report.raising import own_primitive
from whence.session.state import earlier_answers, expectations
from whence.tree.readable_call import function_at, up_from
from whence.ui import DrivenSession
from whence.ui.terminal.listing import SAID, operands

CALLERS = 6
_COLUMN = 10


def info_lines(session: DrivenSession, node: int, question: Question | None) -> list[str]:
    """All that `info` shows about a call and about the search."""
    state = session.state
    facts, space = state.facts, state.space()
    call = state.tree.call(state.tree.position(node))
    where = f", at {call.where()}" if call.where() else ""
    site = f", called at {call.site}" if call.site else ""
    rows = [("call", f"{node}{where}{site}")]
    raised = own_primitive(state, node, session.sources)
    if raised is not None:
        rows.append(("raised by", raised.text + operands(raised)))
    for answer in expectations(state, node):
        part = f"{answer.mark} = " if answer.mark else ""
        rows.append(("should be", f"{part}{answer.expected}"))
    for answer in earlier_answers(state.tree, facts, node):
        if answer.by != PERSON:
            reason = f": {answer.reason}" if answer.reason else ""
            rows.append(("judged", f"{SAID[answer.verdict]}, by {answer.by}{reason}"))
    why_not = session.why_not_remembered(node)
    if why_not:
        rows.append(("answer", f"holds in this session, not in other runs: {why_not}"))
    if isinstance(session.reruns, Freezing):
        frozen = session.reruns.frozen(node)
        rows += [("again", frozen)] if frozen else []
    rows.append(("inside", " > ".join(callers(state.tree, node)) or "nothing: it is the top"))
    if question is not None:
        rows.append(("asked", question.why))
    left = space.count() + space.top_is_open
    halvings = question.expected if question is not None else 0
    more = f", {count_of(halvings, 'question')} if each halves them" if halvings else ""
    rows.append(("left", f"{count_of(left, 'call')} that may be at fault{more}"))
    rows.append(("strategy", facts.strategy))
    switches = {name: getattr(facts.switches, name) for name in facts.switches.__dataclass_fields__}
    turned = (f"{name} {'on' if on else 'off'}" for name, on in switches.items())
    rows.append(("switches", ", ".join(turned)))
    rows.append(("trusted", ", ".join(map(str, facts.trusts)) or "nothing"))
    rows.append(("answers", _answers(session)))
    if session.reruns is not None:
        rows.append(("run again", session.reruns.how))
    log = session.log
    path = None if log is None else log.path
    rows.append(("session", f"kept in {path}" if path else "not kept in a file"))
    return [f"{name:<{_COLUMN}}{text}" for name, text in rows]


def count_of(number: int, noun: str) -> str:
    """A number with its noun: `1 call`, `3 calls`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def callers(tree: Tree, node: int) -> list[str]:
    """The functions of a call's callers, outermost first, the middle left out."""
    _, *positions = up_from(tree, tree.position(node))
    names = [f"{function_at(tree, caller).short()} ({tree.id(caller)})" for caller in positions]
    names.reverse()
    if len(names) > CALLERS:
        half = CALLERS // 2
        names[half:-half] = [f"… {len(names) - CALLERS} more …"]
    return names


def _answers(session: DrivenSession) -> str:
    answers = session.state.facts.answers
    if not answers:
        return "none yet"
    verdicts = Counter(SAID[answer.verdict] for answer in answers)
    counts = ", ".join(f"{count} {word}" for word, count in verdicts.items())
    by = Counter(answer.by for answer in answers if answer.by != PERSON)
    oracles = "".join(f"; {count} by {name}" for name, count in by.items())
    return f"{len(answers)}: {counts}{oracles}"
