"""Copies of the examples for one process: a session on a copy is held by no other process."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def own_copy(name: str) -> Path:
    """This process's copy of an example; the log of its session has a name of its own."""
    folder = Path(os.environ["WHENCE_TEST_STATE"]) / f"examples-{os.getpid()}"
    folder.mkdir(exist_ok=True)
    return Path(shutil.copy(EXAMPLES / name, folder))
