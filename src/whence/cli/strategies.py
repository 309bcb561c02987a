"""`whence strategies`: what `--strategy` and the command `strategy` take."""

from __future__ import annotations

import argparse

from whence.search.registry import DEFAULT, DESCRIPTIONS


def configure(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The subcommand's options."""
    command = commands.add_parser(
        "strategies",
        help="list the search strategies",
        description="Lists the strategies that choose the next question.",
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print them, the default first."""
    width = max(map(len, DESCRIPTIONS))
    for name, words in DESCRIPTIONS.items():
        default = " (the default)" if name == DEFAULT else ""
        print(f"{name:{width}}  {words}{default}")
    return 0
