"""`whence skill`: tells a coding agent when and how to use whence."""

from __future__ import annotations

import argparse
import sys
from importlib.resources import files

from whence.printable_text import raw


def configure(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The subcommand's options."""
    command = commands.add_parser(
        "skill",
        help="print a skill file for coding agents",
        description="Prints a page in Markdown that tells a coding agent when to use whence and "
        "how, through MCP or through the command line. Put it where your agent looks for skills, "
        "such as .claude/skills/whence/SKILL.md (docs/agents.md).",
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the page."""
    raw(sys.stdout).write(files("whence.ui").joinpath("skill.md").read_text(encoding="utf-8"))
    return 0
