"""What a symptom means in a recording: the calls that it says are wrong, and what it leads to.

These are the first answers of a session. A symptom of the run is one of its top call: the run
itself or the function that `whence call` called. If that is wrong, so are the calls on the way to
the origin that have no input, since nothing can be wrong with their input: the body of the script,
and a `main()` without arguments that reads no data.

A symptom that does not fit the recording is refused: an exception that was not raised, a line that
was not printed.
"""

from __future__ import annotations

import numpy as np

from whence.errors import UsageError
from whence.langs.python.trace.trace_provenance import TraceProvenance, program_of
from whence.model.call import PRINTED, RESULT, Call, Mark, OutcomeKind, find_mark
from whence.model.recording import RunSummary
from whence.model.symptom import SYMPTOM, Symptom, SymptomKind
from whence.model.value import BRIEF, Kind, Value, show
from whence.model.verdict import Answer, Verdict
from whence.ports import Tree
from whence.tree.column_tree import ColumnTree
from whence.tree.cycles import describe_cycle, find_cycle
from whence.tree.readable_call import readable_call

CALLED = "--call"
"""The first word of the command of a recording that `whence call` made."""
_MODULE = "<module>"
_CODE = ("<function ", "<class ", "<module ", "<built-in ", "<bound method ", "<method ")


def top_of(tree: Tree) -> int:
    """The position of the call that represents the whole run."""
    program = program_of(tree)
    if program is None or program.file.header.command[:1] != (CALLED,):
        return 0
    for position in _callees(tree, 0):
        # The modules that had to be imported come before it.
        if not _is_body(tree, position):
            return position
    return 0


def summarize_run(tree: Tree) -> RunSummary:
    """Summarize a recorded run."""
    program, top = program_of(tree), top_of(tree)
    call, _ = readable_call(tree, top)
    lines = () if program is None else tuple(line.text for line in program.standard_output.lines)
    rest = "" if program is None else program.standard_output.rest
    if program is not None and not lines and not program.file.header.knows_effects:
        rest = "what it printed was not recorded"
    what = "test" if is_test(tree) else "program"
    name = call.left() if top else f"The {what}"
    value = call.outcome.value
    shown = "" if value is None else show(value)
    default: Symptom | None = Symptom(SymptomKind.RESULT)
    failed = True
    if call.outcome.kind is OutcomeKind.NOT_TERMINATED:
        ending = f"{name} did not end: {shown}." if shown else f"{name} did not end."
        default = Symptom(SymptomKind.NOT_ENDED)
    elif call.outcome.kind is OutcomeKind.RAISED:
        ending, default = f"{name} raised {shown}.", Symptom(SymptomKind.EXCEPTION)
    elif top:
        ending, failed = f"{name} → {shown}", False
    elif shown in ("0", "None"):
        ending, default, failed = f"{name} ended.", None, False
    else:
        ending = f"{name} ended with exit status {shown}."
    if default is None and lines:
        default = Symptom(SymptomKind.OUTPUT, line=1 if len(lines) == 1 else None)
    cycle = find_cycle(tree) if call.outcome.kind is OutcomeKind.NOT_TERMINATED else None
    round_ = "" if cycle is None else describe_cycle(tree, cycle)
    return RunSummary(top, ending, default, lines, failed, rest, round_)


def is_test(tree: Tree) -> bool:
    """Whether it is the recording of one test, not of a whole program."""
    program = program_of(tree)
    return program is not None and bool(program.file.header.test)


# --- from a symptom to answers -------------------------------------------------------------------


def first_answers(tree: Tree, symptom: Symptom) -> tuple[Answer, ...]:
    """The answers that a symptom gives; `UsageError` if the recording does not show it."""
    top = _find_called(tree, symptom.function) if symptom.function else top_of(tree)
    call, problem = readable_call(tree, top)
    if problem:
        raise UsageError(problem)
    if symptom.expected and _raised_already(call, symptom.expected):
        raise UsageError(f"that is no difference: it {_outcome_text(call)}")
    mark = None if symptom.expected else _mark(call, symptom)
    chain = _chain(tree, top, call, mark)
    is_followed = symptom.kind in _FOLLOWED and not symptom.expression
    if is_followed and not _leads_somewhere(tree, top, chain):
        mark = None
    expected = symptom.expected or None
    answers = [Answer(tree.id(top), Verdict.WRONG, mark, SYMPTOM, expected)]
    if symptom.kind is SymptomKind.EXCEPTION and chain and not _is_body(tree, chain[-1]):
        chain = chain[:-1]  # raising it may be right
    if not chain:
        chain = _only_way(tree, top, symptom)
    program = program_of(tree)
    if program is not None and program.file.header.knows_effects:
        for position in chain:
            if position <= top or not _has_no_input(tree, position):
                break
            answers.append(Answer(tree.id(position), Verdict.WRONG, None, SYMPTOM))
    return tuple(answers)


def who_printed(tree: Tree, symptom: Symptom) -> str:
    """Which call wrote the line that is wrong, in a sentence; empty if the symptom is no line."""
    if symptom.kind is not SymptomKind.OUTPUT or symptom.line is None or symptom.function:
        return ""
    if program_of(tree) is None or not isinstance(tree, ColumnTree):
        return ""
    line = find_mark(tree.call(0), f"{PRINTED}[{symptom.line - 1}]", input_side=False)
    origin = TraceProvenance(tree).origin(tree.id(0), line)
    if origin.node is None:
        return f"Line {symptom.line} is not followed: {origin.unknown}."
    position = tree.position(origin.node)
    if _is_body(tree, position):
        return f"Line {symptom.line} was printed by the script itself."
    call, _ = readable_call(tree, position)
    return f"Line {symptom.line} was printed in call {origin.node}, {call.left(BRIEF)}."


_FOLLOWED = (SymptomKind.RESULT, SymptomKind.OUTPUT, SymptomKind.EXCEPTION)


def _leads_somewhere(tree: Tree, top: int, chain: list[int]) -> bool:
    """Whether the origin is worth a question: not if it is unknown, or most of the program."""
    weight = tree.columns.weight
    return bool(chain) and float(weight[chain[-1]]) <= float(weight[top]) / 2


def _raised_already(call: Call, expected: str) -> bool:
    value = call.outcome.value
    name = expected.rsplit(maxsplit=1)[-1].rpartition(".")[2]
    is_raised = call.outcome.kind is OutcomeKind.RAISED and value is not None
    return is_raised and value is not None and value.text.rpartition(".")[2] == name


def _mark(call: Call, symptom: Symptom) -> Mark | None:
    kind, outcome = symptom.kind, call.outcome
    if kind is SymptomKind.EXCEPTION:
        if outcome.kind is OutcomeKind.NOT_TERMINATED and outcome.value is not None:
            return None  # an exception may be how it was stopped
        if outcome.kind is not OutcomeKind.RAISED:
            left = "the program" if call.function.location is None else call.left()
            raise UsageError(f"no exception left {left}: it {_outcome_text(call)}")
        return Mark(RESULT) if outcome.value is not None else None
    if kind is SymptomKind.NOT_ENDED:
        if outcome.kind is not OutcomeKind.NOT_TERMINATED:
            raise UsageError(f"{call.left()} has ended: it {_outcome_text(call)}")
        return None
    if kind is SymptomKind.OUTPUT and symptom.line is not None:
        lines = len(call.output or call.printed.splitlines())
        if not 1 <= symptom.line <= lines:
            known_lines = f"{lines:,} {'line is' if lines == 1 else 'lines are'} known"
            raise UsageError(f"there is no line {symptom.line} of its output: {known_lines}")
        part = f"[{symptom.expression!r}]" if symptom.expression else ""
        return find_mark(call, f"{PRINTED}[{symptom.line - 1}]{part}", input_side=False).mark
    if kind is SymptomKind.EXPRESSION:
        return find_mark(call, symptom.expression, input_side=False).mark
    if kind is SymptomKind.RESULT:
        if outcome.kind is not OutcomeKind.RETURNED:
            raise UsageError(f"{call.left()} has no result: it {_outcome_text(call)}")
        return Mark(RESULT) if outcome.value is not None else None
    return None


def _outcome_text(call: Call) -> str:
    return call.right().replace("→", "returned", 1)


def _chain(tree: Tree, top: int, call: Call, mark: Mark | None) -> list[int]:
    """The positions of the calls from the top to the origin of what is wrong, the top left out."""
    if mark is None or program_of(tree) is None or not isinstance(tree, ColumnTree):
        return []
    part = find_mark(call, str(mark), input_side=False)
    origin = TraceProvenance(tree).origin(tree.id(top), part)
    return [tree.position(node) for node in reversed(origin.chain)]


def _only_way(tree: Tree, top: int, symptom: Symptom) -> list[int]:
    """The body of the script, if that is all that the run did."""
    if top != 0 or symptom.kind is SymptomKind.EXCEPTION:
        return []
    callees = _callees(tree, 0)
    return callees if len(callees) == 1 and _is_body(tree, callees[0]) else []


def _is_body(tree: Tree, position: int) -> bool:
    """Whether a call is the body of a module."""
    return tree.functions[int(tree.columns.function[position])].qualname == _MODULE


def _callees(tree: Tree, position: int) -> list[int]:
    columns = tree.columns
    area = slice(position + 1, int(columns.end[position]))
    callees: list[int] = (position + 1 + np.flatnonzero(columns.parent[area] == position)).tolist()
    return callees


def _find_called(tree: Tree, name: str) -> int:
    """The first call of a function, by its qualified name with or without its module."""
    for number, function in enumerate(tree.functions):
        if name in (function.name, function.qualname, f"{function.module}.{function.qualname}"):
            calls = np.flatnonzero(tree.columns.function == number)
            if len(calls):
                return int(calls[0])
    raise UsageError(f"no call of {name} was recorded")


def _has_no_input(tree: Tree, position: int) -> bool:
    call, problem = readable_call(tree, position)
    return not problem and not call.arguments and not any(_is_data(b.value) for b in call.reads)


def _is_data(value: Value) -> bool:
    """Whether a value is data, not a function, class or module."""
    return not (value.kind is Kind.ATOM and value.text.startswith(_CODE))
