"""The one pass over a tree file that finds its calls: rows, functions and rules, but no values.

Checked here is what the columns need; what a question shows is only checked to be JSON, and is
decoded when it is asked for. The memory taken is that of the rows, about 54 bytes a call, plus one
line and the tables, which are bounded too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, TypeVar

from whence.errors import TreeFormatError
from whence.model.call import Function, Rule
from whence.tree.build import NO_PARENT, Linked, NotATree, Rows, link
from whence.tree.codec import (
    MAX_NESTING,
    MalformedRecord,
    decode_function,
    decode_rule,
    equation_digest,
    outcome_kind,
)
from whence.tree.lines import MAX_LINE, BadLine, detail_of, line_number, offset_of, parse

VERSION = 1
MAX_ID = 2**63 - 1
MAX_WEIGHT = 1e15
MAX_TABLES = 256 * 2**20
"""About how many bytes the functions and rules of a file may take together."""

_PER_ENTRY = 600
_BOM = b"\xef\xbb\xbf"
_LINES_A_REPORT = 2**14
_HEADER = '{"whence": "tree", "version": 1}'

_Entry = TypeVar("_Entry", Function, Rule)

Progress = Callable[[int, int], None]
"""Receives how many bytes were read, and of how many."""


@dataclass(frozen=True, slots=True)
class TreeHeader:
    """The first line of a tree file."""

    language: str = ""
    program: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of one pass over a file."""

    linked: Linked
    functions: list[Function]
    rules: list[Rule]
    lines: int


def read_header(path: Path, file: BinaryIO) -> tuple[TreeHeader, int]:
    """The header, and its line number; the file is left at the line that follows."""
    for number, line in enumerate(iter(partial(file.readline, MAX_LINE + 1), b""), 1):
        try:
            record = parse(line.removeprefix(_BOM) if number == 1 else line)
            if record is not None:
                return _header(record), number
        except BadLine as bad:
            raise TreeFormatError(
                str(path),
                number,
                f"this is not a tree of whence: {bad.problem}",
                bad.cure or f"the first line of a tree is its header, {_HEADER}",
            ) from None
    raise TreeFormatError(str(path), None, "the file is empty", f"a tree starts with {_HEADER}")


def _header(record: Mapping[str, Any]) -> TreeHeader:
    cure = f"the first line of a tree is its header, {_HEADER}"
    if record.get("whence") != "tree":
        raise BadLine("it does not start with a header", cure)
    version = record.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise BadLine('the header\'s "version" must be a whole number from 1', cure)
    if version > VERSION:
        raise BadLine(
            f"it has version {version} of the format, and this whence reads version {VERSION}",
            "install a newer whence, or let the tracer write the older version",
        )
    texts = {key: record.get(key) for key in ("language", "program")}
    for key, text in texts.items():
        if text is not None and not isinstance(text, str):
            raise BadLine(f'the header\'s "{key}" must be a text')
    return TreeHeader(texts["language"] or "", texts["program"] or "")


def read_calls(
    path: Path, file: BinaryIO, header: int, size: int, progress: Progress | None = None
) -> Reading:
    """All calls of a file that is positioned after its header, which is on line `number`."""
    rows, tables = Rows(), _Tables()
    lines = _read_rows(path, file, header, rows, tables, (size, progress))
    try:
        linked = link(rows)
    except NotATree as problem:
        offset = offset_of(rows.details[problem.row]) if len(rows.details) else None
        raise TreeFormatError(
            str(path),
            None if offset is None else line_number(path, offset),
            problem.problem,
            "is the file complete? It should hold each call once, and the caller of each but one",
        ) from None
    return Reading(linked, tables.functions(), tables.rules(), lines)


def _read_rows(
    path: Path,
    file: BinaryIO,
    header: int,
    rows: Rows,
    tables: _Tables,
    report: tuple[int, Progress | None],
) -> int:
    """Fill the rows, and return how many lines there are. The hot loop: every name is local."""
    size, progress = report
    pairs = tables.pairs
    add_id, add_parent = rows.ids.append, rows.parents.append
    add_function, add_rule = rows.functions.append, rows.rules.append
    add_outcome, add_own = rows.outcomes.append, rows.own.append
    add_equation, add_effort = rows.equations.append, rows.efforts.append
    add_implicit, add_detail = rows.implicit.append, rows.details.append
    offset = file.tell()
    number, line = header, b""
    try:
        for number, line in enumerate(iter(partial(file.readline, MAX_LINE + 1), b""), header + 1):
            start = offset
            offset += len(line)
            if len(line) > MAX_LINE:
                raise BadLine(
                    f"the line is longer than {MAX_LINE // 2**20} MB",
                    'leave parts of values out, and count them in "more"',
                )
            if progress is not None and number % _LINES_A_REPORT == 0:
                progress(offset, size)
            record = parse(line)
            if record is None:
                continue
            if "define" in record or "id" not in record:
                tables.define(record, len(line))
                continue
            node, parent = record["id"], record.get("parent")
            if node.__class__ is not int or not 0 <= node <= MAX_ID:
                raise BadLine('"id" must be a whole number from 0, below 2^63')
            if parent is None:
                parent = NO_PARENT
            elif parent.__class__ is not int or not 0 <= parent <= MAX_ID:
                raise BadLine('"parent" must be the id of a call, or null for the first call')
            pair = record.get("function"), record.get("rule")
            try:
                numbers = pairs[pair]
            except (KeyError, TypeError):  # a new pair, or one of lists and objects
                numbers = tables.pair(*pair)
            own, implicit = 1.0, 0
            if "weight" in record:
                own = _weight(record, "weight")
            if "implicit" in record and _is_implicit(record):
                own, implicit = _weight(record, "subtree_weight"), 1
            try:
                digest, effort = equation_digest(record)
            except (ValueError, RecursionError) as error:
                raise _not_digested(error) from None
            add_id(node)
            add_parent(parent)
            add_function(numbers[0])
            add_rule(numbers[1])
            add_outcome(outcome_kind(record))
            add_own(own)
            add_equation(digest)
            add_effort(effort)
            add_implicit(implicit)
            add_detail(detail_of(start, line))
    except (BadLine, MalformedRecord) as bad:
        raise _located(path, number, line, bad, len(rows.details)) from None
    if progress is not None:
        progress(offset, size)
    return number


def _located(
    path: Path, number: int, line: bytes, bad: BadLine | MalformedRecord, calls: int
) -> TreeFormatError:
    """The failure at a line of a file."""
    if not line.endswith(b"\n") and len(line) <= MAX_LINE and not _is_json(line):
        return TreeFormatError(
            str(path),
            number,
            f"the file seems to be truncated: its last line breaks off after {calls:,} whole calls",
            "let the program that writes it finish, or write it again",
        )
    if isinstance(bad, MalformedRecord):
        return TreeFormatError(str(path), number, str(bad))
    return TreeFormatError(str(path), number, bad.problem, bad.cure)


def _not_digested(error: ValueError | RecursionError) -> BadLine:
    if isinstance(error, RecursionError):
        return BadLine("the line is nested too deeply", f"cut values off at {MAX_NESTING} levels")
    return BadLine("a number is too large", "write it as a text")


def _is_json(line: bytes) -> bool:
    try:
        parse(line)
    except BadLine:
        return False
    return True


def _weight(record: Mapping[str, Any], key: str) -> float:
    weight = record.get(key)
    if (
        isinstance(weight, bool)
        or not isinstance(weight, int | float)
        or not 0 <= weight <= MAX_WEIGHT
    ):
        more = ", and an implicit call needs one" if key == "subtree_weight" else ""
        raise BadLine(f'"{key}" must be a number from 0 to 1e15{more}')
    return float(weight)


def _is_implicit(record: Mapping[str, Any]) -> bool:
    implicit = record["implicit"]
    if isinstance(implicit, bool):
        return implicit
    name = implicit.get("file") if isinstance(implicit, dict) else None
    if not isinstance(name, str):
        raise BadLine('"implicit" must be true, or an object with the "file" of the calls below')
    path = PurePosixPath(name)
    if not name or "\0" in name or path.is_absolute() or ".." in path.parts:
        raise BadLine(
            f"an implicit call names the file {name!r}, which may lie elsewhere",
            "name a file in the directory of this one or below it, by its relative path",
        )
    return True


@dataclass(slots=True)
class _Tables:
    """The functions and rules of a file, numbered as calls name them."""

    pairs: dict[tuple[Any, Any], tuple[int, int]] = field(default_factory=dict)
    """The numbers of the function and the rule that a call names, as it names them."""
    _functions: dict[str, int] = field(default_factory=dict)
    _rules: dict[str, int] = field(default_factory=dict)
    _function_of: dict[str, str] = field(default_factory=dict)
    _defined_functions: dict[str, Function] = field(default_factory=dict)
    _defined_rules: dict[str, Rule] = field(default_factory=dict)
    _size: int = 0

    def define(self, record: Mapping[str, Any], size: int) -> None:
        """Read a line, of this size, that defines a function or a rule."""
        kind = record.get("define")
        if kind == "function":
            self._define(decode_function(record), self._defined_functions, size)
        elif kind == "rule":
            rule = decode_rule(record)
            self._check_name(rule.function, "function")
            self._own(rule.name, rule.function)
            self._define(rule, self._defined_rules, size)
        elif "define" in record:
            raise BadLine('"define" must be "function" or "rule"')
        elif "whence" in record:
            raise BadLine("a second header stands here", "write each tree into a file of its own")
        else:
            raise BadLine('this is neither a call, which has an "id", nor a definition')

    def _define(self, entry: _Entry, defined: dict[str, _Entry], size: int) -> None:
        self._check_name(entry.name, "name")
        if entry.name not in defined:
            self._grow(size)
            defined[entry.name] = entry
        elif defined[entry.name] != entry:
            raise BadLine(
                f"{entry.name} was defined before, and differently", "define each name once"
            )

    def pair(self, function: Any, rule: Any) -> tuple[int, int]:
        """Number a function and a rule that no call named together before."""
        self._check_name(function, "function")
        if rule is None:
            numbers = self.pair(function, function)
        else:
            self._check_name(rule, "rule")
            self._own(rule, function)
            self._grow(len(function) + len(rule))
            numbers = (
                self._functions.setdefault(function, len(self._functions)),
                self._rules.setdefault(rule, len(self._rules)),
            )
        self.pairs[function, rule] = numbers
        return numbers

    def functions(self) -> list[Function]:
        """The functions that calls named."""
        return [self._defined_functions.get(name) or Function(name) for name in self._functions]

    def rules(self) -> list[Rule]:
        """The rules that calls named."""
        return [self._defined_rules.get(name) or self._plain_rule(name) for name in self._rules]

    def _plain_rule(self, name: str) -> Rule:
        function = self._function_of[name]
        whole = self._defined_functions.get(function) if name == function else None
        return Rule(name, function, whole.location if whole else None)

    def _check_name(self, name: Any, key: str) -> None:
        if not isinstance(name, str) or not name:
            raise BadLine(f'"{key}" must be a name, a text that is not empty')

    def _own(self, rule: str, function: str) -> None:
        owner = self._function_of.setdefault(rule, function)
        if owner != function:
            raise BadLine(
                f"rule {rule} belongs to function {owner}, and here to function {function}",
                f"give rules names that are unique in the file, such as {function}.1",
            )

    def _grow(self, size: int) -> None:
        self._size += size + _PER_ENTRY
        if self._size > MAX_TABLES:
            raise BadLine(
                f"the functions and rules take more than {MAX_TABLES // 2**20} MB",
                "name the function of a call, not the call",
            )
