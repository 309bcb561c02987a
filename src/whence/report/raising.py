"""Which operation raised the exception that left a call, with its operands.

Their values come from a re-run of the call if there was one, else from the call's recorded inputs,
as far as the source says that these are still unchanged when the exception is raised. A value that
is in neither is left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from whence.model.call import (
    RESULT,
    Binding,
    Call,
    Mark,
    MarkedPart,
    OutcomeKind,
    expand_shared,
)
from whence.model.primitive import Primitive, RaisingOperand, RaisingOperation, WorkedOut
from whence.model.value import Kind, Value, names_code
from whence.report.source import Sources
from whence.session.state import State
from whence.tree.readable_call import readable_call

NOTHING = WorkedOut()


def raiser(state: State, node: int) -> int | None:
    """The call in which the exception was raised that left a call: itself, or one below it."""
    call, _ = readable_call(state.tree, state.tree.position(node))
    value = call.outcome.value
    if call.outcome.kind is not OutcomeKind.RAISED or value is None or state.provenance is None:
        return None
    return state.provenance.origin(node, MarkedPart(Mark(RESULT), value, is_input=False)).node


def primitive(
    state: State, node: int, sources: Sources, learned: WorkedOut = NOTHING
) -> Primitive | None:
    """The operation in a call itself that raised."""
    call, _ = readable_call(state.tree, state.tree.position(node))
    done = sources.raising(call)
    if done is None:
        return None
    call = expand_shared(call)
    bindings = (
        binding for operand in done.operands for binding in _values(call, done, operand, learned)
    )
    values = {binding.name: binding for binding in bindings}
    is_whole = all(operand.text in values for operand in done.operands)
    operands = tuple(binding for binding in values.values() if not names_code(binding.value))
    return Primitive(node, done.text, call.outcome.location, operands, is_whole)


def own_primitive(state: State, node: int, sources: Sources) -> Primitive | None:
    """The same, as far as the recording tells, and only if it was not raised in a call below."""
    return primitive(state, node, sources) if raiser(state, node) == node else None


def _values(
    call: Call, done: RaisingOperation, operand: RaisingOperand, learned: WorkedOut
) -> Iterator[Binding]:
    """The value of an operand, or else those of the variables in it."""
    value = learned.parts.get(operand.span)
    if value is not None:
        yield Binding(operand.text, value)
        return
    for name in operand.names:
        value = learned.variables.get(name) or _recorded(call, done, name)
        if value is not None:
            yield Binding(name, value)


def _recorded(call: Call, done: RaisingOperation, name: str) -> Value | None:
    """The recorded value of a variable when the operation raised."""
    if name in done.rebound:
        return None
    inputs = {binding.name: binding.value for binding in reversed((*call.arguments, *call.reads))}
    value = inputs.get(name)
    changed = [effect for effect in call.effects if _root(effect.target) == name]
    if value is None or (value.kind is Kind.ATOM and not changed):
        return value
    if done.is_guarded or any(effect.target != name for effect in changed):
        return None
    return changed[0].after if changed else value


def _root(target: str) -> str:
    return target.partition(".")[0].partition("[")[0]
