"""`whence answer SESSION WHAT …`: one step of a session, then what it needs next."""

from __future__ import annotations

import argparse
from typing import Any

from whence.app.session_client import Client, client
from whence.cli.next import add_session, opened, show
from whence.errors import UsageError
from whence.model.verdict import PERSON, Verdict

_VERDICTS = {verdict.value: verdict.value for verdict in Verdict}
_LETTERS = {"y": "right", "n": "wrong", "i": "inadmissible", "?": "unknown"}


def configure(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The subcommand's options."""
    command = commands.add_parser(
        "answer",
        usage="whence answer [OPTIONS] SESSION WHAT …",
        help="answer the question of a session, and print the next one",
        description="Answers the question that `whence next` printed: right, wrong, inadmissible "
        "or unknown (y, n, i, ?), perhaps with the part that is wrong and `= EXPECTED`, or with "
        "--call about another call. Also: undo, redo, keep earlier, keep later, trust [NAME], "
        "reject, symptom WHAT, operand NUMBER …, test [FILE].",
    )
    add_session(command)
    command.add_argument("what", nargs="+", metavar="WHAT", help="the answer")
    command.add_argument(
        "--call", type=int, action="append", default=[], metavar="N",
        help="the call that the answer is about (default: the one that is asked about; may be "
        "repeated)",
    )  # fmt: skip
    command.add_argument(
        "--by", default=PERSON, metavar="WHO",
        help="who answers: person, agent, or agent with a name (default: person)",
    )  # fmt: skip
    command.add_argument("--reason", default="", metavar="TEXT", help="why, for the log")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Make the step and print what is needed next."""
    with client(options.socket) as server:
        session = opened(server.ask, options.session)["session"]
        if options.what[0] == "test":
            return _test(server, session, options.what[1:])
        view = _step(server, session, options)
    return show(view, options.format)


def _step(server: Client, session: str, options: argparse.Namespace) -> dict[str, Any]:
    word, *rest = options.what
    if word in _LETTERS or word in _VERDICTS:
        part, expected = _part(rest)
        return server.ask(
            "answer", session=session, verdict=_LETTERS.get(word, word), calls=options.call,
            part=part, expected=expected, by=options.by, reason=options.reason,
        )  # fmt: skip
    if word in ("undo", "redo", "reject", "rest") and not rest:
        return server.ask(word, session=session)
    if word == "keep" and len(rest) == 1:
        return server.ask("keep", session=session, which=rest[0])
    if word in ("trust", "distrust") and len(rest) <= 2:
        scope = rest[0] if rest[:1] and rest[0] in ("function", "module", "file") else ""
        name = rest[-1] if len(rest) > bool(scope) else ""
        return server.ask(
            "trust", session=session, name=name, scope=scope or "function",
            withdraw=word == "distrust",
        )  # fmt: skip
    if word == "symptom":
        return server.ask("wrong", session=session, what=" ".join(rest))
    if word == "operand":
        numbers = [] if rest == ["none"] else [_number(text) for text in rest]
        return server.ask("wrong", session=session, operands=numbers)
    raise UsageError(
        f"{' '.join(options.what)}: is no answer; it is right, wrong [PART] [= EXPECTED], "
        "inadmissible [PART], unknown, undo, redo, keep earlier, keep later, trust [NAME], reject, "
        "symptom WHAT, operand NUMBER …, or test [FILE]"
    )


def _part(words: list[str]) -> tuple[str, str]:
    """The part that is marked, and what should have been there."""
    text = " ".join(words)
    if text.startswith("= "):
        return "", text[2:].strip()
    part, equals, expected = text.partition(" = ")
    return part.strip(), expected.strip() if equals else ""


def _number(text: str) -> int:
    if not text.isdecimal():
        raise UsageError(f"{text}: an operand is named by its number, from 0")
    return int(text)


def _test(server: Client, session: str, words: list[str]) -> int:
    test = server.ask("test", session=session, path=" ".join(words), write=bool(words))
    if words:
        print(f"Written to {test['path']}; it fails until the fault is fixed.")
    else:
        print(test["text"], end="")
    return 0
