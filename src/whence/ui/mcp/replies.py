"""What the tools answer: a text to read, and the same as data, both bounded.

Invariant: a concise reply has at most `CONCISE` characters of text and `STRUCTURED` of data, about
2,000 tokens together. What is cut off says so, and how to get it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from whence.model.value import cut
from whence.protocol.values import ValueView
from whence.protocol.views import (
    CallRow,
    CallsView,
    CallView,
    JobView,
    OriginView,
    SessionView,
    SourceView,
    SymptomView,
    WhyView,
)

CONCISE, DETAILED, STRUCTURED = 5_600, 24_000, 1_600
_MOST_NOTES, _LONGEST_NOTE = 6, 300
_MOST_LINES = 60
VERDICTS = '"right" | "wrong" | "inadmissible" | "unknown"'


@dataclass(frozen=True)
class Reply:
    """An answer of a tool."""

    text: str
    data: dict[str, object] = field(default_factory=dict)

    def bounded(self, *, detailed: bool) -> Reply:
        """The same, cut off where it is too long."""
        most = DETAILED if detailed else CONCISE
        text = self.text
        if len(text) > most:
            more = "" if detailed else '; detail="detailed" has more'
            text = f"{text[: most - 100]}\n… cut off, {len(text) - most + 100:,} characters{more}"
        data = self.data
        if len(json.dumps(data)) > STRUCTURED:
            short = {key: _short(value) for key, value in data.items()}
            data = short if len(json.dumps(short)) <= STRUCTURED else _plain_only(short)
        return Reply(text, data)


def _short(value: object) -> object:
    if isinstance(value, str):
        return cut(value, 200)
    return value[:3] if isinstance(value, list) else value


def _plain_only(data: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in data.items() if not isinstance(value, list | dict)}


def session_reply(view: SessionView, source: SourceView | None = None) -> Reply:
    """What a session needs, and which tool goes on."""
    data: dict[str, object] = {
        "session": view.session,
        "needs": view.needs,
        "suspects": view.suspects,
        "answers": view.answers,
    }
    out = [f"({cut(note, _LONGEST_NOTE)})" for note in view.notes[-_MOST_NOTES:]]
    name = f'session="{view.session}"'
    if view.question is not None:
        question, call = view.question, view.question.call
        data |= {"call": call.call, "function": call.function.qualname}
        data |= {"equation": cut(call.equation, 300), "asked": call.asked}
        head, *rest = question.text.split("\n")
        out += [f"{head}: call {call.call}, {view.suspects} suspects", *rest]
        out += _source_lines(source)
        out.append(
            f"{call.asked} answer({name}, verdict={VERDICTS}); with a wrong part add "
            'part="result[2].name", with what is due expected="...". call and why show more.'
        )
    elif view.contradiction is not None:
        clash = view.contradiction
        out += [f"These contradict each other ({clash.why}):", f"  earlier: {clash.earlier}"]
        out += [f"  later: {clash.later}"]
        out.append(f'answer({name}, keep="earlier" | "later"), or undo({name})')
    elif view.symptom is not None:
        out += _symptom_lines(view.symptom, name)
    elif view.diagnosis is not None:
        fault = view.diagnosis.record.get("at_fault")
        data["status"] = view.diagnosis.status
        if isinstance(fault, dict):
            data["fault"] = {key: fault.get(key) for key in ("qualname", "file", "line", "call")}
        out.append(view.diagnosis.text)
        out.append(f"After a fix: check({name}). If this is not it: undo({name}).")
    return Reply("\n".join(out), data)


def _symptom_lines(symptom: SymptomView, name: str) -> list[str]:
    out = symptom.ending.splitlines()
    if symptom.operands:
        out += [symptom.statement]
        for number, side in enumerate(symptom.operands):
            out.append(f"  {number}: {cut(side.expression, 200)} → {cut(side.value, 300)}")
        out.append(f"Which operands are wrong? find({name}, operands=[0])")
        return out
    if symptom.output:
        out.append("It printed:")
        lines = enumerate(symptom.output[:_MOST_LINES], 1)
        out += [f"  {number:>3} | {cut(line, 160)}" for number, line in lines]
        more = len(symptom.output) - _MOST_LINES + symptom.more_output
        out += [f"  … {more} more lines"] if more > 0 else []
    out.append(
        f'What is wrong? find({name}, wrong="output:3") for line 3, "output:3:word" for a part of '
        'it, "output", "exception", "raises KeyError" (missing), "result", "not-ended"'
    )
    return out


def _source_lines(source: SourceView | None) -> list[str]:
    if source is None:
        return []
    marks = {True: ">", False: " ", None: " "}
    out = [f"{marks[line.ran]} {line.number:>4}  {line.text}" for line in source.lines]
    out = out[:_MOST_LINES] + ([f"… {len(out) - _MOST_LINES} more"] * (len(out) > _MOST_LINES))
    place = "" if source.place is None else source.place.shown
    notes = ["(the file was changed after the recording)"] if source.changed else []
    return [f"Source ({place}):", *out, *notes]


def row_line(row: CallRow) -> str:
    """A call on one line."""
    return f"{row.call:>6}  {cut(row.equation, 200)}  ({row.state})"


def rows_reply(view: CallsView) -> Reply:
    """A list of calls."""
    out = [f"{view.total} calls" + (f", from {view.offset}" if view.offset else "") + ":"]
    out += [row_line(row) for row in view.rows]
    if view.offset + len(view.rows) < view.total:
        out.append(f"… offset={view.offset + len(view.rows)} has more")
    if not view.is_complete:
        out.append("Not all calls were looked at: narrow the search by function or below.")
    rows = [{"call": row.call, "function": row.function, "state": row.state} for row in view.rows]
    return Reply("\n".join(out), {"total": view.total, "calls": rows[:20]})


def call_reply(view: CallView, source: SourceView | None) -> Reply:
    """One call whole."""
    where = "" if view.place is None else f" at {view.place.shown}"
    out = [f"call {view.call}: {view.function.name}{where} ({view.state})"]
    out += [f"  documented as: {view.documentation}"] if view.documentation else []
    out += [view.text] if view.text else []
    for argument in view.arguments:
        out += _value_lines(f"{argument.value.path} = ", argument.value)
    for read in view.reads:
        out += _value_lines(f"read {read.name} = ", read.value)
    outcome = view.outcome
    for value in outcome.yielded:
        out += _value_lines("yielded ", value)
    if outcome.value is not None:
        out += _value_lines(f"{outcome.kind} ", outcome.value)
    elif not view.text:
        out.append(f"  {outcome.kind}")
    if outcome.place is not None:
        by = f" by {outcome.raised_by}" if outcome.raised_by else ""
        out.append(f"  raised at {outcome.place.shown}{by}")
    out += [f"  {change.text}" for change in view.changes]
    out += [f"  printed: {line}" for line in view.printed.lines]
    if view.called_as:
        out.append(f"  called as {view.called_as}")
    if view.callers:
        out += ["called by:", *(row_line(row) for row in view.callers[:3])]
    if view.callees:
        out += ["it called:", *(row_line(row) for row in view.callees)]
        if view.more_callees:
            out.append(f"… search(callees_of={view.call}) has {view.more_callees} more")
    out += _source_lines(source)
    data = {
        "call": view.call, "function": view.function.qualname, "state": view.state,
        "equation": cut(view.equation, 300), "callees": [row.call for row in view.callees],
    }  # fmt: skip
    return Reply("\n".join(out), data)


def _value_lines(before: str, value: ValueView, indent: str = "  ") -> list[str]:
    """A value, and its parts where the line does not say all."""
    out = [f"{indent}{before}{cut(value.text, 300)}"]
    if len(value.text) > 200 or "…" in value.text:
        for part in value.parts:
            out.append(f"{indent}  {part.value.path} = {cut(part.value.text, 200)}")
        hidden = value.more + value.omitted
        out += [f"{indent}  … {hidden} more ({value.omitted} not recorded)"] if hidden else []
    return out


def value_reply(view: ValueView) -> Reply:
    """A part of a value, unfolded."""
    out = [f"{view.path} = {cut(view.text, 2_000)}"]
    out += [f"  {part.value.path} = {cut(part.value.text, 400)}" for part in view.parts]
    if view.more or view.omitted:
        out.append(f"  … {view.more} more parts, {view.omitted} were not recorded")
    return Reply("\n".join(out), {"path": view.path, "kind": view.kind, "size": view.size})


def why_reply(view: WhyView, session: str) -> Reply:
    """The origin of a part of a value."""
    out = [f"{view.path} = {cut(view.value.text, 300)}, in call {view.call}"]
    data: dict[str, object] = {"call": view.call, "path": view.path}
    if view.origin is not None:
        out.append(f"was made {_origin(view.origin)}")
        origin = view.origin.call
        data["origin"] = {
            "call": None if origin is None else origin.call,
            "expression": cut(view.origin.expression, 200),
            "file": None if view.origin.place is None else view.origin.place.file,
            "line": None if view.origin.place is None else view.origin.place.line,
        }
        out += [f"from what was made {_origin(source)}" for source in view.made_of]
        if view.through:
            out += ["and passed through:", *(row_line(row) for row in view.through)]
    elif view.candidates:
        out += ["was made in one of these places:"]
        out += [f"  {_origin(candidate)}" for candidate in view.candidates]
    elif view.needs_run:
        out.append(
            "Its origin is known only if the program runs again, which may have effects: "
            f'why(session="{session}", call={view.call}, path="{view.path}", run=true)'
        )
    else:
        out.append(f"Its origin is unknown: {view.unknown}.")
    if view.influenced_by is not None:
        out.append(f"{view.influenced_by} calls could have influenced it.")
    return Reply("\n".join(out), data)


def _origin(view: OriginView) -> str:
    place = "" if view.place is None else f" at {view.place.shown}"
    made = f" as {view.expression}" if view.expression else ""
    source = f"\n    {view.source}" if view.source else ""
    call = "" if view.call is None else f" in call {view.call.call}, {cut(view.call.equation, 200)}"
    return f"{place}{made}{call}{source}".strip()


def job_reply(view: JobView) -> Reply:
    """How far a recording is."""
    data: dict[str, object] = {"job": view.job, "state": view.state, "seconds": view.seconds}
    out = [f"{view.job}: {view.state} after {view.seconds} s"]
    if view.state == "running":
        out.append(
            f'record(job="{view.job}") waits on; record(job="{view.job}", stop=true) ends it'
        )
    if view.recording:
        data["recording"] = view.recording
        names: Sequence[str] = view.recordings
        out += [f"recording: {name}" for name in names[:10]]
        out.append(f'find(recording="{view.recording}") searches for the fault')
    if view.problem:
        out.append(view.problem)
    if view.output:
        out += ["It printed (the end):", cut_start(view.output, 1_500)]
    if view.exit_code is not None:
        data["exit_code"] = view.exit_code
    return Reply("\n".join(out), data)


def cut_start(text: str, most: int) -> str:
    """The end of a text."""
    return text if len(text) <= most else "…" + text[1 - most :]
