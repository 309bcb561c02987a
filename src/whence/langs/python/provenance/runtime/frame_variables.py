"""Variables of functions that are read or set from elsewhere, through closure cells and frames.

The tag of a variable is in a variable beside it, so it has its own cell and its own name in the
frame. This module finds both when a program uses cells or frames directly.
"""

from __future__ import annotations

import gc
import sys
from types import CellType, FrameType, FunctionType
from typing import Any

from whence.langs.python.provenance.rewriter.syntax_nodes import RUNTIME_NAMES, shadow_name
from whence.langs.python.provenance.runtime.run_state import RUN
from whence.langs.python.provenance.runtime.tagged_operations import tags_in_frame
from whence.langs.python.provenance.tags import LOAD, LOST, OP, STORE, Control, MaybeTag, Pair, Tag


def _variables() -> Any:
    return sys._getframe().f_locals


PROXY = type(_variables()) if sys.version_info >= (3, 13) else None
"""The type of `f_locals` of a function, which writes to its variables from 3.13 on."""


def own_cells(function: FunctionType) -> tuple[CellType, ...] | None:
    """The cells of a function's closure, without those of tags."""
    names, cells = function.__code__.co_freevars, function.__closure__
    if cells is None:
        return None
    named = zip(names, cells, strict=True)
    return tuple(tag for name, tag in named if not name.startswith(RUNTIME_NAMES))


def _cell_of_tag(cell: CellType) -> CellType | None:
    """The cell in which the tag of another cell's variable is, if a function knows both."""
    entry = RUN.cells.get(id(cell))
    if entry is None:
        entry = RUN.cells[id(cell)] = (cell, _find_tag_cell(cell))
    return entry[1]


def _find_tag_cell(cell: CellType) -> CellType | None:
    for closure in gc.get_referrers(cell):
        if type(closure) is not tuple:
            continue
        for function in gc.get_referrers(closure):
            if type(function) is not FunctionType or function.__closure__ is not closure:
                continue
            cells = dict(zip(function.__code__.co_freevars, closure, strict=True))
            for name, variable_cell in cells.items():
                if variable_cell is cell and shadow_name(name) in cells:
                    tag_cell: CellType = cells[shadow_name(name)]
                    return tag_cell
    return None


def read_elsewhere(site: int, control: Control, owner: Pair, name: str) -> MaybeTag:
    """The tag of a variable read through its cell, or of all variables of a frame; else None."""
    thing, tag = owner
    if type(thing) is FrameType and name == "f_locals":
        return Tag((OP, site, control, tag, *tags_in_frame(thing)))
    if type(thing) is not CellType or name != "cell_contents":
        return None
    beside = _cell_of_tag(thing)
    source = beside.cell_contents if beside is not None else None
    return Tag((LOAD, site, control, source, RUN.time, id(thing), name, tag))


def set_cell(site: int, control: Control, new_value: Pair, owner: Pair) -> None:
    """Note what the variable of a cell was set to."""
    beside = _cell_of_tag(owner[0])
    if beside is not None:
        beside.cell_contents = Tag((STORE, site, control, new_value[1], RUN.time, owner[1]))


def set_in_frame(site: int, control: Control, new_value: Pair, owner: Pair, key: object) -> bool:
    """Note what a variable was set to, if it was set through its frame; returns whether it was."""
    thing = owner[0]
    if type(thing) is not PROXY or type(key) is not str or shadow_name(key) not in thing:
        return False
    thing[shadow_name(key)] = Tag((STORE, site, control, new_value[1], RUN.time, owner[1]))
    return True


def changed_in_frame(site: int, control: Control, thing: Any) -> None:
    """Note that code out of sight received a frame's variables, and may have set any of them."""
    if type(thing) is PROXY:
        for name in [variable for variable in thing if variable.startswith(shadow_name(""))]:
            thing[name] = Tag((LOST, site, control, thing[name], RUN.passed_out_of_sight))
