"""Imports that are written in strings obey the layers, too: import-linter does not see them."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
STATEMENT = re.compile(r"(?:\bfrom|\bimport)\s+(whence(?:\.\w+)*)")
LOADERS = ("import_module", "find_spec", "run_module", "__import__")


def layers() -> dict[str, int]:
    """For each package or module of whence the number of its layer; 0 is the highest."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (layered,) = [contract for contract in contracts if contract["type"] == "layers"]
    return {
        name.strip(" ()"): number
        for number, layer in enumerate(layered["layers"])
        for name in layer.split("|")
    }


def imports_by_string(text: str) -> Iterator[tuple[int, str]]:
    """The modules that strings of a source text import, with their lines."""
    tree = ast.parse(text)
    docstrings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node not in docstrings:
                for match in STATEMENT.finditer(node.value):
                    yield node.lineno, match[1]
        elif isinstance(node, ast.Call) and _name(node.func) in LOADERS and node.args:
            yield from _module(node.args[0])
        if isinstance(node, ast.List | ast.Tuple):
            for option, module in zip(node.elts, node.elts[1:], strict=False):
                if isinstance(option, ast.Constant) and option.value == "-m":
                    yield from _module(module)


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _module(node: ast.expr) -> Iterator[tuple[int, str]]:
    """The module that an expression names, as far as it is written there."""
    first = node.values[0] if isinstance(node, ast.JoinedStr) else node
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        name = first.value.rstrip(".")
        if name.partition(".")[0] == "whence":
            yield node.lineno, name


def violations(module: str, text: str, order: dict[str, int]) -> list[str]:
    """The strings in a module that import what stands above it."""
    above = []
    own = order.get(module.split(".")[1])
    for line, name in imports_by_string(text):
        parts = name.split(".")
        other = order.get(parts[1]) if len(parts) > 1 else 0
        if own is not None and other is not None and other < own:
            above.append(f"{module}:{line} imports {name}")
    return above


def test_no_string_imports_what_stands_above() -> None:
    order, found = layers(), []
    for path in sorted((SOURCE / "whence").rglob("*.py")):
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        found += violations(module, path.read_text(encoding="utf-8"), order)
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "code = 'from whence.cli.main import main; main()'",
        "command = [python, '-m', 'whence.cli.main']",
        "command = [python, '-m', 'whence']",
        "importlib.import_module(f'whence.cli.{name}')",
    ],
)
def test_an_import_by_string_is_found(text: str) -> None:
    assert violations("whence.langs.python.running", text, layers())


def test_documentation_may_mention_any_module() -> None:
    text = '"""Run `python -c "import whence.cli"`."""\n'
    assert not violations("whence.langs.python.running", text, layers())
