"""`whence answers`: what is remembered for the project, and forgetting some of it."""

from __future__ import annotations

import argparse
from itertools import groupby
from pathlib import Path

from whence.app.oracle_gathering import answer_file
from whence.errors import UsageError
from whence.oracle.remembered import StoredAnswer
from whence.store.answer_writer import now

_ID = 8
FORGET = "forget"


def configure(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The subcommand's options."""
    command = commands.add_parser(
        "answers",
        help="list the answers that are remembered for the project, or forget some",
        description="Lists what persons said of calls and what is remembered of it in "
        ".whence/answers.jsonl, with the short name of each answer. `whence answers forget WHAT` "
        "takes answers back: by their short names, or all about a function by its name. A line is "
        "added to the file that says so; nothing is rewritten (docs/oracles.md).",
    )
    command.add_argument("words", nargs="*", metavar="forget WHAT", help="which answers to forget")
    command.add_argument(
        "--file", type=Path, metavar="FILE", help="the file (default: that of the project)"
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print them, or take some back."""
    file = answer_file(options.file, print)
    if not options.words:
        lines = listing(file.all())
        print("\n".join(lines) if lines else "Nothing is remembered here yet.")
        return 0
    first, *names = options.words
    if first != FORGET or not names:
        raise UsageError("say what to forget, as in: whence answers forget 1a2b3c4d")
    selected = _select(file.all(), names)
    file.withdraw(selected, now())
    for answer in selected:
        print(f"forgotten: {_line(answer)}")
    return 0


def listing(statements: list[StoredAnswer]) -> list[str]:
    """All answers by function; contradictory ones are marked."""
    lines: list[str] = []
    for function, group in groupby(statements, key=lambda answer: answer.equation.function):
        answers = list(group)
        lines.append(f"{function}:")
        verdicts: dict[str, set[object]] = {}
        for answer in answers:
            verdicts.setdefault(answer.equation.digest, set()).add(answer.verdict)
        for answer in answers:
            disagreed = len(verdicts[answer.equation.digest]) > 1
            lines.append(f"  {_line(answer)}{'  (contradicted)' if disagreed else ''}")
    return lines


def _line(said: StoredAnswer) -> str:
    verdict = said.verdict.value if said.verdict else ""
    part = f"{said.mark} = " if said.mark else ""
    expected = f", should be {part}{said.expected}" if said.expected is not None else ""
    marked = f" at {said.mark}" if said.mark and said.expected is None else ""
    return (
        f"{said.equation.digest[:_ID]}  {said.equation.text} is {verdict}{marked}{expected}"
        f"  ({said.by}, {said.date[:10]})"
    )


def _select(answers: list[StoredAnswer], names: list[str]) -> list[StoredAnswer]:
    selected: list[StoredAnswer] = []
    for name in names:
        by_function = [answer for answer in answers if answer.equation.function == name]
        matching = by_function or [
            answer for answer in answers if answer.equation.digest.startswith(name.lower())
        ]
        if not matching:
            raise UsageError(f"nothing that is remembered is named {name}; `whence answers` lists")
        if not by_function and len({answer.equation.digest for answer in matching}) > 1:
            raise UsageError(f"{name} may be several answers: write more of the name")
        selected += [answer for answer in matching if answer not in selected]
    return selected
