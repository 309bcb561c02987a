"""Writing a session to a file, for `save`.

A session that is kept is copied. One that is not is written down as the events that lead to what
was said and still stands; what was undone is not in it.
"""

from __future__ import annotations

from pathlib import Path

from whence.errors import UsageError, WhenceError
from whence.model.verdict import Trust
from whence.session.events import (
    Answered,
    Event,
    Rejected,
    RestSearched,
    StrategyChosen,
    SwitchTurned,
    TrustGiven,
)
from whence.session.journal import Journal
from whence.session.state import Facts
from whence.ui import Debugging


def save(debugging: Debugging, name: str, *, grown: bool) -> str:
    """Write the session, and say so. `grown`: calls were added to the tree since it began."""
    journal = debugging.journal
    if not name:
        if journal is None:
            return "This session is not kept in a file; save FILE writes it to one."
        return f"Every answer is kept in {journal.path} as soon as it is given."
    try:
        path = Path(name).expanduser()
        if path.exists():
            raise UsageError(f"{path} exists already; name another file")
        if journal is not None:
            journal.copy_to(path)
        elif grown:
            raise WhenceError(
                "the tree has grown in this session, and only a session that is kept from its "
                "start on can be saved then: start whence with --session FILE"
            )
        else:
            _write(debugging, path)
    except (OSError, ValueError, RuntimeError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise WhenceError(f"{name} cannot be written ({reason}); name another file") from problem
    return f"Saved in {path}; --session {path} goes on from there."


def _write(debugging: Debugging, path: Path) -> None:
    state = debugging.state
    journal = Journal(path, state.tree, "the same tree")
    try:
        for event in events_of(state.facts):
            journal.append(event)
    finally:
        journal.close()


def events_of(facts: Facts) -> list[Event]:
    """Events that lead from nothing to these facts."""
    events: list[Event] = [StrategyChosen(facts.strategy)]
    switches = facts.switches
    events += [SwitchTurned(n, getattr(switches, n)) for n in switches.__dataclass_fields__]
    if facts.rejected:
        events += [Answered((answer,)) for answer in facts.defaults]
        events += [Rejected()] * facts.rejected
    events += [TrustGiven(trust) for trust in facts.trusts]
    events += [Answered((answer,)) for answer in facts.answers]
    if facts.rest:
        events.append(RestSearched())
    if facts.clash is not None:
        later = facts.clash.later
        events.append(TrustGiven(later) if isinstance(later, Trust) else Answered((later,)))
    return events
