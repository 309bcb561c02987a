"""The interpreters at hand, and one virtual environment for each of them.

Owns `.venvs/3.N/`. Apart from run_tests.py because `make demo` and others need an environment and
no tests. Runs before anything is installed, hence the standard library only; and it has to get as
far as its own error message on a Python that is too old, hence no syntax newer than 3.8.

Invariant: an environment that has a stamp is complete, holds at least the extras that the stamp
names, and was installed from the build inputs of this checkout as they were when it was stamped.

As a program: `python tools/environments.py terminal test` brings the environment of the running
interpreter up to date with these extras, and is silent when there is nothing to do.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

ROOT = Path(__file__).resolve().parent.parent
VENVS = ROOT / ".venvs"
OLDEST = (3, 11)
NEWEST_MINOR_LOOKED_FOR = 20

# Every version of every dependency. A new release of a linter or a test tool changes nothing until
# `make lock` takes it up.
CONSTRAINTS = ROOT / "constraints.txt"

# A change in any of these makes an installation stale. Python sources are not among them: the
# installation is editable. Compiled ones are.
BUILD_INPUTS = ("pyproject.toml", "setup.py", "constraints.txt", "src/**/*.c", "src/**/*.h")

# Run by strangers, so in a Python that even 2.7 understands. The base executable, because an
# environment made from an environment that is itself in `.venvs` could delete its own origin.
PROBE = """
import json, sys, sysconfig
print(json.dumps({
    "executable": getattr(sys, "_base_executable", None) or sys.executable,
    "implementation": getattr(getattr(sys, "implementation", None), "name", ""),
    "version": sys.version_info[:3],
    "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
}))
"""


class Unavailable(Exception):
    """No environment can be had for this interpreter, through no fault of the project."""


class InstallFailed(Exception):
    """The environment is there, with all that the project needs, but the project fails in it."""


@dataclass(frozen=True)
class Interpreter:
    executable: str
    version: str

    @property
    def minor(self) -> str:
        return ".".join(self.version.split(".")[:2])

    @property
    def environment(self) -> Path:
        return VENVS / self.minor

    @property
    def python(self) -> Path:
        return self.environment / "bin" / "python"


def running() -> Interpreter:
    """The interpreter that runs this; exits with cause and cure when whence cannot run on it."""
    found = probe(sys.executable)
    if found is None:
        sys.exit(
            "whence needs CPython {}.{} or newer (a standard, not a free-threaded build);\n"
            "this is {} {}. Name another one: make PYTHON=/path/to/python3".format(
                *OLDEST, sys.implementation.name, sys.version.split()[0]
            )
        )
    return found


def at_hand(main: Interpreter) -> list[Interpreter]:
    """Every CPython that whence supports, one for each minor version, `main` first."""
    found = {main.minor: main}
    for candidate in candidates():
        interpreter = probe(candidate)
        if interpreter is not None:
            found.setdefault(interpreter.minor, interpreter)
    others = [interpreter for interpreter in found.values() if interpreter is not main]
    return [main, *sorted(others, key=lambda other: int(other.minor.split(".")[1]))]


def candidates() -> Iterator[str]:
    # Not shutil.which: the first match may be a pyenv shim that only prints an error, with a
    # working interpreter behind it.
    for minor in range(OLDEST[1], NEWEST_MINOR_LOOKED_FOR + 1):
        for folder in os.environ.get("PATH", "").split(os.pathsep):
            path = shutil.which(f"python3.{minor}", path=folder) if folder else None
            if path:
                yield path
    root = pyenv_root()
    if root is not None:
        # Newest first, so that 3.12.10 is taken before 3.12.9.
        versions = sorted(root.glob("versions/3.*"), key=release, reverse=True)
        yield from (str(version / "bin" / "python") for version in versions)


def release(version: Path) -> list[int]:
    return [int(part) if part.isdigit() else -1 for part in version.name.split(".")]


def pyenv_root() -> Path | None:
    if shutil.which("pyenv"):
        answer = subprocess.run(
            ["pyenv", "root"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        if answer.returncode == 0 and answer.stdout.strip():
            return Path(answer.stdout.strip())
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    return root if root.is_dir() else None


def probe(executable: str) -> Interpreter | None:
    try:
        answer = subprocess.run(
            [executable, "-c", PROBE],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
            env=clean_environ(),
        )
        facts = json.loads(answer.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    supported = (
        facts["implementation"] == "cpython"
        and tuple(facts["version"][:2]) >= OLDEST
        and not facts["free_threaded"]  # another ABI, for which dependencies are often missing
    )
    if not supported:
        return None
    return Interpreter(facts["executable"], ".".join(map(str, facts["version"])))


def clean_environ() -> dict[str, str]:
    """Our environment without what would make an interpreter see packages of another one, or
    compile all modules again in each of the thousands of processes that the tests start."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "__PYVENV_LAUNCHER__", "PYTHONDONTWRITEBYTECODE")
    return {name: value for name, value in os.environ.items() if name not in hidden}


def prepare(interpreter: Interpreter, extras: Iterable[str]) -> None:
    """Bring the interpreter's environment up to date; Unavailable or InstallFailed if it fails."""
    with lock(interpreter.minor):
        stamp = interpreter.environment / "whence-stamp.json"
        # The place of the checkout too: a copied environment still refers to the original.
        base = str(Path(interpreter.executable).resolve())
        origin, inputs = [str(ROOT), base, interpreter.version], digest()
        old = read_stamp(stamp)
        reusable = old.get("origin") == origin and interpreter.python.exists()
        # Together with what is there: `make demo` after `make test` must not take anything away.
        wanted = sorted({*extras, *(old["extras"] if reusable else ())})
        if reusable and old["inputs"] == inputs and old["extras"] == wanted:
            return
        stamp.unlink(missing_ok=True)
        place = interpreter.environment.relative_to(ROOT)
        say(f"setting up {place} with {interpreter.version} for {', '.join(wanted)} ...")
        if not reusable:
            make(interpreter)
        install(interpreter, wanted)
        stamp.write_text(json.dumps({"origin": origin, "inputs": inputs, "extras": wanted}))


@contextmanager
def lock(name: str) -> Iterator[None]:
    """One set-up at a time: `make demo` may be typed while `make test` is still installing."""
    VENVS.mkdir(exist_ok=True)
    with (VENVS / f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def digest() -> str:
    total = hashlib.sha256()
    for pattern in BUILD_INPUTS:
        for path in sorted(ROOT.glob(pattern)):
            total.update(f"{path.relative_to(ROOT)}\0".encode())
            total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def read_stamp(stamp: Path) -> dict[str, Any]:
    try:
        stamp_fields: dict[str, Any] = json.loads(stamp.read_text())
    except (OSError, ValueError):
        return {}
    return stamp_fields


def make(interpreter: Interpreter) -> None:
    command = [interpreter.executable, "-m", "venv", "--clear", str(interpreter.environment)]
    failure = run(command)
    if failure:
        shutil.rmtree(interpreter.environment, ignore_errors=True)
        raise Unavailable(
            f"{interpreter.executable} ({interpreter.version}) cannot make a virtual environment; "
            "a system Python often needs a package such as python3-venv for that\n" + failure
        )


def install(interpreter: Interpreter, extras: Sequence[str]) -> None:
    """Dependencies first, then the project alone, in order to tell whose fault a failure is."""
    pip = [str(interpreter.python), "-m", "pip", "--disable-pip-version-check", "install"]
    failure = run([*pip, "--constraint", str(CONSTRAINTS), *requirements(extras)])
    if failure:
        raise Unavailable(
            f"the packages that whence needs do not install on {interpreter.version}\n" + failure
        )
    with lock("build"):  # every installation writes the same metadata into the sources
        # Tests of an extension that is missing without a word would test its Python definition.
        required = {"WHENCE_REQUIRE_EXTENSIONS": "1"} if "test" in extras else {}
        project = f"{ROOT}[{','.join(extras)}]"
        failure = run([*pip, "--no-deps", "--editable", project], required)
    if failure:
        raise InstallFailed(f"whence itself does not install on {interpreter.version}\n" + failure)
    # pip compiles what it copies, but not the sources of an editable installation.
    run([str(interpreter.python), "-m", "compileall", "-q", "-j", "0", str(ROOT / "src")])


def requirements(extras: Sequence[str]) -> list[str]:
    # Not at the top: an interpreter too old for whence has no tomllib, and gets a message instead.
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    return [*project["dependencies"], *(name for extra in extras for name in optional[extra])]


def run(command: Sequence[str], variables: Mapping[str, str] | None = None) -> str:
    """Run quietly; the end of the output if it failed, nothing if not."""
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**clean_environ(), **(variables or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode == 0:
        return ""
    tail = done.stdout.splitlines()[-30:]
    return "\n".join([f"    $ {' '.join(command)}", *(f"    {line}" for line in tail)])


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main(extras: Sequence[str]) -> int:
    try:
        prepare(running(), extras)
    except (Unavailable, InstallFailed) as problem:
        say(str(problem))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
