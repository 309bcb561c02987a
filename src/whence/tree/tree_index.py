"""Indexes of large tree files: their columns, kept on disk and mapped into memory.

Reading ten million lines takes minutes; mapping their columns takes none. An index is only ever a
copy of what the file says: it is used if it is the index of exactly this file, left out where the
disk does not take it, and rebuilt when it is damaged. So nothing here raises an error.

An index is a directory, `$XDG_CACHE_HOME/whence/trees/<digest of the file's path>`, of `.npy`
files (never pickles) and two of JSON. It appears complete, by a rename, or not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from whence.errors import WhenceError
from whence.model.call import OutcomeKind
from whence.ports import Columns, Int32s
from whence.tree.build import NO_PARENT
from whence.tree.codec import decode_function, decode_rule, encode_function, encode_rule
from whence.tree.column_tree import ColumnTree, DetailSource
from whence.user_folders import (
    cache_folder,
    make_private_folder,
    new_private_file,
    write_private_file,
)

INDEX_VERSION = 1
"""Raise it whenever the columns, the digests or the details of a tree change."""

MIN_BYTES = 8 * 10**6
MIN_LINES = 50_000

_SAMPLE = 64 * 2**10
_FORGOTTEN = 24 * 60 * 60
_TYPES: dict[str, type[np.generic]] = {
    "parent": np.int32,
    "end": np.int32,
    "function": np.int32,
    "rule": np.int32,
    "depth": np.int32,
    "outcome": np.uint8,
    "own": np.float64,
    "weight": np.float64,
    "equation": np.int64,
    "effort": np.int32,
    "implicit": np.uint8,
    "details": np.int64,
    "ids": np.int64,
}
_UNWRITTEN = {"own": 1, "implicit": 0}
"""Columns that are not written if all entries have this value."""


class _Damaged(Exception):
    """An index does not hold what it should."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells one state of a file from another."""

    size: int
    mtime_ns: int
    sample: str


def stamp_of(file: BinaryIO) -> Stamp:
    """The stamp of an open file; moves its position."""
    about = os.fstat(file.fileno())
    file.seek(0)
    sample = hashlib.blake2b(file.read(_SAMPLE), digest_size=16)
    file.seek(max(0, about.st_size - _SAMPLE))
    sample.update(file.read(_SAMPLE))
    return Stamp(about.st_size, about.st_mtime_ns, sample.hexdigest())


def is_worthwhile(size: int, lines: int) -> bool:
    """Whether reading the file again would take too long."""
    return size >= MIN_BYTES or lines >= MIN_LINES


def load(path: Path, stamp: Stamp, source: DetailSource) -> ColumnTree | None:
    """The tree of a file from its index, or None if there is none that fits."""
    try:
        directory = _directory(path)
        about = json.loads((directory / "about.json").read_bytes())
        if about["format"] != _format() or about["stamp"] != asdict(stamp):
            return None
        return _load_columns(directory, about, source)
    except Exception:  # Whatever is wrong with the index, the file itself is there to be read.
        return None


def load_extras(
    path: Path, stamp: Stamp, kind: str, types: Mapping[str, type[np.generic]]
) -> dict[str, npt.NDArray[Any]] | None:
    """The extra arrays of an index that was saved with this kind of them, or None."""
    try:
        directory = _directory(path)
        about = json.loads((directory / "about.json").read_bytes())
        is_current = about["format"] == _format() and about["stamp"] == asdict(stamp)
        if not is_current or about["extras"] != kind:
            return None
        arrays: dict[str, npt.NDArray[Any]] = {}
        for name, dtype in types.items():
            array = np.load(directory / f"extra-{name}.npy", mmap_mode="r", allow_pickle=False)
            if array.dtype != np.dtype(dtype) or array.ndim != 1:
                return None
            arrays[name] = np.asarray(array)
        return arrays
    except Exception:  # As above.
        return None


def _load_columns(directory: Path, about: Mapping[str, Any], source: DetailSource) -> ColumnTree:
    tables = json.loads((directory / "tables.json").read_bytes())
    functions = [decode_function(function) for function in tables["functions"]]
    rules = [decode_rule(rule) for rule in tables["rules"]]
    count, first_id = about["count"], about["first_id"]
    if not isinstance(count, int) or not isinstance(first_id, int) or count < 1:
        raise _Damaged

    def column(name: str) -> npt.NDArray[Any]:
        dtype = np.dtype(_TYPES[name])
        if name in about["unwritten"]:
            return np.broadcast_to(dtype.type(_UNWRITTEN[name]), (count,))
        array = np.load(directory / f"{name}.npy", mmap_mode="r", allow_pickle=False)
        if array.dtype != dtype or array.shape != (count,):
            raise _Damaged
        # A plain array over the same mapping: `np.memmap` pays for its subclass on every slice.
        return np.asarray(array)

    names = [name for name in _TYPES if name not in ("details", "ids")]
    columns = Columns(**{name: column(name) for name in names})
    _check(columns, len(functions), len(rules))
    return ColumnTree(
        columns=columns,
        functions=functions,
        rules=rules,
        sources=(source,),
        details=column("details"),
        source_of=np.broadcast_to(np.uint8(0), (count,)),
        ids=column("ids") if about["ids"] else None,
        first_id=first_id,
    )


def _check(columns: Columns, functions: int, rules: int) -> None:
    """Check that a search over the columns stays inside them and ends."""
    parent, end, depth = columns.parent, columns.end, columns.depth
    positions = np.arange(len(parent), dtype=np.int32)
    above = parent[1:]
    sound = (
        parent[0] == NO_PARENT
        and depth[0] == 0
        and end[0] == len(parent)
        and bool(np.all((above >= 0) & (above < positions[1:])))
        and bool(np.all(end > positions))
        and bool(np.all(end[1:] <= end[above]))
        and bool(np.all(depth[1:] == depth[above] + 1))
        and _within(columns.function, functions)
        and _within(columns.rule, rules)
        and int(columns.outcome.max()) <= max(OutcomeKind)
        and bool(np.all((columns.implicit == 0) | (end == positions + 1)))
        and float(columns.own.min()) >= 0
        and bool(np.all(np.isfinite(columns.weight)))
    )
    if not sound:
        raise _Damaged


def _within(column: Int32s, count: int) -> bool:
    return int(column.min()) >= 0 and int(column.max()) < count


def save(
    path: Path,
    stamp: Stamp,
    tree: ColumnTree,
    kind: str = "",
    extras: Mapping[str, npt.NDArray[Any]] | None = None,
) -> bool:
    """Save the index of a file; whether that was possible.

    `extras` are what the tree's source needs to find its calls; `kind` names their version.
    """
    try:
        directory = _directory(path)
        make_private_folder(directory.parent)
        _forget_useless(directory.parent)
        unfinished = Path(tempfile.mkdtemp(prefix="unfinished-", dir=directory.parent))
    except (OSError, WhenceError):
        return False
    try:
        for name, array in (extras or {}).items():
            _save(unfinished / f"extra-{name}.npy", array)
        _write(unfinished, path, stamp, tree, kind)
        if directory.exists():
            directory.rename(unfinished / "replaced")
        unfinished.rename(directory)
    except OSError:  # The disk is full, or another process was faster.
        shutil.rmtree(unfinished, ignore_errors=True)
        return False
    shutil.rmtree(directory / "replaced", ignore_errors=True)
    return True


def _write(directory: Path, path: Path, stamp: Stamp, tree: ColumnTree, kind: str) -> None:
    arrays = {name: getattr(tree.columns, name) for name in _TYPES if hasattr(tree.columns, name)}
    arrays["details"] = tree.details
    if tree.ids is not None:
        arrays["ids"] = tree.ids
    unwritten = [name for name, value in _UNWRITTEN.items() if bool(np.all(arrays[name] == value))]
    for name, array in arrays.items():
        if name not in unwritten:
            _save(directory / f"{name}.npy", array)
    tables = {
        "functions": [encode_function(function) for function in tree.functions],
        "rules": [encode_rule(rule) for rule in tree.rules],
    }
    write_private_file(directory / "tables.json", json.dumps(tables))
    about = {
        "format": _format(),
        "file": str(path.absolute()),
        "stamp": asdict(stamp),
        "count": len(tree.columns),
        "first_id": tree.first_id,
        "ids": tree.ids is not None,
        "unwritten": unwritten,
        "extras": kind,
    }
    write_private_file(directory / "about.json", json.dumps(about))


def _save(path: Path, array: npt.NDArray[Any]) -> None:
    with new_private_file(path) as file:
        np.save(file, array, allow_pickle=False)


def _format() -> list[Any]:
    return [INDEX_VERSION, sys.byteorder]


def folder() -> Path:
    """The folder of all indexes."""
    return cache_folder() / "trees"


def _directory(path: Path) -> Path:
    digest = hashlib.blake2b(os.fsencode(path.absolute()), digest_size=16)
    return folder() / digest.hexdigest()


def _forget_useless(directory: Path) -> None:
    """Remove the indexes of files that are gone or changed, and what a killed process left."""
    for entry in directory.iterdir():
        with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            if entry.name.startswith("unfinished-"):
                useless = time.time() - entry.stat().st_mtime > _FORGOTTEN
            else:
                useless = not _is_current(json.loads((entry / "about.json").read_bytes()))
            if useless:
                shutil.rmtree(entry, ignore_errors=True)


def _is_current(about: Mapping[str, Any]) -> bool:
    try:
        now = Path(about["file"]).stat()
    except FileNotFoundError:
        return False
    return bool(
        now.st_size == about["stamp"]["size"] and now.st_mtime_ns == about["stamp"]["mtime_ns"]
    )
