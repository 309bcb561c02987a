"""A question as a person reads it: only what is needed to judge the call, and nothing else.

The call and its outcome come first; then, only where there is any, what it changed (the parts that
differ), what it printed, and the state that it read; then where its source is. Why this question is
asked, and everything else about the search, is `info`'s business.

A question fits on a small terminal. Where not all of it does, the state that the call read is left
out first, then parts of the receiver, then of the other arguments; what it changed and its outcome
are left out last, for they decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from whence.model.call import (
    Call,
    Effect,
    Function,
    Location,
    OutcomeKind,
    name_references,
)
from whence.model.question import Question
from whence.model.value import (
    Kind,
    Limits,
    Value,
    atom,
    columns,
    cut,
    show,
)
from whence.model.verdict import Answer, Verdict
from whence.report.changes import Change, afterwards, changes, equal
from whence.report.question_content import (
    ChangedPart,
    changed_parts,
    data_read,
    differing_inputs,
    is_plain_call,
)
from whence.report.question_content import asked as asked_of
from whence.report.relevance import (
    relevant,
    with_field_names,
    without_internals,
    without_repeated_names,
)
from whence.report.source import NOWHERE, Sources
from whence.ui.terminal.multiline import Room, Rows, brief, fit, inputs, is_short, result
from whence.ui.terminal.screen import Line, Tone

LIMITS = Limits()
_OUTCOME = Limits(depth=8, parts=60, characters=2_000, text=800)
_COMFORTABLE, _MOST_LINES = 11, 20
"""The receiver and what was read do not make a question longer than the first figure; nothing makes
it longer than the second, notes included. With its header, a note on what was left out and its
prompt it fits on a screen of 24 lines."""
_CHANGES = 12
_WORTH_A_HEADING = 3
_SIGNS = ("  + ", "  - ", "  ")
_VERBS = ("it made ", "it changed ", "it removed ", "it inserted ", "it ")
LEFT_OUT = "(… was left out; show prints it all)"
_PRINTED = 6
_READS = 5
_LEGIBLE = 20
"""The line that made a call is cut off to no less."""
_SPACING = re.compile(r"[\s,]")
_TABLES = ("DataFrame",)
_STILL_SEEN = 3
"""So many questions before the last one are taken to be still on the screen."""
_WORTH_A_REFERENCE = 30
"""An input, or an attribute of one, of at most so many characters is shown again."""
_EXPRESSION = 40
"""The most characters of the expression that made a call."""
_MORE = Limits(depth=100, parts=10_000, characters=3_000, text=3_000)


@dataclass(frozen=True, slots=True)
class _Rows:
    """How many lines single values may take."""

    room: Room
    change: int
    read: int
    most: int
    """How many lines the question may have with these."""


_WAYS = (
    _Rows(Room(8, 8, 8, 14), change=8, read=8, most=_COMFORTABLE),
    _Rows(Room(8, 6, 4, 14), change=8, read=3, most=_COMFORTABLE),
    _Rows(Room(8, 4, 2, 14), change=8, read=1, most=_COMFORTABLE),
    _Rows(Room(8, 3, 1, 14), change=8, read=1, most=_MOST_LINES),
    _Rows(Room(4, 2, 1, 12), change=6, read=1, most=_MOST_LINES),
    _Rows(Room(2, 2, 1, 10), change=4, read=1, most=_MOST_LINES),
    _Rows(Room(1, 1, 1, 8), change=2, read=1, most=_MOST_LINES),
)
"""The ways to show a question, the best first; the first one that fits is taken."""

LETTERS = {
    Verdict.RIGHT: "y",
    Verdict.WRONG: "n",
    Verdict.INADMISSIBLE: "i",
    Verdict.UNKNOWN: "?",
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
    if question.to_come is None:
        return f"Question {number}"
    least, most = question.to_come
    left = f"{least} to {most} more" if least else f"up to {most} more"
    return f"Question {number} ({left if most > 1 else 'maybe the last one'})"


def prompt(question: Question, number: int = 1) -> str:
    """The prompt of a question, with the possible answers; after the first one they are known."""
    asked = asked_of(question.call)
    default = question.default
    choices = ["y/n/i/?"] if number == 1 else []
    choices += [f"Enter: {typed(default)}"] if default is not None else []
    return f"{asked} [{', '.join(choices)}] " if choices else f"{asked} "


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
    ran: Sequence[Function] = ()
    """All functions that ran in the call; empty if they are not known."""
    shown: Sequence[tuple[int, Call]] = ()
    """The questions that were shown before, each with its number and what was shown of it."""
    knows_show: bool = False
    """Whether the person was told how to see what was left out."""

    def earlier(self, call: Call) -> Call | None:
        """The last call of the same function that was asked about."""
        alike = (old for _, old in reversed(self.shown) if old.function.name == call.function.name)
        return next(alike, None)


PLAINLY = QuestionContext()


def shown_call(question: Question, width: int, context: QuestionContext = PLAINLY) -> Call:
    """What is shown of a call: without the parts of its inputs that it did not use, and with
    references to what one of the last questions showed."""
    call = without_internals(relevant(question.call, context.sources, context.ran))
    call = with_field_names(_without_same_columns(name_references(call)), context.sources)
    is_plain = not call.text and call.step is None
    if not is_plain or is_short(call, LIMITS, max(20, width - 2)):
        return call
    values = [
        (f"{name} of question {number}", value)
        for number, old in reversed(context.shown[-_STILL_SEEN:])
        for name, value in _named_values(old)
    ]
    if not values:
        return call
    arguments = tuple(
        replace(argument, value=_reference(argument.value, values)) for argument in call.arguments
    )
    reads = tuple(replace(read, value=_reference(read.value, values)) for read in call.reads)
    return replace(call, arguments=arguments, reads=reads)


def _without_same_columns(call: Call) -> Call:
    """The call; of a table that it returns, only the columns that its input does not have alike."""
    value = call.outcome.value
    if value is None or value.kind is not Kind.OBJECT or value.text not in _TABLES:
        return call
    tables = [argument for argument in call.arguments if argument.value.text == value.text]
    for argument in tables:
        before = dict(argument.value.parts)
        other = [
            (step, part)
            for step, part in value.parts
            if step not in before or not equal(before[step], part)
        ]
        same = len(value.parts) - len(other)
        if same >= _WORTH_A_HEADING and argument.name:
            others = (".others", atom(f"<{same} columns as in {argument.name}>"))
            value = replace(value, parts=(*other, others))
            return replace(call, outcome=replace(call.outcome, value=value))
    return call


def _named_values(call: Call) -> list[tuple[str, Value]]:
    """The long values of a call, and their attributes, that can be referred to by a name."""
    named = [(each.name, each.value) for each in (*call.arguments, *call.reads) if each.name]
    named += [("result", call.outcome.value)] if call.outcome.value is not None else []
    attributes = [
        (name + step, part)
        for name, value in named
        for step, part in value.parts
        if step.startswith(".")
    ]
    return [(name, value) for name, value in (*named, *attributes) if _is_long(value)]


def _is_long(value: Value) -> bool:
    return len(show(value, LIMITS)) > _WORTH_A_REFERENCE


def _reference(value: Value, known: Sequence[tuple[str, Value]]) -> Value:
    """The value, or the name of an equal one; if there is none, the same for its attributes."""
    if not _is_long(value):
        return value
    same = next((name for name, old in known if equal(old, value)), None)
    if same is not None:
        return atom(f"<{same}>")
    parts = tuple(
        (step, _reference(part, known) if step.startswith(".") else part)
        for step, part in value.parts
    )
    return replace(value, parts=parts)


def question_lines(
    question: Question, number: int, width: int, context: QuestionContext = PLAINLY
) -> list[Line]:
    """All lines of a question, its header first."""
    call = shown_call(question, width, context)
    room = max(20, width - 2)
    differing = differing_inputs(question.call, context.last)
    strong = _strong(call, differing) if context.emphasised else ()
    notes = []
    if differing and not context.emphasised:
        notes.append(f"differs from the last one in: {', '.join(differing)}")
    summary = "" if context.earlier(call) else context.sources.summary(call)
    notes += [f"documented as: {summary}"] if summary else []
    where = _place(call, context, room)
    notes += [where] if where else []
    spare = _MOST_LINES - len(notes)
    usual = context.sources.has_default(call) - set(differing)
    call = without_repeated_names(call)
    for rows in _WAYS:
        sections = _sections(call, context.sources, room, rows, strong, usual)
        if sum(map(len, sections)) <= min(rows.most, spare):
            break
    shown = _trimmed(sections, spare)
    if not context.knows_show and _is_cut(call, shown, usual):
        shown.append(Line(LEFT_OUT, Tone.QUIET))
    shown += [Line(cut(note, room), Tone.QUIET) for note in notes]
    return [
        Line(header(question, number), Tone.TITLE),
        *(Line("  " + line.text, line.tone, line.strong) for line in shown),
    ]


def _sections(
    call: Call,
    sources: Sources,
    width: int,
    rows: _Rows,
    strong: tuple[str, ...],
    usual: frozenset[str],
) -> list[list[Line]]:
    """The lines of the call, of its outcome, its effects, its output and its reads."""
    lines = inputs(call, LIMITS, width, rows.room, usual)
    left = [Line(text, Tone.CALL, strong) for text in lines]
    left += [Line(f"  {text}", Tone.CALL) for text in sources.outline(call)]
    right = [Line(text, Tone.CALL) for text in result(call, _OUTCOME, width, rows.room)]
    changed: list[Line] = []
    if call.step is None:  # for a step they are beside the state before it
        changed = [Line(text, Tone.CALL) for text in _effects(call.effects, width, rows.change)]
    printed = [Line(text) for text in printed_lines("\n".join(call.output) or call.printed)]
    reads = [Line(text, Tone.CALL, strong) for text in _reads(call, width, rows.read)]
    return [left, right, changed, printed, reads]


_LEFT_OUT_FIRST = (4, 0, 3, 2, 1)
"""The sections in the order in which they lose lines, if all are too long."""


def _trimmed(sections: list[list[Line]], most: int) -> list[Line]:
    """The lines of all sections, at most so many."""
    excess = sum(map(len, sections)) - most
    for number in _LEFT_OUT_FIRST:
        lines = sections[number]
        lost = min(excess + 1, len(lines) - 1)
        if excess <= 0 or lost < 2:
            continue
        kept = len(lines) - lost
        margin = " " * (len(lines[kept].text) - len(lines[kept].text.lstrip()))
        note = Line(f"{margin}… {lost} more lines …", Tone.QUIET)
        sections[number] = [*lines[:kept], note]
        excess -= lost - 1
    return [line for lines in sections for line in lines]


def _strong(call: Call, names: list[str]) -> tuple[str, ...]:
    inputs = [*call.arguments, *call.reads]
    return tuple(
        text
        for binding in inputs
        if binding.name in names
        for text in (
            f"{binding.name}={show(binding.value, LIMITS)}",
            f"{binding.name} = {show(binding.value, LIMITS)}",
        )
    )


def _is_cut(call: Call, shown: Sequence[Line], usual: frozenset[str]) -> bool:
    """Whether something is not shown in full although all of it is known; defaults do not count."""
    text = _SPACING.sub("", "".join(line.text for line in shown))
    given = () if call.text else call.arguments
    values = [each.value for each in (*given, *data_read(call)) if each.name not in usual]
    if call.step is not None:
        values += [value for _, value in afterwards(call, LIMITS, LIMITS.characters) if value]
    else:
        values += [*call.outcome.yielded, *([call.outcome.value] if call.outcome.value else [])]
        if call.text:
            values = []
        for effect in call.effects:
            values += _changed_values(effect)
    return any(_SPACING.sub("", show(value, _MORE)) not in text for value in values)


def _changed_values(effect: Effect) -> Iterator[Value]:
    """What is to be seen of an effect."""
    for change in changes(effect.before, effect.after):
        if change.after is not None and not (change.is_unseen() or change.is_inside()):
            yield change.after


def _reads(call: Call, width: int, most: int) -> list[str]:
    out: list[str] = []
    rows = Rows(width, "it read ", ", ")
    for read in data_read(call):
        before = f"it read {read.name} = "
        out += rows.add(fit(read.value, LIMITS, width, most, before=before, compact=True))
    out += rows.end()
    hidden = len(out) - _READS
    return [*out[:_READS], f"it read … {hidden} more lines"] if hidden > 1 else out


def _effects(effects: Sequence[Effect], width: int, most: int) -> list[str]:
    """What a call changed: one line for each part, under a common heading where there are several
    parts of one value."""
    unseen: list[str] = []
    inside: list[str] = []
    parts: list[ChangedPart] = []
    for effect in effects:
        if Change((), effect.before, effect.after).is_inside():
            inside.append(effect.target)
            continue
        found = changed_parts(effect)
        inside += [part.name for part in found if part.change.is_inside()]
        unseen += [part.name for part in found if part.change.is_unseen()]
        unseen += [] if found else [effect.target]
        parts += [part for part in found if part.name not in (*inside, *unseen)]
    shown: list[str] = []
    for holder, group in groupby(parts[:_CHANGES], key=lambda part: part.holder):
        changed = list(group)
        if holder and len(changed) >= _WORTH_A_HEADING and all(each.is_plain for each in changed):
            shown.append(f"it changed {holder}:")
            shown += _in_rows((_part_lines(part, width, most) for part in changed), width, _SIGNS)
        else:
            lines = (_change_lines(part.target, part.change, width, most) for part in changed)
            shown += _in_rows(lines, width, _VERBS)
    if len(parts) > _CHANGES:
        shown.append(f"it changed … {len(parts) - _CHANGES} more parts")
    if inside:
        shown.append(cut(f"it changed the inside of {', '.join(inside)} (show prints it)", width))
    if unseen:
        where = "a part that was" if len(unseen) == 1 else "parts that were"
        end = f" in {where} not recorded"
        shown.append(f"it changed {cut(', '.join(unseen), width - 11 - len(end))}{end}")
    return shown


def _in_rows(texts: Iterable[list[str]], width: int, beginnings: Sequence[str]) -> Iterator[str]:
    """The lines of several changes; short ones with the same beginning share a line."""
    rows, beginning = Rows(width, ""), ""
    for lines in texts:
        own = next(each for each in beginnings if lines[0].startswith(each))
        if own != beginning:
            yield from rows.end()
            rows, beginning = Rows(width, own, ", ", width // 3), own
        yield from rows.add(lines)
    yield from rows.end()


def _part_lines(part: ChangedPart, width: int, most: int) -> list[str]:
    """A changed part below the name of the value that it is a part of: `+ [2] 'b'`."""
    change, step = part.change, part.step.removeprefix(".")
    before, after = change.before, change.after
    if before is not None and after is not None:
        line = f"  {step}: {show(before, _OUTCOME)} → {show(after, _OUTCOME)}"
        if columns(line) <= width:
            return [line]
        lines = _difference(before, after, width, most, 4)
        return [f"  {step}:", *lines]
    sign, value = ("+", after) if before is None else ("-", before)
    assert value is not None
    return fit(value, _OUTCOME, width, most, before=f"{sign} {step} ", indent=2, compact=True)


def _change_lines(target: str, change: Change, width: int, most: int) -> list[str]:
    name = target + "".join(change.steps)
    before, after = change.before, change.after
    if before is not None and after is not None and _is_empty(before, after):
        before = None  # it is made here
    line = f"it {Change(change.steps, before, after, change.within).words(target, _OUTCOME)}"
    if columns(line) <= width:
        return [line]
    if before is None and after is not None:
        verb = f"it {'inserted' if change.within else 'made'} {name} = "
        verb = verb if change.within is not Kind.SET else f"it added to {name}: "
        return fit(after, _OUTCOME, width, most, before=verb, compact=True)
    if before is not None and after is None:
        removed = f"it removed {name}, which was "
        removed = removed if change.within is not Kind.SET else f"it removed from {name}: "
        return fit(before, _OUTCOME, width, most, before=removed, compact=True)
    if before is None or after is None or change.is_unseen():
        return [cut(line, width)]
    if change.within is Kind.DICT:
        orders = [f"{'+-'[value is before]} {_order(value)}" for value in (before, after)]
        return [f"it reordered {name}:", *(f"  {cut(text, width - 2)}" for text in orders)]
    return [f"it changed {name}:", *_difference(before, after, width, most, 2)]


def _order(value: Value) -> str:
    """The keys or attributes of a value, in their order."""
    return ", ".join(step[1:] if step[:1] == "." else step[1:-1] for step, _ in value.parts)


def _difference(before: Value, after: Value, width: int, most: int, indent: int) -> list[str]:
    """Two values below each other; of two long texts, what is around their first difference."""
    if before.kind is after.kind is Kind.ATOM:
        before, after = map(atom, _around(before.text, after.text, width - indent - 2))
    out: list[str] = []
    for sign, value in (("- ", before), ("+ ", after)):
        out += fit(value, _OUTCOME, width, max(1, most // 2), before=sign, indent=indent)
    return out


def _around(one: str, other: str, room: int) -> tuple[str, str]:
    """The pieces of two texts around their first difference, of which each fits on a line."""
    pairs = enumerate(zip(one, other, strict=False))
    shorter = min(len(one), len(other))
    first = next((number for number, (old, new) in pairs if old != new), shorter)
    start = max(0, first - room // 4) if max(len(one), len(other)) > room else 0
    pieces = ("…" * (start > 0) + text[start:] for text in (one, other))
    one, other = (cut(piece, room) for piece in pieces)
    return one, other


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


def _place(call: Call, context: QuestionContext, width: int) -> str:
    """Where the source is, which operation raised, and the line that made the call, on one line.

    Of a function that was asked about before, only what is not as it was then.
    """
    sources, where, raised = context.sources, call.where(), call.outcome.location
    earlier = context.earlier(call)
    last = context.shown[-1][1].where() if context.shown else None
    texts = [_line(where, last, sources).removeprefix("in ")] if where and not earlier else []
    is_raised = call.outcome.kind is OutcomeKind.RAISED and not call.outcome.was_closed
    if is_raised and raised is not None:
        by = f" by {context.raised_by}" if context.raised_by else ""
        texts.append(f"raised {_line(raised, where, sources)}{by}")
    called, site = " ".join(sources.called_as(call).split()), call.site
    if called and site is not None and (earlier is None or earlier.site != site):
        at = _line(site, where, sources)
        room = min(_EXPRESSION, width - len(", ".join([*texts, f"called as  {at}"])))
        shown = cut(called, room)
        says_nothing = is_plain_call(called) or shown.endswith("(…")
        if room >= min(len(called), _LEGIBLE) and not says_nothing:
            texts.append(f"called as {shown} {at}")
    text = ", ".join(texts)
    return text if len(text) <= width else f"…{text[1 - width :]}"


def _line(place: Location, where: Location | None, sources: Sources) -> str:
    """A place in words; without its file if that is the one of the source."""
    is_here = where is not None and where.file == place.file and place.line
    return f"in line {place.line}" if is_here else f"at {sources.shown(place)}"
