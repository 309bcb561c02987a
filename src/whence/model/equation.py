"""A call's equation as it is in every run, so that an answer about it can be reused."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StableEquation:
    """The function of a call, a text for readers, and a digest of all of it."""

    function: str
    text: str
    digest: str
    inputs: str = ""
    """A digest of the function and its inputs, without the outcome."""
