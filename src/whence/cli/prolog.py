"""`whence prolog FILE GOAL`: run a Prolog goal and find out what is wrong with its answers."""

from __future__ import annotations

import argparse
import contextlib
import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from whence.app import diagnosing
from whence.cli import session_options
from whence.errors import UsageError
from whence.langs.prolog.frontend import opened_goal
from whence.langs.prolog.goal_execution import LIMITS, SOLUTIONS, GoalExecution
from whence.langs.prolog.plunit import Test, Tests, find_tests, tree_of_failure
from whence.langs.prolog.port_events import RunLimits
from whence.langs.prolog.reference_program import ReferenceProgram, first_difference
from whence.langs.prolog.slice_picture import (
    GRAPHVIZ,
    SKIPPED,
    Picture,
    as_text,
    draw_slices,
    has_graphviz,
    write_svg,
)
from whence.langs.prolog.swipl_process import Engine, EngineProblem
from whence.langs.prolog.term_provenance import slices_of
from whence.model.symptom import SYMPTOM
from whence.model.verdict import Answer, Verdict
from whence.ports import Provenance
from whence.report.source import Sources, from_here
from whence.session.engine import apply, expansion
from whence.session.events import Answered, Event, Expand
from whence.session.reaction import EXPAND_LEVELS, hidden_origin
from whence.session.state import State
from whence.tree.column_tree import ColumnTree
from whence.ui.terminal import messages
from whence.ui.terminal.screen import Screen
from whence.user_folders import write_private_file

_SAY = "say --wrong N or --missing"


def configure(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The subcommand's options."""
    command = commands.add_parser(
        "prolog",
        help="find the fault in a Prolog program",
        description="Runs a goal in SWI-Prolog and lists its answers. If an answer is wrong or "
        "missing, or if the goal raised an error or did not end, whence asks about the calls "
        "that led to it until it can name the clause or the predicate at fault "
        "(docs/prolog.md).",
    )
    command.add_argument("file", type=Path, metavar="FILE", help="the program")
    command.add_argument("goal", metavar="GOAL", nargs="?", help="the goal, as one types it at ?-")
    symptom = command.add_argument_group("what is wrong").add_mutually_exclusive_group()
    symptom.add_argument(
        "--wrong", type=_number, metavar="N", help="the N-th answer should not be there"
    )
    symptom.add_argument("--missing", action="store_true", help="there should be more answers")
    symptom.add_argument(
        "--missing-answer", metavar="ATOM",
        help="this answer is missing: p(3), or X = 3",
    )  # fmt: skip
    symptom.add_argument(
        "--raised", action="store_true", help="the goal should not raise this error"
    )
    symptom.add_argument(
        "--endless", action="store_true", help="the goal should have ended before it was stopped"
    )
    symptom.add_argument(
        "--test", metavar="UNIT:NAME",
        help="debug the body of this plunit test, or of the first failing test of a unit, "
        "instead of a goal; the test says what is wrong",
    )  # fmt: skip
    command.add_argument(
        "--part", metavar="PART",
        help="the wrong part of the goal: part of a variable, X[2], or of an argument, 3[2]",
    )  # fmt: skip
    command.add_argument(
        "--tests", metavar="FILE", type=Path, action="append", default=[],
        help="a file with plunit tests of the program, besides those in the program (default: "
        "FILE.plt beside it)",
    )  # fmt: skip
    slices = command.add_argument_group("slices, instead of a session")
    slices.add_argument(
        "--slice", metavar="ARG",
        help="print the calls that an argument (2) or a variable (X) of the goal can depend "
        "on: the data-flow slice and the debug slice",
    )  # fmt: skip
    slices.add_argument(
        "--picture", metavar="FILE", type=Path,
        help="draw the calls and the slices to an SVG file (needs Graphviz; without it a text "
        "is written)",
    )  # fmt: skip
    limits = command.add_argument_group("the run")
    limits.add_argument(
        "--solutions", type=_number, metavar="N", default=SOLUTIONS,
        help=f"how many answers to look for (default: {SOLUTIONS})",
    )  # fmt: skip
    limits.add_argument(
        "--depth", type=_number, metavar="N", default=0,
        help="trace calls down to this depth only, and deeper ones when a question needs them",
    )  # fmt: skip
    limits.add_argument(
        "--max-events", type=_number, metavar="N", default=LIMITS.events,
        help=f"stop the goal after this many events (default: {LIMITS.events:,})",
    )  # fmt: skip
    limits.add_argument(
        "--max-depth", type=_number, metavar="N", default=LIMITS.depth,
        help=f"stop the goal at this depth of calls (default: {LIMITS.depth:,})",
    )  # fmt: skip
    limits.add_argument(
        "--max-seconds", type=_number, metavar="N", default=int(LIMITS.seconds),
        help=f"stop the goal after this many seconds (default: {LIMITS.seconds:g})",
    )  # fmt: skip
    session_options.add_options(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the goal, find out what is wrong with it, and hold the session."""
    if options.goal is not None:
        options.goal = options.goal.strip().removeprefix("?-").strip()
    if bool(options.goal) is (options.test is not None):
        raise UsageError("give a GOAL, or a plunit test of it with --test UNIT:NAME")
    quiet = options.format == "json" and options.output is None
    out = sys.stderr if quiet else sys.stdout
    out.flush()
    session_options.check(options)
    with contextlib.ExitStack() as opened:
        tests = find_tests(options.file, options.tests)
        if tests is not None:
            opened.callback(tests.close)
        test = None if options.test is None else _failing(tests, options)
        engine = opened.enter_context(Engine(stdin=_input_of_program(), stdout=_descriptor(out)))
        execution = _executed(options, engine, tests, test)
        opened.callback(execution.close)
        if test is not None:
            print(f"Test {test} ({from_here(test.file)}:{test.line}): {execution.goal}", file=out)
        print("\n".join([*_listed(execution), *_unseen(execution)]), file=out, flush=True)
        if options.slice is not None or options.picture is not None:
            return _slice(options, execution)
        path = options.reference
        reference = None if path is None else ReferenceProgram(Path(path))
        if reference is not None:
            opened.callback(reference.close)
        tree = _tree(options, execution, reference, test, out)
        if tree is None:
            return 1
        goal = opened_goal(execution, tree, tests, reference)
        return diagnosing.diagnose(
            session_options.read(options),
            goal,
            options.file,
            _marking(options, execution, tree, goal.provenance),
            top_is_wrong=True,
            about=tree.call(0).equation(),
        )


def _failing(tests: Tests | None, options: argparse.Namespace) -> Test:
    if tests is None:
        raise UsageError(f"{options.file} has no plunit tests; --tests FILE says where they are")
    return tests.failing(options.test)


def _executed(
    options: argparse.Namespace, engine: Engine, tests: Tests | None, test: Test | None
) -> GoalExecution:
    solutions = options.solutions
    preparation = None
    if test is not None and tests is not None:
        preparation = tests.preparation(test)
        solutions = max(solutions, test.number)
    return GoalExecution(
        engine,
        options.file,
        options.goal or "",
        solutions=solutions,
        limits=RunLimits(options.max_events, options.max_depth, options.max_seconds, options.depth),
        preparation=preparation,
    )


def _slice(options: argparse.Namespace, execution: GoalExecution) -> int:
    """Print the slices of an argument of the goal, and draw them."""
    if options.missing or not execution.answers:
        tree = execution.raising() if execution.raised is not None else execution.missing()
    else:
        tree = execution.wrong(options.wrong or 1)
    source, event = execution.source, execution.source.event(tree.id(0))
    provenance, path = execution.provenance(tree), None
    if options.slice is not None:
        path = provenance.path(event, execution.part(tree, options.slice))
    flow, debug = slices_of(source, event, path)
    picture = draw_slices(source, event, flow, debug or set())
    if options.slice is not None:
        print("\n".join(as_text(picture)))
    calls = len(execution.trace.calls)
    size = f"the debug slice {len(debug)}" if debug is not None else "the debug slice is too large"
    print(f"Of {calls} calls the data-flow slice has {len(flow)}, {size}.", flush=True)
    skipped = sum(call.is_skipped for call in execution.trace.calls)
    if skipped:
        print(f"Below --depth lies what {skipped} of them called ({SKIPPED.strip()}).", flush=True)
    if options.picture is not None:
        _draw(picture, options.picture)
    return 0


def _draw(picture: Picture, file: Path) -> None:
    if has_graphviz():
        write_svg(picture, file)
        print(f"The picture is in {file}.")
        return
    instead = file.with_suffix(".txt")
    write_private_file(instead, "\n".join(as_text(picture)) + "\n")
    print(f"Graphviz (dot) is not installed, so the calls are in {instead}: {GRAPHVIZ}")


def _input_of_program() -> int | None:
    """A terminal is shared with the program; a pipe holds our answers, not its input."""
    if sys.stdin is not None and sys.stdin.isatty():
        return None
    return subprocess.DEVNULL


def _descriptor(stream: TextIO) -> int | None:
    try:
        return stream.fileno()
    except (OSError, ValueError):
        return None


def _listed(execution: GoalExecution) -> list[str]:
    shown = [f"{number:4}  {text}" for number, text in enumerate(execution.answers, 1)]
    if execution.raised is not None:
        ending = f"raised {execution.raised}"
    elif execution.stopped is not None:
        ending = f"did not end within {execution.stopped}."
    else:
        ending = ""
    if ending:
        return ["Answers:", *shown, f"then it {ending}"] if shown else [f"It {ending}"]
    if not shown:
        return ["It has no answer."]
    return ["Answers:", *shown, "No more." if execution.has_all_answers else "There may be more."]


def _unseen(execution: GoalExecution) -> list[str]:
    """A warning about untraced code: a call may be blamed for its effects."""
    if not execution.run.unseen:
        return []
    what = " and ".join(execution.run.unseen)
    return [f"What {what} did was not traced; no call that contains it is blamed."]


def _tree(
    options: argparse.Namespace,
    execution: GoalExecution,
    reference: ReferenceProgram | None,
    test: Test | None,
    out: TextIO,
) -> ColumnTree | None:
    """The tree of what is wrong; None if nothing is."""

    def note(text: str) -> None:
        print(text, file=out, flush=True)

    if test is not None:
        tree, part = tree_of_failure(execution, test, note)
        options.part = options.part or part
        return tree
    if options.wrong is not None:
        return execution.wrong(options.wrong)
    if options.missing:
        return execution.missing()
    if options.missing_answer is not None:
        return execution.missed(options.missing_answer, note)
    if options.endless:
        return execution.endless()
    if reference is not None and not options.raised:
        difference = first_difference(execution, reference, note)
        if difference is None:
            note("The reference does the same: there is nothing to find.")
        return difference
    if options.raised or (execution.raised is not None and not execution.answers):
        return execution.raising()
    if not execution.answers:
        return execution.missing() if execution.stopped is None else execution.endless()
    if options.answers not in (None, "-"):
        raise UsageError(f"what is wrong with these answers? {_SAY}")
    return _chosen(options, execution, out, note)


def _marking(
    options: argparse.Namespace,
    execution: GoalExecution,
    tree: ColumnTree,
    provenance: Provenance | None,
) -> diagnosing.First | None:
    """Gives the first answer of the session, if a part of the goal was named as wrong."""
    if options.part is None:
        return None
    mark = execution.part(tree, options.part).mark
    answer = Answer(tree.id(0), Verdict.WRONG, mark, SYMPTOM)

    def first(screen: Screen) -> list[Event]:
        event = Answered((answer,))
        state = _looked_into(apply(State(tree, provenance), event))
        note, *more = messages.origin_lines(state, answer, Sources())
        screen.note(note)
        screen.say(*more)
        return [event]

    return first


def _looked_into(state: State) -> State:
    """The state with the calls in its tree that lead to where a marked part was made."""
    while (node := hidden_origin(state)) is not None:
        state = apply(state, expansion(state, Expand(node, EXPAND_LEVELS)))
    return state


def _chosen(
    options: argparse.Namespace,
    execution: GoalExecution,
    out: TextIO,
    note: Callable[[str], None],
) -> ColumnTree | None:
    """Ask until it is clear what is wrong; the part of an answer may be named with it: `1 X[2]`."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    last = ", m [ANSWER]: one is missing"
    if execution.raised is not None:
        last = ", e: the error"
    elif execution.stopped is not None:
        last = ", s: that it did not stop"
    while True:
        print(f"What is wrong? [the number of an answer{last}, q: nothing] ", end="", file=out)
        out.flush()
        line = sys.stdin.readline() if sys.stdin is not None else ""
        word = line.strip()
        if not (sys.stdin is not None and sys.stdin.isatty()):
            print(word, file=out, flush=True)
        if not line or word == "q":
            return None
        try:
            if word in ("m", "missing"):
                return execution.missing()
            first, _, rest = word.partition(" ")
            if first in ("m", "missing"):
                return execution.missed(rest.strip(), note)
            if word in ("s", "endless"):
                return execution.endless()
            if word in ("e", "error"):
                return execution.raising()
            number, _, part = word.partition(" ")
            if number.isdecimal():
                tree = execution.wrong(int(number))
                if part:
                    execution.part(tree, part)
                    options.part = part
                return tree
            note(f"{word!r} is none of these.")
        except (UsageError, EngineProblem) as problem:
            print(problem, file=out)


def _number(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive whole number")
    return int(text)
