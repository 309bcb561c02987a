"""What was found out for a diagnosis, beyond what was recorded and said."""

from __future__ import annotations

from dataclasses import dataclass, field

from whence.model.call import MarkedPart
from whence.model.origin import Origin
from whence.model.primitive import Primitive
from whence.report.source import Executed


@dataclass(frozen=True, slots=True)
class Passed:
    """The input that a call (`node`) should never have received, and its origin."""

    node: int
    part: MarkedPart
    origin: Origin


@dataclass(frozen=True, slots=True)
class Findings:
    """About the call at fault: the lines that it ran, the operation that raised its exception, and
    the origin of the wrong value that it passed on."""

    executed: Executed = field(default_factory=Executed)
    raised_by: Primitive | None = None
    passed: Passed | None = None
    notes: tuple[str, ...] = ()
    """The recorder's notes about the run."""


NOT_ASKED = Findings()
