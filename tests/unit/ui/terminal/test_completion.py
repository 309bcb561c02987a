from collections.abc import Callable

from whence.model.call import Call
from whence.session.state import State
from whence.ui.terminal.completion import completer

Build = Callable[..., Call]

PERSON = {"object": "P", "fields": {"name": "'Ada'", "nick": "'A'"}}


def test_commands_are_completed(small: State) -> None:
    complete = completer(small.tree, None)
    assert complete("str") == ["strategy"]
    assert set(complete("s")) == {
        "skip",
        "show",
        "source",
        "strategy",
        "suspects",
        "switch",
        "save",
    }
    assert complete("frob") == []


def test_arguments_are_completed(small: State) -> None:
    complete = completer(small.tree, None)
    assert complete("strategy top") == ["strategy top-down", "strategy top-down-zooming"]
    assert complete("switch comp") == ["switch compression on", "switch compression off"]
    assert complete("list g") == ["list g"]
    assert complete("trust mo") == ["trust module"]
    assert complete("trust module ") == ["trust module m"]
    assert complete("trust file ") == ["trust file m.py"]
    assert complete("trust function m.h") == ["trust function m.h"]
    assert complete("help un") == ["help undo"]
    assert complete("n re") == []


def test_parts_are_completed_step_by_step(small: State, call: Build) -> None:
    complete = completer(small.tree, call(given={"x": 1}, returned=[PERSON, 2]))
    assert complete("n re") == ["n result"]
    assert complete("n result") == ["n result", "n result[0]", "n result[1]"]
    assert complete("n result[0]") == ["n result[0].name", "n result[0].nick"]
    assert complete("n result[0].na") == ["n result[0].name"]
    assert complete("i x") == ["i x"]
    assert complete("browse ") == ["browse x", "browse result"]
    assert complete("n nothing[") == []
