import io
from typing import NoReturn

from whence.printable_text import printable
from whence.ui.terminal.plain import LONGEST_LINE, PlainScreen
from whence.ui.terminal.screen import Line, Tone, wrap


def ascii_output() -> tuple[io.BytesIO, io.TextIOWrapper]:
    raw = io.BytesIO()
    return raw, io.TextIOWrapper(raw, encoding="ascii", newline="\n")


def test_an_answer_from_a_pipe_stands_after_its_prompt() -> None:
    output = io.StringIO()
    screen = PlainScreen(io.StringIO("yes\r\nno"), output)
    assert screen.read("Right? ") == "yes"
    assert screen.read("Right? ") == "no"
    assert screen.read("Right? ") is None
    assert output.getvalue() == "Right? yes\nRight? no\nRight? \n"


def test_a_line_without_an_end_is_read_up_to_a_bound() -> None:
    source = io.StringIO("y\n" + "\0" * (LONGEST_LINE * 3))
    output = io.StringIO()
    screen = PlainScreen(source, output)
    assert screen.read("Right? ") == "y"
    assert screen.read("Right? ") is None
    assert source.tell() == 2 + LONGEST_LINE + 1
    assert "A line has more than 1,048,576 characters: no more is read." in output.getvalue()


def test_what_somebody_typed_is_not_written_again() -> None:
    output = io.StringIO()
    screen = PlainScreen(io.StringIO("yes\n"), output, echo=False)
    assert screen.read("Right? ") == "yes"
    assert output.getvalue() == "Right? "


def test_without_a_prompt_nothing_is_shown() -> None:
    output = io.StringIO()
    screen = PlainScreen(io.StringIO("yes\n"), output)
    assert screen.read(None) == "yes"
    assert screen.read(None) is None
    assert output.getvalue() == ""


def test_signs_that_the_encoding_lacks_are_spelt_out() -> None:
    raw, output = ascii_output()
    PlainScreen(io.StringIO(), output).say("f(x=1) → […9 more] ü")
    assert raw.getvalue() == b"f(x=1) -> [...9 more] \\xfc\n"


def test_signs_that_the_encoding_has_stay() -> None:
    raw = io.BytesIO()
    output = io.TextIOWrapper(raw, encoding="utf-8", newline="\n")
    PlainScreen(io.StringIO(), output).say("→ …")
    assert raw.getvalue().decode() == "→ …\n"


def test_an_answer_that_is_not_text_can_be_echoed() -> None:
    raw, output = ascii_output()
    assert PlainScreen(io.StringIO("\udc80\n"), output).read("> ") == "\udc80"
    assert raw.getvalue() == b"> \\udc80\n"


def test_a_program_cannot_write_on_the_screen() -> None:
    output = io.StringIO()
    screen = PlainScreen(io.StringIO(), output)
    screen.say("a\x1b[2Jb\rc\nd\u202ee", Line("\x07", Tone.CALL))
    screen.warn("\x1b[31m")
    assert output.getvalue() == "a\\x1b[2Jb\\rc\\nd\\u202ee\n\\x07\n\\x1b[31m\n"
    assert printable("ü → 日本") == "ü → 日本"


def test_sentences_are_wrapped_but_paths_stay_whole() -> None:
    path = "/very/long/" + "x" * 100
    assert wrap(f"kept in {path} now", 40) == ["kept in", path, "now"]


class Interrupted(io.StringIO):
    """Ctrl-C, as often as said, before the first line."""

    def __init__(self, times: int) -> None:
        super().__init__("y\n")
        self.times = times

    def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]
        if self.times:
            self.times -= 1
            self._interrupt()
        return super().readline()

    def _interrupt(self) -> NoReturn:
        raise KeyboardInterrupt


def test_ctrl_c_once_asks_again_and_twice_leaves() -> None:
    output = io.StringIO()
    assert PlainScreen(Interrupted(1), output).read("> ") == "y"
    assert PlainScreen(Interrupted(2), output).read("> ") is None
    assert "Ctrl-C again leaves" in output.getvalue()


def test_an_input_that_went_away_has_ended() -> None:
    class Gone(io.StringIO):
        def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]
            raise OSError(5, "Input/output error")

    assert PlainScreen(Gone(), io.StringIO()).read("> ") is None


def test_in_a_pipe_the_width_is_always_the_same() -> None:
    assert PlainScreen(io.StringIO(), io.StringIO()).width == 80


def test_a_closed_stream_is_no_terminal() -> None:
    closed = io.StringIO()
    closed.close()
    assert not PlainScreen(closed, io.StringIO()).interactive
