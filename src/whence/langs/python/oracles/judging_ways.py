"""The ways in which a reference version judges calls: why each is believed, and how often it was.

A reason stands with the answer that a session shows; the summary of all ways at the session's end.
"""

from __future__ import annotations

from collections import Counter

UNCHANGED = "no code that ran in it differs"
BLAMELESS = "its code is the same, and all that it called is right"
MADE_AGAIN = "made again by the reference"
WHOLE_RUN = "the whole run"
ENDS_THERE = "an equal call of the reference's run ends"
ONLY_DIFFERENCE = "nothing else that ran differs"
BESIDE = "the two runs side by side"
IN_PLACE = "made again in its place"
EQUAL_CALL = "an equal call of the reference's run"
_WAYS = {
    UNCHANGED: "by unchanged code",
    BLAMELESS: "by unchanged code",
    ONLY_DIFFERENCE: "as the only one that differs",
    BESIDE: "side by side",
    IN_PLACE: "in place",
    MADE_AGAIN: "made again",
    ENDS_THERE: "by an equal call that ends",
    EQUAL_CALL: "by an equal call",
    WHOLE_RUN: "by the whole run",
}
"""How a reason begins, and what the summary calls the way that gave it."""
_MOST_REASONS = 5


def way_of(reason: str) -> str:
    """The way that gave a reason."""
    return next((way for start, way in _WAYS.items() if reason.startswith(start)), "otherwise")


def summary_of(judged: Counter[str], unjudged: Counter[str], experiments: int) -> str:
    """What a reference did: by which ways it judged calls, and why it could not judge others."""
    parts = []
    if judged:
        total = judged.total()
        ways = ", ".join(f"{count:,} {way}" for way, count in judged.most_common())
        parts.append(f"it judged {total:,} call{'s' * (total != 1)}: {ways}")
    if experiments:
        parts.append(f"{experiments} runs told which of its changes matter")
    if unjudged:
        reasons = unjudged.most_common(_MOST_REASONS)
        texts = "; ".join(f"{why} ({count})" for why, count in reasons)
        parts.append(f"{unjudged.total()} calls could not be transferred: {texts}")
    return "; ".join(parts)
