"""The world: state that code out of sight shares and that no object of the program holds.

Files, the environment, settings of libraries, the context of decimal arithmetic. Code out of sight
that may change such state *writes* the world. Code that may read it gets a tag that stands for all
writes so far; only the widest slices follow that tag (`influence_slices`).

The world has *regions*, so that arithmetic with decimals does not depend on files. A module of the
standard library reads and writes one region; code of any other package may read all of them. Code
that is known to share no state has no region.
"""

from __future__ import annotations

import abc
import io
import os
from collections.abc import Iterable
from types import FunctionType, MethodType
from typing import Any

from whence.langs.python.objects.raw_class import (
    BUILTIN_FUNCTIONS,
    is_builtin_function,
    module_of,
    name_of,
)
from whence.langs.python.provenance.runtime.run_state import RUN
from whence.langs.python.provenance.runtime.type_inspection import IdentitySet
from whence.langs.python.provenance.tags import WHOLE, MaybeTag, Tag

WORLD = "world"
"""The first part of the address of a region."""
ALL_REGIONS = ""
_FILES = "files"
_FILE_MODULES = frozenset({
    "_io", "_posixsubprocess", "_socket", "bz2", "configparser", "dbm", "fcntl", "fileinput",
    "genericpath", "glob", "gzip", "io", "linecache", "lzma", "mmap", "nt", "ntpath", "os",
    "pathlib", "posix", "posixpath", "pty", "select", "selectors", "shelve", "shutil", "socket",
    "socketserver", "sqlite3", "ssl", "subprocess", "tarfile", "tempfile", "zipfile",
})  # fmt: skip
_REGIONS = {"_decimal": "decimal", "_pydecimal": "decimal", "_locale": "locale",
            "_random": "random", "_warnings": "warnings", "_csv": "csv"}  # fmt: skip
_WITHOUT_STATE = frozenset({
    "__main__", "_asyncio", "_bisect", "_collections", "_collections_abc", "_contextvars",
    "_ctypes", "_datetime", "_functools", "_heapq", "_json", "_operator", "_pickle", "_queue",
    "_sre", "_string", "_struct", "_thread", "_weakref", "_weakrefset", "array", "ast", "asyncio",
    "base64", "binascii", "bisect", "builtins", "calendar", "cmath", "collections", "concurrent",
    "contextlib", "contextvars", "copy", "ctypes", "dataclasses", "datetime", "difflib", "enum",
    "fractions", "functools", "gc", "graphlib", "hashlib", "heapq", "hmac", "html", "inspect",
    "itertools", "json", "keyword", "math", "numbers", "operator", "pickle", "pprint", "queue",
    "re", "reprlib", "sched", "secrets", "shlex", "statistics", "string", "struct", "textwrap",
    "threading", "time", "timeit", "token", "tokenize", "traceback", "types", "typing",
    "unicodedata", "urllib", "uuid", "weakref", "zlib",
})  # fmt: skip
"""Modules whose functions share no state beyond the objects that they receive and return."""
_READING = frozenset({
    "__fspath__", "_getframe", "abspath", "access", "basename", "dirname", "exc_info", "exists",
    "expanduser", "expandvars", "fileno", "fstat", "get_terminal_size", "getcwd", "getenv",
    "getlocale", "getpid", "getrecursionlimit", "getrefcount", "getsize", "getsizeof", "glob",
    "intern", "is_dir", "is_file", "isatty", "isdir", "isfile", "islink", "iterdir", "join",
    "joinpath", "listdir", "lstat", "normpath", "read", "read_bytes", "read_text", "readable",
    "readline", "readlines", "readlink", "realpath", "relative_to", "resolve", "rglob", "samefile",
    "scandir", "split", "splitext", "stat", "walk", "with_name", "with_suffix", "writable",
})  # fmt: skip
"""Functions and methods of the standard library that change no shared state."""


def region_of_module(module: object) -> str | None:
    """The region that the code of a module reads and writes; None if it shares no state."""
    if type(module) is not str:
        return None
    top = module.partition(".")[0]
    if module in _FILE_MODULES or top in _FILE_MODULES:
        return _FILES
    return None if top in _WITHOUT_STATE else _REGIONS.get(top, top)


def region_of(function: Any) -> str | None:
    """The region of a function, method or class out of sight."""
    if type(function) is MethodType:
        function = function.__func__
    if type(function) is FunctionType:
        return region_of_module(function.__module__)
    if is_builtin_function(type(function)):
        return _FILES if function is open else region_of_module(function.__module__)
    return region_of_types((function,)) if issubclass(type(function), type) else None


def region_of_types(kinds: Iterable[type]) -> str | None:
    """The region that methods of these types out of sight may read and write: a type's bases."""
    regions = (None if kind in _OWN_STATE else region_of_module(module_of(kind)) for kind in kinds)
    return next((region for region in regions if region is not None), None)


def may_change_world(function: Any) -> bool:
    """Whether a function out of sight, which has a region, may change it."""
    return type(function) not in _NAMED or function.__name__ not in _READING


def is_immutable_type(kind: type) -> bool:
    """Whether methods of a type with a region change nothing."""
    return kind in _IMMUTABLE or name_of(kind) in _IMMUTABLE_NAMES


_NAMED = IdentitySet(FunctionType, *BUILTIN_FUNCTIONS, MethodType)
_OWN_STATE = IdentitySet(abc.ABC, abc.ABCMeta, io.StringIO, io.BytesIO)
"""Types whose instances hold all their state themselves."""
_IMMUTABLE = IdentitySet(os.stat_result, os.terminal_size)
_IMMUTABLE_NAMES = frozenset({"Decimal", "Path", "PosixPath", "WindowsPath", "PurePath"})


def note_world_write(region: str, tag: MaybeTag) -> None:
    """Note that an operation with this tag may have changed a region."""
    if tag is not None:
        RUN.world.append((region, tag))
        RUN.world_reads.clear()


def world_tag(region: str | None) -> MaybeTag:
    """The tag of having read a region now; None if nothing was written to the world."""
    if region is None or not RUN.world:
        return None
    if region not in _OWN_REGIONS:
        region = ALL_REGIONS
    tag = RUN.world_reads.get(region)
    if tag is None:
        tag = RUN.world_reads[region] = Tag((WHOLE, 0, None, len(RUN.world), (WORLD, region)))
    return tag


_OWN_REGIONS = frozenset({
    _FILES, "decimal", "locale", "random", "warnings", "csv", "logging", "sys", "abc",
})  # fmt: skip
"""Regions whose code reads no other region."""


def world_changes(first: int, end: int, region: str) -> list[Tag]:
    """The tags of the operations that may have changed a region, from one number to another."""
    return [tag for changed, tag in RUN.world[first:end] if region in (ALL_REGIONS, changed)]
