"""The manual of the command line, made from the parsers, so that it cannot lag behind them.

    python -m whence.cli.manual > docs/command-line.md

Written from the options themselves and not from `--help`, whose layout changes with Python.
"""

from __future__ import annotations

import argparse

from whence.cli.main import parser


def manual() -> str:
    """Every command with its options, as Markdown."""
    whole = parser()
    out = [
        "# The command line",
        "",
        "<!-- Written by `python -m whence.cli.manual > docs/command-line.md`. -->",
        "",
        f"{whole.description}",
        "",
        "Exit codes: 0 the fault was found, or the command succeeded; 1 the fault was not "
        "found; 2 wrong usage or unreadable input; 128 plus the number of the signal that "
        "ended whence. The reason is on standard error.",
    ]
    for name, command in _commands(whole).items():
        out += ["", f"## `whence {name}`", "", f"{command.description}"]
        for title, actions in _groups(command):
            out += ["", f"| {title} | |", "|---|---|"]
            out += [f"| `{_spelling(action)}` | {_help(action)} |" for action in actions]
    return "\n".join(out) + "\n"


def _commands(whole: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    commands = next(a for a in whole._actions if isinstance(a, argparse._SubParsersAction))
    return dict(commands.choices)


def _groups(command: argparse.ArgumentParser) -> list[tuple[str, list[argparse.Action]]]:
    groups = []
    for group in command._action_groups:
        actions = [
            a
            for a in group._group_actions
            if not isinstance(a, argparse._HelpAction) and a.help != argparse.SUPPRESS
        ]
        if actions:
            groups.append((group.title or "", actions))
    return groups


def _spelling(action: argparse.Action) -> str:
    value = "" if action.nargs == 0 else f" {action.metavar or '|'.join(action.choices or ())}"
    spelt = ", ".join(action.option_strings) + value if action.option_strings else value
    return spelt.strip().replace("|", "\\|")


def _help(action: argparse.Action) -> str:
    return (action.help or "").replace("|", "\\|")


if __name__ == "__main__":
    print(manual(), end="")
