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
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from whence.errors import WhenceError
from whence.model.call import OutcomeKind
from whence.ports import Columns, Int32s
from whence.tree.build import NO_PARENT, consecutive
from whence.tree.codec import decode_function, decode_rule, encode_function, encode_rule
from whence.tree.column_tree import ColumnTree, DetailSource
from whence.user_folders import (
    cache_folder,
    make_private_folder,
    new_private_file,
    write_private_file,
)

INDEX_VERSION = 2
"""Raise it whenever the columns, the digests or the details of a tree change."""

MIN_BYTES = 8 * 10**6
MIN_LINES = 50_000

_BLOCK = 1 << 16
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


def load(
    path: Path, stamp: Stamp, source: DetailSource, saved: ColumnTree | None = None
) -> ColumnTree | None:
    """The tree of a file from its index, or None if there is none that fits.

    `saved`: the tree that this process has just saved in it, so that it need not be checked.
    """
    try:
        directory = _directory(path)
        about = json.loads((directory / "about.json").read_bytes())
        if about["format"] != _format() or about["stamp"] != asdict(stamp):
            return None
        tree = _load_columns(directory, about, source, saved)
        if saved is None:
            _check(tree)
        return tree
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


def _load_columns(
    directory: Path, about: Mapping[str, Any], source: DetailSource, saved: ColumnTree | None
) -> ColumnTree:
    tables = json.loads((directory / "tables.json").read_bytes())
    functions = [decode_function(function) for function in tables["functions"]]
    rules = [decode_rule(rule) for rule in tables["rules"]]
    count, first_id = about["count"], about["first_id"]
    if not isinstance(count, int) or not isinstance(first_id, int) or count < 1:
        raise _Damaged

    def column(name: str) -> npt.NDArray[Any]:
        if name in about["derived"]:
            return _derived(name, column) if saved is None else _columns_of(saved)[name]
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


def _derived(name: str, column: Callable[[str], npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """A column that follows from others."""
    if name == "rule":
        return column("function")
    end = column("end")
    if name == "details":
        return np.arange(len(end), dtype=np.int64)
    positions = np.arange(len(end), dtype=end.dtype)
    weight: npt.NDArray[Any] = np.subtract(end, positions, dtype=np.float64)
    return weight


def _derivable(arrays: Mapping[str, npt.NDArray[Any]]) -> list[str]:
    """The columns that follow from others: they need not be written."""
    own = arrays["own"]
    equally_heavy = own.strides == (0,) and own[0] == 1
    same = {
        "rule": arrays["rule"] is arrays["function"],
        "weight": equally_heavy,
        "details": arrays["details"][0] == 0 and consecutive(arrays["details"]),
    }
    return [name for name, is_same in same.items() if is_same]


def _check(tree: ColumnTree) -> None:
    """Check that a search over the columns stays inside them and ends."""
    columns = tree.columns
    first = columns.parent[0] == NO_PARENT and columns.depth[0] == 0
    if not first or columns.end[0] != len(columns):
        raise _Damaged
    for start in range(0, len(columns), _BLOCK):
        if not _is_sound(tree, slice(start, min(start + _BLOCK, len(columns)))):
            raise _Damaged


def _is_sound(tree: ColumnTree, block: slice) -> bool:
    """Whether some calls are sound. In blocks, because then no large arrays are made."""
    columns = tree.columns
    positions = np.arange(block.start, block.stop, dtype=np.int32)
    end, below = columns.end[block], slice(max(block.start, 1), block.stop)
    parent = columns.parent[below]
    if not bool(np.all((parent >= 0) & (parent < positions[len(positions) - len(parent) :]))):
        return False
    return (
        bool(np.all(end > positions))
        and bool(np.all(columns.end[below] <= columns.end[parent]))
        and bool(np.all(columns.depth[below] == columns.depth[parent] + 1))
        and _within(columns.function[block], len(tree.functions))
        and _within(columns.rule[block], len(tree.rules))
        and int(columns.outcome[block].max()) <= max(OutcomeKind)
        and bool(np.all((columns.implicit[block] == 0) | (end == positions + 1)))
        and float(columns.own[block].min()) >= 0
        and bool(np.all(np.isfinite(columns.weight[block])))
    )


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
    arrays = _columns_of(tree)
    unwritten = [name for name, value in _UNWRITTEN.items() if bool(np.all(arrays[name] == value))]
    derived = _derivable(arrays)
    for name, array in arrays.items():
        if name not in unwritten and name not in derived:
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
        "derived": derived,
        "extras": kind,
    }
    write_private_file(directory / "about.json", json.dumps(about))


def _columns_of(tree: ColumnTree) -> dict[str, npt.NDArray[Any]]:
    arrays = {name: getattr(tree.columns, name) for name in _TYPES if hasattr(tree.columns, name)}
    arrays["details"] = tree.details
    if tree.ids is not None:
        arrays["ids"] = tree.ids
    return arrays


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
