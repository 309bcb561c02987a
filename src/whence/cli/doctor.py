"""`whence doctor`: what whence finds here, and what keeps it from working better."""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import sys
from collections.abc import Iterator

import whence
from whence.errors import WhenceError
from whence.langs.python.record.backend_choice import (
    NATIVE,
    NOT_BUILT,
    Candidate,
    candidates,
    extension_obstacle,
)
from whence.langs.python.record.journal.journal_choice import obstacle as no_journal
from whence.langs.python.replay.checkpoint_pool import obstacle as no_checkpoints
from whence.tree import tree_index

_PYTHON = "whence.langs.python"
EXTENSIONS = {
    f"{_PYTHON}.record._recorder": "programs are recorded in Python, ten times slower",
    f"{_PYTHON}.record._identity": "there are no journals and no frozen calls",
    f"{_PYTHON}.record._confinement": "the kernel does not confine re-runs",
    f"{_PYTHON}.record.journal._interposition": "there are no journals and no checkpoints",
    f"{_PYTHON}.trace._scan": "recordings are opened slowly",
    f"{_PYTHON}.provenance._tagging": "marks are followed slowly",
}
"""The parts in C, and what is so without each. They are optional when whence is installed."""
_OPTIONAL = {
    "numpy": "whence cannot open trees without it",
    "rich": "the terminal is plain without it",
    "prompt_toolkit": "there is no line editing without it",
}


def configure(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The subcommand has no options."""
    command = commands.add_parser(
        "doctor",
        help="say what works here, and why something does not",
        description="Says which backends can record with this Python, why the others cannot, "
        "and what to do about it. The exit code is 1 if none can.",
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print all that was found."""
    every = candidates()
    for line in _lines(every):
        print(line)
    return 0 if any(candidate.can_be_used for candidate in every) else 1


def _lines(every: tuple[Candidate, ...]) -> Iterator[str]:
    yield f"whence {whence.__version__}"
    yield f"Python {platform.python_version()} ({platform.python_implementation()})"
    yield f"       {sys.executable}"
    yield f"       {platform.platform()}"
    yield ""
    yield "Recording"
    usable = [candidate for candidate in every if candidate.can_be_used]
    for candidate in every:
        if candidate.can_be_used:
            taken = ", the default" if candidate is usable[0] else ""
            yield f"  {candidate.name:<8} yes ({candidate.what}){taken}"
        else:
            yield f"  {candidate.name:<8} no: {candidate.obstacle}"
            if candidate.cure:
                yield f"  {'':<8} cure: {candidate.cure}"
    yield from (f"  {line}" for line in _weaknesses(usable))
    yield ""
    yield "Running again"
    yield from _running_again(bool(usable))
    yield ""
    yield "Parts in C"
    yield from (f"  {line}" for line in _extensions())
    yield ""
    yield "Packages"
    for name, without in _OPTIONAL.items():
        yield f"  {name:<15} {_found(name) or f'no: {without}'}"
    yield ""
    try:
        folder = str(tree_index.folder())
    except WhenceError as problem:
        yield f"Indexes of large trees are not kept: {problem}"
    else:
        yield f"Indexes of large trees are kept in {folder}{_trouble(folder)}"


def _extensions() -> Iterator[str]:
    obstacles = {name: extension_obstacle(name) for name in EXTENSIONS}
    built = [name.rpartition(".")[2] for name, obstacle in obstacles.items() if obstacle is None]
    if built:
        yield f"yes: {', '.join(built)}"
    for name, obstacle in obstacles.items():
        if obstacle is not None:
            yield f"no: {name.rpartition('.')[2]}, so {EXTENSIONS[name]}; {obstacle[0]}"
    if any(obstacle and obstacle[1] for obstacle in obstacles.values()):
        yield f"cure: {NOT_BUILT[1]}"


def _running_again(can_record: bool) -> Iterator[str]:
    missing = no_journal(None) if can_record else "nothing records here"
    yield f"  {'journal':<15} {f'no: {missing}' if missing else 'yes'}"
    missing = "they need a journal" if missing else no_checkpoints()
    yield f"  {'checkpoints':<15} {f'no: {missing}' if missing else 'yes'}"


def _weaknesses(usable: list[Candidate]) -> Iterator[str]:
    if not usable or usable[0].name == NATIVE:
        return
    if sys.version_info >= (3, 12):
        yield "pure: who created a generator is known only if user code did so by a plain call;"
    else:
        yield "pure: who created a generator cannot be told on this Python;"
    yield "otherwise the call that first resumed it counts as its caller"
    yield "pure: which call started a process is known only if it was forked off"


def _found(name: str) -> str:
    if importlib.util.find_spec(name) is None:
        return ""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return "yes"


def _trouble(folder: str) -> str:
    place = folder
    while not os.path.isdir(place) and os.path.dirname(place) != place:
        place = os.path.dirname(place)
    return "" if os.access(place, os.W_OK) else " (not writable: they are rebuilt each time)"
