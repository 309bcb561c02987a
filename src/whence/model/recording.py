"""What is known of a recorded run as a whole, whatever its language."""

from __future__ import annotations

from dataclasses import dataclass

from whence.model.symptom import Symptom


@dataclass(frozen=True, slots=True)
class RecordingFacts:
    """What a recording says of itself. What it leaves out is empty."""

    language: str
    name: str = ""
    command: tuple[str, ...] = ()
    folder: str = ""
    """The working directory of the program."""
    interpreter: str = ""
    backend: str = ""
    detail: str = ""
    started: str = ""
    size: int = 0
    unread: int = 0
    """How many bytes at its end cannot be read."""
    why_unread: str = ""
    ended: bool = True
    """Whether the program came to its end."""
    why_stopped: str = ""
    """Why the recording stopped before the program ended, such as a full disk."""
    threads: int = 1
    processes: int = 1
    """How many were recorded, with those that made no call of user code."""
    members: int = 1
    """How many of them are in the tree, each as a node of its own."""
    killed: int = 0
    """How many of the program's child processes were killed, or are still running."""
    notes: tuple[str, ...] = ()
    """What the recorder wants a person to know of the run."""


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What anybody can see of a recorded run before a call was judged."""

    top: int
    """The position of the call that the symptom is about unless it names another."""
    ending: str
    """How the run ended, in a sentence."""
    default: Symptom | None
    """The most likely symptom if somebody says that something is wrong; None: nothing shows."""
    lines: tuple[str, ...]
    """The standard output."""
    failed: bool = False
    """Whether the run raised or did not end well, so that nobody needs to say it failed."""
    rest: str = ""
    """What is not known of the output."""
    cycle: str = ""
    """The cycle of calls in a run that does not end, in a sentence."""
