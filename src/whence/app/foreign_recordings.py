"""Asks once whether the program of a foreign recording may be executed.

A recording that this user's whence did not make names a command that somebody else chose. Nothing
of it is executed before the user allows it, in whatever interface; everything that needs no process
works without.
"""

from __future__ import annotations

from pathlib import Path

from whence.errors import WhenceError
from whence.ports import RecordingTrust
from whence.ui.terminal.screen import Line, Screen, Tone

OPTION = "--trust-recording"
_NEEDS = "contracts, the lines that ran, marks and re-runs"


def settle_trust(trust: RecordingTrust, path: Path, screen: Screen, *, allowed: bool) -> None:
    """Allow a foreign recording if the user says so, here or on the command line."""
    why = trust.why_foreign()
    if not why:
        return
    if allowed or (screen.interactive and _ask(trust, path, why, screen)):
        trust.allow()
    elif not screen.interactive:
        screen.note(
            f"{path}: {why}. Its program is not executed, so {_NEEDS} are left out; "
            f"{OPTION} allows them."
        )


def require_trust(trust: RecordingTrust, path: Path, *, allowed: bool) -> None:
    """For commands that cannot do without the program: raise unless it may be executed."""
    why = trust.why_foreign()
    if why and not allowed:
        what = "\n".join(f"  {line}" for line in trust.consequences())
        raise WhenceError(f"{path}: {why}. This would execute\n{what}\n{OPTION} allows it")
    if why:
        trust.allow()


def _ask(trust: RecordingTrust, path: Path, why: str, screen: Screen) -> bool:
    screen.say(
        f"{path}: {why}. For {_NEEDS} whence would execute",
        *(Line(f"  {line}", Tone.CALL) for line in trust.consequences()),
        "Without it, all questions can be asked all the same.",
    )
    typed = screen.read("Execute this when it is needed? [y/N] ")
    return typed is not None and typed.strip().lower() in ("y", "yes")
