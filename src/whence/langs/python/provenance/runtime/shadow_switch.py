"""The run time of rewritten code: everything that it calls, as attributes of `__@__`.

That name is a builtin while rewritten code can run; no program can write it. If its `off` is true,
nothing is shadowed, and a function with two bodies runs the original one.
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
    attribute_access,
    builtin_models,
    call_entry,
    call_sites,
    comprehension_results,
    control_flow,
    displays,
    frame_variables,
    function_definitions,
    generators,
    item_access,
    iteration,
    iterator_sources,
    method_models,
    model_lookup,
    native_tagging,
    out_of_sight_calls,
    run_state,
    shadow_memory,
    tagged_operations,
    template_strings,
    unpacking,
    variable_tags,
)
from whence.langs.python.provenance.runtime.run_state import RUN, THREAD
from whence.langs.python.provenance.tags import Activation

_PARTS = {
    tagged_operations: (
        "constant join_branches unary test test_and_note select short_circuit choose_branch "
        "first_of last_of opaque_tag"
    ),
    variable_tags: (
        "opaque_frame_tag imported_variable_tag import_variable load_global store_global "
        "delete_global join_global load_cell store_cell"
    ),
    attribute_access: "attribute closure set_attribute delete_attribute",
    item_access: "subscript set_item delete_item",
    displays: "make_slice make_list make_tuple make_set format_value join_pieces",
    iteration: "iterate AsyncRounds nest_control loop_end",
    unpacking: "spread_starred spread_elements spread_mapping unpack unpack_all",
    comprehension_results: (
        "display_dict test_condition condition_rounds list_comprehension set_comprehension "
        "dict_comprehension generator_expression yield_from_expression comprehension_here"
    ),
    method_models: "augment",
    function_definitions: "define_function note_default function_tag",
    call_sites: "prepare_call finish_call call_with_tags collect_keywords NO_KEYWORDS",
    call_entry: (
        "enter_function return_value raise_from leave_function run_lambda enter_module ModuleBody"
    ),
    template_strings: "template",
    generators: "yield_value resume_with delegate end_delegation await_result",
    control_flow: (
        "current_time back_in_call enter_handler exception_tag after_try raise_value "
        "ContextManager AsyncContextManager match_subject capture_tag end_match begin_class "
        "end_class program_names"
    ),
}


class Switch:
    """Starts and stops shadowing: at the `count`th call of one function, or at once."""

    def __init__(self) -> None:
        self.names = ModuleType(RUNTIME)
        for module, names in _PARTS.items():
            for name in names.split():
                setattr(self.names, name, getattr(module, name))
        vars(self.names).update(tagged_operations.OPERATORS)
        self.names.BaseException = BaseException  # type: ignore[attr-defined]
        self.names.passes = self._passes  # type: ignore[attr-defined]
        self.names.off = False  # type: ignore[attr-defined]
        self.root: Activation | None = None
        """The call with which shadowing began."""
        self._count = 0
        self._collects = False

    def install(self) -> None:
        """Make the run time a builtin."""
        vars(builtins)[RUNTIME] = self.names

    def remove(self) -> None:
        """Remove it from the builtins."""
        vars(builtins).pop(RUNTIME, None)

    @property
    def is_on(self) -> bool:
        """Whether calls are shadowed."""
        return not self.names.off

    def start(self) -> None:
        """Shadow everything from here on, from scratch."""
        RUN.reset()
        THREAD.__init__()  # type: ignore[misc]
        self._turn(on=True)

    def wait_for(self, count: int) -> None:
        """Shadow the `count`th call of the function that the rewriter was asked for."""
        self.stop()
        RUN.reset()
        self.root = None
        self._count = count

    def stop(self) -> None:
        """Stop shadowing."""
        self._turn(on=False)

    def _turn(self, *, on: bool) -> None:
        if on and (not self.is_on or not self._collects):
            # Tags are many and form no cycles: a search for cycles would take most of the time.
            self._collects = gc.isenabled()
            gc.disable()
        elif not on and self._collects:
            gc.enable()
            self._collects = False
        self.names.off = not on  # type: ignore[attr-defined]

    def _passes(self) -> bool:
        """At a call of the wanted function: whether it is not yet the wanted call."""
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
    function_definitions: "REWRITTEN_CODES DEFAULTS",
    call_entry: "FAILED nearest_activation reachable_roots",
    call_sites: "NO_KEYWORDS ModelledCall finish_function",
    iteration: "GROUP note_end yielded_tag iterator_of",
    iterator_sources: "SequenceSource",
    frame_variables: "PROXY changed_in_frame",
    tagged_operations: "note_failure",
    attribute_access: "read_attribute attribute_written store_attribute",
    item_access: "read_item item_tag",
    out_of_sight_calls: "PreparedCall finish_out_of_sight out_of_sight_result",
    shadow_memory: "Shadow synchronise",
    run_state: "RUN THREAD Operation PendingCall ShadowRun",
    tags: "FUNCTIONS SITES Activation FunctionInfo GeneratorRun Site",
}
"""What the native functions read, and what they call in uncommon cases."""


def _bind_native() -> None:
    needs = {name: getattr(module, name) for module, names in _NATIVE_NEEDS.items()
             for name in names.split()}  # fmt: skip
    native_tagging.bind_native({
        **needs, "deque": deque, "getenv": os.getenv,
        "MODELS": model_lookup.FUNCTIONS, "METHOD_MODELS": model_lookup.METHODS,
    })  # fmt: skip


_bind_native()
SWITCH = Switch()
_LOADED = builtin_models  # it registers itself
