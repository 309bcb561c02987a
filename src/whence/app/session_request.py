"""What a user wants of a session, apart from the tree and the answers.

The command line fills it from its options; another interface fills it from its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from whence.model.replay_settings import NODE_BUDGET, ReplayMode


@dataclass(frozen=True)
class SessionRequest:
    """One field for each option of the commands that end in a diagnosis."""

    strategy: str | None = None
    trust: Sequence[str] = ()
    compress: bool = False
    single_rule: bool = False
    no_duplicates: bool = False
    no_slicing: bool = False
    no_presumption: bool = False
    node_budget: int = NODE_BUDGET
    replay: ReplayMode = ReplayMode.CHECKPOINTS
    answers: str | None = None
    """The file that answers are read from; `-` is standard input."""
    format: str = "text"
    output: Path | None = None
    regression_test: str | None = None
    """Where a regression test goes; an empty text leaves that to whence."""
    rerun: bool | None = None
    """Whether the program may run again without asking; None: a person is asked."""
    plain: bool = False
    session: Path | None = None
    no_session: bool = False
    oracle: Sequence[str] = ()
    reference: str | None = None
    no_oracle: Sequence[str] = ()
    remember: bool | None = None
    fresh: bool = False
    trust_recording: bool = False
    """Whether the program of a recording that somebody else made may be executed."""
    web: bool = False
    """Whether the session is held on a page in the browser."""
    port: int = 0
    """The port of the page; 0: a free one."""
    no_open: bool = False
    """Whether the page is not opened in the browser."""
    browse: bool = False
    """Whether the page only shows the run, and nothing is asked."""
