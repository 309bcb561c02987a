"""The protocol between an oracle and its worker: one message per line of JSON.

The worker first answers `Loaded` or `CannotAnswer`. For each request it forks a process and answers
`Started`, then that process answers, then the worker says `Ended`.

Invariant: messages hold nothing but JSON: the debugger unpickles nothing that a program wrote.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TypeAlias, TypeVar

from whence.langs.python.objects.atoms import Json

RecipeJson: TypeAlias = list[Json]
"""A recipe as `oracles/recipe_json.py` writes it."""
NamedRecipes: TypeAlias = Sequence[tuple[str, RecipeJson]]
Digests: TypeAlias = Mapping[str, Sequence[str]]
"""What a call left behind: by name an exact digest, a loose one, and what is unknown."""


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """How a worker is started: the version of the program, and the pipes to the debugger."""

    read: int
    write: int
    rules: Sequence[Sequence[str]]
    argv: Sequence[str]
    folder: str
    """The first entry of `sys.path`."""
    cwd: str
    kind: str
    program: str
    modules: Sequence[str]
    writable: str
    """The only folder that loading may change; empty: loading is not confined."""


@dataclass(frozen=True, slots=True)
class RunConfig:
    """How a whole run is recorded."""

    whole_values: bool
    output: str
    kind: str
    program: str
    arguments: Sequence[str]
    cwd: str
    paths: Sequence[str]
    rules: Sequence[Sequence[str]]
    exchanged: Sequence[str] = ()
    """A file, the file that stands in for it, and the function whose code is taken from there."""
    test: str = ""
    """The only test of pytest that is recorded; empty: all is recorded."""
    with_teardown: bool = False


# --- requests ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CallRequest:
    """Make a call on rebuilt inputs and record it."""

    module: str
    qualname: str
    parameters: Sequence[str]
    arguments: NamedRecipes
    free_variables: Sequence[str] = ()
    captured: NamedRecipes = ()
    variables: Sequence[tuple[str, str, RecipeJson]] = ()
    """Module variables: module, name, value."""
    modules: Sequence[str] = ()
    """The modules whose unrecorded state is compared."""
    flags: int = 0
    steps: int = 1
    """How often a generator is resumed."""
    trace: str = ""
    seed: int = 0
    line: int | None = None
    """The line of the function, where it is known for this version."""
    wants_lines: bool = False
    is_spec: bool = False
    """Call the function that `whence.spec` declares to do the same."""


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """Evaluate the contracts of a call on its rebuilt inputs and outcome."""

    trace: str
    module: str
    qualname: str
    arguments: NamedRecipes
    after: NamedRecipes
    result: RecipeJson | None
    raised: RecipeJson | None


@dataclass(frozen=True, slots=True)
class ForkRequest:
    """Run the program up to a call, fork there, and make the call with both versions' code."""

    kind: str
    program: str
    arguments: Sequence[str]
    stdin: str
    hash_seed_by: str
    file: str
    first_line: int
    qualname: str
    line_table: str
    count: int
    """Which call of this code it is, counted from 1 in the order in which they begin."""
    files: Sequence[tuple[str, str]]
    """The files that differ, each with its file in the reference."""
    modules: Sequence[str]
    flags: int
    steps: int
    limit: float
    trace: str
    wants_inputs: bool = False
    """Whether the answer shall hold digests of what the call receives."""
    runs_reference: bool = False
    """Run the program with the reference's code up to a call with these inputs and outcomes."""
    inputs: Digests = field(default_factory=dict)
    outcomes: Sequence[Digests] = ()
    """What the program's own version and the reference left behind in the program's run."""


Request = CallRequest | CheckRequest | ForkRequest


# --- responses -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Loaded:
    """The program is loaded, but for some modules."""

    problems: Sequence[str]


@dataclass(frozen=True, slots=True)
class Started:
    """A process was forked for the request."""

    process: int


@dataclass(frozen=True, slots=True)
class Ended:
    """The process of the request ended."""


@dataclass(frozen=True, slots=True)
class CannotAnswer:
    """Why there is no answer."""

    reason: str


@dataclass(frozen=True, slots=True)
class CallDone:
    """The call was made and its trace is written."""

    hidden_before: Mapping[str, str]
    """Digests of state that no recording shows, by name."""
    hidden_after: Mapping[str, str]
    lines: Sequence[int] | None


@dataclass(frozen=True, slots=True)
class CheckDone:
    """The conditions that say something: a verdict and the text of each."""

    verdicts: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class VersionDone:
    """What one version of a call left behind."""

    digests: Digests


@dataclass(frozen=True, slots=True)
class ForkDone:
    """What each version left behind: tried once, or twice if they were not the same."""

    own: Sequence[Digests]
    reference: Sequence[Digests]
    inputs: Digests
    """What the call received, if that was asked for."""


Response = Loaded | Started | Ended | CannotAnswer | CallDone | CheckDone | VersionDone | ForkDone
Respond = Callable[[Response], None]
Message = WorkerConfig | RunConfig | Request | Response
_MESSAGES: dict[str, type[Message]] = {
    message.__name__: message
    for message in (
        WorkerConfig, RunConfig, CallRequest, CheckRequest, ForkRequest, Loaded, Started, Ended,
        CannotAnswer, CallDone, CheckDone, VersionDone, ForkDone,
    )
}  # fmt: skip
_FIELDS = {name: [field.name for field in fields(cls)] for name, cls in _MESSAGES.items()}
# The program may replace what `json` holds.
_to_json, _from_json = json.JSONEncoder().encode, json.JSONDecoder().decode
MessageT = TypeVar("MessageT", bound=Message)


def encode_message(message: Message) -> str:
    """A message as one line of JSON, without its end."""
    name = type(message).__name__
    return _to_json({"message": name, **{key: getattr(message, key) for key in _FIELDS[name]}})


def decode_message(line: str | bytes) -> Message:
    """The message of a line; ValueError if it is none."""
    text = line.decode("utf-8", "surrogatepass") if isinstance(line, bytes) else line
    data = _from_json(text)
    try:
        return _MESSAGES[data.pop("message")](**data)
    except (AttributeError, KeyError, TypeError) as problem:
        raise ValueError(f"no message: {text[:80]}") from problem


def decode_as(expected: type[MessageT], line: str | bytes) -> MessageT:
    """The message of a line that must be of one type."""
    message = decode_message(line)
    if not isinstance(message, expected):
        raise ValueError(f"not a {expected.__name__}: {type(message).__name__}")
    return message
