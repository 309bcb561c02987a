from collections.abc import Callable, Mapping
from typing import Any, TypedDict

HOOK: str

class _State(TypedDict):
    on: bool
    calls: int
    skipped: int
    bytes: int
    problem: int

def start(
    *,
    descriptor: int,
    detail: int,
    bound: tuple[int, int, int, int, int],
    first_bound: tuple[int, int, int, int, int],
    global_bound: tuple[int, int, int, int, int],
    whole_bound: tuple[int, int, int, int, int],
    whole_calls: tuple[int, int],
    first_calls: int,
    max_calls: int,
    max_bytes: int,
    max_depth: int,
    describe: Callable[..., Any],
    summaries: Mapping[type, Callable[[Any], tuple[str, bool]]],
    tail: tuple[str, int, int],
) -> None: ...
def stop() -> None: ...
def end(how: int, value: object, /) -> None: ...
def note(text: str, /) -> None: ...
def flush() -> None: ...
def state() -> _State: ...
def at_bottom(function: Callable[..., Any], /, *arguments: object) -> Any: ...
def here() -> int: ...
def processes(path: str, name: str, child: bool, /) -> bool: ...
def lend_recursion(frames: int, /) -> None: ...
