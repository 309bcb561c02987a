"""A question as a person reads it: only what is needed to judge the call, and nothing else.

The equation comes first; then, only where there is any, the state that the call read, what it
changed (the parts that differ), and what it printed; then where its source is. Why this question
is asked, and everything else about the search, is `info`'s business.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from whence.model.call import Binding, Call, Effect, OutcomeKind
from whence.model.question import Question
from whence.model.value import Kind, Limits, Value, cut, is_opaque, names_code, show
from whence.model.verdict import Answer, Verdict
from whence.report.changes import Change, afterwards, changes, equal
from whence.report.source import NOWHERE, Sources, attentive
from whence.ui.terminal.multiline import brief, equation, fit
from whence.ui.terminal.screen import Line, Tone

LIMITS = Limits()
_LINES_A_VALUE = (8, 6, 4)
"""How many lines a value may have; fewer, if all would not fit together."""
_MOST_LINES = 18
_HEAD = 9
_READS = 6
_EFFECTS = 6
_CHANGES = 6
_PRINTED = 6
_FOLDED = re.compile(r"(?:[(\[{]|['\"], )…[)\]}]")
_MORE = Limits(depth=100, parts=10_000, characters=3_000, text=3_000)

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
    OutcomeKind.NOT_TERMINATED: "Right to call this, and right that it had not ended?",
    OutcomeKind.FAILED: "Nothing missing?",
}


def opening(
    top: Call | None, *, is_wrong: bool, answers: int, width: int, inside: bool = False
) -> list[Line]:
    """What a newcomer has to know before the first question, on three lines.

    The first line, which call is wrong, is left out (`top` is None) if it was just said that the
    run is. `inside`: the search is among the steps of this call.
    """
    what = "step" if inside else "call"
    so_far = "" if not answers else f" (after {answers} answer{'s' if answers > 1 else ''})"
    taken = f"{'Known' if is_wrong else 'Taken'} to be wrong{so_far}: "
    first = (
        [] if top is None else [Line(taken + brief(top, max(20, width - len(taken))), Tone.TITLE)]
    )
    return [
        *first,
        Line(f"Which {what} is to blame? Judge some: y right, n wrong, ? don't know,", Tone.QUIET),
        Line(
            f"i should never get such input; n {'NAME[2]' if inside else _part(top)} marks a wrong "
            "part; help lists more.",
            Tone.QUIET,
        ),
    ]


def _part(call: Call | None) -> str:
    """An example of what can be marked."""
    if call is None or not (call.text and call.arguments):
        return "result[2]"
    return f"{len(call.arguments)}[1]"


def header(question: Question, number: int) -> str:
    """Which question it is, and how many are still to come."""
    more = question.expected - 1
    left = f"about {more} more" if more > 0 else "maybe the last one"
    return f"Question {number} ({left})"


def prompt(question: Question) -> str:
    """The prompt of a question, with the possible answers."""
    asked = _ASKED[question.call.outcome.kind]
    default = question.default
    choice = "y/n/i/?" if default is None else f"y/n/i/?, Enter: {typed(default)}"
    return f"{asked} [{choice}] "


def typed(answer: Answer) -> str:
    """An answer as a person would type it."""
    mark = f" {answer.mark}" if answer.mark else ""
    return LETTERS[answer.verdict] + mark


@dataclass(frozen=True, slots=True)
class QuestionContext:
    """What a question is shown with: the sources, and the call that was judged last."""

    sources: Sources = NOWHERE
    last: Call | None = None
    emphasised: bool = False
    """Whether the screen itself emphasises what differs from the last call."""
    raised_by: str = ""
    """The operation in the call's own code that raised its exception."""


PLAINLY = QuestionContext()


def question_lines(
    question: Question, number: int, width: int, context: QuestionContext = PLAINLY
) -> list[Line]:
    """All lines of a question, its header first."""
    whole = question.call
    call = attentive(whole, context.sources)
    room = max(20, width - 2)
    differing = _differing(whole, context.last)
    strong = _strong(call, differing) if context.emphasised else ()
    for most in _LINES_A_VALUE:
        shown = _call_lines(call, context.sources, room, most, strong)
        if len(shown) <= _MOST_LINES:
            break
    is_cut = _is_cut(call)
    if len(shown) > _MOST_LINES:
        more = f"… {len(shown) - _MOST_LINES} more lines …"
        shown = [*shown[:_HEAD], Line(more, Tone.QUIET), *shown[_HEAD - _MOST_LINES :]]
        is_cut = True
    if is_cut or any(line.text.endswith("…") or _FOLDED.search(line.text) for line in shown):
        shown.append(Line("(… was left out; show prints it all)", Tone.QUIET))
    if differing and not context.emphasised:
        shown.append(Line(f"differs from the last one in: {', '.join(differing)}", Tone.QUIET))
    where = _place(call, context)
    if where:
        shown.append(Line(where, Tone.QUIET))
    return [
        Line(header(question, number), Tone.TITLE),
        *(Line("  " + line.text, line.tone, line.strong) for line in shown),
    ]


def _call_lines(
    call: Call, sources: Sources, width: int, most: int, strong: tuple[str, ...]
) -> list[Line]:
    """The call with its reads, effects and output, each value on at most `most` lines."""
    shown = [Line(text, Tone.CALL, strong) for text in equation(call, LIMITS, width, most)]
    shown += [Line(f"  {text}", Tone.CALL) for text in sources.outline(call)]
    shown += [Line(text, Tone.CALL, strong) for text in _reads(call, width, most)]
    if call.step is None:  # for a step they are beside the state before it
        shown += [Line(text, Tone.CALL) for text in _effects(call.effects, width, most)]
    printed = "\n".join(call.output) or call.printed
    return shown + [Line(text) for text in printed_lines(printed)]


def _differing(call: Call, last: Call | None) -> list[str]:
    """The inputs that differ from those of the last judged call of the function, if not all do.

    With a single argument the difference is obvious.
    """
    plain = not call.text and call.step is None
    if last is None or last.function.name != call.function.name or not plain:
        return []
    before = {binding.name: binding.value for binding in (*last.arguments, *last.reads)}
    inputs = [binding for binding in (*call.arguments, *call.reads) if binding.name]
    other = [
        binding.name
        for binding in inputs
        if binding.name not in before or not equal(before[binding.name], binding.value)
    ]
    single = len(call.arguments) == 1 and other == [call.arguments[0].name]
    return other if len(other) < len(inputs) and not single else []


def _strong(call: Call, names: list[str]) -> tuple[str, ...]:
    inputs = [*call.arguments, *call.reads]
    return tuple(
        text
        for binding in inputs
        if binding.name in names
        for text in (f"{binding.name}={show(binding.value, LIMITS)}", f"it read {binding.name}")
    )


def _data(call: Call) -> list[Binding]:
    """The state that a call read, without code and without opaque values."""
    return [
        read
        for read in call.reads
        if not (names_code(read.value) or is_opaque(read.value))
        and not (read.name.startswith("__") and read.name.endswith("__"))
    ]


def _is_cut(call: Call) -> bool:
    """Whether some value is shown in part although all of it is known."""
    if len(_data(call)) > _READS or len(call.effects) > _EFFECTS:
        return True
    values = [binding.value for binding in (*(() if call.text else call.arguments), *_data(call))]
    if call.step is not None:
        values += [value for _, value in afterwards(call, LIMITS, LIMITS.characters) if value]
        return any(len(show(value, LIMITS)) < len(show(value, _MORE)) for value in values)
    values += [*call.outcome.yielded, *([call.outcome.value] if call.outcome.value else [])]
    for effect in call.effects:
        values += [value for value in (effect.before, effect.after) if value is not None]
    if len(call.outcome.yielded) > LIMITS.parts:
        return True
    return any(len(show(value, LIMITS)) < len(show(value, _MORE)) for value in values)


def _reads(call: Call, width: int, most: int) -> list[str]:
    out: list[str] = []
    data = _data(call)
    for read in data[:_READS]:
        out += fit(read.value, LIMITS, width, most, before=f"it read {read.name} = ")
    if len(data) > _READS:
        out.append(f"it read … {len(data) - _READS} more")
    return out


def _effects(effects: Sequence[Effect], width: int, most: int) -> list[str]:
    out: list[str] = []
    for effect in effects[:_EFFECTS]:
        out += effect_lines(effect, width, most)
    if len(effects) > _EFFECTS:
        out.append(f"it changed … {len(effects) - _EFFECTS} more")
    return out


def effect_lines(effect: Effect, width: int, most: int = _LINES_A_VALUE[0]) -> list[str]:
    """What a call changed in one place: the parts that differ, or the whole if that is shorter."""
    differences = list(changes(effect.before, effect.after))
    if not differences:
        return [f"it changed {effect.target} in a part that was not recorded"]
    parts: list[str] = []
    for change in differences[:_CHANGES]:
        parts += _change_lines(effect.target, change, width, most)
    if len(differences) > _CHANGES:
        parts.append(f"it changed … {len(differences) - _CHANGES} more parts of {effect.target}")
    is_whole = len(differences) == 1 and not differences[0].steps
    if is_whole or _looks_the_same(effect, width, most):
        return parts
    whole = _change_lines(effect.target, Change((), effect.before, effect.after), width, most)
    return whole if sum(map(len, whole)) < sum(map(len, parts)) else parts


def _looks_the_same(effect: Effect, width: int, most: int) -> bool:
    """Whether the difference lies too deep to be seen in the whole value."""
    if effect.before is None or effect.after is None:
        return False
    before, after = (
        fit(value, LIMITS, width, most, before="", indent=2)
        for value in (effect.before, effect.after)
    )
    return before == after


def _change_lines(target: str, change: Change, width: int, most: int) -> list[str]:
    name = target + "".join(change.steps)
    before, after = change.before, change.after
    if before is not None and after is not None and _is_empty(before, after):
        before = None  # it is made here
    line = f"it {Change(change.steps, before, after, change.within).words(target, LIMITS)}"
    if len(line) <= width:
        return [line]
    if before is None and after is not None and change.within is not Kind.SET:
        verb = "inserted" if change.within else "made"
        return fit(after, LIMITS, width, most, before=f"it {verb} {name} = ")
    if before is None or after is None:
        return [cut(line, width)]
    out = [f"it {'reordered' if change.within is Kind.DICT else 'changed'} {name}:"]
    for label, value in (("from ", before), ("to   ", after)):
        out += fit(value, LIMITS, width, most, before=label, indent=2)
    return out


def _is_empty(before: Value, after: Value) -> bool:
    """Whether an object was still empty."""
    same = before.kind is Kind.OBJECT and (before.kind, before.text) == (after.kind, after.text)
    is_made = bool(after.parts) and all(step.startswith(".") for step, _ in after.parts)
    return same and is_made and not before.parts and not before.omitted


def printed_lines(printed: str) -> list[str]:
    """What a call printed."""
    lines = printed.splitlines()
    if len(lines) <= 1:
        return [f"it printed: {cut(line, LIMITS.characters)}" for line in lines]
    out = ["it printed:"] + [f"  | {cut(line, LIMITS.characters)}" for line in lines[:_PRINTED]]
    if len(lines) > _PRINTED:
        out.append(f"  | … {len(lines) - _PRINTED} more lines")
    return out


def _place(call: Call, context: QuestionContext) -> str:
    sources, where, raised = context.sources, call.where(), call.outcome.location
    by = f" by {context.raised_by}" if context.raised_by else ""
    if call.outcome.kind is not OutcomeKind.RAISED or raised is None:
        return f"at {sources.shown(where)}" if where else ""
    if where is None:
        return f"raised at {sources.shown(raised)}{by}"
    if where.file == raised.file and raised.line:
        return f"at {sources.shown(where)}, raised in line {raised.line}{by}"
    return f"at {sources.shown(where)}, raised at {sources.shown(raised)}{by}"
