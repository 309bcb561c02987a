"""The difference of two versions of a program as a list of changes, and mixtures of the versions.

A mixture is the program's tree of files with some of the other version's changes made: definitions
(`definition_changes.py`), whole new files, files of data.

Invariant: neither version's files are touched; a mixture is written into a folder of its own. What
a change needs to be defined at all (helpers and imports that the program does not have) comes with
it (`closed`).
"""

from __future__ import annotations

import os
import shutil
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from whence.langs.python.experiments.definition_changes import (
    ChangeKind,
    DefinitionChange,
    NotComparable,
    changes_between,
    with_changes,
)
from whence.langs.python.oracles.program_versions import (
    CACHE_TAG,
    NOT_SOURCE,
    ReferenceVersion,
    is_equal_file,
)
from whence.langs.python.source.source_parsing import read_source

MOST_FILES = 5_000
"""Of a larger tree only the entries that the reference has are copied."""
MOST_BYTES = 300_000_000
_METADATA = (".dist-info", ".egg-info", ".egg-link")
_COMPILED = (".pyc", ".pyo")
_RECORDING = ".whence"
_TEXTS = (".md", ".rst")


@dataclass(frozen=True, slots=True)
class Change:
    """A difference between two versions: a definition, or a whole file."""

    number: int
    file: str
    """Relative to the folder of the version."""
    definition: DefinitionChange | None = None
    """The definition that differs; None: the whole file."""
    kind: ChangeKind = ChangeKind.CHANGED

    @property
    def is_source(self) -> bool:
        """Whether it is about Python source, and not data."""
        return self.file.endswith(".py")

    @property
    def name(self) -> str:
        """How a person reads it."""
        if self.definition is None:
            return self.file
        return f"{self.definition.name} ({self.file})"


class TooLarge(Exception):
    """The versions differ in too much, or are too large to be copied."""


class VersionChanges:
    """All changes between the program and a reference version."""

    def __init__(self, reference: ReferenceVersion, main: str, keep: frozenset[str]) -> None:
        """`keep`: absolute paths of the program's files that stay as they are, such as its test."""
        self.reference = reference
        self._main = main
        self._keep = keep
        self._coarse: set[str] = set()
        """Files whose changes are made together."""
        self._pairs = dict(self._files())
        self.changes = self._all_changes()

    # --- files -----------------------------------------------------------------------------------

    def _files(self) -> Iterator[tuple[str, tuple[str | None, str | None]]]:
        """By name: the file of the program and of the reference, where they differ."""
        reference = self.reference
        if reference.script is not None:
            yield os.path.basename(self._main), (self._main, reference.script)
            return
        ours = dict(_tree(reference.anchor, self._entries()))
        theirs = dict(_tree(reference.folder, None))
        for name in sorted(ours.keys() | theirs.keys()):
            one, two = ours.get(name), theirs.get(name)
            if one in self._keep or name.endswith(_TEXTS):
                continue
            if one is None or two is None or not is_equal_file(one, two):
                yield name, (one, two)

    def _entries(self) -> frozenset[str] | None:
        """The entries of the program's folder that a mixture consists of; None: all."""
        reference = self.reference
        if not reference.package and _is_small(reference.anchor):
            return None
        return frozenset(os.listdir(reference.folder))

    def _all_changes(self) -> list[Change]:
        changes: list[Change] = []
        for name, (own, other) in self._pairs.items():
            for change in self._changes_of(name, own, other):
                changes.append(replace(change, number=len(changes)))
        return changes

    def _changes_of(self, name: str, own: str | None, other: str | None) -> Iterator[Change]:
        if own is None or other is None:
            kind = ChangeKind.ADDED if own is None else ChangeKind.REMOVED
            yield Change(0, name, None, kind)
            return
        if name.endswith(".py") and name not in self._coarse:
            texts = read_source(own), read_source(other)
            if texts[0] is not None and texts[1] is not None:
                try:
                    definitions = changes_between(texts[0], texts[1])
                    made = with_changes(texts[0], definitions)
                    is_complete = not changes_between(made, texts[1])
                except NotComparable:
                    is_complete = False
                if is_complete:
                    for definition in definitions:
                        yield Change(0, name, definition, definition.kind)
                    return
        yield Change(0, name)

    def coarsen(self) -> bool:
        """Make the changes of each file one from now on; returns whether that is a difference."""
        split = {change.file for change in self.changes if change.definition is not None}
        self._coarse |= split
        self.changes = self._all_changes()
        self.__dict__.pop("_providers", None)
        return bool(split)

    # --- what needs what -------------------------------------------------------------------------

    def closed(self, chosen: Iterable[int]) -> frozenset[int]:
        """Some changes with all that they need to be defined at all."""
        closed: set[int] = set()
        pending = list(chosen)
        while pending:
            number = pending.pop()
            if number not in closed:
                closed.add(number)
                pending += self._needs(self.changes[number])
        return frozenset(closed)

    def _needs(self, change: Change) -> Iterator[int]:
        definition = change.definition
        if definition is None:
            return
        names, attributes = definition.uses.names, definition.uses.attributes
        for name in names | attributes:
            for other in self._providers.get(name, ()):
                uses = self.changes[other].definition
                if uses is None or name in (attributes if uses.in_class else names | attributes):
                    yield other

    @cached_property
    def _providers(self) -> dict[str, list[int]]:
        """By name: what the reference adds of that name, and the program has nowhere."""
        providers: dict[str, list[int]] = defaultdict(list)
        for change in self.changes:
            definition = change.definition
            if change.kind is not ChangeKind.ADDED:
                continue
            if definition is None:
                if change.is_source:
                    name = Path(change.file)
                    stem = name.parent.name if name.name == "__init__.py" else name.stem
                    providers[stem].append(change.number)
                continue
            for name_provided in definition.uses.provided:
                providers[name_provided].append(change.number)
        return providers

    # --- mixtures --------------------------------------------------------------------------------

    def write(self, folder: Path, chosen: Iterable[int]) -> ReferenceVersion:
        """Write the program with some changes made into an empty folder."""
        by_file: dict[str, list[Change]] = defaultdict(list)
        for number in chosen:
            by_file[self.changes[number].file].append(self.changes[number])
        reference = self.reference
        name = "a mixture of both versions"
        if reference.script is not None:
            target = folder / os.path.basename(self._main)
            shutil.copy2(self._main, target)
            self._make(by_file.get(target.name, []), target.name, target)
            return ReferenceVersion(
                name, str(folder), reference.anchor, str(target), is_mixture=True
            )
        entries = self._entries()
        self._copy(folder, entries)
        for file, changes in by_file.items():
            self._make(changes, file, folder / file)
        return ReferenceVersion(
            name, str(folder), reference.anchor, package=entries is not None, is_mixture=True
        )

    def _copy(self, folder: Path, entries: frozenset[str] | None) -> None:
        anchor = self.reference.anchor
        for entry in sorted(os.listdir(anchor) if entries is None else entries):
            source = os.path.join(anchor, entry)
            if entry in NOT_SOURCE or entry.startswith(".venv") or entry.endswith(_METADATA):
                continue
            if os.path.isdir(source) and not os.path.exists(os.path.join(source, CACHE_TAG)):
                shutil.copytree(
                    source, folder / entry, symlinks=True,
                    ignore=shutil.ignore_patterns(*NOT_SOURCE, "*.pyc"),
                )  # fmt: skip
            elif os.path.isfile(source):
                shutil.copy2(source, folder / entry)

    def _make(self, changes: Sequence[Change], file: str, target: Path) -> None:
        own, other = self._pairs.get(file, (None, None))
        if not changes:
            return
        if any(change.definition is None for change in changes):
            if other is None:
                target.unlink(missing_ok=True)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(other, target)
            return
        assert own is not None
        text = read_source(own) or ""
        made = with_changes(text, (change.definition for change in changes if change.definition))
        with open(own, "rb") as source:
            encoding, _ = tokenize.detect_encoding(source.readline)
        try:
            data = made.encode(encoding)
        except UnicodeEncodeError:
            raise NotComparable(f"{file} cannot be written in {encoding}") from None
        target.write_bytes(data)


def _tree(folder: str, entries: frozenset[str] | None) -> Iterator[tuple[str, str]]:
    """The files of a folder by their names in it, without what is made from others."""
    count = 0
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(
            name for name in folders
            if name not in NOT_SOURCE
            and not name.startswith(".venv")
            and not name.endswith(_METADATA)
        )  # fmt: skip
        if place == folder and entries is not None:
            folders[:] = [name for name in folders if name in entries]
            files[:] = [name for name in files if name in entries]
        if CACHE_TAG in files:
            folders.clear()
            continue
        for name in files:
            if name.endswith(_COMPILED) or _RECORDING in name:
                continue
            count += 1
            if count > 4 * MOST_FILES:
                raise TooLarge(f"{folder} holds more than {4 * MOST_FILES:,} files")
            path = os.path.join(place, name)
            yield os.path.relpath(path, folder), path


def _is_small(folder: str) -> bool:
    files = size = 0
    for place, folders, names in os.walk(folder):
        folders[:] = [
            name for name in folders if name not in NOT_SOURCE and not name.startswith(".venv")
        ]
        files += len(names)
        for name in names:
            try:
                size += os.lstat(os.path.join(place, name)).st_size
            except OSError:
                continue
        if files > MOST_FILES or size > MOST_BYTES:
            return False
    return True
