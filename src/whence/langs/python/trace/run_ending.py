"""How a recorded run ended, read from the END record of its trace."""

from __future__ import annotations

from dataclasses import dataclass

from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace.trace_format import read_text
from whence.langs.python.trace.trace_pages import printable
from whence.langs.python.trace.trace_records import GLOBALS, TraceRecords
from whence.langs.python.trace.value_decoder import RootValue, ValueIdentities
from whence.langs.python.trace.value_reader import ValueReader
from whence.model.call import Outcome, OutcomeKind
from whence.model.value import Value, atom

STOPS = {
    "KeyboardInterrupt": "it was interrupted (Ctrl-C)",
    "RecursionError": "the recursion limit was reached",
}
"""Exceptions that only say that the calls they leave were not done yet."""


@dataclass(frozen=True, slots=True)
class RunEnding:
    """The end of one run."""

    _records: TraceRecords

    @property
    def has_ended(self) -> bool:
        """Whether the recording goes up to the end of the run."""
        return len(self._records.positions.end_at) > 0

    def how(self) -> int | None:
        """The first field of END; None if the recording breaks off."""
        if not self.has_ended:
            return None
        return self._records.fields(int(self._records.positions.end_at[0]), 1)[1][0]

    @property
    def interrupt(self) -> str | None:
        """The class of the exception that ended the run, if it is one that stops it."""
        if self.how() != f.BY_EXCEPTION:
            return None
        name = self._last_value().text
        return name if name in STOPS else None

    @property
    def interrupted(self) -> int | None:
        """Where the first call ended that was stopped by the exception that ended the run."""
        at = self._records.positions.interrupted
        return int(at[0]) if len(at) else None

    def outcome(self) -> Outcome:
        """How the run ended."""
        if not self.has_ended:
            reason = self._records.file.why_stopped
            why = f"the recording stopped before the program ended: {reason}"
            if not reason:
                why = (
                    "the recording breaks off: the process was killed, is still running, or "
                    "became another program (exec)"
                )
            return Outcome(OutcomeKind.NOT_TERMINATED, atom(why))
        how = self.how()
        if how == f.STOPPED:
            return Outcome(OutcomeKind.NOT_TERMINATED, atom(self.why_stopped()))
        if self.interrupt is not None:
            return Outcome(OutcomeKind.NOT_TERMINATED, atom(STOPS[self.interrupt]))
        kind = OutcomeKind.RAISED if how == f.BY_EXCEPTION else OutcomeKind.RETURNED
        return Outcome(kind, self._last_value())

    def why_stopped(self) -> str:
        """Why the recorder stopped the run."""
        _, _, position = self._records.fields(int(self._records.positions.end_at[0]), 1)
        data, place = self._records.tables.data_at(position)
        if place >= len(data) or data[place] != f.STRING:
            return "it was stopped"
        return printable(read_text(data, place + 1)[0])

    def _last_value(self) -> Value:
        """The value in END: an exit status, or an exception."""
        _, _, place = self._records.fields(int(self._records.positions.end_at[0]), 1)
        identities = ValueIdentities()
        root = RootValue(identities, GLOBALS, 0, None)
        value, _ = self._records.read_root(ValueReader, root, place)
        return self._records.read_root(ValueReader, root, place)[0] if identities else value
