"""Programs that use packages from PyPI, run with calls of these packages frozen."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from frozen_runs import frozen_by_chance
from mutation import DRIVERS

from whence.langs.python.record.journal.journal_choice import obstacle

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(obstacle(None) is not None, reason="nothing here keeps a journal"),
]

PACKAGES = (
    "cachetools", "idna", "inflection", "mistune", "more_itertools", "slugify", "sortedcontainers",
    "sqlparse", "tabulate", "toolz",
)  # fmt: skip


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_with_frozen_calls_does_what_it_does_without(
    package: str, tmp_path: Path
) -> None:
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    script = tmp_path / "driver.py"
    script.write_text((DRIVERS / f"{package}_driver.py").read_text())
    found = frozen_by_chance(script, tmp_path, 1, 60, ["--user-code", package])
    print(f"\n{package}: {found}")
    assert found.printed == found.printed_before
    assert found.differing == {}
