"""`whence zoom RECORDING CALL`: find the statement at fault inside one call.

The command itself is the permission to run the program again, and says that the call is wrong.
"""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path

from whence.app import diagnosing
from whence.app.foreign_recordings import require_trust
from whence.app.frontends import open_any
from whence.app.progress import ProgressDisplay
from whence.cli import session_options
from whence.cli.why import find_call
from whence.errors import UsageError
from whence.model.replay_settings import ReplaySettings
from whence.ports import Opened, Zooming


def configure(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The subcommand's options."""
    command = commands.add_parser(
        "zoom",
        help="find the statement at fault in a recorded call",
        description="Continues the search inside a wrong call: asks about its statements, loop "
        "rounds and branches, each with the variables before and after it, until one statement "
        "is left (docs/zoom.md). For this the program runs again, with all its effects, up to "
        "the end of the call. `zoom` at a diagnosis does the same. Exit codes are those of "
        "`whence debug`.",
    )
    command.add_argument("recording", type=Path, metavar="RECORDING", help="a recording")
    command.add_argument(
        "call", metavar="CALL", help="the number of a call, or a function for its last call"
    )
    session_options.add_options(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the program up to the end of the call, then hold the session."""
    session_options.check(options)
    if options.rerun is False:
        raise UsageError("zoom runs the program again, and --no-rerun forbids that")
    opened = open_any(options.recording)
    if opened.trust is not None:
        require_trust(opened.trust, options.recording, allowed=options.trust_recording)
    node = find_call(opened.tree, options.call)
    reruns, request = opened.reruns, session_options.read(options)
    if not isinstance(reruns, Zooming) or opened.replay is None:
        raise UsageError(
            f"{options.recording}: zoom works only for calls of recorded Python programs"
        )
    opened.replay.configure(ReplaySettings(request.replay))
    with closing(opened.replay), ProgressDisplay()("running it again"):
        steps, provenance = reruns.zoom(node)
    inside = Opened(
        steps, provenance, folder=opened.folder, began=opened.began, syntax=opened.syntax
    )
    return diagnosing.diagnose(
        request, inside, options.recording, top_is_wrong=True, is_zoom=True, about=f"call {node}"
    )
