"""The fancy screen as a person meets it: in a terminal of its own, key by key."""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pexpect = pytest.importorskip("pexpect")
pytest.importorskip("rich")
pytest.importorskip("prompt_toolkit")
if sys.platform == "win32":
    pytest.skip("there are no pseudo-terminals here", allow_module_level=True)

PROGRAM = f"""
import importlib.util, sys
sys.path.insert(0, {str(Path(__file__).parents[1] / "support")!r})
place = {str(Path(__file__).parent / "conftest.py")!r}
spec = importlib.util.spec_from_file_location("subjects", place)
subjects = importlib.util.module_from_spec(spec)
sys.modules["subjects"] = subjects
spec.loader.exec_module(subjects)

from whence.app.session_driver import SessionDriver
from whence.session.state import Facts, State
from whence.ui.terminal.loop import converse
from whence.ui.terminal.screen_choice import choose_screen

tree, provenance = subjects.SUBJECTS["invoice"]()
screen = choose_screen(answers=None, output=None, plain=False)
facts = Facts(strategy="top-down")
debugging = SessionDriver(State(tree, provenance, facts=facts), notify=screen.note)
outcome, left = converse(debugging, screen, debugging.start())
print(type(screen).__name__, repr(left))
"""
_CONTROL = re.compile(r"\x1b(\[[0-9;?]*[a-zA-Z]|\][^\x07]*\x07|[=>])")
PROMPT = r"Right\? (?:\[y/n/i/\?\] )?"


class Terminal:
    """Types, and reads what is seen without its colours."""

    def __init__(self, **environment: str) -> None:
        settings = {"TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", **environment}
        kept = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        self.child: Any = pexpect.spawn(
            sys.executable,
            ["-c", PROGRAM],
            env={**kept, **settings},
            encoding="utf-8",
            dimensions=(24, 80),
            timeout=20,
        )
        self.raw = ""

    def see(self, pattern: str) -> str:
        """What came until the pattern was seen, as plain text."""
        # Colours and cursor movements may stand between any two words.
        loose = pattern.replace(" ", r"(?:\x1b\[[0-9;?]*[a-zA-Z]| )+")
        self.child.expect(loose)
        self.raw = self.child.before + self.child.after
        return _CONTROL.sub("", self.raw)

    def type(self, text: str) -> None:
        self.child.send(text)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal()
    yield made
    made.child.close(force=True)


def test_a_session_at_a_terminal(terminal: Terminal) -> None:
    seen = terminal.see(PROMPT)
    assert "Taken to be wrong: invoice(" in seen
    assert "help lists more" in seen
    assert "Question 1 (up to 8 more)" in seen
    assert "→ Invoice(customer='Ada', sums=[0, 45], total=45)" in seen
    assert "\x1b[3" in terminal.raw, "values have colours"

    terminal.type("n result.t\t")
    terminal.see("otal")
    terminal.type("\r")
    seen = terminal.see("Question 2")
    assert "Wrong: result.total. It was made in call 6" in seen

    terminal.see(PROMPT)
    terminal.type("frobnicate\r")
    terminal.see("is not understood")
    terminal.see(PROMPT)
    terminal.type("half a line\x03\x03")
    terminal.see("Ctrl-C again leaves")
    terminal.see(PROMPT)
    for answer in "yyny":
        terminal.type(f"{answer}\r")
        terminal.see(PROMPT)
    terminal.type("i\r")
    seen = terminal.see("help > ")
    assert "The fault is in line_sum (shop.py:14)" in seen
    assert "Enter ends; reject if this is not it" in seen
    terminal.type("\r")
    terminal.see("FancyScreen ''")


def test_the_last_line_comes_back_with_the_arrow_key(terminal: Terminal) -> None:
    terminal.see(PROMPT)
    terminal.type("source\r")
    terminal.see(PROMPT)
    terminal.type("\x1b[A")
    terminal.see("source")


@pytest.mark.parametrize("keys", ["\x04", "\x03\x03", "q\r"])
def test_one_can_leave_in_three_ways(terminal: Terminal, keys: str) -> None:
    terminal.see(PROMPT)
    for key in keys:
        terminal.type(key)
        if key == "\x03":
            terminal.child.expect(r"leaves|left with quit")
    terminal.see("FancyScreen 'left with quit'")


def test_no_color_means_no_escape_sequence_at_all() -> None:
    terminal = Terminal(NO_COLOR="1")
    try:
        terminal.see(PROMPT)
        assert "\x1b" not in terminal.raw
    finally:
        terminal.child.close(force=True)


def test_a_dumb_terminal_gets_the_plain_screen() -> None:
    terminal = Terminal(TERM="dumb")
    try:
        assert "\x1b" not in terminal.see(PROMPT)
        assert "\x1b" not in terminal.raw
        terminal.type("n\r")
        terminal.see("Question 2")
        terminal.type("\x04")
        terminal.see("PlainScreen 'left with quit'")
    finally:
        terminal.child.close(force=True)
