"""Errors of the protocol: a code for programs, a message and a cure for whoever reads it."""

from __future__ import annotations

from enum import Enum

from whence.errors import CannotExpand, CannotWriteTest, UsageError, WhenceError
from whence.store.session_log import SessionHeld


class Code(Enum):
    """What kind of error it is."""

    BAD_MESSAGE = "bad-message"
    """The line is no JSON object of the protocol."""
    TOO_LARGE = "too-large"
    BAD_VERSION = "bad-version"
    UNKNOWN_METHOD = "unknown-method"
    BAD_PARAMETERS = "bad-parameters"
    NO_SESSION = "no-such-session"
    NO_JOB = "no-such-job"
    NO_CALL = "no-such-call"
    NO_PART = "no-such-part"
    NOT_NOW = "not-now"
    """The session does not need this at this moment."""
    STALE = "stale"
    """The session has moved on since the revision that the request names."""
    HELD = "session-held"
    """Another process has the session open."""
    NOT_ALLOWED = "not-allowed"
    """A person has to allow it: the program would run again."""
    CANNOT = "cannot"
    """It was understood and cannot be done, for the reason given."""
    BUG = "bug"
    """whence has a bug."""


CURES = {
    Code.BAD_MESSAGE: "send one JSON object on one line: "
    '{"version": 1, "id": 1, "method": "hello", "params": {}}',
    Code.TOO_LARGE: "send less at once; long values belong into a file of the program",
    Code.BAD_VERSION: "send version 1",
    Code.UNKNOWN_METHOD: "hello lists the methods",
    Code.BAD_PARAMETERS: "docs/protocol.md lists the parameters of each method",
    Code.NO_SESSION: "open opens a recording; sessions lists the open ones",
    Code.NO_JOB: "jobs lists the recordings that were begun here",
    Code.NO_CALL: "calls searches for calls",
    Code.NO_PART: "call shows the values of a call with the paths of their parts",
    Code.NOT_NOW: "next says what the session needs",
    Code.STALE: "next says what the session needs now",
    Code.HELD: "end the other whence, or talk to it over its socket",
    Code.NOT_ALLOWED: "allow permits it for this session, if a person agrees",
    Code.CANNOT: "",
    Code.BUG: "report it with the message and the request",
}


class Problem(WhenceError):
    """An error with its code; without a cure of its own it has the usual one of the code."""

    def __init__(self, code: Code, message: str, cure: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.cure = CURES[code] if cure is None else cure

    def message(self) -> dict[str, object]:
        """The error as a member of a response."""
        return {"code": self.code.value, "message": str(self), "cure": self.cure}


def problem_of(error: WhenceError) -> Problem:
    """Any failure that whence reports, as an error of the protocol."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, SessionHeld):
        return Problem(Code.HELD, str(error))
    if isinstance(error, CannotExpand | CannotWriteTest):
        return Problem(Code.CANNOT, str(error))
    if isinstance(error, UsageError):
        return Problem(Code.BAD_PARAMETERS, str(error), "")
    return Problem(Code.CANNOT, str(error))
