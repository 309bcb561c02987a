"""A run with some calls frozen gives what the run without gives, or it is said why they are not.

`pytest -m soak -s tests/property/test_freezing.py` prints how many calls were frozen, and how many
were refused for which reason.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from frozen_runs import Outcome, frozen_by_chance
from impure_programs import program

from whence.langs.python.record.journal.journal_choice import obstacle

pytestmark = pytest.mark.skipif(obstacle(None) is not None, reason="nothing here keeps a journal")

PARTS = 20
"""Programs of one process."""


def outcome(seed: int, folder: Path, calls: int) -> Outcome:
    script = folder / "program.py"
    script.write_text(program(seed, PARTS))
    found = frozen_by_chance(script, folder, seed, calls, ["--leave-out", "told"], "f*")
    assert found.printed == found.printed_before
    return found


def test_programs_with_frozen_calls_do_what_they_do_without(tmp_path: Path) -> None:
    found = outcome(1, tmp_path, PARTS)
    assert found.differing == {}
    assert found.frozen > len(found.refused)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2, 12))
def test_two_hundred_programs_with_frozen_calls_do_what_they_do_without(
    seed: int, tmp_path: Path
) -> None:
    found = outcome(seed, tmp_path, 6 * PARTS)
    print(f"\nseed {seed}: {found}")
    assert found.differing == {}
    assert found.frozen > len(found.refused)
