"""Two versions of a program side by side, as files."""

from __future__ import annotations

from pathlib import Path

from whence.langs.python.oracles.program_versions import _same_data


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
