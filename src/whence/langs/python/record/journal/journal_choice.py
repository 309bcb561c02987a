"""Decides whether a run writes a journal, plays one or does neither.

Separate from both, so that a program recorded without a journal loads neither.
"""

from __future__ import annotations

import importlib
import json
import os
from typing import Protocol

from whence.errors import WhenceError
from whence.langs.python.record.backend_choice import NATIVE, choose_backend
from whence.langs.python.record.recording import Recording
from whence.secret_values import Secrets
from whence.user_folders import replace_private_file

JOURNAL, FILES, ENVIRONMENT = "journal", "files", "environment.json"
"""The suffixes of files beside a recording: the journal, the content of files that were read, and
the program's environment."""


class Journal(Protocol):
    """A journal that is written or played."""

    def start(self) -> None:
        """Write or play from here on."""

    def finish(self) -> None:
        """The program has ended."""

    @property
    def problem(self) -> str:
        """Why it was not written up to the program's end; empty if it was."""


def obstacle(backend: str | None) -> str | None:
    """Why no journal can be kept here, if that is so."""
    try:
        importlib.import_module("whence.langs.python.record.journal._interposition")
        importlib.import_module("whence.langs.python.record._identity")
    except ImportError:
        return "it needs the parts of whence that are written in C, which are not built here"
    if choose_backend(backend).name != NATIVE:
        return "it needs the recorder in C"
    return None


def journal_of(
    writes: bool,
    playback: tuple[str, str] | None,
    output: str,
    recording: Recording,
    channel: int,
) -> Journal | None:
    """The journal that a run writes or plays, if it does either.

    `playback` is the journal to play and the folder of the re-run; `channel`: the only socket that
    a re-run can send messages by, or -1.
    """
    if not writes and playback is None:
        return None
    # Both are imported in either case: the two runs should differ as little as possible.
    from whence.langs.python.record.journal.playing import JournalPlayer
    from whence.langs.python.record.journal.writing import JournalWriter

    if playback is None:
        _keep_environment(f"{output}.{ENVIRONMENT}", recording.secrets)
        folder = f"{os.path.abspath(output)}.{FILES}"
        return JournalWriter(f"{output}.{JOURNAL}", folder, recording.run)
    return JournalPlayer(*playback, recording.cut_off, channel=channel)


def _keep_environment(path: str, secrets: Secrets) -> None:
    """Write the environment to a file, of secrets only digests."""
    text = json.dumps(secrets.environment(os.environ), indent=1, sort_keys=True)
    try:
        replace_private_file(path, text)
    except OSError as problem:
        raise WhenceError(
            f"{path}: the environment cannot be written there ({problem.strerror})"
        ) from None
