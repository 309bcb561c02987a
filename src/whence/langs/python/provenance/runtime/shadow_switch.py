"""The run time of rewritten code: all that it calls, under the one name that it knows it by.

The name `__@__` is put among the builtins while rewritten code is there to run; no program can
write it. `off` says that nothing is shadowed: then a function with two bodies runs its own.
"""

from __future__ import annotations

import builtins
import gc
import os
from collections import deque
from collections.abc import Callable
from types import ModuleType

from whence.langs.python.provenance import tags
from whence.langs.python.provenance.rewriter.syntax_nodes import RUNTIME
from whence.langs.python.provenance.runtime import (
    attributes_and_items,
    builtin_models,
    call_protocol,
    comprehension_results,
    control_flow,
    displays,
    frame_variables,
    generators,
    iteration,
    method_models,
    model_lookup,
    native_tagging,
    out_of_sight_calls,
    run_state,
    shadow_memory,
    tagged_operations,
    template_strings,
)
from whence.langs.python.provenance.runtime.run_state import HERE, RUN, ShadowRun
from whence.langs.python.provenance.tags import Activation, Run

_PARTS = {
    tagged_operations: (
        "unary test test_and_note select shortcut choose first last opaque opaque_in_frame "
        "imported load_global store_global delete_global join_global load_cell store_cell"
    ),
    attributes_and_items: (
        "attribute closure set_attribute delete_attribute subscript set_item delete_item"
    ),
    displays: "make_slice make_list make_tuple make_set formatted joined",
    iteration: "each each_awaited nested loop_end spread spread_out unpack unpack_all",
    comprehension_results: (
        "display_dict keep kept list_of set_of dict_of generator_of out_of comprehended"
    ),
    method_models: "augment",
    call_protocol: (
        "define default define_lambda defined prepare result call_here keywords enter returned "
        "failed leave run_lambda enter_module leave_module NO_KEYWORDS"
    ),
    template_strings: "template",
    generators: "out resumed delegate delegated waiting awaited",
    control_flow: (
        "now here caught exception_tag tried raising managed managed_async test_subject captured "
        "matched own_names"
    ),
}


class Switch:
    """When shadowing begins and ends: with the `count`th call of one function, or at once."""

    def __init__(self) -> None:
        self.names = ModuleType(RUNTIME)
        for module, names in _PARTS.items():
            for name in names.split():
                setattr(self.names, name, getattr(module, name))
        vars(self.names).update(tagged_operations.OPERATORS)
        self.names.open = control_flow.open_class  # type: ignore[attr-defined]
        self.names.made = control_flow.made_class  # type: ignore[attr-defined]
        self.names.BaseException = BaseException  # type: ignore[attr-defined]
        self.names.passes = self._passes  # type: ignore[attr-defined]
        self.names.off = False  # type: ignore[attr-defined]
        self.root: Activation | None = None
        """The call with which shadowing began."""
        self._count = 0
        self._collects = False

    def install(self) -> None:
        """Let rewritten code find its run time."""
        vars(builtins)[RUNTIME] = self.names

    def remove(self) -> None:
        """Take it away."""
        vars(builtins).pop(RUNTIME, None)

    @property
    def is_on(self) -> bool:
        """Whether calls are shadowed."""
        return not self.names.off

    def start(self) -> None:
        """Shadow everything from here on, from scratch."""
        RUN.reset()
        HERE.__init__()  # type: ignore[misc]
        self._turn(on=True)

    def wait_for(self, count: int) -> None:
        """Shadow the `count`th call of the function that the rewriter was told is wanted."""
        self.stop()
        RUN.reset()
        self.root = None
        self._count = count

    def stop(self) -> None:
        """Shadow nothing any more."""
        self._turn(on=False)

    def _turn(self, *, on: bool) -> None:
        if on and (not self.is_on or not self._collects):
            # Tags are many and make no cycles: looking for some would take most of the time.
            self._collects = gc.isenabled()
            gc.disable()
        elif not on and self._collects:
            gc.enable()
            self._collects = False
        self.names.off = not on  # type: ignore[attr-defined]

    def _passes(self) -> bool:
        """At a call of the wanted function: whether it is not the one."""
        self._count -= 1
        if self._count:
            return True
        RUN.reset()
        self._turn(on=True)
        RUN.on_enter, RUN.on_leave = self._entered, self._left
        RUN.on_out = self.on_out
        return False

    def _entered(self, activation: Activation) -> None:
        if self.root is None:
            self.root = activation
        if self.on_enter is not None:
            self.on_enter(activation)

    def _left(self, activation: Activation) -> None:
        if self.on_leave is not None:
            self.on_leave(activation)
        if activation is self.root:
            self.stop()
            if self.on_end is not None:
                self.on_end(activation)

    on_enter: Callable[[Activation], None] | None = None
    on_leave: Callable[[Activation], None] | None = None
    """Called with every call that is shadowed, when it begins and when it has ended."""
    on_out: Callable[[Activation], None] | None = None
    """Called with every generator that has yielded."""
    on_end: Callable[[Activation], None] | None = None
    """Called with the call that was wanted, when it has ended."""


_NATIVE_NEEDS = {
    call_protocol: ("CODES DEFAULTS FAILED NO_KEYWORDS Modelled finish_function nearest roots"),
    iteration: "GROUP SequenceSource note_end given_tag iterator_of",
    frame_variables: "PROXY changed_in_frame",
    tagged_operations: "note_failure",
    attributes_and_items: "read_attribute read_item wrote_attribute store_attribute item_tag",
    out_of_sight_calls: "Prepared finish_outside given_outside",
    shadow_memory: "Shadow synchronise",
    run_state: "RUN HERE Operation Pending",
    tags: "FUNCTIONS SITES Activation FunctionInfo Site",
}
"""What the functions in C read, and call where something is out of the ordinary."""


def _bind_native() -> None:
    needs = {name: getattr(module, name) for module, names in _NATIVE_NEEDS.items()
             for name in names.split()}  # fmt: skip
    native_tagging.bind({
        **needs, "Run": ShadowRun, "Going": Run, "deque": deque, "getenv": os.getenv,
        "MODELS": model_lookup.FUNCTIONS, "METHOD_MODELS": model_lookup.METHODS,
    })  # fmt: skip


_bind_native()
SWITCH = Switch()
_LOADED = builtin_models  # it registers itself
