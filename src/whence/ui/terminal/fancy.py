"""The screen for a person at a terminal: colours, history, completion.

The only module that knows rich and prompt_toolkit; `screen_choice` imports it if both are
installed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from rich.console import Console
from rich.highlighter import ReprHighlighter
from rich.text import Text

from whence.printable_text import printable, raw
from whence.ui.terminal.screen import (
    Complete,
    Line,
    Tone,
    hanging,
    no_completion,
    wrap,
)

MAX_WIDTH = 120
"""Longer lines are hard to read, however wide the window."""

_STYLES = {
    Tone.PLAIN: "",
    Tone.TITLE: "bold",
    Tone.CALL: "",
    Tone.QUIET: "dim",
    Tone.FAULT: "bold red",
}


class FancyScreen:
    """A terminal with colours, whose input line can be edited."""

    def __init__(self, output: TextIO) -> None:
        """Write to a terminal."""
        self._console = Console(file=raw(output), highlight=False, markup=False, emoji=False)
        self._values = ReprHighlighter()
        self._session: PromptSession[str] = PromptSession(
            history=InMemoryHistory(),
            complete_while_typing=False,
            key_bindings=_keys(),
        )

    @property
    def interactive(self) -> bool:
        """Always: it is chosen only at a terminal."""
        return True

    @property
    def width(self) -> int:
        """The window's width, up to what is still readable."""
        return max(20, min(self._console.width, MAX_WIDTH))

    @property
    def emphasises(self) -> bool:
        """In bold."""
        return True

    def say(self, *lines: str | Line) -> None:
        """Show lines in their tones."""
        for text_or_line in lines:
            line = text_or_line if isinstance(text_or_line, Line) else Line(text_or_line)
            for piece in hanging(printable(line.text), self.width):
                text = Text(piece, style=_STYLES[line.tone])
                if line.tone is Tone.CALL:
                    self._values.highlight(text)
                for strong in line.strong:
                    text.highlight_regex(re.escape(strong), "bold reverse")
                self._console.print(text, soft_wrap=True)

    def note(self, text: str) -> None:
        """Show it, less loud than the questions."""
        self.say(*(Line(line, Tone.QUIET) for line in wrap(text, self.width)))

    def warn(self, text: str) -> None:
        """Show it in yellow."""
        for line in wrap(text, self.width):
            self._console.print(Text(line, style="yellow"), soft_wrap=True)

    def read(self, prompt: str | None, complete: Complete = no_completion) -> str | None:
        """A line; None after Ctrl-D, or after Ctrl-C was pressed twice on an empty line."""
        message = FormattedText([("bold", prompt or "")])
        for last in (False, True):
            try:
                return self._session.prompt(message, completer=_Completer(complete))
            except EOFError:
                return None
            except KeyboardInterrupt:
                if not last:
                    self.note("  (Ctrl-C again leaves)")
        return None


def _keys() -> KeyBindings:
    """Ctrl-C clears the line; on an empty line it leaves."""
    keys = KeyBindings()

    @keys.add("c-c")
    def _(event: KeyPressEvent) -> None:
        typed = event.current_buffer.text
        event.current_buffer.reset()
        if not typed:
            event.app.exit(exception=KeyboardInterrupt())

    return keys


class _Completer(Completer):
    """Proposals as prompt_toolkit wants them."""

    def __init__(self, complete: Complete) -> None:
        self._complete = complete

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterator[Completion]:
        before = document.text_before_cursor
        for text in self._complete(before):
            yield Completion(text, start_position=-len(before), display=_last_word(text))


def _last_word(text: str) -> str:
    """The part of a completed line that the menu shows."""
    return text.rstrip().rpartition(" ")[2] or text
