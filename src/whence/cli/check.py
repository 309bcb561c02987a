"""`whence check [FILE]`: runs the recorded command again after a fix, and compares it with the
answers: is the symptom gone, and how do the judged calls behave now.

Calls of both runs are compared by function and inputs (`EquationDigests`). The new run records
whole values, so a call that is missing there was not made.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from whence.app.foreign_recordings import require_trust
from whence.app.oracle_gathering import answer_file, project_folder
from whence.cli.session_options import add_trust
from whence.errors import UsageError, WhenceError
from whence.langs.python import recordings
from whence.langs.python.debuggee.order import Order
from whence.langs.python.debuggee.run_as_python import Target
from whence.langs.python.launching.first_run import (
    FirstRun,
    keep_environment,
    kept_environment,
    run_first,
)
from whence.langs.python.record.children import children_of
from whence.langs.python.record.recording import usual_settings
from whence.langs.python.record.user_code import UserCodeRules
from whence.langs.python.recording_signature import key_folder, sign
from whence.langs.python.recording_trust import PythonRecordingTrust
from whence.langs.python.replay.rerun_process import secret_names
from whence.langs.python.symptoms.run_symptom import summarize_run
from whence.langs.python.trace.equation_digest import EquationDigests, NoEquationDigest
from whence.langs.python.trace.trace_pages import TraceHeader
from whence.langs.python.trace.trace_reader import open_trace, recording_summary
from whence.model.call import Call, find_mark
from whence.model.symptom import Symptom, SymptomKind
from whence.model.value import FULL, Limits, show
from whence.model.verdict import Verdict
from whence.oracle.remembered import StoredAnswer
from whence.store.answer_file import AnswerFile
from whence.tree.column_tree import ColumnTree
from whence.tree.readable_call import readable_call

LAST = "last"
_MOST_CALLS = 200_000
_TEXT = Limits(depth=4, parts=12, characters=200)


def configure(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The subcommand's options."""
    command = commands.add_parser(
        "check",
        help="after a fix: run the recorded program again and see whether the fault is gone",
        description="Runs the command of a recording again, with the same input and "
        "environment, and records it. Says whether the symptom is gone, and what became of the "
        "calls that were judged before (.whence/answers.jsonl): which still return what was "
        "called wrong, which return the expected value or another one, and which are no longer "
        "made. The program's output is not shown. Exit codes: 0 the symptom is gone and no "
        "call is still wrong, 1 otherwise, 2 the program did not run.",
    )
    command.add_argument(
        "recording", nargs="?", default=LAST, metavar="FILE",
        help="the recording (default: last, the project's newest one that has a symptom)",
    )  # fmt: skip
    command.add_argument(
        "--time-limit", metavar="SECONDS", type=float, help="stop the program after this time"
    )
    add_trust(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command again, and print whether the symptom and the wrong calls are gone."""
    path = _recording(options.recording)
    before = open_trace(path)
    summary = recording_summary(before)
    if summary is None or not summary.header.command:
        raise WhenceError(f"{path} does not say which command it was: it cannot be run again")
    header = summary.header
    trust = PythonRecordingTrust(path, header)
    require_trust(trust, path, allowed=options.trust_recording)
    place = (project_folder(path) or recordings.folder()).absolute()
    file = answer_file(place / "answers.jsonl", print)
    # Read before the re-run, which takes longer.
    runs = [_Run(before, place.parent)]
    again = _run_again(path.absolute(), header, options.time_limit)
    runs.append(_Run(open_trace(again), place.parent))
    print(f"Ran again: {shlex.join(header.command)}")
    symptom = recordings.read_symptom(path)
    gone, words = symptom_now(symptom, before, runs[1].tree)
    print(words)
    left = _print_calls(file, *runs)
    if symptom is not None and not gone:
        recordings.write_symptom(again, replace(symptom, by_person=False))
    if gone and not left:
        print("Nothing that was called wrong occurs now.")
        return 0
    print(f"`whence debug {shlex.quote(os.path.relpath(again))}` continues from here.")
    return 1


def _recording(name: str) -> Path:
    if name != LAST:
        return Path(name)
    paths = recordings.recordings()
    if not paths:
        raise UsageError("there is no recording in this project; name one: whence check FILE")
    # Later runs in which nothing was wrong are not what the user means.
    wrong = [path for path in paths if recordings.read_symptom(path) is not None]
    return (wrong or paths)[-1]


# --- running it again ----------------------------------------------------------------------------


def _run_again(path: Path, header: TraceHeader, time_limit: float | None) -> Path:
    again = recordings.new_recording(path.stem.rpartition("-")[0] or path.stem, path.parent)
    with _as_then(path, header):
        run = FirstRun(
            _order(header, str(again)),
            time_limit=time_limit,
            stdout=os.open(os.devnull, os.O_WRONLY),
        )
        ran = run_first(run)
        if again.exists() and again.stat().st_size:
            keep_environment(again, run.order.settings.options)
            sign(again, key_folder())
    os.close(run.stdout or 0)
    if not again.exists() or not again.stat().st_size:
        recordings.remove(again)
        raise WhenceError(f"the program could not be run again (status {ran.status})")
    return again


def _order(header: TraceHeader, output: str) -> Order:
    """Run the recorded program with the same user code, and record whole values."""
    rules = UserCodeRules.from_header(header.options)
    settings = usual_settings(
        output,
        rules=rules,
        whole_values=True,
        keep_secrets=header.options.get("keep_secrets") is True,
        secret_names=secret_names(header.options),
    )
    settings = replace(settings, children=children_of(header.options))
    return Order(Target.from_words(header.words), settings)


@contextlib.contextmanager
def _as_then(path: Path, header: TraceHeader) -> Iterator[None]:
    """In the folder, with the environment and the input that the program had, as far as known."""
    environment = kept_environment(path)
    stdin = recordings.beside(path, "stdin")
    old_environment, old_input = dict(os.environ), os.dup(0)
    try:
        source = os.open(stdin if stdin.exists() else os.devnull, os.O_RDONLY)
        os.dup2(source, 0)
        os.close(source)
        if environment is not None:
            _set_environment(environment)
        with contextlib.chdir(header.cwd or "."):
            yield
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise WhenceError(f"{path}: cannot be run as it was ({reason})") from problem
    finally:
        os.dup2(old_input, 0)
        os.close(old_input)
        _set_environment(old_environment)


def _set_environment(wanted: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(wanted)


# --- the symptom ---------------------------------------------------------------------------------


def symptom_now(symptom: Symptom | None, old: ColumnTree, new: ColumnTree) -> tuple[bool, str]:
    """Whether what was wrong is gone, and that in words."""
    before, after = summarize_run(old), summarize_run(new)
    if symptom is None:
        if before.failed:
            return not after.failed, _ended(before.ending, after.ending, not after.failed)
        return not after.failed, f"{after.ending} (What was wrong is not kept with the recording.)"
    if symptom.kind is SymptomKind.OUTPUT:
        return _output(symptom.line, before.lines, after.lines)
    if symptom.kind in (SymptomKind.RESULT, SymptomKind.EXPRESSION):
        part = symptom.expression or "result"
        then, now = (
            _shown(readable_call(tree, run.top)[0], part)
            for tree, run in ((old, before), (new, after))
        )
        return then != now, f"What was wrong, {part}, was {then} and {_is_now(then, now)}."
    return not after.failed, _ended(before.ending, after.ending, not after.failed)


def _ended(before: str, after: str, gone: bool) -> str:
    if gone:
        return f"It was wrong that: {before} That is gone: {after}"
    return f"It is still wrong: {after}"


def _output(line: int | None, old: tuple[str, ...], new: tuple[str, ...]) -> tuple[bool, str]:
    if line is None:
        same = old == new
        return not same, f"What it prints is {'still the same' if same else 'not the same now'}."
    then = old[line - 1] if line <= len(old) else ""
    now = new[line - 1] if line <= len(new) else "not there"
    return then != now, f"Line {line} of the output was {then!r} and {_is_now(then, now, repr)}."


def _is_now(then: str, now: str, shown: Callable[[str], str] = str) -> str:
    return "is still the same" if then == now else f"is now {shown(now)}"


# --- the calls that were judged ------------------------------------------------------------------


@dataclass
class _Run:
    """The calls of one recording, by their stable digests."""

    tree: ColumnTree
    project: Path
    by_inputs: dict[str, dict[str, int]] = field(default_factory=dict)
    """By the digest of inputs: for each digest of an equation, the position of one such call."""
    incomplete: bool = False

    def look_for(self, functions: set[str]) -> None:
        """Find the calls of some functions."""
        equations = EquationDigests(self.tree, self.project)
        columns = self.tree.columns
        last_names = {name.rpartition(".")[2] for name in functions}
        numbers = [
            number
            for number, function in enumerate(self.tree.functions)
            if function.qualname.rpartition(".")[2] in last_names
        ]
        positions = np.flatnonzero(np.isin(columns.function, numbers))
        _, first = np.unique(columns.equation[positions], return_index=True)
        distinct = positions[first]
        self.incomplete = len(distinct) > _MOST_CALLS
        for position in distinct[:_MOST_CALLS].tolist():
            with contextlib.suppress(NoEquationDigest, WhenceError):
                _, digest, inputs = equations.of(position)
                self.by_inputs.setdefault(inputs, {})[digest] = position


def _print_calls(file: AnswerFile, before: _Run, after: _Run) -> int:
    """Print how the judged calls behave now; returns how many are still wrong."""
    answers = list({answer.equation.digest: answer for answer in file.all()}.values())
    names = {answer.equation.function for answer in answers}
    before.look_for(names)
    after.look_for(names)
    left = 0
    for answer in answers:
        change, is_left = became_of(answer, before, after)
        left += is_left
        if change:
            print(f"  {answer.equation.text} was {_was(answer)}: {change}")
    if after.incomplete:
        print(f"  (Only {_MOST_CALLS:,} calls were looked at.)")
    return left


def became_of(said: StoredAnswer, before: _Run, after: _Run) -> tuple[str, bool]:
    """How a judged call behaves now, and whether it is still wrong; "" if it is right, or belongs
    to another program."""
    then, now = (
        before.by_inputs.get(said.equation.inputs),
        after.by_inputs.get(said.equation.inputs),
    )
    if now is None:
        gone = "" if then is None or said.verdict is Verdict.RIGHT else "it is no longer made"
        return gone, False
    if said.verdict is Verdict.INADMISSIBLE:
        return "it is still made", True
    if said.equation.digest in now:
        return ("", False) if said.verdict is Verdict.RIGHT else ("it still does that", True)
    position = next(iter(now.values()))
    call, _ = readable_call(after.tree, position)
    gives = f"now {call.right(_TEXT)}"
    if said.expected is None:
        return gives, False
    wanted, is_literal = _literal(said.expected)
    if _shown(call, said.mark or "result") == wanted:
        return f"{gives}, as expected", False
    if is_literal:
        return f"{gives}, but {_expected(said)} was expected", True
    return f"{gives}; what was expected: {_expected(said)}", False


def _was(said: StoredAnswer) -> str:
    return {Verdict.WRONG: "wrong", Verdict.RIGHT: "right"}.get(
        said.verdict or Verdict.UNKNOWN, "called with what it should never get"
    )


def _expected(said: StoredAnswer) -> str:
    return f"{said.mark} = {said.expected}" if said.mark else f"{said.expected}"


def _literal(text: str) -> tuple[str, bool]:
    """A literal as values are written, and whether it is one."""
    with contextlib.suppress(ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return repr(ast.literal_eval(text)), True
    return text, False


def _shown(call: Call, part: str) -> str:
    try:
        return show(find_mark(call, part, input_side=False).value, FULL)
    except UsageError:
        return "not there"
