"""A question as a person reads it: only what is needed to judge the call, and nothing else.

The equation comes first; then, only where there is any, the state that the call read, what it
changed (the parts that differ), and what it printed; then where its source is. Why this question
is asked, and everything else about the search, is `info`'s business.
"""

from __future__ import annotations

from collections.abc import Sequence

from whence.model.call import Call, Effect, OutcomeKind
from whence.model.question import Question
from whence.model.value import Limits, Value, show
from whence.model.verdict import Answer, Verdict
from whence.ui.terminal.changes import Change, changes
from whence.ui.terminal.layout import brief, equation, fitted
from whence.ui.terminal.screen import Line, Tone

LIMITS = Limits()
_LINES_A_VALUE = 8
_MOST_LINES = 18
_HEAD = 9
_READS = 6
_EFFECTS = 6
_CHANGES = 6
_PRINTED = 6

LETTERS = {
    Verdict.RIGHT: "y",
    Verdict.WRONG: "n",
    Verdict.INADMISSIBLE: "i",
    Verdict.UNKNOWN: "?",
}

_ASKED = {
    OutcomeKind.RETURNED: "Right?",
    OutcomeKind.RAISED: "Right to raise that?",
    OutcomeKind.YIELDED: "Right so far?",
    OutcomeKind.NOT_TERMINATED: "Right not to have ended?",
}


def opening(top: Call | None, *, known: bool, answers: int, width: int) -> list[Line]:
    """What a newcomer has to know before the first question, on three lines.

    The first, which call is wrong, is left out (None) where it was just said that the run is.
    """
    so_far = "" if not answers else f" (after {answers} answer{'s' if answers > 1 else ''})"
    taken = f"{'Known' if known else 'Taken'} to be wrong{so_far}: "
    first = (
        [] if top is None else [Line(taken + brief(top, max(20, width - len(taken))), Tone.TITLE)]
    )
    return [
        *first,
        Line("Which call is to blame? Judge some: y right, n wrong, ? don't know,", Tone.QUIET),
        Line(
            "i should never get such input; n result[2] marks a wrong part; help lists more.",
            Tone.QUIET,
        ),
    ]


def header(question: Question, number: int) -> str:
    """Which question it is, and how many are still to come."""
    more = question.expected - 1
    left = f"about {more} more" if more > 0 else "maybe the last one"
    return f"Question {number} ({left})"


def prompt(question: Question) -> str:
    """What is asked, and what can be answered."""
    asked = _ASKED[question.call.outcome.kind]
    default = question.default
    choice = "y/n/i/?" if default is None else f"y/n/i/?, Enter: {typed(default)}"
    return f"{asked} [{choice}] "


def typed(answer: Answer) -> str:
    """An answer as one would type it."""
    mark = f" {answer.mark}" if answer.mark else ""
    return LETTERS[answer.verdict] + mark


def question_lines(question: Question, number: int, width: int) -> list[Line]:
    """All that is shown of a question, its header first."""
    call = question.call
    room = max(20, width - 2)
    shown = [Line(text, Tone.CALL) for text in equation(call, LIMITS, room, _LINES_A_VALUE)]
    shown += [Line(text, Tone.CALL) for text in _reads(call, room)]
    shown += [Line(text, Tone.CALL) for text in _effects(call.effects, room)]
    printed = "\n".join(call.output) or call.printed
    shown += [Line(text) for text in printed_lines(printed)]
    if len(shown) > _MOST_LINES:
        cut = f"… {len(shown) - _MOST_LINES} more lines …"
        shown = [*shown[:_HEAD], Line(cut, Tone.QUIET), *shown[_HEAD - _MOST_LINES :]]
    if any("…" in line.text for line in shown):
        shown.append(Line("(… was left out; show prints it all)", Tone.QUIET))
    place = _place(call)
    if place:
        shown.append(Line(place, Tone.QUIET))
    return [
        Line(header(question, number), Tone.TITLE),
        *(Line("  " + line.text, line.tone) for line in shown),
    ]


def _reads(call: Call, width: int) -> list[str]:
    out: list[str] = []
    for each in call.reads[:_READS]:
        out += fitted(each.value, LIMITS, width, _LINES_A_VALUE, before=f"it read {each.name} = ")
    if len(call.reads) > _READS:
        out.append(f"it read … {len(call.reads) - _READS} more")
    return out


def _effects(effects: Sequence[Effect], width: int) -> list[str]:
    out: list[str] = []
    for effect in effects[:_EFFECTS]:
        out += effect_lines(effect, width)
    if len(effects) > _EFFECTS:
        out.append(f"it changed … {len(effects) - _EFFECTS} more")
    return out


def effect_lines(effect: Effect, width: int) -> list[str]:
    """What a call changed in one place: the parts that differ, or the whole if that is shorter."""
    found = list(changes(effect.before, effect.after))
    if not found:
        return [f"it changed {effect.target} in a part that was not recorded"]
    parts: list[str] = []
    for change in found[:_CHANGES]:
        parts += _change_lines(effect.target, change, width)
    if len(found) > _CHANGES:
        parts.append(f"it changed … {len(found) - _CHANGES} more parts of {effect.target}")
    whole = _change_lines(effect.target, Change((), effect.before, effect.after), width)
    return whole if sum(map(len, whole)) < sum(map(len, parts)) else parts


def _change_lines(target: str, change: Change, width: int) -> list[str]:
    name = target + "".join(change.steps)
    if change.before is None and change.after is not None:
        return fitted(change.after, LIMITS, width, _LINES_A_VALUE, before=f"it made {name} = ")
    if change.after is None:
        return [_cut(f"it removed {name}, which was {_shown(change.before)}", width)]
    line = f"it changed {name}: {_shown(change.before)} → {_shown(change.after)}"
    if len(line) <= width:
        return [line]
    out: list[str] = [f"it changed {name}:"]
    for before, value in (("  from ", change.before), ("  to   ", change.after)):
        if value is not None:
            out += fitted(value, LIMITS, width, _LINES_A_VALUE, before=before)
    return out


def _shown(value: Value | None) -> str:
    return "nothing" if value is None else show(value, LIMITS)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def printed_lines(printed: str) -> list[str]:
    """What a call printed."""
    lines = printed.splitlines()
    if len(lines) <= 1:
        return [f"it printed: {_cut(line, LIMITS.characters)}" for line in lines]
    out = ["it printed:"] + [f"  | {_cut(line, LIMITS.characters)}" for line in lines[:_PRINTED]]
    if len(lines) > _PRINTED:
        out.append(f"  | … {len(lines) - _PRINTED} more lines")
    return out


def _place(call: Call) -> str:
    where, raised = call.where(), call.outcome.location
    if call.outcome.kind is not OutcomeKind.RAISED or raised is None:
        return f"at {where}" if where else ""
    if where is None:
        return f"raised at {raised}"
    if where.file == raised.file and raised.line:
        return f"at {where}, raised in line {raised.line}"
    return f"at {where}, raised at {raised}"
