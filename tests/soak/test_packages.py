"""The test suites of packages from PyPI: the same results under recording."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from foreign_suites import Suite, differences, from_junit

from whence.langs.python.trace.trace_reader import open_trace

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]

# Each pinned: what is compared is whence, not a new release. All need nothing but pytest, and have
# their tests in their source distribution. (Version, what goes on the path, where the tests are.)
PACKAGES = {
    "sqlparse": ("0.5.3", ".", "tests"),
    "toolz": ("1.0.0", ".", "toolz/tests"),
    "more-itertools": ("10.7.0", ".", "tests"),
    "cachetools": ("5.5.0", "src", "tests"),
    "tabulate": ("0.9.0", ".", "test"),
    "mistune": ("3.0.2", "src", "tests"),
    "inflection": ("0.5.1", ".", "test_inflection.py"),
    "idna": ("3.10", ".", "tests"),
}


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sources")


@pytest.mark.parametrize("package", PACKAGES)
def test_a_packages_own_tests_pass_as_without(package: str, sources: Path, suite: Suite) -> None:
    version, importable, tests = PACKAGES[package]
    root = unpacked(package, version, sources)
    report = suite.folder / "report.xml"
    arguments = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header"]
    arguments += ["-p", "no:randomly", f"--rootdir={root}", f"--junitxml={report}"]
    arguments += [str(root / tests)]
    environ = {"PYTHONPATH": str(root / importable), "PYTHONDONTWRITEBYTECODE": "1"}
    here = Suite(suite.folder, environ)
    plain, recorded, trace = here.compare(arguments, from_junit(report), [], "native")
    assert len(plain) > 20, "tests were run"
    assert differences(plain, recorded) == {}
    assert len(open_trace(trace).columns) > len(plain)


def unpacked(package: str, version: str, sources: Path) -> Path:
    """The source distribution, which holds the tests."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "-q"]
    wanted = ["--no-deps", "--no-binary", package, "-d", str(sources), f"{package}=={version}"]
    subprocess.run([*pip, *wanted], check=True, stdin=subprocess.DEVNULL)
    stem = package.replace("-", "_")
    (archive,) = [*sources.glob(f"{stem}-*.tar.gz"), *sources.glob(f"{package}-*.tar.gz")][:1]
    with tarfile.open(archive) as file:
        file.extractall(sources, filter="data")
    (root,) = [
        each for each in sources.glob(f"{archive.name.removesuffix('.tar.gz')}") if each.is_dir()
    ]
    return root
