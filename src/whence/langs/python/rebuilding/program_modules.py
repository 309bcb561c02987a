"""Where the modules of a recorded program are, and how a test imports them.

A script runs as `__main__`; a test imports it by the name of its file. If importing it would run
the program, the test loads it with a few lines of its own and takes the names that it defined.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from whence.errors import WhenceError
from whence.langs.python.rebuilding.checked_source import (
    CannotRebuild,
    is_identifier,
    literal_source,
)
from whence.langs.python.source.definitions import ModuleDefinitions, definitions_in

MAIN = "__main__"


@dataclass(frozen=True, slots=True)
class RecordedProgram:
    """A recorded program: its files by module, its command, and how to read a file."""

    files: Mapping[str, str]
    read: Callable[[str], str]
    folder: Path
    command: tuple[str, ...] = ()
    ended: bool = True
    """Whether the run ended by itself."""

    def module(self, name: str) -> ModuleDefinitions | None:
        """The definitions of a module, if its source is available."""
        file = self.files.get(name)
        try:
            return None if file is None else definitions_in(self.read(file))
        except WhenceError:
            return None

    def own_name(self, module: str) -> str:
        """The name by which other modules import a module."""
        if module != MAIN:
            return module
        if self.command[:1] == ("-m",) and len(self.command) > 1:
            name = self.command[1]
            file = Path(self.files.get(MAIN, ""))
            return f"{name}.__main__" if file.name == "__main__.py" else name
        return Path(self.files.get(MAIN, MAIN)).stem


@dataclass(frozen=True, slots=True)
class ModuleAccess:
    """How a test gets a module: the directory to search, or the file to load."""

    module: str
    root: Path | None
    script: Path | None = None
    variable: str = ""


def find_access(
    program: RecordedProgram, module: str, definitions: ModuleDefinitions
) -> ModuleAccess:
    """How a test gets a module; `CannotRebuild` if it cannot."""
    name = program.own_name(module)
    path = program.folder / program.files[module]
    parts = name.split(".")
    importable = all(map(is_identifier, parts))
    runs = definitions.runs_when_imported
    if module == MAIN and (runs or not importable or _is_shadowed(name, path)):
        if runs and not program.ended:
            raise CannotRebuild(
                f"{path.name} runs its program as soon as it is imported, and that did not end by "
                'itself: put what it does below `if __name__ == "__main__":` first'
            )
        variable = "".join(c if c.isidentifier() or c.isdigit() else "_" for c in path.stem)
        return ModuleAccess(name, None, path, variable if is_identifier(variable) else "script")
    if not importable:
        raise CannotRebuild(f"{name} cannot be imported by its name")
    folder = path.parent.parent if path.name == "__init__.py" else path.parent
    for part in reversed(parts[:-1]):
        if folder.name != part:
            raise CannotRebuild(f"{program.files[module]} is not where {name} would be imported")
        folder = folder.parent
    return ModuleAccess(name, None if _is_installed(parts[0], folder) else folder)


def _is_shadowed(name: str, path: Path) -> bool:
    """Whether an import would find another module of this name first."""
    return name in sys.stdlib_module_names or path.stem.startswith("test_")


def _is_installed(top: str, folder: Path) -> bool:
    """Whether a package is installed from there, without `sys.path` changes."""
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError, AttributeError):
        return False
    origins = [spec.origin] if spec and spec.origin else []
    origins += list(spec.submodule_search_locations or ()) if spec else []
    try:
        here = folder.resolve()
    except (OSError, ValueError):  # a name that no file can have
        return False
    # The working directory is on the path only because of how this process was started.
    return here != Path.cwd().resolve() and any(
        Path(origin).resolve().is_relative_to(here) for origin in origins
    )


def path_expression(target: Path, test: Path) -> str:
    """A path as an expression in a test file."""
    folder = test.absolute().parent
    target = target.absolute()
    for up, parent in enumerate([folder, *folder.parents]):
        if target == parent or target.is_relative_to(parent):
            start = "Path(__file__).resolve()." + ("parent" if up == 0 else f"parents[{up}]")
            rest = target.relative_to(parent).as_posix()
            return start if rest == "." else f"{start} / {literal_source(rest)}"
    return f"Path({literal_source(target.as_posix())})"
