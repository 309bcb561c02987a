"""`whence list`: the project's recordings, newest last."""

from __future__ import annotations

import argparse
import contextlib
import shlex
from pathlib import Path

from whence.cli.show import bytes_text, natural
from whence.errors import WhenceError
from whence.langs.python.frontend import PythonFrontend
from whence.langs.python.recordings import read_symptom, recordings, remove
from whence.model.call import OutcomeKind
from whence.model.value import cut
from whence.ports import Tree
from whence.report.source import from_here
from whence.store.session_log import default_path, put_aside
from whence.tree.readable_call import readable_call

_COMMAND = 60


def configure(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The subcommand's options."""
    command = commands.add_parser(
        "list",
        help="list the project's recordings",
        description="Lists the recordings in .whence/runs: the date, the number of calls and "
        "bytes, how the program ended, the symptom, whether it has a session, and the command. "
        "`whence debug` opens the last one.",
    )
    command.add_argument(
        "--prune", type=natural, metavar="N",
        help="remove all but the last N recordings, with their files",
    )  # fmt: skip
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print them, or remove some."""
    paths = recordings()
    if options.prune is not None:
        old = paths[: max(0, len(paths) - options.prune)]
        for path in old:
            remove(path)
            _put_session_aside(path)
        print(f"removed {len(old)}, kept {len(paths) - len(old)}")
        return 0
    if not paths:
        print("There are no recordings here: `whence run script.py` makes one.")
    for path in paths:
        for line in _lines(path):
            print(line)
    return 0


def _put_session_aside(recording: Path) -> None:
    """Rename the session of a recording that is gone: a new one may get the same name."""
    session = default_path(recording)
    # Another process may hold it; when it has ended, the log is seen to be older than a new run.
    with contextlib.suppress(WhenceError, OSError):
        if session.exists():
            put_aside(session)


def _lines(path: Path) -> list[str]:
    try:
        opened = PythonFrontend().open(path)
    except WhenceError as problem:
        return [str(problem)]
    tree, recording = opened.tree, opened.recording
    assert recording is not None, "a trace knows its recording"
    when = recording.started.replace("T", " ").partition("+")[0]
    facts = [f"{len(tree.columns) - 1:,} calls", bytes_text(recording.size), _ending(tree)]
    facts += _wrong(path)
    if default_path(path).exists():
        facts.append("session begun")
    command = cut(shlex.join(recording.command), _COMMAND)
    return [from_here(str(path)), f"  {when}  {command}", f"  {', '.join(facts)}"]


def _wrong(path: Path) -> list[str]:
    try:
        symptom = read_symptom(path)
    except WhenceError:
        return []
    if symptom is None:
        return []
    which = f" line {symptom.line}" if symptom.line is not None else ""
    return [f"wrong: {symptom.expression or symptom.kind.value}{which}"]


def _ending(tree: Tree) -> str:
    call, problem = readable_call(tree, 0)
    if problem:
        return "not readable"
    value = "" if call.outcome.value is None else call.outcome.value.text
    if call.outcome.kind is OutcomeKind.RAISED:
        return f"raised {value}"
    if call.outcome.kind is OutcomeKind.NOT_TERMINATED:
        return "did not end"
    return "ended" if value in ("0", "None") else f"exit status {value}"
