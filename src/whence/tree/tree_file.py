"""Trees in files: opening one, reading its calls when they are looked at, and writing one.

`docs/tree-format.md` is the manual of the format. Only the columns of a tree are held in memory;
a call's values stay in the file until a question shows them. What is wrong with a file is a
`TreeFormatError` with the place; what an implicit call's own file fails to give is `CannotExpand`,
so that a search can go on without it.
"""

from __future__ import annotations

import json
import os
import stat
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from whence.errors import CannotExpand, TreeFormatError, WhenceError
from whence.model.call import Call, Function, Rule
from whence.ports import Tree
from whence.tree import tree_index
from whence.tree.codec import (
    MAX_VALUES,
    MalformedRecord,
    decode_call,
    decode_location,
    encode_call,
    encode_function,
    encode_rule,
    equation_digest,
    has_too_many_values,
)
from whence.tree.column_tree import ColumnTree, assemble_tree
from whence.tree.lines import (
    MAX_FILE,
    BadLine,
    cannot_read,
    line_number,
    offset_of,
    parse,
    read_line,
)
from whence.tree.reader import MAX_ID, VERSION, Progress, TreeHeader, read_calls, read_header
from whence.user_folders import open_private_file

_KEPT_CALLS = 64
_KEPT_LINE = 64 * 2**10

Origins = Callable[[int], Iterable[Mapping[str, Any]]]
"""The origin records of the call at a position."""


def open_tree(path: str | os.PathLike[str], progress: Progress | None = None) -> ColumnTree:
    """The tree in a file. `progress` receives how many bytes were read, and of how many."""
    file_path = Path(path)
    try:
        with _open_regular(file_path) as file:
            return _tree_in(file_path, file, progress)
    except OSError as error:
        raise cannot_read(file_path, error) from None
    except MemoryError:
        raise TreeFormatError(
            str(path),
            None,
            "the tree takes more memory than there is",
            "write the calls below some calls into files of their own, and those calls as implicit",
        ) from None


def _tree_in(path: Path, file: BinaryIO, progress: Progress | None) -> ColumnTree:
    header, number = read_header(path, file)
    behind_header = file.tell()
    source = FileSource(path, header)
    stamp = tree_index.stamp_of(file)
    kept = tree_index.load(path, stamp, source)
    if kept is not None:
        return kept
    file.seek(behind_header)
    reading = read_calls(path, file, number, stamp.size, progress)
    tree = assemble_tree(reading.linked, reading.functions, reading.rules, source)
    # A file that grew while it was read is left out: its index would be of neither state.
    if tree_index.is_worthwhile(stamp.size, reading.lines) and tree_index.stamp_of(file) == stamp:
        tree_index.save(path, stamp, tree)
        # From now on the columns are those on disk, and the memory is free again.
        return tree_index.load(path, stamp, source) or tree
    return tree


def _open_regular(path: Path) -> BinaryIO:
    """The file, if it allows random access: a pipe would block or be used up."""
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            raise TreeFormatError(
                str(path), None, "this is not a regular file", "write the tree into a file first"
            )
        if about.st_size >= MAX_FILE:
            raise TreeFormatError(str(path), None, "the file is larger than a terabyte")
        return path.open("rb", buffering=2**18)
    except OSError as error:
        raise cannot_read(path, error) from None
    except ValueError as error:  # a null character in the path
        raise TreeFormatError(str(path), None, f"cannot be read: {error}") from None


class FileSource:
    """The calls of one tree file. A call's detail finds its line."""

    def __init__(self, path: Path, header: TreeHeader) -> None:
        self.header = header
        self._name = str(path)
        self._path = path.absolute()
        self._recent: OrderedDict[int, dict[str, Any]] = OrderedDict()
        self._lock = threading.Lock()

    def call(self, detail: int, function: Function, rule: Rule) -> Call:
        """The call in full, decoded from its line."""
        try:
            return decode_call(self._record(detail), function, rule)
        except MalformedRecord as problem:
            raise self._error(detail, str(problem)) from None
        except RecursionError:
            raise self._error(detail, "the line is nested too deeply") from None

    def expand(self, detail: int, levels: int) -> ColumnTree:
        """The tree in the file that an implicit call names; it decides how deep that is."""
        record = self._record(detail)
        node, implicit = record["id"], record.get("implicit")
        if not isinstance(implicit, dict):
            raise CannotExpand(
                f"the calls below call {node} were not written down: {self._name} names no file "
                "that holds them"
            )
        try:
            tree = open_tree(self._part(implicit["file"]))
        except WhenceError as problem:
            raise CannotExpand(
                f"the calls below call {node} are not available: {problem}"
            ) from None
        columns = tree.columns
        if columns.implicit[0]:
            raise CannotExpand(f"{implicit['file']} does not hold the calls below call {node}")
        root_there = tree.rules[int(columns.rule[0])].name, int(columns.equation[0])
        here = (
            record.get("rule") or record["function"],
            equation_digest({**record, "id": tree.id(0)})[0],
        )
        if root_there != here:
            raise CannotExpand(
                f"{implicit['file']} does not start with call {node} as {self._name} has it: "
                "write the call's function, rule, inputs and outcome alike in both files"
            )
        return tree

    def origins(self, detail: int) -> list[dict[str, Any]]:
        """The origin records on a call's line."""
        records = self._record(detail).get("origins", [])
        try:
            if not isinstance(records, list):
                raise MalformedRecord('"origins" must be a list of objects')
            for record in records:
                _check_origin(record)
        except MalformedRecord as problem:
            raise self._error(detail, str(problem)) from None
        return records

    def _record(self, detail: int) -> dict[str, Any]:
        with self._lock:
            kept = self._recent.get(detail)
            if kept is not None:
                self._recent.move_to_end(detail)
                return kept
        try:
            with _open_regular(self._path) as file:
                line = read_line(file, detail)
        except OSError as error:
            raise cannot_read(self._path, error) from None
        try:
            record = None if line is None else parse(line)
        except BadLine as bad:
            raise self._error(detail, bad.problem) from None
        if line is None or record is None or not {"id", "function"} <= record.keys():
            raise TreeFormatError(
                self._name,
                None,
                "the file was changed after it was opened, so this call can no longer be read",
                "open the tree again",
            )
        # A value takes two characters or more, so that most lines need not be looked through.
        if len(line) > 2 * MAX_VALUES and has_too_many_values(record):
            raise self._error(detail, f"the call has more than {MAX_VALUES:,} values")
        if len(line) <= _KEPT_LINE:
            with self._lock:
                self._recent[detail] = record
                if len(self._recent) > _KEPT_CALLS:
                    self._recent.popitem(last=False)
        return record

    def _part(self, name: str) -> Path:
        """The file that an implicit call names, which must lie beside or below this file."""
        directory = self._path.parent
        try:
            part = (directory / name).resolve()
            inside = part.is_relative_to(directory.resolve())
        except (OSError, RuntimeError, ValueError) as error:
            raise WhenceError(f"{name} cannot be found: {error}") from None
        if not inside:
            raise WhenceError(f"{name} leads out of {directory}, where {self._name} is")
        return part

    def _error(self, detail: int, problem: str) -> TreeFormatError:
        line = line_number(self._path, offset_of(detail))
        return TreeFormatError(self._name, line, problem)


def origins_of(tree: Tree, position: int) -> list[dict[str, Any]]:
    """The origin records of a call from its file; none for a tree from elsewhere."""
    if not isinstance(tree, ColumnTree):
        return []
    source = tree.sources[int(tree.source_of[position])]
    return source.origins(int(tree.details[position])) if isinstance(source, FileSource) else []


def _check_origin(record: Any) -> None:
    if not isinstance(record, dict) or not isinstance(record.get("part"), str):
        raise MalformedRecord(
            'an origin is an object with the "part" of a value, such as "result[1]"'
        )
    if record.get("node") is not None and not _is_id(record["node"]):
        raise MalformedRecord('the "node" of an origin must be the id of a call')
    for key in ("through", "influenced_by"):
        nodes = record.get(key, [])
        if not isinstance(nodes, list) or not all(map(_is_id, nodes)):
            raise MalformedRecord(f'the "{key}" of an origin must be a list of ids of calls')
    for key in ("whole", "input"):
        if not isinstance(record.get(key, False), bool):
            raise MalformedRecord(f'the "{key}" of an origin must be true or false')
    if not isinstance(record.get("expression", ""), str):
        raise MalformedRecord('the "expression" of an origin must be a text')
    decode_location(record if "file" in record else None, "file")


def _is_id(item: Any) -> bool:
    return isinstance(item, int) and not isinstance(item, bool) and 0 <= item <= MAX_ID


# --- writing -----------------------------------------------------------------------------------


def write_tree(
    target: str | os.PathLike[str] | TextIO,
    tree: Tree,
    origins: Origins | None = None,
    header: TreeHeader | None = None,
) -> None:
    """Write a tree, callers first. `header` is for a tree that has none from a file of its own.

    `origins` gives the origin records for a position; without it those that the tree has from its
    own files are kept. To a reader of the new file the calls below a call that is implicit now
    were not written down. A file appears under its name only when it is complete.
    """
    find = origins or (lambda position: origins_of(tree, position))
    if not isinstance(target, str | os.PathLike):
        target.writelines(_json_line(record, target) for record in _records(tree, find, header))
        return
    path = Path(os.path.realpath(target))
    # A pipe or a device is written to as it is: renaming over it would destroy it.
    in_place = path.exists() and not path.is_file()
    beside = path if in_place else path.with_name(f"{path.name}.{os.urandom(4).hex()}.part")
    try:
        flags = os.O_WRONLY | (0 if in_place else os.O_CREAT | os.O_EXCL)
        descriptor = open_private_file(beside, flags)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            try:
                file.writelines(_json_line(record, file) for record in _records(tree, find, header))
                file.close()
                if not in_place:
                    beside.replace(path)
            except BaseException:
                if not in_place:
                    beside.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise WhenceError(f"{path}: cannot be written: {error.strerror or error}") from None


def _records(tree: Tree, origins: Origins, header: TreeHeader | None) -> Iterator[dict[str, Any]]:
    yield _header_record(tree, header)
    functions = {function.name: function for function in tree.functions}
    for function in tree.functions:
        if function != Function(function.name):
            yield encode_function(function)
    for rule in tree.rules:
        if rule != _plain_rule(rule, functions):
            yield encode_rule(rule)
    columns = tree.columns
    for position in range(len(columns)):
        parent = int(columns.parent[position])
        record: dict[str, Any] = {
            "id": tree.id(position),
            "parent": None if parent < 0 else tree.id(parent),
            **encode_call(tree.call(position)),
        }
        own = _plain_number(float(columns.own[position]))
        if columns.implicit[position]:
            record["implicit"] = True
            record["subtree_weight"] = own
        elif own != 1:
            record["weight"] = own
        records = [dict(origin) for origin in origins(position)]
        if records:
            record["origins"] = records
        yield record


def _header_record(tree: Tree, header: TreeHeader | None) -> dict[str, Any]:
    record: dict[str, Any] = {"whence": "tree", "version": VERSION}
    sources: Sequence[object] = tree.sources if isinstance(tree, ColumnTree) else ()
    if header is None and sources and isinstance(sources[0], FileSource):
        header = sources[0].header
    if header is not None:
        texts = {"language": header.language, "program": header.program}
        record.update({key: text for key, text in texts.items() if text})
    return record


def _plain_rule(rule: Rule, functions: Mapping[str, Function]) -> Rule:
    """What a reader takes a rule of this name to be if it is not defined."""
    whole = functions.get(rule.function) if rule.name == rule.function else None
    return Rule(rule.name, rule.function, whole.location if whole else None)


def _plain_number(weight: float) -> int | float:
    return int(weight) if weight.is_integer() else weight


def _json_line(record: Mapping[str, Any], stream: TextIO) -> str:
    text = json.dumps(record, ensure_ascii=False)
    try:
        text.encode(getattr(stream, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(record)
    return text + "\n"
