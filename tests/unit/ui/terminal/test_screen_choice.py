import io
import subprocess
import sys

import pytest

from whence.ui.terminal.plain import PlainScreen
from whence.ui.terminal.screen_choice import choose_screen, why_plain


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_pipe_gets_the_plain_screen() -> None:
    screen = choose_screen(answers=io.StringIO(), output=io.StringIO(), plain=False)
    assert isinstance(screen, PlainScreen)


def test_answers_from_a_file_are_read_plainly_even_at_a_terminal() -> None:
    screen = choose_screen(answers=io.StringIO("y\n"), output=Terminal(), plain=False)
    assert isinstance(screen, PlainScreen)
    assert not screen.interactive


@pytest.mark.parametrize(
    ("source", "output", "term", "why"),
    [
        (io.StringIO(), Terminal(), "xterm", "the input is not a terminal"),
        (Terminal(), io.StringIO(), "xterm", "the output is not a terminal"),
        (Terminal(), Terminal(), "dumb", "the terminal cannot move its cursor"),
        (Terminal(), Terminal(), "", "the terminal cannot move its cursor"),
    ],
)
def test_the_reason_for_the_plain_screen_is_known(
    monkeypatch: pytest.MonkeyPatch, source: io.StringIO, output: io.StringIO, term: str, why: str
) -> None:
    monkeypatch.setenv("TERM", term)
    assert why_plain(source, output) == why


def test_no_color_leads_to_the_plain_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert why_plain(Terminal(), Terminal()) == "NO_COLOR is set"


def test_a_missing_package_leads_to_the_plain_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("whence.ui.terminal.screen_choice.find_spec", lambda name: None)
    assert why_plain(Terminal(), Terminal()) == "rich is not installed"


def test_the_plain_screen_loads_neither_rich_nor_prompt_toolkit() -> None:
    program = """
import io, sys
from whence.ui.terminal.loop import converse
from whence.ui.terminal.screen_choice import choose_screen
choose_screen(answers=io.StringIO(), output=sys.stdout, plain=False)
sys.exit(any(name.partition(".")[0] in ("rich", "prompt_toolkit") for name in sys.modules))
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_bytes_that_are_not_text_do_not_end_the_session() -> None:
    answers = io.TextIOWrapper(io.BytesIO(b"\xff\xfe\ny\n"), encoding="utf-8")
    screen = choose_screen(answers=answers, output=io.StringIO(), plain=True)
    assert screen.read("> ") == "��"
    assert screen.read("> ") == "y"


def test_a_process_without_standard_streams_is_no_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    monkeypatch.setattr("sys.stdout", None)
    assert choose_screen(answers=None, output=None, plain=False).read("> ") is None
