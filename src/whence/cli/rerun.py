"""`whence rerun [RECORDING]`: run a recorded program again, and say whether it does the same."""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path

from whence.app.foreign_recordings import require_trust
from whence.app.frontends import named_or_last
from whence.cli.session_options import add_trust
from whence.errors import UsageError
from whence.langs.python.recording_trust import PythonRecordingTrust
from whence.langs.python.replay.determinism_check import DeterminismReport, check
from whence.langs.python.replay.rerun_process import TIME_LIMIT, header_of, journal_beside
from whence.langs.python.trace.joined_processes import main_process
from whence.langs.python.trace.trace_reader import open_trace

_WIDTH = 100


def configure(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The subcommand's options."""
    command = commands.add_parser(
        "rerun",
        help="run a recorded program again and say whether it does the same",
        description="Runs the program of a recording again, from its start, and compares all "
        "calls. With a journal (`--journal` of `whence run` and `whence record`) it receives "
        "the same answers from the outside world and changes nothing (docs/running-again.md). "
        "Exit codes: 0 all calls are the same, 1 they differ or the recording is incomplete, 2 "
        "the program did not run.",
    )
    command.add_argument(
        "recording", type=Path, metavar="RECORDING", nargs="?",
        help="what to run again (default: the last recording)",
    )  # fmt: skip
    command.add_argument(
        "--live", action="store_true",
        help="run the program even without a journal: it repeats its effects on files and on "
        "other programs",
    )  # fmt: skip
    command.add_argument(
        "--time-limit", metavar="SECONDS", type=float, default=TIME_LIMIT,
        help=f"stop the program after this time (default: {TIME_LIMIT:g})",
    )  # fmt: skip
    add_trust(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run it again and compare."""
    path = named_or_last(options.recording)
    tree = main_process(open_trace(path))
    trust = PythonRecordingTrust(path, header_of(tree))
    require_trust(trust, path, allowed=options.trust_recording)
    if journal_beside(path, header_of(tree)) is None and not options.live:
        raise UsageError(
            f"{path}: was recorded without a journal, so a re-run would repeat its effects on "
            "files and on other programs; record it with --journal, or allow that with --live"
        )
    checked = check(path, tree, options.time_limit)
    for line in _lines(path, checked):
        print(line)
    return 0 if checked.divergence is None and checked.ended else 1


def _lines(path: Path, checked: DeterminismReport) -> list[str]:
    calls = f"{checked.calls:,} calls are" if checked.calls != 1 else "1 call is"
    if checked.divergence is None:
        answers = f"{checked.played:,} answer{'s' * (checked.played != 1)}"
        played = f", with {answers} from the journal" if checked.played else ""
        matches = "the re-run matches the recording: " if checked.ended else ""
        text = f"{path}: {matches}{calls} the same{played}. {checked.unknown}"
        return textwrap.wrap(text, _WIDTH)
    divergence = checked.divergence
    where = f"{path}: the re-run diverges from the recording at call {divergence.call:,}."
    return [
        *textwrap.wrap(where, _WIDTH),
        *textwrap.wrap(f"  recorded: {divergence.recorded}", _WIDTH, subsequent_indent="    "),
        *textwrap.wrap(f"  now:      {divergence.again}", _WIDTH, subsequent_indent="    "),
        *textwrap.wrap(checked.cause, _WIDTH),
    ]
