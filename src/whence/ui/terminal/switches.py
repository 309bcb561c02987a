"""Lists of strategies, switches and oracles, and finding one by the start of its name."""

from __future__ import annotations

import textwrap
from collections import Counter

from whence.errors import UsageError
from whence.search.registry import DEFAULT, DESCRIPTIONS
from whence.search.space import Switches
from whence.session.events import SwitchTurned
from whence.ui import DrivenSession

SWITCHES = {
    "duplicates": "calls with equal equations get equal answers",
    "compression": "a call is folded into its caller when both have the same rule",
    "single_rule": "stop as soon as only one rule can be at fault",
    "slicing": "set calls aside that cannot have influenced a marked part, or began too late",
    "presumption": "imports, class bodies and a failing test are presumed right, and asked last",
}


def find_switch(name: str, on: bool) -> SwitchTurned:
    """The event for the switch with this name, or the only one whose name starts so."""
    fitting = [switch for switch in Switches.__dataclass_fields__ if switch.startswith(name)]
    if len(fitting) != 1:
        switches = ", ".join(Switches.__dataclass_fields__)
        raise UsageError(f"there is no switch {name}; there is {switches}")
    return SwitchTurned(fitting[0], on)


def switch_lines(switches: Switches) -> list[str]:
    """Every switch, whether it is on, and what it does."""
    return [
        f"  {name:<12} {'on ' if getattr(switches, name) else 'off'}  {SWITCHES.get(name, '')}"
        for name in Switches.__dataclass_fields__
    ]


def find_oracle(session: DrivenSession, name: str) -> str:
    """The name of the oracle with this name, or the only one whose name starts so."""
    names = oracle_names(session)
    wanted = _plain(name)
    fitting = [candidate for candidate in names if _plain(candidate) == wanted] or [
        candidate for candidate in names if _plain(candidate).startswith(wanted)
    ]
    if len(fitting) != 1:
        available = ", ".join(names) or "none: only you are asked"
        raise UsageError(f"there is no oracle {name}; there is {available}")
    return fitting[0]


def oracle_names(session: DrivenSession) -> list[str]:
    """The oracles of this session, in the order in which they are asked."""
    names = [oracle.name for oracle in session.oracles]
    return list(dict.fromkeys([*names, *session.state.facts.silenced]))


def oracle_lines(session: DrivenSession) -> list[str]:
    """Every oracle, whether it is asked, and how many of its answers hold."""
    facts = session.state.facts
    by = Counter(answer.by for answer in facts.answers)
    names = oracle_names(session)
    width = max(map(len, names), default=0)
    return [
        f"  {name:<{width}}  {'off' if name in facts.silenced else 'on '}  {by[name]} answered"
        for name in names
    ] or ["There is none: only you are asked."]


def _plain(name: str) -> str:
    return name.lower().replace("-", " ").replace("_", " ")


def strategy_lines(current: str, width: int) -> list[str]:
    """Every strategy with its description; a star marks the current one."""
    column = max(map(len, DESCRIPTIONS))
    out = []
    for name, description in DESCRIPTIONS.items():
        default = " (the default)" if name == DEFAULT else ""
        star = "*" if name == current else " "
        text = f"{star} {name:<{column}}  {description}{default}"
        out += textwrap.wrap(text, max(width, 60), subsequent_indent=" " * (column + 4))
    if current not in DESCRIPTIONS:
        out.append(f"* {current}")
    return out
