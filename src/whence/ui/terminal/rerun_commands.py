"""The commands that run the program again: `full`, `ran`, `pdb`, and trying an expected value.

Where a re-run has effects outside the program, the person is asked for permission, once.
"""

from __future__ import annotations

from whence.errors import UsageError, WhenceError
from whence.model.call import MarkedPart
from whence.model.verdict import Answer
from whence.ports import Following, Reruns
from whence.report.source import source_lines
from whence.ui import DrivenSession
from whence.ui.terminal import messages
from whence.ui.terminal.paging import say_in_pages
from whence.ui.terminal.screen import Screen, wrap
from whence.ui.terminal.show_command import MOST_LINES, call_lines


class RerunCommands:
    """Runs the program of one session again, and shows the result on one screen."""

    def __init__(self, session: DrivenSession, screen: Screen) -> None:
        self._session = session
        self._screen = screen

    def may_run(self, reruns: Reruns) -> bool:
        """Whether the program may be run again; asks the person if it has effects outside."""
        if reruns.is_harmless:
            return True
        session, screen = self._session, self._screen
        if not session.may_run:
            screen.say(*wrap(f"This runs again: {reruns.command}", screen.width))
            screen.say("It repeats its effects on files and on other programs.")
            reply = screen.read("Run it? [y/N] ")
            session.may_run = reply is not None and reply.strip().lower() in ("y", "yes")
        return session.may_run

    def allow_tracing(self, node: int, part: MarkedPart) -> None:
        """Ask for permission if it takes a re-run to find out where a marked part came from."""
        reruns = self._session.reruns
        if not (self._screen.interactive and isinstance(reruns, Following)):
            return
        if reruns.needs_run(node, part) and not self.may_run(reruns):
            self._screen.note("Not run.")

    def run(self, what: str, node: int) -> bool:
        """Show all that a call's values hold (`full`), or the lines that it executed (`ran`).

        Returns whether so much was shown that the question has to be shown again.
        """
        session, screen = self._session, self._screen
        reruns = self._reruns()
        if not self.may_run(reruns):
            screen.note("Not run.")
            return False
        screen.note("running it again …")
        try:
            with session.waiting("running it again"):
                whole = reruns.whole(node) if what == "full" else None
                executed = frozenset[int]() if whole else reruns.lines(node)
        except KeyboardInterrupt:
            screen.note("Stopped.")
            return False
        if whole is not None:
            say_in_pages(screen, call_lines(whole, screen.width), MOST_LINES)
            return True
        tree = session.state.tree
        call = tree.call(tree.position(node))
        screen.say(*source_lines(call, session.sources, executed))
        return False

    def step_through(self, node: int, *, at_end: bool) -> None:
        """Let the person step through a call with pdb, from its start or its end."""
        reruns = self._reruns()
        if not self._screen.interactive:
            raise UsageError("pdb is for a person at a terminal")
        self._screen.note("running it again up to there …")
        reruns.debug(node, at_end=at_end)

    def try_expected(self, answer: Answer) -> None:
        """Say what becomes of the run with an expected value in place, if a re-run is harmless."""
        session, screen = self._session, self._screen
        reruns = session.reruns
        if reruns is None or not reruns.is_harmless or not messages.can_be_tried(answer):
            return
        state, own = session.state, {answer.node: answer.expected or ""}
        others = messages.expected_elsewhere(state, answer.node)
        for values in ({**others, **own}, own) if others else (own,):
            try:
                with session.waiting("trying that"):
                    trial = reruns.tried(values)
            except WhenceError as problem:
                screen.note(f"Not tried{messages.together_with(values, answer.node)}: {problem}")
                continue
            except KeyboardInterrupt:
                screen.note("Stopped.")
                return
            wrong = messages.wrong_line(state)
            head = f"Tried{messages.together_with(values, answer.node)}"
            screen.say(*messages.trial_lines(trial, screen.width, head, wrong))
            return

    def _reruns(self) -> Reruns:
        reruns = self._session.reruns
        if reruns is None:
            raise UsageError("this tree does not say how its program is run")
        return reruns
