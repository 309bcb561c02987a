"""Counts what makes the code hard to read or to change, now and at an earlier revision.

Prints the table that CONTRIBUTING.md shows, as Markdown: `python tools/code_counts.py --base REV`.
Each count is something that a reader stumbles over and that no linter limits.
"""

from __future__ import annotations

import argparse
import ast
import io
import subprocess
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MANY_METHODS = 25
VAGUE_NAMES = {"each", "found", "known", "given", "told", "seen"}
IMPLEMENTATIONS = ("langs", "tree")
"""Packages below `whence` whose classes the rest should know through ports only."""


@dataclass(frozen=True)
class Module:
    path: Path
    """Relative to `src`."""
    tree: ast.Module

    @property
    def package(self) -> str:
        """The package directly below `whence`, or the top-level package itself."""
        parts = self.path.with_suffix("").parts
        return parts[1] if len(parts) > 1 and parts[0] == "whence" else parts[0]

    def classes(self) -> Iterator[ast.ClassDef]:
        return (node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef))


def read_modules(root: Path) -> list[Module]:
    source = root / "src"
    return [
        Module(path.relative_to(source), ast.parse(path.read_text(encoding="utf-8")))
        for path in sorted(source.rglob("*.py"))
    ]


def count(root: Path) -> dict[str, str]:
    """All counts of the checkout at `root`, in the order of the table."""
    modules = read_modules(root)
    named = [module for module in modules if not module.path.stem.startswith("__")]
    module_names = Counter(module.path.stem for module in named)
    class_names = Counter(node.name for module in modules for node in module.classes())
    mirrored = {path.stem.removeprefix("test_") for path in (root / "tests").rglob("test_*.py")}
    return {
        "lines of Python in src": f"{lines(root, '*.py'):,}",
        "lines of C in src": f"{lines(root, '*.[ch]'):,}",
        "modules": f"{len(named)}",
        "uses of `Any`": f"{uses_of_any(modules):,}",
        "`isinstance` probes for an implementation outside `langs/` and `tree/`": (
            f"{implementation_probes(modules)}"
        ),
        "hidden command-line options": f"{hidden_options(modules)}",
        f"classes of more than {MANY_METHODS} methods": f"{large_classes(modules)}",
        "module names that several modules have": shared(module_names),
        "class names that several classes have": shared(class_names),
        f"variables named {', '.join(sorted(VAGUE_NAMES))}": f"{vague_variables(modules):,}",
        "modules without a test file of their name": (
            f"{sum(module.path.stem not in mirrored for module in named)}"
        ),
    }


def lines(root: Path, pattern: str) -> int:
    files = (root / "src").rglob(pattern)
    return sum(path.read_text(encoding="utf-8").count("\n") for path in files)


def uses_of_any(modules: list[Module]) -> int:
    return sum(
        isinstance(node, ast.Name) and node.id == "Any"
        for module in modules
        for node in ast.walk(module.tree)
    )


def implementation_probes(modules: list[Module]) -> int:
    """`isinstance` tests for a concrete class of a language or a tree, made by code above them.

    Data that merely lives there (an enum, a frozen record) is no seam and is not counted: a class
    counts if it, or a class that it inherits from, is called a tree, a source, a provenance or
    re-runs.
    """
    inside = [module for module in modules if module.package in IMPLEMENTATIONS]
    seams = ("Tree", "Source", "Provenance", "Reruns", "Below", "Zooming", "Oracle")
    implementations = {
        node.name for module in inside for node in module.classes() if node.name.endswith(seams)
    }
    return sum(
        any(
            isinstance(name, ast.Name) and name.id in implementations
            for name in ast.walk(node.args[1])
        )
        for module in modules
        if module.package not in IMPLEMENTATIONS
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "isinstance"
        and len(node.args) == 2
    )


def hidden_options(modules: list[Module]) -> int:
    """Options whose help is suppressed, of argparse and of pytest; a loop adds one per item."""
    return sum(hidden_in(module.tree) for module in modules)


def hidden_in(node: ast.AST, times: int = 1) -> int:
    if isinstance(node, ast.For) and isinstance(node.iter, ast.Tuple):
        times = len(node.iter.elts)
    is_hidden = (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("add_argument", "addoption")
        and any(
            isinstance(name, ast.Attribute) and name.attr == "SUPPRESS"
            for keyword in node.keywords
            for name in ast.walk(keyword.value)
        )
    )
    return times * is_hidden + sum(hidden_in(child, times) for child in ast.iter_child_nodes(node))


def large_classes(modules: list[Module]) -> int:
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return sum(
        sum(isinstance(member, functions) for member in node.body) > MANY_METHODS
        for module in modules
        for node in module.classes()
    )


def vague_variables(modules: list[Module]) -> int:
    return sum(
        (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in VAGUE_NAMES)
        or (isinstance(node, ast.arg) and node.arg in VAGUE_NAMES)
        for module in modules
        for node in ast.walk(module.tree)
    )


def shared(names: Counter[str]) -> str:
    several = [number for number in names.values() if number > 1]
    return f"{len(several)} ({sum(several)} in all)"


def count_at(revision: str) -> dict[str, str]:
    """The counts of an earlier revision of this repository."""
    command = ["git", "archive", revision, "src", "tests"]
    archive = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(folder, filter="data")
        return count(Path(folder))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--base", metavar="REV", help="an earlier revision to compare with")
    options = parser.parse_args()
    now = count(ROOT)
    if options.base is None:
        print("| count | now |\n|---|---|")
        print("\n".join(f"| {name} | {value} |" for name, value in now.items()))
        return
    base = count_at(options.base)
    print(f"| count | at {options.base} | now |\n|---|---|---|")
    for name, value in now.items():
        print(f"| {name} | {base[name]} | {value} |")


if __name__ == "__main__":
    main()
