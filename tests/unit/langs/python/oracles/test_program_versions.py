"""Two versions of a program side by side, as files."""

from __future__ import annotations

import ast
from pathlib import Path

from reference_versions import run_recorded

from whence.langs.python.oracles.program_versions import (
    ReferenceVersion,
    VersionPair,
    _same_data,
)
from whence.langs.python.trace.call_recipes import place_of


def test_what_a_tool_keeps_as_its_cache_is_no_data_of_the_program(tmp_path: Path) -> None:
    for version in ("one", "two"):
        cache = tmp_path / version / ".some_cache" / "v"
        cache.mkdir(parents=True)
        (cache.parent / "CACHEDIR.TAG").write_text("Signature: 8a477f597d28d172789f06886806bc55")
        (cache / "last").write_text(version)
        (tmp_path / version / "table.csv").write_text("1, 2")
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    assert _same_data(one, two)
    (tmp_path / "two" / "table.csv").write_text("1, 3")
    assert not _same_data(one, two)


WRAPPED = """
def f(
    x: int,
    y: "dict[str, int]",
) -> None:
    return g(
        x,
        y,
    )
both = [lambda: 1,
        lambda: 2]
def g(x, y):
    return x
f(1, {})
"""


def test_code_that_is_only_wrapped_in_other_lines_is_unchanged(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(WRAPPED)
    (tmp_path / "good.py").write_text(ast.unparse(ast.parse(WRAPPED)))
    tree = run_recorded(tmp_path / "bad.py")
    source, _ = place_of(tree, 0)
    reference = ReferenceVersion(
        "good", str(tmp_path), str(tmp_path), script=str(tmp_path / "good.py")
    )
    versions = VersionPair(source, reference)
    assert versions.only_functions_differ
    assert all(map(versions.same, source.tables.codes()))
    other = ast.unparse(ast.parse(WRAPPED)).replace("return x", "return y")
    (tmp_path / "good.py").write_text(other)
    versions = VersionPair(source, reference)
    differ = [code.qualname for code in source.tables.codes() if not versions.same(code)]
    assert versions.only_functions_differ
    assert differ == ["g"]
