"""The command `save`: writes the session to a file."""

from __future__ import annotations

from pathlib import Path

from whence.errors import UsageError, WhenceError
from whence.ui import DrivenSession


def save(session: DrivenSession, name: str) -> str:
    """Write the session; returns a sentence that says so."""
    if not name:
        if session.log is None or session.log.path is None:
            return "This session is not kept in a file; save FILE writes it to one."
        if not session.log.is_saved:
            return f"Not all answers could be saved in {session.log.path}; save FILE writes them."
        return f"Every answer is kept in {session.log.path} as soon as it is given."
    try:
        path = Path(name).expanduser()
        if path.exists():
            raise UsageError(f"{path} exists already; name another file")
        session.save(path)
    except (OSError, ValueError, RuntimeError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise WhenceError(f"{name} cannot be written ({reason}); name another file") from problem
    return f"Saved in {path}; --session {path} resumes from there."
