from pathlib import Path

import pytest

from whence.errors import UsageError
from whence.model.verdict import TrustScope, Verdict
from whence.ui.terminal.commands import (
    SPECS,
    Accept,
    Do,
    Judge,
    Keep,
    TrustCode,
    TurnOracle,
    TurnSwitch,
    documentation,
    help_text,
    parse,
)

ROOT = Path(__file__).parents[4]
RIGHT, WRONG = Verdict.RIGHT, Verdict.WRONG
INADMISSIBLE, UNKNOWN = Verdict.INADMISSIBLE, Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("line", "meaning"),
    [
        ("y", Judge(RIGHT)),
        ("  YES  ", Judge(RIGHT)),
        ("right", Judge(RIGHT)),
        ("n", Judge(WRONG)),
        ("no", Judge(WRONG)),
        ("wrong", Judge(WRONG)),
        ("i", Judge(INADMISSIBLE)),
        ("inadmissible", Judge(INADMISSIBLE)),
        ("?", Judge(UNKNOWN)),
        ("d", Judge(UNKNOWN)),
        ("skip", Judge(UNKNOWN)),
        ("n result[2].name", Judge(WRONG, part="result[2].name")),
        ("n d['a b']", Judge(WRONG, part="d['a b']")),
        ("i xs[3]", Judge(INADMISSIBLE, part="xs[3]")),
        ("n 14 18", Judge(WRONG, nodes=(14, 18))),
        ("n 14 result._meta.end", Judge(WRONG, "result._meta.end", (14,))),
        ("n 14 d['a b'] = 7", Judge(WRONG, "d['a b']", (14,), "7")),
        ("n 1[2]", Judge(WRONG, "1[2]")),
        ("n 14, 18,14", Judge(WRONG, nodes=(14, 18))),
        ("y 7", Judge(RIGHT, nodes=(7,))),
        ("i 3 9", Judge(INADMISSIBLE, nodes=(3, 9))),
        ("? 3", Judge(UNKNOWN, nodes=(3,))),
        ("oracle", TurnOracle("", on=False)),
        ("oracle type hints off", TurnOracle("type hints", on=False)),
        ("oracle python:m:f ON", TurnOracle("python:m:f", on=True)),
        ("n = [1, 2, 4]", Judge(WRONG, expected="[1, 2, 4]")),
        ("n=3", Judge(WRONG, expected="3")),
        ("NO == Total(3)", Judge(WRONG, expected="Total(3)")),
        ("n result[2] = 7", Judge(WRONG, part="result[2]", expected="7")),
        ("n d['a=b'] = {'a': 'b=c'}", Judge(WRONG, part="d['a=b']", expected="{'a': 'b=c'}")),
        ("n 14 = None", Judge(WRONG, nodes=(14,), expected="None")),
        ("n = it isn't sorted", Judge(WRONG, expected="it isn't sorted")),
        ("", Accept()),
        (" \t ", Accept()),
        ("trust", TrustCode(None, "", withdraw=False)),
        ("trust f", TrustCode(None, "f", withdraw=False)),
        ("trust module", TrustCode(TrustScope.MODULE, "", withdraw=False)),
        ("trust file a b.py", TrustCode(TrustScope.FILE, "a b.py", withdraw=False)),
        ("distrust function f", TrustCode(TrustScope.FUNCTION, "f", withdraw=True)),
        ("undo", Do("undo")),
        ("redo", Do("redo")),
        ("info", Do("info")),
        ("source", Do("source")),
        ("reject", Do("reject")),
        ("rest", Do("rest")),
        ("quit", Do("quit")),
        ("q", Do("quit")),
        ("browse", Do("browse", "")),
        ("br result[0]", Do("browse", "result[0]")),
        ("list", Do("list", "")),
        ("l f", Do("list", "f")),
        ("str", Do("strategy", "")),
        ("strategy top-down", Do("strategy", "top-down")),
        ("switch", TurnSwitch("", on=False)),
        ("switch single-rule on", TurnSwitch("single_rule", on=True)),
        ("save", Do("save", "")),
        ("save a b.jsonl", Do("save", "a b.jsonl")),
        ("help", Do("help", "")),
        ("help Trust", Do("help", "trust")),
        ("1", Keep(earlier=True)),
        ("2", Keep(earlier=False)),
    ],
)
def test_a_line_means_one_thing(line: str, meaning: object) -> None:
    assert parse(line) == meaning


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("frobnicate", "answer y, n, i or \\?"),
        ("s", "may be"),
        ("in", "inadmissible, info"),
        ("w", "not understood"),
        ("e", "not understood"),
        ("y result", "only n and i"),
        ("? result", "only n and i"),
        ("n 14 18 result", "one call at a time"),
        ("n 14, result", "one call at a time"),
        ("y 14 result", "only n and i"),
        ("n " + "9" * 5000, "no call"),
        ("undo 3", "takes nothing"),
        ("1 2", "keeps the earlier"),
        ("2 1", "keeps the earlier"),
        ("switch compression", "switch compression on"),
        ("switch compression maybe", "switch compression on"),
        ("list " + "f" * 500, "500 characters"),
    ],
)
def test_what_is_not_understood_is_told_with_the_right_form(line: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse(line)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("y = 3", "only n can be followed by what it should be"),
        ("i xs = 3", "only n can be followed by what it should be"),
        ("? = 3", "only n can be followed by what it should be"),
        ("n =", "say after the ="),
        ("oracle off", "say which oracle"),
        ("oracle remembered", "say which oracle"),
        ("n result =  ", "say after the ="),
        ("n 14 18 = 3", "one call at a time"),
    ],
)
def test_what_is_said_by_halves_is_told_with_the_right_form(line: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse(line)


def test_digits_of_other_alphabets_are_not_ids() -> None:
    assert parse("n ²") == Judge(WRONG, part="²")


def test_every_command_has_help_of_its_own() -> None:
    for spec in SPECS:
        assert spec.brief
        assert spec.brief in help_text(spec.words[0])


def test_help_fits_on_a_small_screen() -> None:
    for at_question in (True, False):
        lines = help_text(at_question=at_question).splitlines()
        assert len(lines) <= 21
        assert max(map(len, lines)) < 80


def test_help_on_something_unknown_is_a_hint() -> None:
    with pytest.raises(UsageError, match="not understood"):
        help_text("frobnicate")


def test_the_page_on_commands_is_up_to_date() -> None:
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert page == documentation(), "python -m whence.ui.terminal.commands > docs/commands.md"
