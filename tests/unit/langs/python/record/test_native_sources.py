"""The C sources of the recorder: what is internal to CPython is in `cpython/` only."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from whence.langs.python.record import backend_choice

RECORD = Path(backend_choice.__file__).parent
SOURCES = sorted(
    path
    for folder in (RECORD / "native", RECORD / "journal" / "native")
    for path in folder.glob("*.[ch]")
)
INTERNAL = re.compile(
    r"PY_VERSION_HEX|PY_MINOR_VERSION|Py_BUILD_CORE|pycore_|->interp\b|->cframe\b|->f_globals\b"
    r"|->previous\b|\blocalsplus\b|\bprev_instr\b|\binstr_ptr\b|\bstacktop\b|\beval_frame\b"
    r"|\bc_profilefunc\b|\bgi_iframe\b|\bgi_frame_state\b|\b_co_|\b_Py[A-Z]\w*"
)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: f"{path.parents[1].name}/{path.name}")
def test_no_file_outside_of_cpython_reads_internals(path: Path) -> None:
    assert INTERNAL.findall(path.read_text(encoding="utf-8")) == []
    assert "whole" not in path.name
    assert re.findall(r'#include ".*\.c"', path.read_text(encoding="utf-8")) == []
