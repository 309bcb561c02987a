"""Evaluates what is declared beside the code about one call: icontract, deal, `whence.spec`.

The inputs and the outcome are rebuilt in a forked process. They are recorded before anything is
evaluated, so that the debugger can check that they are what they were.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType, SimpleNamespace
from typing import Any

from whence.langs.python.objects.object_kinds import ProgramObject
from whence.langs.python.oracles.worker.declared_specs import specs_of, takes_a_call
from whence.langs.python.oracles.worker.process_sandbox import Sandbox
from whence.langs.python.oracles.worker.program_names import find_module, find_name
from whence.langs.python.oracles.worker.rebuilt_call import WHOLE, recorded
from whence.langs.python.oracles.worker.recipe_builder import RecipeBuilder
from whence.langs.python.oracles.worker.worker_protocol import (
    CheckDone,
    CheckRequest,
    NamedRecipes,
    Respond,
)
from whence.langs.python.record.recording import Settings
from whence.langs.python.record.user_code import UserCodeRules

PROBE = "whence_probe"
_MISSING = object()
Verdict = tuple[str, str]
"""A verdict, and the condition that it is based on."""


def check_contracts(request: CheckRequest, respond: Respond, rules: UserCodeRules) -> None:
    """Answer which conditions do not hold."""
    definition = find_name(request.module, request.qualname)
    function = getattr(definition, "__func__", getattr(definition, "fget", None) or definition)
    before = _build_all(RecipeBuilder(), request.arguments)
    builder = RecipeBuilder()
    after = _build_all(builder, request.after)
    result = _MISSING if request.result is None else builder.build(request.result)
    raised = None if request.raised is None else builder.build(request.raised)
    recorded = [*before.values(), *after.values(), *([] if result is _MISSING else [result])]
    _record_values(request, [*recorded, *([] if raised is None else [raised])], rules)
    Sandbox.enter(respond)
    call = _Call(before, after, result, raised)
    verdicts = [
        *_icontract(function, call), *_invariants(request, call), *_deal(function, call),
        *_specs(request, call),
    ]  # fmt: skip
    Sandbox.leave()
    respond(CheckDone(verdicts))


class _Call:
    """A call as a spec sees it."""

    def __init__(
        self, before: dict[str, Any], after: dict[str, Any], result: Any, raised: Any
    ) -> None:
        self.before = SimpleNamespace(**before)
        self.arguments = vars(self.before)
        self.after = SimpleNamespace(**after)
        self.returned = result is not _MISSING
        self.result = result if self.returned else None
        self.raised = raised


def _build_all(builder: RecipeBuilder, recipes: NamedRecipes) -> dict[str, ProgramObject]:
    return {name: builder.build(recipe) for name, recipe in recipes}


def _record_values(
    request: CheckRequest, values: list[ProgramObject], rules: UserCodeRules
) -> None:
    """Record the values as the arguments of a call of user code."""
    module = find_module(request.module)
    names = [f"v{number}" for number in range(len(values))]
    text = f"def {PROBE}({', '.join(names)}): pass"
    body = compile(text, getattr(module, "__file__", None) or "<string>", "exec")
    code = next(constant for constant in body.co_consts if isinstance(constant, CodeType))
    probe = FunctionType(code, vars(module))
    with recorded(Settings(request.trace, WHOLE, rules, keeps_tail=False), PROBE):
        probe(*values)


# --- icontract -----------------------------------------------------------------------------------


def _icontract(function: Any, call: _Call) -> Iterator[Verdict]:
    groups = getattr(function, "__preconditions__", None) or []
    if groups and all(isinstance(group, list) for group in groups):
        # One group has to hold: that of the class, or that of a base class.
        failed = [[one for one in group if _fails(one, call.arguments)] for group in groups]
        if all(failed):
            yield "inadmissible", _text_of(failed[0][0])
    if not call.returned:
        return
    old = SimpleNamespace()
    for snapshot in getattr(function, "__postcondition_snapshots__", None) or []:
        with contextlib.suppress(Exception):
            captured = {name: call.arguments[name] for name in snapshot.args}
            setattr(old, snapshot.name, snapshot.capture(**captured))
    values = {**vars(call.after), "result": call.result, "OLD": old}
    for contract in getattr(function, "__postconditions__", None) or []:
        if _fails(contract, values):
            yield "wrong", _text_of(contract)


def _fails(contract: Any, values: dict[str, Any]) -> bool:
    try:
        chosen = {name: values[name] for name in contract.condition_args if name in values}
        return not contract.condition(**chosen)
    except Exception:
        return False


def _text_of(contract: Any) -> str:
    words = contract.description or "a condition"
    return f"{words} ({contract.location})" if contract.location else str(words)


def _invariants(request: CheckRequest, call: _Call) -> Iterator[Verdict]:
    owner, _, name = request.qualname.rpartition(".")
    self_name = next(iter(call.arguments), None)
    if not owner or self_name is None or "<" in owner:
        return
    kind = find_name(request.module, owner)
    for contract in getattr(kind, "__invariants__", None) or []:
        if not isinstance(kind, type) or type(call.arguments[self_name]) is not kind:
            return
        if name != "__init__" and _fails(contract, {"self": call.arguments[self_name]}):
            yield "inadmissible", _text_of(contract)
        elif call.returned and _fails(contract, {"self": getattr(call.after, self_name)}):
            yield "wrong", _text_of(contract)


# --- deal ----------------------------------------------------------------------------------------


def _deal(function: Any, call: _Call) -> Iterator[Verdict]:
    module = sys.modules.get("deal")
    if module is None:
        return
    introspection = importlib.import_module("deal.introspection")
    for contract in introspection.get_contracts(function):
        kind = type(contract).__name__
        if kind == "Pre":
            yield from _validated(contract, "inadmissible", **call.arguments)
        elif kind == "Post" and call.returned:
            yield from _validated(contract, "wrong", call.result)
        elif kind == "Ensure" and call.returned:
            yield from _validated(contract, "wrong", **vars(call.after), result=call.result)


def _validated(contract: Any, verdict: str, *positional: Any, **named: Any) -> Iterator[Verdict]:
    error = getattr(sys.modules["deal"], "ContractError")  # noqa: B009
    try:
        contract.init()
        contract.validate(*positional, **named)
    except error as problem:
        yield verdict, f"deal.{type(contract).__name__.lower()}: {problem}"[:200]
    except Exception:
        return


# --- specs ---------------------------------------------------------------------------------------


def _specs(request: CheckRequest, call: _Call) -> Iterator[Verdict]:
    for declared in specs_of(request.module, request.qualname):
        if takes_a_call(declared):
            try:
                holds = declared(call)
            except Exception:
                continue
            if holds is not None:
                yield "right" if holds else "wrong", f"whence.spec {declared.__qualname__}"
