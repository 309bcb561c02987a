"""Says why a re-run most likely diverged.

Only what is known to differ is named as a cause; else the sentence says what a re-run does not
reproduce.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from whence.langs.python.launching.first_run import missing_secrets
from whence.langs.python.replay.rerun_process import RerunOutcome
from whence.langs.python.trace.trace_pages import TraceHeader
from whence.langs.python.trace.trace_source import TraceSource
from whence.secret_values import secrets_for
from whence.tree.column_tree import ColumnTree

_MOST_FILES = 3
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}")


def likely_cause(tree: ColumnTree, header: TraceHeader, played: RerunOutcome, how: str = "") -> str:
    """Sentences for a person; `how` is what differs, as text."""
    has_journal = bool(played.report)
    sentences = []
    if played.problem and "call" in played.report:
        sentences.append(f"After call {played.report['call']:,} {played.problem}.")
    changed = _changed(tree, header)
    if changed:
        sentences.append(f"Changed since it was recorded: {', '.join(changed)}.")
    gone = _gone(tree, header)
    if gone:
        sentences.append(f"Removed since it was imported: {', '.join(gone)}.")
    if max(_threads(tree), int(played.report.get("threads", 1))) > 1:
        sentences.append("Threads ran, in an order that is not kept.")
    sentences += _about_secrets(tree, header)
    if len(set(_ADDRESS.findall(how))) > 1:
        sentences.append("The address of an object is part of a text.")
    if "__del__" in how:
        sentences.append("Garbage was collected in another place.")
    if not played.in_time:
        sentences.append("It did not end in time.")
    if not has_journal:
        others = "" if header.repeatable.get("identity") else ", or sets walked in another order"
        sentences.append(
            f"It may depend on time, chance, files that changed, threads{others}; a recording "
            "made with --journal keeps most of these."
        )
    elif not sentences and played.report.get("unseen"):
        modules = ", ".join(map(str, played.report["unseen"]))
        sentences.append(
            f"It uses {modules}: what C code learns from the outside world by itself is not kept."
        )
    elif not sentences:
        sentences.append(
            "It depends on something that a journal does not keep (docs/running-again.md)."
        )
    return " ".join(sentences)


def _about_secrets(tree: ColumnTree, header: TraceHeader) -> list[str]:
    """What of the recorded secrets is not here, in sentences."""
    source = tree.sources[0]
    if not isinstance(source, TraceSource):
        return []
    sentences = []
    salt = header.options.get("salt")
    if salt and salt != secrets_for().identifier:
        sentences.append("The digests of its secrets were made by another user.")
    missing = missing_secrets(Path(source.file.path))
    if missing:
        sentences.append(
            "Secret variables of the environment are not set as they were, and only their digests "
            f"are kept: {', '.join(missing[:_MOST_FILES])}."
        )
    return sentences


def _threads(tree: ColumnTree) -> int:
    source = tree.sources[0]
    return source.threads if isinstance(source, TraceSource) else 1


def _files(tree: ColumnTree, header: TraceHeader) -> list[Path]:
    """The files of recorded functions; code that was compiled from a text has none."""
    files = {function.location.file for function in tree.functions if function.location is not None}
    return [Path(header.cwd or ".") / file for file in sorted(files) if not file.startswith("<")]


def _gone(tree: ColumnTree, header: TraceHeader) -> list[str]:
    """The files of recorded functions that no longer exist."""
    missing = [path for path in _files(tree, header) if not path.exists()]
    return [os.path.relpath(path, header.cwd or ".") for path in missing[:_MOST_FILES]]


def _changed(tree: ColumnTree, header: TraceHeader) -> list[str]:
    """The files of recorded functions that were written after the run began."""
    changed = []
    for path in _files(tree, header):
        try:
            if header.clock and path.stat().st_mtime_ns > header.clock:
                changed.append(os.path.relpath(path, header.cwd or "."))
        except OSError:
            continue
    return changed[:_MOST_FILES]
