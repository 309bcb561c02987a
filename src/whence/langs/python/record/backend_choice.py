"""Chooses the backend that records, and gives the reasons against the others.

The only module that knows which backends exist, in order of preference, and what each needs.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType

from whence.errors import WhenceError
from whence.langs.python.record.backend import Backend, CodeReader
from whence.langs.python.record.options import RecordOptions
from whence.langs.python.record.summaries import Summary

NATIVE, PURE = "native", "pure"
VARIABLE = "WHENCE_BACKEND"
"""The environment variable that names a backend where the command line does not."""

# The documentation of sys.monitoring reserves the other ids for certain kinds of tools.
TOOL_IDS = (3, 4)
_PACKAGE = "whence.langs.python.record"
NOT_BUILT = (
    "the C extension was not built when whence was installed",
    "install a C compiler and the headers of Python, then install whence again",
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A backend, and what keeps it from being used here."""

    name: str
    what: str
    obstacle: str | None = None
    cure: str = ""

    @property
    def can_be_used(self) -> bool:
        """Whether there is no obstacle."""
        return self.obstacle is None

    def why_not(self) -> str:
        """The obstacle and what to do about it, in one line."""
        return f"{self.obstacle}; {self.cure}" if self.cure else f"{self.obstacle}"


def candidates() -> tuple[Candidate, ...]:
    """Every backend, the best one first."""
    return _native(), _pure()


def choose_backend(wanted: str | None = None) -> Candidate:
    """The backend to record with. `wanted`, or the environment, may require a certain one."""
    wanted = wanted or os.environ.get(VARIABLE) or None
    backends = candidates()
    names = [candidate.name for candidate in backends]
    if wanted is not None and wanted not in names:
        raise WhenceError(f"there is no backend named {wanted}: choose one of {', '.join(names)}")
    common = _common_obstacle()
    if common is not None:
        raise WhenceError(f"nothing can record here: {'; '.join(common)}")
    rejected = []
    for candidate in backends:
        if wanted in {None, candidate.name}:
            if candidate.can_be_used:
                return candidate
            rejected.append(f"{candidate.name}: {candidate.why_not()}")
    raise WhenceError("nothing can record here.\n  " + "\n  ".join(rejected))


def make(
    name: str,
    descriptor: int,
    options: RecordOptions,
    code_reader: CodeReader,
    summaries: Mapping[type, Summary],
) -> Backend:
    """A backend that writes its pages to a file."""
    if name == NATIVE:
        from whence.langs.python.record.native_backend import NativeBackend

        return NativeBackend(descriptor, options, code_reader, summaries)
    from whence.langs.python.record.python_backend import PythonBackend

    return PythonBackend(descriptor, options, code_reader, summaries)


def _native() -> Candidate:
    what = "in C, on sys.monitoring" if sys.version_info >= (3, 12) else "in C, evaluating frames"
    obstacle, cure = _common_obstacle() or extension_obstacle(f"{_PACKAGE}._recorder") or (None, "")
    return Candidate(NATIVE, what, obstacle, cure)


def _pure() -> Candidate:
    monitoring = sys.version_info >= (3, 12)
    what = "in Python, on sys.monitoring" if monitoring else "in Python, on sys.setprofile"
    obstacle, cure = _common_obstacle() or (None, "")
    if obstacle is None and not monitoring and sys.getprofile() is not None:
        obstacle, cure = "another profiler is active", "record without it"
    if obstacle is None and importlib.util.find_spec("_ctypes") is None:
        obstacle, cure = "this Python was built without ctypes", "build it with libffi"
    return Candidate(PURE, what, obstacle, cure)


def _common_obstacle() -> tuple[str, str] | None:
    """Why no backend can record here, if that is so."""
    if sys.implementation.name != "cpython":
        return f"this is {sys.implementation.name}", "whence records CPython only"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return (
            "this is a free-threaded build of Python, where calls of different threads would get "
            "mixed up",
            "record with a standard build",
        )
    if sys.version_info >= (3, 12) and free_tool_id() is None:
        users = " and ".join(str(sys.monitoring.get_tool(number)) for number in TOOL_IDS)
        return f"{users} have taken the tool ids of sys.monitoring", "record without them"
    return None


def free_tool_id() -> int | None:
    """A tool id of `sys.monitoring` that is not in use."""
    if sys.version_info < (3, 12):
        return None
    for number in TOOL_IDS:
        if sys.monitoring.get_tool(number) is None:
            return number
    return None


def extension_obstacle(name: str) -> tuple[str, str] | None:
    """Why an extension cannot be loaded, and the cure; None if it can."""
    loaded = load_extension(name)
    if isinstance(loaded, ModuleType):
        return None
    if isinstance(loaded, ModuleNotFoundError):
        return NOT_BUILT
    return str(loaded), ""


def load_extension(name: str) -> ModuleType | ImportError:
    """An extension module, or the error if it cannot be imported."""
    try:
        return importlib.import_module(name)
    except ImportError as problem:
        return problem
