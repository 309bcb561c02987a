"""Dumps all calls, tags and shadows of a shadow run as text, so that two runs can be compared."""

from __future__ import annotations

import gc
from types import CodeType
from typing import Any

from whence.langs.python.provenance.rewriter.rewriting_importer import Modules, run_source
from whence.langs.python.provenance.runtime import native_tagging
from whence.langs.python.provenance.runtime.run_state import RUN
from whence.langs.python.provenance.runtime.text_pieces import Text
from whence.langs.python.provenance.tags import LOAD, SCALARS, WHOLE, Activation, GeneratorRun, Tag

_ADDRESS = {LOAD: 5, WHOLE: 4}
"""The field of a tag that holds an address, by the tag's kind."""


def dump_both(source: str, file: str = "program.py") -> tuple[list[str], list[str]]:
    """The dumps of two runs of a program: with the native functions, and with those in Python."""
    from whence.langs.python.provenance.runtime.shadow_switch import SWITCH

    SWITCH.install()
    code = Modules(dual=False).code(source, file)
    dumps = []
    gc.freeze()  # the collector skips objects of other tests
    try:
        dump_run(code)  # fills the caches of the library for both
        for is_native in (True, False):
            before = native_tagging.use_native(is_native)
            try:
                dumps.append(dump_run(code))
            finally:
                native_tagging.use_native(before)
    finally:
        gc.unfreeze()
    return dumps[0], dumps[1]


def dump_run(code: CodeType) -> list[str]:
    """The calls and tags of a run, each tag once, with addresses numbered in order."""
    for _ in range(2):
        RUN.reset()  # ends now what the run before left suspended
        gc.collect()
    namespace = run_source(code)
    dump = _Dump()
    for each in RUN.activations:
        dump.call(each)
    for shadow in list(RUN.shadows.values()):
        dump.note("shadow", dump.address(shadow.address), *shadow.tags())
    dump.note("variables", *(tag for each in RUN.modules.values() for tag in each.tags()))
    dump.note(
        "run",
        RUN.time,
        RUN.number,
        RUN.lost,
        len(RUN.kept_alive),
        RUN.passed_out_of_sight,
        RUN.stray_results,
        RUN.has_absorbed,
        len(RUN.callback_history),
        len(RUN.iteration_ends),
    )
    namespace.clear()
    return dump.lines


class _Dump:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self._numbers: dict[int, int] = {}
        self._addresses: dict[int, int] = {}
        self._kept: list[Any] = []

    def call(self, call: Activation) -> None:
        parent = call.parent.number if call.parent is not None else None
        self.note("call", call.number, call.name, parent, call.guarded, call.made, call.start,
                  call.end, call.control, call.arguments, call.result, call.failure, call.sent,
                  tuple(call.tests), tuple(tag for _, tag in call.yielded))  # fmt: skip

    def note(self, what: str, *fields: Any) -> None:
        self._tags(fields)
        self.lines.append(f"{what} {[self._field(each) for each in fields]}")

    def address(self, thing: int) -> str:
        """A stable number in place of an address."""
        return f"@{self._addresses.setdefault(thing, len(self._addresses))}"

    def _tags(self, fields: Any) -> None:
        """Dumps all tags that these fields refer to, in a fixed order, without recursion."""
        pending = [iter(list(fields))]
        path: list[Any] = []
        while pending:
            each = next(pending[-1], pending)
            if each is pending:
                pending.pop()
                if pending and path[len(pending) - 1] is not None:
                    self._tag(path[len(pending) - 1])
                del path[max(len(pending) - 1, 0) :]
                continue
            if isinstance(each, Text):
                each = (each.pieces, each.needs)
            if not _has_fields(each) or id(each) in self._numbers:
                continue
            self._kept.append(each)
            if _is_tag(each):
                self._numbers[id(each)] = len(self._numbers)
                path.append(each)
            else:
                path.append(None)
            pending.append(iter(list(each)))

    def _tag(self, tag: Any) -> None:
        fields = [self._field(each) for each in tag]
        place = _ADDRESS.get(tag.kind)
        if tag.kind == LOAD and tag.key is None:
            # How far an iterator is: when it is gone, something else may have its address.
            fields[5] = "an iterator"
        elif place is not None and type(tag[place]) is int:
            fields[place] = self.address(tag[place])
        self.lines.append(f"tag {self._numbers[id(tag)]}: {fields}")

    def _field(self, each: Any) -> str:
        if isinstance(each, Activation):
            return f"call {each.number}"
        if isinstance(each, GeneratorRun):
            return f"run {each.number}"
        if isinstance(each, Text):
            return self._field((each.pieces, each.needs))
        if isinstance(each, list):
            return f"{len(each)} dropped"
        if _is_tag(each):
            return f"#{self._numbers[id(each)]}"
        if _has_fields(each):
            return f"({', '.join(self._field(one) for one in each)})"
        return repr(each) if type(each) in SCALARS else type(each).__name__


def _has_fields(each: Any) -> bool:
    return isinstance(each, tuple) or _is_tag(each)


def _is_tag(each: Any) -> bool:
    return type(each) is Tag or type(each).__name__ == "Tag"
