"""An installed program: where it is, and which package is its code.

`python -m package` and a console script (the file that pip writes for an entry point) run code that
is installed, and so would not count as user code. Who debugs such a program means its package.
Programs that run the code of others, such as pytest, are an exception: their own code is not meant.

Invariant: nothing is imported; files are only read.
"""

from __future__ import annotations

import ast
import glob
import importlib.machinery
import os
import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from whence.errors import WhenceError
from whence.langs.python.debuggee.run_as_python import Target, TargetKind
from whence.langs.python.record.user_code import UserCodeRules

_TEST_RUNNERS = "_pytest behave coverage green mutmut nose nose2 nox py pytest robot tox ward xdist"
_NOTEBOOKS = "IPython ipykernel jupyter jupyter_core jupyterlab nbclient nbconvert papermill"
_PROFILERS = "kernprof memory_profiler pyinstrument scalene viztracer whence"
_SERVERS = "celery daphne django flask gradio gunicorn hypercorn streamlit twisted uvicorn"
_TASKS = "airflow alembic invoke locust luigi pip scrapy"
RUNNERS = frozenset(
    name
    for names in (_TEST_RUNNERS, _NOTEBOOKS, _PROFILERS, _SERVERS, _TASKS)
    for name in names.split()
)
"""Packages that run the code of others."""
_SCRIPT_FOLDERS = ("bin", "Scripts")
_LONGEST_SCRIPT = 20_000
_FIRST_LINE = 256


@dataclass(frozen=True, slots=True)
class InstalledProgram:
    """The package behind a program; `script` is the file that only starts it."""

    module: str
    script: str = ""

    def added_to(self, rules: UserCodeRules) -> UserCodeRules:
        """The rules by which the package is user code, and the script is not."""
        added, left_out = rules.added, rules.left_out
        package = self.module.partition(".")[0]
        if package not in RUNNERS and package not in sys.stdlib_module_names:
            added = (*added, *_package_and_folders(self.module))
        if self.script:
            left_out = (*left_out, glob.escape(self.script))
        return replace(rules, added=added, left_out=left_out)


def installed_program(target: Target) -> InstalledProgram | None:
    """The installed program that a target is; None if it is the user's own script or text."""
    if target.kind is TargetKind.MODULE:
        return InstalledProgram(target.name)
    if target.kind is TargetKind.SCRIPT:
        module = _entry_point(target.name)
        return (
            None if module is None else InstalledProgram(module, str(Path(target.name).absolute()))
        )
    return None


def found_on_path(target: Target) -> Target | None:
    """The same program, found as a shell finds it; None if it is a file here, or is nowhere."""
    name = target.name
    if target.kind is not TargetKind.SCRIPT or os.sep in name or Path(name).exists():
        return None
    path = shutil.which(name)
    if path is None:
        return None
    if "python" not in _first_line(path):
        raise WhenceError(f"{path}: is not a Python program, so it cannot be recorded")
    return replace(target, name=path)


def _first_line(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            return file.readline(_FIRST_LINE).decode("latin-1")
    except OSError:
        return ""


def _entry_point(script: str) -> str | None:
    """The module that a console script calls; None if a file is no such script."""
    path = Path(script).absolute()
    if path.parent.name not in _SCRIPT_FOLDERS or "python" not in _first_line(script):
        return None
    try:
        text = path.read_bytes()
        if len(text) > _LONGEST_SCRIPT:
            return None
        body = ast.parse(text).body
    except (OSError, SyntaxError, ValueError):
        return None
    modules = [line.module for line in body if isinstance(line, ast.ImportFrom) and line.module]
    others = [line for line in body if not isinstance(line, ast.Import | ast.ImportFrom)]
    is_wrapper = len(modules) == 1 and len(others) == 1 and "sys.exit(" in ast.unparse(others[0])
    return modules[0] if is_wrapper else None


def _package_and_folders(module: str) -> tuple[str, ...]:
    """The outermost package of a module by name, and its folders or its file.

    Its `__main__` has another name when it runs. Of a package that several projects share, the part
    of this one is taken.
    """
    places: list[str] | None = [str(Path.cwd()), *sys.path]
    name = ""
    for part in module.split("."):
        name = f"{name}.{part}" if name else part
        spec = importlib.machinery.PathFinder.find_spec(name, places)
        if spec is None:
            return ()
        folders = list(spec.submodule_search_locations or ())
        if spec.origin is not None:
            return (name, *(folders or [spec.origin]))
        places = folders
    return (name, *(places or ()))
