"""The source of a rule: from the tree, else from the file that the tree names.

A file may have changed since the run; wherever its lines are shown, the report says so.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import dedent

from whence.errors import WhenceError
from whence.model.call import Call, Function, Location, OutcomeKind
from whence.model.primitive import RaisingOperation
from whence.model.value import show
from whence.ports import SourceSyntax
from whence.tree.source_files import SourceFiles

MOST_LINES = 40
_CHOICES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.TryStar, ast.Match)
_SHORT_DOCUMENTATION = 4


@dataclass(frozen=True, slots=True)
class Block:
    """Lines of source, and the number of the first one if it is known."""

    lines: tuple[str, ...]
    first: int | None = None
    changed: bool = False
    """Whether the file was written to after the run began."""
    executed: frozenset[int] | None = None
    """The numbers of the lines that the call ran; None if unknown."""
    raised: int | None = None
    """The number of the line that raised, which is always shown."""

    @property
    def has_choices(self) -> bool:
        """Whether it can end without running all of its lines."""
        try:
            tree = ast.parse(dedent("\n".join(self.lines)))
        except (SyntaxError, ValueError, RecursionError):
            return True
        return any(isinstance(node, _CHOICES) for node in ast.walk(tree))

    def numbered(self, most: int) -> list[str]:
        """The first lines with their numbers, and how many more there are."""
        column = len(str((self.first or 0) + len(self.lines) - 1))
        out = []
        for number, line in self.shown_lines(most):
            ran = ">" if self.executed is not None and number in self.executed else " "
            label = "" if self.first is None else f"{number or '':>{column}}"
            out.append(f"{ran} {label}  {line}" if label else f"{ran} {line}")
        return out

    def shown_lines(self, most: int) -> list[tuple[int | None, str]]:
        """The lines to show, each with its number; a line without one stands for omitted lines."""
        numbered: list[tuple[int | None, str]] = list(enumerate(self.lines, self.first or 0))
        first, last = _documentation(self.lines)
        if last - first > _SHORT_DOCUMENTATION:
            indent = " " * _indent(self.lines[first])
            numbered[first + 1 : last] = [
                (None, f"{indent}… {last - first - 1} more lines of documentation …")
            ]
        if len(numbered) > most and self.executed is not None:
            numbered = _marked(numbered, self.executed | {self.raised})
        if len(numbered) > most:
            end = (self.first or 0) + len(self.lines) - 1
            numbered = _first_and_raised(numbered, most, self.raised, end)
        return numbered


def _first_and_raised(
    numbered: list[tuple[int | None, str]], most: int, raised: int | None, end: int
) -> list[tuple[int | None, str]]:
    """The first lines; if the line that raised is further below, fewer of them, and those that end
    with it. `end` is the number of the last line."""
    numbers = [number for number, _ in numbered]
    place = numbers.index(raised) + 1 if raised is not None and raised in numbers else 0
    if place <= most:
        shown = _without_notes_at_end(numbered[:most])
    else:
        shown = _without_notes_at_end(numbered[: max(1, (most - 1) // 3)])
        tail = numbered[place - max(1, most - 1 - len(shown)) : place]
        while tail[0][0] is None:
            del tail[0]
        left = (tail[0][0] or 0) - (shown[-1][0] or 0) - 1
        shown += [(None, f"{' ' * _indent(tail[0][1])}… {left} lines …"), *tail]
    left = end - (shown[-1][0] or 0)
    return [*shown, (None, f"… and {left} more lines")] if left else shown


def _without_notes_at_end(
    numbered: list[tuple[int | None, str]],
) -> list[tuple[int | None, str]]:
    """Without the notes about omitted lines after the last line."""
    while len(numbered) > 1 and numbered[-1][0] is None:
        numbered = numbered[:-1]
    return numbered


def _marked(
    numbered: list[tuple[int | None, str]], executed: frozenset[int | None]
) -> list[tuple[int | None, str]]:
    """The definition's first line and what ran, with a line before and after; of a
    statement over several lines only the first may be marked."""
    ran = {index for index, (number, _) in enumerate(numbered) if number in executed}
    near = {0} | {index + offset for index in ran for offset in (-1, 0, 1)}
    # A single omitted line is no longer than the note about it.
    near |= {index for index in range(len(numbered)) if {index - 1, index + 1} <= near}
    out: list[tuple[int | None, str]] = []
    left = 0
    for index, line in enumerate(numbered):
        if index not in near:
            left += 1
            continue
        if left:
            out.append((None, f"{' ' * _indent(line[1])}… {left} lines without a mark …"))
            left = 0
        out.append(line)
    return out if not left else [*out, (None, f"… and {left} more lines without a mark")]


def from_here(file: str) -> str:
    """A path relative to the working directory if it is inside, else as it is."""
    try:
        return str(Path(file).relative_to(Path.cwd())) if Path(file).is_absolute() else file
    except (OSError, ValueError):
        return file


NOT_OWN = "code that is not the program's own"
NO_TEXT = "its source is not available, so what it called is not known"


@dataclass(frozen=True, slots=True)
class Executed:
    """The lines that a call ran, or why they are not known."""

    lines: frozenset[int] | None = None
    unknown: str = ""


@dataclass(frozen=True)
class Sources(SourceFiles):
    """The source files of a program, and what their text says if its language is known."""

    syntax: SourceSyntax | None = None

    def shown(self, where: Location) -> str:
        """A place as one would type it here, or in the folder of the program."""
        if self.folder is None:
            return str(where)
        file = from_here(where.file)
        try:
            inside = str(Path(where.file).relative_to(self.folder))
        except ValueError:
            inside = file
        return str(Location(min(file, inside, key=len), where.line, where.column))

    def block(self, call: Call) -> Block:
        """The source of what a call ran; `WhenceError` if it is not available."""
        where = call.where()
        first = where.line if where and where.line else None
        if call.rule.source:
            return Block(tuple(call.rule.source.splitlines()), first, raised=_raising_line(call))
        if where is None or where.line is None:
            raise WhenceError("the tree does not say where the source of this call is")
        lines = self.read(where.file).splitlines()
        if call.function.qualname != "<module>":
            lines = _block(lines, where)
        changed = self.changed(where.file)
        return Block(tuple(lines), where.line, changed, raised=_raising_line(call))

    def outline(self, call: Call) -> list[str]:
        """The outline of a class, if the call executed a class body."""
        where = call.where()
        if not call.text.startswith("class ") or where is None or where.line is None:
            return []
        if self.syntax is None:
            return []
        try:
            return list(self.syntax.outline(self.read(where.file), where.line))
        except WhenceError:
            return []

    def summary(self, call: Call) -> str:
        """The first line of the documentation of the called function; empty without one."""
        text = self._text_of(call)
        return "" if text is None or self.syntax is None else self.syntax.summary(text, call)

    def has_default(self, call: Call) -> frozenset[str]:
        """The names of the arguments that are as the function's definition has them."""
        text = self._text_of(call)
        if text is None or self.syntax is None:
            return frozenset()
        defaults = self.syntax.defaults(text, call)
        return frozenset(
            argument.name
            for argument in call.arguments
            if argument.name in defaults
            and show(argument.value)
            in (defaults[argument.name], f"<function {defaults[argument.name]}>")
        )

    def called_as(self, call: Call) -> str:
        """The expression that made a call, up to the end of its first line; empty if unknown."""
        site = call.site
        if site is None or not site.line or not site.column or call.step is not None:
            return ""
        try:
            lines = self.read_unchanged(site.file).splitlines()
        except WhenceError:
            return ""
        if site.line > len(lines):
            return ""
        line = lines[site.line - 1].encode()[site.column - 1 :]
        if site.end is not None and site.end[0] == site.line:
            expression = line[: site.end[1] - site.column].decode(errors="replace").strip()
            if self.syntax is not None:
                expression = self.syntax.calling_expression(expression, call.function)
            return expression
        return line.decode(errors="replace").rstrip() + "…"

    def _text_of(self, call: Call) -> str | None:
        """The text of the file with the called function, if it is as it was during the run."""
        where = call.where()
        if where is None or where.line is None or call.step is not None or call.text:
            return None
        try:
            return self.read_unchanged(where.file)
        except WhenceError:
            return None

    def calls_out_of_sight(
        self,
        call: Call,
        callees: Sequence[Function],
        functions: Sequence[Function],
        calls: Sequence[Call] | None,
    ) -> Mapping[str, Collection[int]]:
        """The names of what a call may have run without its being recorded, and their lines."""
        where = call.where()
        if self.syntax is None or call.step is not None:
            return {}
        if where is None or where.line is None:
            return {NOT_OWN: ()}
        try:
            text = self.read_unchanged(where.file)
        except WhenceError:
            return {NO_TEXT: ()}
        return self.syntax.calls_out_of_sight(
            text, call, callees, functions, calls, self._text_or_none
        )

    def _text_or_none(self, file: str) -> str | None:
        try:
            return self.read_unchanged(file)
        except WhenceError:
            return None

    def raising(self, call: Call) -> RaisingOperation | None:
        """The operation that raised the exception that left a call, if the source still says it."""
        where = call.outcome.location
        if call.outcome.kind is not OutcomeKind.RAISED or where is None or where.end is None:
            return None
        if where.line is None or where.column is None or self.syntax is None:
            return None
        try:
            text = self.read_unchanged(where.file)
        except WhenceError:
            return None
        return self.syntax.operation_at(text, (where.line, where.column, *where.end))


def source_lines(call: Call, sources: Sources, executed: frozenset[int] | None = None) -> list[str]:
    """What `source` shows, with the lines that ran where they are known."""
    block = replace(sources.block(call), executed=executed)
    where = call.where()
    out = [sources.shown(where)] if where else []
    out += block.numbered(MOST_LINES)
    if block.changed:
        out.append("(the file was changed after the recording)")
    if call.site:
        out.append(f"called at {sources.shown(call.site)}")
    return out


def _raising_line(call: Call) -> int | None:
    """The line of a call's own source at which an exception left it."""
    where, raised = call.where(), call.outcome.location
    if call.outcome.kind is not OutcomeKind.RAISED or where is None or raised is None:
        return None
    return raised.line if raised.file == where.file else None


def _documentation(lines: Sequence[str]) -> tuple[int, int]:
    """The range of the lines of a definition that is its docstring, counted from 0."""
    try:
        body = ast.parse(dedent("\n".join(lines))).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return 0, 0
    defined = body[0] if len(body) == 1 else None
    if not isinstance(defined, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return 0, 0
    first = defined.body[0]
    if ast.get_docstring(defined, clean=False) is None or first.end_lineno is None:
        return 0, 0
    return first.lineno - 1, first.end_lineno


def _block(lines: list[str], where: Location) -> list[str]:
    """From a definition's line to the next line that is indented no deeper."""
    assert where.line is not None
    below = lines[where.line - 1 :] if where.line > 0 else []
    if not below:
        raise WhenceError(f"{where.file} has no line {where.line}; was it changed since?")
    depth = _indent(below[0])
    start = _after_decorators(below)
    for count, line in enumerate(below[start:], start):
        closes = line.strip()[:1] in (")", "]", "}")
        if line.strip() and _indent(line) <= depth and not closes:
            below = below[:count]
            break
    while len(below) > 1 and not below[-1].strip():
        below.pop()
    return below


def _after_decorators(lines: list[str]) -> int:
    """How many lines stand before the body: a definition begins with its decorators."""
    if not lines[0].lstrip().startswith("@"):
        return 1
    depth = _indent(lines[0])
    for count, line in enumerate(lines[1:], 1):
        word = line.strip().split(" ", 1)[0]
        if _indent(line) == depth and word in ("def", "async", "class"):
            return count + 1
    return 1


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


NOWHERE = Sources()
"""The sources of a tree that says no more than the names of its files."""
