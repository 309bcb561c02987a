"""The result of a search: the call at fault, or why whence does not know it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Status(Enum):
    """How a search ended."""

    FOUND = "found"
    CANDIDATES = "candidates"
    NONE = "none"
    UNDETERMINED = "undetermined"


class FaultKind(Enum):
    """What was wrong about the call at fault."""

    WRONG_RESULT = "wrong result"
    BAD_INPUT_PASSED = "bad input passed"
    RAISED = "raised"
    DID_NOT_RAISE = "did not raise"
    DID_NOT_END = "did not end"
    MISSING_ANSWER = "missing answer"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The result of a search.

    `node` is the call at fault (absent unless found). `group` holds the calls among which the
    fault lies when only their common rule is certain (after tree compression or a single-rule
    stop), the first being `node`. `candidates` holds those that may be at fault when answers are
    missing. `bad_input` holds the calls that were given inadmissible input, `callees` the judged
    calls that the one at fault made. `reason` says why more is not known, or why a call that nobody
    judged is at fault. `within_slice`: of its callees only those were judged that
    could have made the part that was marked. `more_candidates` counts those that are not
    among `candidates`. `definitions`: what has to be another one although no recorded call ran it,
    such as a constant of a module that was imported before the recording began.
    """

    status: Status
    node: int | None = None
    kind: FaultKind = FaultKind.WRONG_RESULT
    group: tuple[int, ...] = ()
    candidates: tuple[int, ...] = ()
    callees: tuple[int, ...] = ()
    bad_input: tuple[int, ...] = ()
    within_slice: bool = False
    reason: str = ""
    more_candidates: int = 0
    definitions: tuple[str, ...] = ()
