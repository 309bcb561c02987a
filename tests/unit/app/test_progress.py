from __future__ import annotations

import io
import threading
from pathlib import Path

import pytest

from whence.app import frontends
from whence.app.progress import ProgressDisplay, percent_reporter


@pytest.fixture(autouse=True)
def _a_terminal_that_erases_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")


class Terminal(io.StringIO):
    """Notices when something is written to it."""

    def __init__(self, seen: bool = True) -> None:
        super().__init__()
        self._seen = seen
        self.written = threading.Event()

    def isatty(self) -> bool:
        return self._seen

    def write(self, text: str) -> int:
        found = super().write(text)
        self.written.set()
        return found


def test_what_takes_long_is_told_and_wiped_out() -> None:
    terminal = Terminal()
    waiting = ProgressDisplay(terminal, quiet=0.0)
    with waiting("counting"):
        assert terminal.written.wait(30)
    shown = terminal.getvalue()
    assert shown.startswith("\r\x1b[Kcounting: 0 s (Ctrl-C stops it)")
    assert shown.endswith("\r\x1b[K")


def test_nothing_is_shown_of_what_is_quickly_done_or_where_nobody_looks() -> None:
    quick, piped = Terminal(), Terminal(seen=False)
    with ProgressDisplay(quick, quiet=3600)("counting"):
        pass
    with ProgressDisplay(piped, quiet=0.0)("counting"):
        assert not piped.written.wait(0.2)
    assert quick.getvalue() == piped.getvalue() == ""


def test_nothing_is_shown_at_a_terminal_that_cannot_erase_a_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    terminal = Terminal()
    with ProgressDisplay(terminal, quiet=0.0)("counting"):
        assert not terminal.written.wait(0.2)
    monkeypatch.setattr("sys.stderr", terminal)
    assert percent_reporter("counting") is None


def test_a_stop_is_passed_on_and_the_line_is_gone() -> None:
    terminal = Terminal()
    with pytest.raises(KeyboardInterrupt), ProgressDisplay(terminal, quiet=0.0)("counting"):
        assert terminal.written.wait(30)
        raise KeyboardInterrupt
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_reading_a_large_trace_tells_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    path = tmp_path / "large.whence"
    path.write_bytes(b"x" * 1000)
    monkeypatch.setattr(frontends, "_LARGE", 1000)
    report = frontends._progress(path)
    assert report is not None
    for page in range(1, 5):
        report(page, 4)
    assert terminal.getvalue() == "".join(
        f"\r\x1b[K{text}" for text in (*(f"indexing large.whence: {n} %" for n in (25, 50, 75)), "")
    )
    monkeypatch.setattr("sys.stderr", Terminal(seen=False))
    assert frontends._progress(path) is None


def test_what_can_say_how_far_it_is_shows_a_bar() -> None:
    terminal = Terminal()
    waiting = ProgressDisplay(terminal, quiet=0.0)
    with waiting.with_progress("following result[2] back") as reached:
        reached(2500, 10_000)
        terminal.written.clear()
        assert terminal.written.wait(30)
    bar = "#" * 5 + " " * 15
    assert f"following result[2] back [{bar}] 25% of 10,000 calls: 0 s" in terminal.getvalue()
    with ProgressDisplay(Terminal(seen=False)).with_progress("following") as reached:
        reached(1, 2)


def test_how_far_it_is_and_for_what_is_told_with_it() -> None:
    terminal = Terminal()
    waiting = ProgressDisplay(terminal, quiet=0.0)
    with waiting("running"):
        waiting.show("total, call 7", 1, 4)
        terminal.written.clear()
        assert terminal.written.wait(30)
    with waiting("counting"):
        terminal.written.clear()
        assert terminal.written.wait(30)
    shown = terminal.getvalue()
    assert "running for total, call 7 [#####               ] 25% of 4 calls: 0 s (Ctrl" in shown
    assert "counting: 0 s" in shown
