"""Builds bugs of BugsInPy from PyPI alone: the buggy tree, the fixed tree and an environment.

Owns the cache folder of `bench/bugsinpy.py`. Each step leaves a marker when it is complete, so a
build that was stopped goes on, and a bug that is there is not built again. Nothing of a project is
run here but by pip, which installs the pinned packages that the tests need.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import venv
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

DATA = Path(__file__).parent / "data" / "bugsinpy"
SOURCE = Path(__file__).parents[1] / "src"
_TESTS4PY = "tests4py==1.0.0"
_RESOURCES = "tests4py/projects/resources"
_EXTRA_TESTS = Path("bip_tests") / "test_bip_t4p.py"
_READY = "ready.json"
_OLD_NAMES = "old_python_names.py"
_TEST_PATH = re.compile(r"(^|/)(tests?|bip_tests)/|(^|/)(test_[^/]*|[^/]*_test)\.py$")
_SECTION = re.compile(r"^diff --git ", re.MULTILINE)


class CannotBuild(Exception):
    """A bug could not be built; the text says which step failed, and how."""


@dataclass(frozen=True)
class Changed:
    """One definition that the fix changed."""

    file: str
    qualname: str
    kind: str
    how: str


@dataclass(frozen=True)
class Bug:
    """One bug, as `verified.json` describes it."""

    id: str
    project: str
    version: str
    mode: str
    test: str
    origin: str
    truth: tuple[Changed, ...]
    pins: tuple[str, ...]

    @property
    def resources(self) -> str:
        """Its folder in the wheel of tests4py."""
        project, _, number = self.id.rpartition("_")
        return f"{_RESOURCES}/{project.replace('-', '')}/bug_{number}"

    @property
    def is_held_out(self) -> bool:
        """Whether it belongs to the half of the bugs on which no weight was chosen."""
        return hashlib.sha256(self.id.encode()).digest()[0] % 2 == 1


@dataclass(frozen=True)
class Built:
    """A bug on disk."""

    bug: Bug
    buggy: Path
    fixed: Path
    python: Path


def bugs() -> list[Bug]:
    """All bugs of the list."""
    entries: list[dict[str, Any]] = json.loads((DATA / "verified.json").read_text())
    names = ("id", "project", "version", "mode", "test", "origin")
    return [
        Bug(
            **{name: entry[name] for name in names},
            truth=tuple(Changed(**changed) for changed in entry["truth"]),
            pins=tuple(entry["pins"]),
        )
        for entry in entries
    ]


def published() -> dict[str, Any]:
    """What others reach, by bug."""
    ranks: dict[str, Any] = json.loads((DATA / "published.json").read_text())
    return ranks


class Cache:
    """The folder of everything that is downloaded and built."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()
        self._downloads = self._folder / "downloads"
        self._downloads.mkdir(parents=True, exist_ok=True)

    def built(self, bug: Bug) -> Built:
        """The bug, built if it is not there."""
        python = self._environment(bug.pins)
        folder = self._folder / "bugs" / bug.id
        if not (folder / _READY).exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            self._build_trees(bug, folder)
            (folder / _READY).write_text(json.dumps({"id": bug.id, "version": bug.version}))
        return Built(bug, folder / "buggy", folder / "fixed", python)

    def _build_trees(self, bug: Bug, folder: Path) -> None:
        with tarfile.open(self._download(bug.project, bug.version)) as archive:
            archive.extractall(folder / "sdist", filter="data")
        (root,) = (folder / "sdist").iterdir()
        buggy, fixed = folder / "buggy", folder / "fixed"
        shutil.copytree(root, buggy, symlinks=True)
        shutil.copytree(root, fixed, symlinks=True)
        shutil.rmtree(folder / "sdist")
        with zipfile.ZipFile(self._tests4py()) as wheel:
            patch = wheel.read(f"{bug.resources}/fix.patch")
            unit_tests = wheel.read(f"{bug.resources}/unittests.py")
        code, tests = _split(patch.decode("utf-8", "surrogateescape"))
        fuzz = ("-F3",) if bug.mode.endswith("~") else ("-F0",)
        if bug.mode.startswith("rev"):
            _apply(code, buggy, "--reverse", *fuzz)
        else:
            _apply(code, fixed, *fuzz)
            if tests:
                with contextlib.suppress(CannotBuild):  # tests that the sdist does not have
                    _apply(tests, fixed, *fuzz)
                    _apply(tests, buggy, *fuzz)
        if bug.origin == "tests4py":
            for tree in (buggy, fixed):
                (tree / _EXTRA_TESTS.parent).mkdir(exist_ok=True)
                (tree / _EXTRA_TESTS).write_bytes(unit_tests)

    # --- environments ----------------------------------------------------------------------------

    def _environment(self, pins: Sequence[str]) -> Path:
        """The interpreter of an environment that has the pinned packages, and whence."""
        key = hashlib.sha256("\n".join(pins).encode()).hexdigest()[:12]
        folder = self._folder / "environments" / key
        python = folder / "bin" / "python"
        if not (folder / _READY).exists():
            shutil.rmtree(folder, ignore_errors=True)
            venv.create(folder, with_pip=False, symlinks=True)
            install = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q"]
            _run([*install, "--no-deps", *pins], f"installing what {key} needs")
            (folder / _READY).write_text(json.dumps(list(pins)))
        (packages,) = (folder / "lib").glob("python*/site-packages")
        shutil.copy(DATA / _OLD_NAMES, packages)
        paths = f"{self._own_dependencies()}\n{SOURCE}\nimport {_OLD_NAMES.removesuffix('.py')}\n"
        (packages / "whence_bench.pth").write_text(paths)
        return python

    def _own_dependencies(self) -> Path:
        """A folder with what whence itself needs, apart from what the projects pin."""
        folder = self._folder / "dependencies"
        if not (folder / _READY).exists():
            shutil.rmtree(folder, ignore_errors=True)
            command = [sys.executable, "-m", "pip", "install", "-q", "--target", str(folder)]
            _run([*command, "numpy>=1.26"], "installing numpy")
            (folder / _READY).write_text("[]")
        return folder

    # --- downloads -------------------------------------------------------------------------------

    def _tests4py(self) -> Path:
        matches = list(self._downloads.glob("tests4py-*.whl"))
        if not matches:
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps"]
            _run([*command, "-d", str(self._downloads), _TESTS4PY], "downloading tests4py")
            matches = list(self._downloads.glob("tests4py-*.whl"))
        return matches[0]

    def _download(self, project: str, version: str) -> Path:
        """The sdist of a release. pip would build it to learn its name; this does not."""
        path = self._downloads / f"{project}-{version}.tar.gz"
        if path.exists():
            return path
        url, digest = _sdist(project, version)
        with urllib.request.urlopen(url, timeout=120) as response:
            content: bytes = response.read()
        if digest and hashlib.sha256(content).hexdigest() != digest:
            raise CannotBuild(f"{url}: its SHA-256 is not the one that the index gives")
        partial = path.with_suffix(".part")
        partial.write_bytes(content)
        partial.replace(path)
        return path


class _Links(HTMLParser):
    """The links of a page of the index."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        address = dict(attrs).get("href")
        if tag == "a" and address:
            self.links.append(address)


def _sdist(project: str, version: str) -> tuple[str, str]:
    """The address of a release's sdist, and its SHA-256 if the index gives it."""
    page = f"{_index().rstrip('/')}/{project.lower().replace('_', '-')}/"
    try:
        with urllib.request.urlopen(page, timeout=60) as response:
            text = response.read().decode("utf-8", "replace")
    except OSError as problem:
        raise CannotBuild(f"{page}: {problem}") from problem
    parser = _Links()
    parser.feed(text)
    wanted = re.compile(
        rf"/{project.replace('-', '[-_]')}-{_spellings(version)}\.tar\.(gz|bz2)$", re.IGNORECASE
    )
    for link in parser.links:
        address, _, fragment = urljoin(page, link).partition("#")
        if wanted.search(address):
            return address, fragment.removeprefix("sha256=") if "sha256=" in fragment else ""
    raise CannotBuild(f"{page}: has no sdist of {version}")


def _spellings(version: str) -> str:
    """A pattern for a version whose numbers may be written with leading zeros."""
    return r"\.".join(rf"0*{re.escape(part)}" for part in version.split("."))


def _index() -> str:
    """The index that pip is set up to use."""
    if os.environ.get("PIP_INDEX_URL"):
        return os.environ["PIP_INDEX_URL"]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout.strip() or "https://pypi.org/simple"


# --- patches -------------------------------------------------------------------------------------


def _split(patch: str) -> tuple[str, str]:
    """The part of a patch that changes the program, and the part that changes its tests."""
    places = [match.start() for match in _SECTION.finditer(patch)] or [0]
    sections = [patch[a:b] for a, b in zip(places, [*places[1:], len(patch)], strict=True)]
    code: list[str] = []
    tests: list[str] = []
    for section in sections:
        named = re.search(r"^(?:\+\+\+|---) [ab]/(\S+)", section, re.MULTILINE)
        is_test = named is not None and _TEST_PATH.search(named[1])
        (tests if is_test else code).append(section)
    return "".join(code), "".join(tests)


def _apply(patch: str, tree: Path, *options: str) -> None:
    with tempfile.NamedTemporaryFile("wb", suffix=".patch") as file:
        file.write(patch.encode("utf-8", "surrogateescape"))
        file.flush()
        command = ["patch", "-p1", "-s", "-N", "--no-backup-if-mismatch", "-i", file.name]
        _run([*command, *options], "applying the fix", tree)


def _run(
    command: Sequence[str], what: str, folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> None:  # fmt: skip
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise CannotBuild(f"{what}: {(done.stdout + done.stderr).strip()[-600:]}")
