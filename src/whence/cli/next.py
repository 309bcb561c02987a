"""`whence next [SESSION]`: what a session needs now, without a dialogue.

The session is begun if there is none. It is held by the server that is running, or else by this
process, which goes on where its log ends.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from whence.app.session_client import client


def configure(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The subcommand's options."""
    command = commands.add_parser(
        "next",
        help="print the next question of a session",
        description="Prints what a session needs: a question, a decision, or its diagnosis. "
        "`whence answer` answers. SESSION is a recording, which begins a session or goes on with "
        "it, or the handle that was printed; without it, the project's last recording is meant. "
        "Exit codes: 0 something is needed or the fault was found, 1 it was not found.",
    )
    add_session(command)
    command.add_argument(
        "--wrong", metavar="WHAT", default="",
        help="what is wrong with the run, where the session begins with that (see `whence debug`)",
    )  # fmt: skip
    command.add_argument("--fresh", action="store_true", help="start a new session")
    command.set_defaults(run=run)


def add_session(command: argparse.ArgumentParser) -> None:
    """What all commands have that make one step of a session."""
    command.add_argument(
        "session", nargs="?", default="", metavar="SESSION", help="a recording, or a handle"
    )
    command.add_argument(
        "--format", choices=("text", "json"), default="text",
        help="the format of what is printed (default: text; json: docs/protocol.md)",
    )  # fmt: skip
    command.add_argument(
        "--socket", type=Path, metavar="PATH",
        help="the socket of the server that holds the session (default: see `whence serve`; "
        "without a server the session goes on in this process)",
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Open the session and print what it needs."""
    with client(options.socket) as server:
        view = opened(server.ask, options.session, wrong=options.wrong, fresh=options.fresh)
    return show(view, options.format)


def opened(ask: Any, session: str, **more: object) -> dict[str, Any]:
    """The view of a session that is named by its handle or by its recording."""
    path = Path(session).expanduser()
    if not session or path.is_file():
        recording = str(path.absolute()) if session else _latest()
        view: dict[str, Any] = ask("open", recording=recording, **more)
    elif any(more.values()):
        recording = ask("next", session=session)["recording"]
        view = ask("open", recording=recording, **more)
    else:
        view = ask("next", session=session)
    return view


def _latest() -> str:
    from whence.app.frontends import named_or_last

    return str(named_or_last(None).absolute())


def show(view: dict[str, Any], form: str) -> int:
    """Print a view; the exit code."""
    print(json.dumps(view, indent=1) if form == "json" else "\n".join(_text(view)))
    found = view["diagnosis"]
    return 0 if view["needs"] != "nothing" or (found and found["status"] == "found") else 1


def _text(view: dict[str, Any]) -> list[str]:
    out = [f"({note})" for note in view["notes"]]
    handle = view["session"]
    if view["question"]:
        question = view["question"]
        out += [question["text"], f"  {question['call']['asked']}", ""]
        out.append(
            f"whence answer {handle} right | wrong [PART] [= EXPECTED] | inadmissible [PART] | "
            "unknown"
        )
    elif view["contradiction"]:
        clash = view["contradiction"]
        out.append(f"These contradict each other ({clash['why']}):")
        out += [f"  earlier: {clash['earlier']}", f"  later:   {clash['later']}", ""]
        out.append(f"whence answer {handle} keep earlier | keep later | undo")
    elif view["symptom"]:
        out += _symptom(view["symptom"], handle)
    elif view["diagnosis"]:
        out += [view["diagnosis"]["text"], ""]
        out.append(f"whence answer {handle} reject | undo | test [FILE]")
    return out


def _symptom(symptom: dict[str, Any], handle: str) -> list[str]:
    out: list[str] = symptom["ending"].splitlines()
    if symptom["output"]:
        out.append("It printed:")
        out += [f"  {number:>3} | {line}" for number, line in enumerate(symptom["output"], 1)]
        out += [f"  … {symptom['more_output']} more lines"] if symptom["more_output"] else []
    if symptom["operands"]:
        out += [symptom["statement"], ""]
        for number, side in enumerate(symptom["operands"]):
            out.append(f"  {number}: {side['expression']} → {side['value']}")
        out.append(f"whence answer {handle} operand NUMBER … | operand none")
        return out
    default = f" (most likely: {symptom['default']})" if symptom["default"] else ""
    out += ["", f"What is wrong?{default} whence answer {handle} symptom WHAT"]
    return out
