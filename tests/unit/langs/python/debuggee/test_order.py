from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from whence.errors import WhenceError
from whence.langs.python.debuggee.order import (
    VERSION,
    CheckpointChannel,
    ClosingMessage,
    ExecutedLines,
    Order,
    PartStep,
    Playback,
    StepDebugger,
    StepKind,
    StopSignal,
    TagTask,
    TargetCall,
    Task,
    TrialCall,
    Zoom,
)
from whence.langs.python.debuggee.run_as_python import Target, TargetKind
from whence.langs.python.record.children import Children
from whence.langs.python.record.options import WHOLE_BOUND, Detail, RecordOptions
from whence.langs.python.record.recording import Settings
from whence.langs.python.record.user_code import UserCodeRules

CALL = TargetCall("/a/b.py", 3, "f.<locals>.g", 2)
STEPS = (
    PartStep(StepKind.ITEM, -1),
    PartStep(StepKind.ITEM, "1"),
    PartStep(StepKind.ATTRIBUTE, "name"),
    PartStep(StepKind.TEXT, letters=(2, 4)),
)
TAGS = TagTask(CALL, CALL, "result", STEPS, is_input=False, answer="answer", progress="progress")
SMALL = Order(Target(TargetKind.SCRIPT, "program.py"), Settings("run.whence"))
LARGE = Order(
    Target(TargetKind.MODULE, "shop", ("--", "-x", "caf\udce9", "")),
    Settings(
        "run.whence",
        RecordOptions(detail=Detail.SHALLOW, bound=WHOLE_BOUND, max_calls=7, max_bytes=None),
        UserCodeRules(("a",), ("b*",), (), ("c", "d")),
        backend="python",
        repeatable="own",
        children=Children.ALL,
    ),
    Task(
        window=(5, 1),
        whole_calls=(1, 1),
        lines=ExecutedLines(CALL, "lines"),
        zoom=Zoom("{}", "steps"),
        debugger=StepDebugger(CALL, 700, 701, True, "ipdb.set_trace"),
        trial=(TrialCall(5, CALL, "3"), TrialCall(9, CALL, "[4]")),
        freezing="frozen",
        tags=TAGS,
    ),
    journal=True,
    playback=Playback("journal", "folder"),
    stop_signals=(StopSignal(64, "it was stopped"),),
    call_limit=10,
    depth_limit=20,
    checkpoints=CheckpointChannel(700, 701, (702, 703)),
    closing_message=ClosingMessage.ALWAYS,
)


@pytest.mark.parametrize("order", [SMALL, LARGE])
def test_an_order_is_read_as_it_was_written(order: Order) -> None:
    assert Order.from_text(order.text()) == order


def test_an_order_is_written_in_ascii_whatever_the_arguments_are() -> None:
    assert LARGE.text().isascii()


def changed(*path: str | int, to: Any) -> str:
    data: Any = json.loads(LARGE.text())
    place = data["order"]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return json.dumps(data)


@pytest.mark.parametrize(
    "text, problem",
    [
        ("{", "order: is not JSON"),
        ("[]", "order: is not an order"),
        ('{"whence order": 99}', f"order: has version 99, and this whence reads {VERSION}"),
        (changed("target", "kind", to="-x"), "order.target.kind: '-x' is none of"),
        (changed("target", "arguments", 1, to=2), "order.target.arguments[1]: is of type int, not"),
        (changed("task", "window", to=[1]), "order.task.window: has 1 items, not 2"),
        (changed("call_limit", to=True), "order.call_limit: is of type bool, not int"),
        (changed("task", "trail", to=1), "order.task.trail: is unknown"),
        (changed("playback", to={"journal": "j"}), "order.playback.folder: is missing"),
        (changed("settings", to=None), "order.settings: is of type NoneType, not dict"),
    ],
)
def test_an_order_that_cannot_be_read_is_refused_with_the_field(text: str, problem: str) -> None:
    with pytest.raises(WhenceError) as refused:
        Order.from_text(text)
    assert str(refused.value).startswith(problem)


def test_what_has_a_default_may_be_missing() -> None:
    data = json.loads(SMALL.text())
    data["order"] = {name: data["order"][name] for name in ("target", "settings")}
    assert Order.from_text(json.dumps(data)) == replace(SMALL)
