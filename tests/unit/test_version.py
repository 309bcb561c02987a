import importlib.metadata
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import whence

ROOT = Path(__file__).parents[2]


def test_the_version_is_the_one_in_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert whence.__version__ == project["version"]


def test_a_tree_that_was_never_installed_has_a_version_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def not_installed(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", not_installed)
    assert whence.__version__ == "0+unknown"


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = whence.nonsense  # type: ignore[attr-defined]  # that is the point


def test_importing_whence_does_not_load_what_only_the_version_needs() -> None:
    # -S, because the import hook of an editable installation may load it by itself.
    program = f"""
import sys
sys.path.insert(0, {str(Path(whence.__file__).parents[1])!r})
import whence
sys.exit("importlib.metadata" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-S", "-c", program], check=False).returncode == 0
