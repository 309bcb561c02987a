"""Two versions of a program: which file corresponds to which, and which code differs.

Files are compiled here, never run. `checkouts.py` finds the reference and unpacks it.

Invariant: code counts as the same only if the file still holds what was recorded and both versions
compile to the same, wherever the code is in the file.
"""

from __future__ import annotations

import ast
import filecmp
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import CodeType

from whence.errors import WhenceError
from whence.langs.python.oracles.worker_process import ProgramVersion
from whence.langs.python.record.one_test import OneTest
from whence.langs.python.record.user_code import UserCodeRules
from whence.langs.python.source.code_digest import all_code, content
from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace.trace_source import TraceSource
from whence.langs.python.trace.trace_tables import CodeEntry
from whence.regular_files import read_regular_file

_OPTIMIZED = 1
_MOST_FILES = 20_000
NOT_SOURCE = {".git", "__pycache__", ".whence", ".venv", "venv", "node_modules", ".tox"}
CACHE_TAG = "CACHEDIR.TAG"
"""Marks a cache folder, such as that of pytest."""


@dataclass(frozen=True, slots=True)
class ReferenceVersion:
    """Another version: `folder` stands in for `anchor`, or one script for another."""

    name: str
    folder: str
    anchor: str
    script: str | None = None
    temporary: bool = False
    """Whether the folder was made for this session."""
    package: bool = False
    """Whether it holds a package only: what else is in `anchor`, such as tests, stays as it is."""
    is_mixture: bool = False
    """Whether it is the program with some changes: then it runs in its own folder."""

    def _stands_in_for(self, own: str) -> bool:
        if not is_below(own, self.anchor):
            return False
        first = os.path.relpath(own, self.anchor).split(os.sep)[0]
        return not self.package or os.path.exists(os.path.join(self.folder, first))

    def file(self, own: str, main: str) -> str | None:
        """The file that stands in for one of the program's; None if there is none."""
        if self.script is not None and own == main:
            return self.script
        if self.script is not None or not self._stands_in_for(own):
            return own
        path = os.path.join(self.folder, os.path.relpath(own, self.anchor))
        return path if os.path.exists(path) else None

    def place(self, folder: str) -> str:
        """The folder that stands in for one of the program's."""
        if not self._stands_in_for(folder):
            return folder
        return os.path.normpath(os.path.join(self.folder, os.path.relpath(folder, self.anchor)))

    def place_word(self, word: str) -> str:
        """A word of a command line, which may be a path of a file of the program."""
        path = word.partition("::")[0]
        if not os.path.isabs(path) or not self._stands_in_for(path):
            return word
        return self.place(path) + word[len(path) :]

    def replaces(self, own: str, main: str) -> bool:
        """Whether this version has its own file instead of one of the program's."""
        if self.script is not None:
            return own == main and os.path.realpath(own) != os.path.realpath(self.script)
        return self._stands_in_for(own) and not is_below(own, self.folder)


class VersionPair:
    """The program as it was recorded, and a reference version."""

    def __init__(
        self,
        source: TraceSource,
        reference: ReferenceVersion = ReferenceVersion("", "", ""),
        stdin: str = "",
    ) -> None:
        self._header = source.file.header
        self._recording = source.file.path
        self._stdin = stdin
        self.reference = reference
        self._codes = [code for code in source.tables.codes() if code.file and not code.is_text]
        self._compiled: dict[str, CodeType | None] = {}
        self._in_one_line: dict[int, CodeType] = {}
        """By address of code in `_compiled`: the same, with each statement in one line."""
        self._same: dict[tuple[str, str, int], bool | None] = {}

    # --- files -----------------------------------------------------------------------------------

    @cached_property
    def kind(self) -> str:
        """How the program was started: `script`, `-m`, `-c`, or nothing if that is not known."""
        command = self._header.command
        if not command or command[0].startswith("--"):
            return ""
        return command[0] if command[0] in ("-m", "-c") else "script"

    @cached_property
    def main(self) -> str:
        """The file of the script that was run, if it was one."""
        return self.absolute(self._header.command[0]) if self.kind == "script" else ""

    def absolute(self, file: str) -> str:
        """The path of one of the program's files."""
        return os.path.normpath(os.path.join(self._header.cwd or os.getcwd(), file))

    def files(self) -> list[str]:
        """The files of user code that ran."""
        return list(dict.fromkeys(self.absolute(code.file) for code in self._codes))

    def roots(self) -> list[str]:
        """The folders that the program's modules are found in."""
        folders = []
        for file, module in dict.fromkeys((code.file, code.module) for code in self._codes):
            if module != "__main__":
                folders += _root(self.absolute(file), module)
        return list(dict.fromkeys(folders))

    def own(self) -> ProgramVersion:
        """How to start the program's own version."""
        return self._version("your own version", self.main, self._first(), self.roots(), ())

    def other(self) -> ProgramVersion:
        """How to start the reference."""
        reference = self.reference
        main = reference.file(self.main, self.main) if self.main else ""
        if main is None:
            raise WhenceError(f"{reference.name}: has no {os.path.relpath(self.main)}")
        if reference.script is not None:
            folder, roots = os.path.dirname(reference.script), [*self.roots(), self._first()]
        else:
            folder = reference.place(self._first())
            roots = [reference.folder, *map(reference.place, self.roots())]
        name = f"the reference {reference.name}"
        version = self._version(name, main, folder, roots, (reference.folder,))
        if not reference.is_mixture or reference.script is not None:
            return version
        moved = tuple(map(reference.place_word, version.arguments))
        header = self._header
        test = OneTest(header.test, header.with_teardown) if header.test else None
        return replace(version, cwd=reference.place(version.cwd), arguments=moved, test=test)

    def _first(self) -> str:
        if self.kind == "script":
            main = os.path.realpath(self.main)
            return main if os.path.isdir(main) else os.path.dirname(main)
        return self._header.cwd or os.getcwd()

    def _version(
        self, name: str, main: str, folder: str, roots: list[str], added: tuple[str, ...]
    ) -> ProgramVersion:
        header = self._header
        words = header.command
        options = header.options
        rules = UserCodeRules(
            (*options.get("user_code", ()), *(path for path in added if os.sep in path)),
            tuple(options.get("only", ())),
            tuple(options.get("left_out", ())),
        )
        modules = dict.fromkeys(
            code.module for code in self._codes if code.module and code.module != "__main__"
        )
        return ProgramVersion(
            name=name,
            kind=self.kind,
            program=main if self.kind == "script" else words[1] if len(words) > 1 else "",
            arguments=tuple(words[1:] if self.kind == "script" else words[2:]),
            cwd=header.cwd or os.getcwd(),
            folder=folder,
            paths=tuple(roots),
            modules=tuple(modules),
            recording=self._recording,
            rules=rules,
            stdin=self._stdin,
        )

    # --- code ------------------------------------------------------------------------------------

    def same(self, entry: CodeEntry) -> bool | None:
        """Whether code is the same in both versions; None if that cannot be known."""
        key = (entry.file, entry.qualname, entry.first_line)
        if key not in self._same:
            self._same[key] = self._compare(entry)
        return self._same[key]

    def _compare(self, entry: CodeEntry) -> bool | None:
        if entry.is_text:
            # Text that was compiled while the program ran: what it was is not recorded.
            return None
        own_file = self.absolute(entry.file)
        other_file = self.reference.file(own_file, self.main)
        if other_file == own_file:
            return True  # it belongs to both; pytest may have compiled it in its own way
        own = self._code(own_file)
        if own is None:
            return None
        named = [code for code in all_code(own) if code.co_qualname == entry.qualname]
        key = entry.first_line, entry.line_table
        mine = [code for code in named if (code.co_firstlineno, code.co_linetable) == key]
        is_there = any(code.co_firstlineno == key[0] for code in named)
        if is_there and other_file is not None and is_equal_file(own_file, other_file):
            return True  # pytest compiles tests in its own way, but equal files to equal code
        if len(mine) != 1:
            return None  # the file is not what it was
        if other_file is None:
            return False
        other = self._code(other_file)
        if other is None:
            return None
        others = [code for code in all_code(other) if code.co_qualname == entry.qualname]
        if len(others) != len(named):
            # Which is which is not known, but it is the same as one that is there.
            return any(self._content(mine[0]) == self._content(other) for other in others)
        return self._content(mine[0]) == self._content(others[named.index(mine[0])])

    @cached_property
    def only_functions_differ(self) -> bool:
        """Whether the versions differ only inside functions."""
        return self.same_data and all(map(self._same_bodies, self.files()))

    @cached_property
    def same_data(self) -> bool:
        """Whether files other than Python's are the same in both versions."""
        other = self.reference
        return other.script is not None or _same_data(other.anchor, other.folder)

    def _same_bodies(self, file: str) -> bool:
        other = self.reference.file(file, self.main)
        if other is None:
            return False
        one, two = self._code(file), self._code(other)
        if one is None or two is None:
            return False
        return list(map(self._content, _bodies(one))) == list(map(self._content, _bodies(two)))

    def _content(self, code: CodeType) -> tuple[object, ...]:
        return content(self._in_one_line.get(id(code), code))

    def _code(self, file: str) -> CodeType | None:
        if file not in self._compiled:
            try:
                module = ast.parse(read_regular_file(file))
                for statement in module.body:
                    _without_label(statement, self._named_in_functions)
                code = self._compiled[file] = compile(module, file, "exec", dont_inherit=True)
                self._in_one_line |= _statements_in_one_line(module, code)
            except (OSError, SyntaxError, ValueError, RecursionError):
                self._compiled[file] = None
        return self._compiled[file]

    @cached_property
    def _named_in_functions(self) -> frozenset[str]:
        """The names of variables and attributes that functions of the program use."""
        names: set[str] = set()
        for file in self.files():
            try:
                body = compile(read_regular_file(file), file, "exec", dont_inherit=True)
            except (OSError, SyntaxError, ValueError, RecursionError):
                continue
            for code in all_code(body):
                names.update(code.co_names if code.co_flags & _OPTIMIZED else ())
        return frozenset(names)


def _without_label(statement: ast.stmt, used: frozenset[str]) -> None:
    """Remove the value of `__version__ = "1.2"`: it differs in each release and does nothing.

    Only for constants with such a name that no function of the program uses.
    """
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return
    target = statement.targets[0]
    name = target.id if isinstance(target, ast.Name) else ""
    if not (name.startswith("__") and name.endswith("__")) or name in used or name == "__all__":
        return
    if isinstance(statement.value, ast.Constant):
        statement.value = ast.copy_location(ast.Constant(None), statement.value)


_WITH_OWN_LINE = (
    ast.stmt, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
    ast.ExceptHandler, ast.match_case,
)  # fmt: skip
"""Code of its own is known by its line: equal code in one line becomes one object."""


def _statements_in_one_line(module: ast.Module, code: CodeType) -> dict[int, CodeType]:
    """By address: each code of a module as if each statement were in one line.

    The compiler adds instructions where an expression goes on in another line. Changes the module.
    """
    work: list[tuple[ast.AST, int]] = [(module, 1)]
    while work:
        node, line = work.pop()
        if isinstance(node, _WITH_OWN_LINE):
            line = getattr(node, "lineno", line)
        if hasattr(node, "lineno"):
            ast.copy_location(node, ast.Pass(lineno=line, col_offset=0, end_lineno=line))
            node.end_col_offset = 0  # type: ignore[attr-defined]
        work += ((child, line) for child in ast.iter_child_nodes(node))
    flat = list(all_code(compile(module, code.co_filename, "exec", dont_inherit=True)))
    codes = list(all_code(code))
    if [one.co_qualname for one in codes] != [one.co_qualname for one in flat]:
        return {}
    return {id(one): other for one, other in zip(codes, flat, strict=True)}


def is_equal_file(one: str, other: str) -> bool:
    """Whether two files can be read and have the same content."""
    try:
        return filecmp.cmp(one, other, shallow=False)
    except OSError:
        return False


def is_below(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies in it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _root(file: str, module: str) -> list[str]:
    """The folder in which a module of this name is found in this file."""
    path = Path(file)
    parts = module.split(".")
    if path.name == "__init__.py":
        path = path.parent
    names = [*path.parts[:-1], path.stem if path.suffix == ".py" else path.name]
    if names[-len(parts) :] != parts:
        return []
    return [str(Path(*names[: -len(parts)]))]


def _bodies(code: CodeType) -> Iterator[CodeType]:
    """The body of a module and of its classes, without functions."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType) and not constant.co_flags & _OPTIMIZED:
            yield from _bodies(constant)


def _same_data(one: str, other: str) -> bool:
    """Whether files other than Python's that are in both folders are the same."""
    count = 0
    for folder, folders, files in os.walk(other):
        folders[:] = [
            name for name in folders if name not in NOT_SOURCE and not name.startswith(".venv")
        ]
        if CACHE_TAG in files:
            folders.clear()
            continue
        for name in files:
            count += 1
            if count > _MOST_FILES:
                return False
            theirs = os.path.join(folder, name)
            ours = os.path.join(one, os.path.relpath(theirs, other))
            if name.endswith((".py", ".pyc", ".md", ".rst", ".txt~", ".whence")):
                continue
            try:
                if os.path.exists(ours) and not filecmp.cmp(ours, theirs, shallow=False):
                    return False
            except OSError:
                return False
    return True


def is_body(entry: CodeEntry) -> bool:
    """Whether code is the body of a module or class, which makes names and has no outcome."""
    return bool(entry.flags & (f.MODULE_BODY | f.CLASS_BODY))
