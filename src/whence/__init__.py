"""whence: an algorithmic debugger.

It records a run of a program as a tree of calls, asks whether calls did what they should, and from
the answers names the call at fault. This module owns the version and what a program may import from
whence (docs/api.md), and loads each when it is asked for, so that importing any part costs no more
than that.

PYTEST_DONT_REWRITE (see `_whence_pytest`).
"""

__all__ = [
    "Call",
    "Diagnosis",
    "Question",
    "Recording",
    "Session",
    "Value",
    "WhenceError",
    "__version__",
    "ask",
    "find",
    "open",
    "record",
    "register_strategy",
    "register_summary",
    "spec",
    "why",
]

TYPE_CHECKING = False  # for type checkers it is true; `typing` may be a module of the project
if TYPE_CHECKING:
    from whence.api.recorded import Call as Call
    from whence.api.recorded import Value as Value
    from whence.api.recording import Recording as Recording
    from whence.api.recording import ask as ask
    from whence.api.recording import find as find
    from whence.api.recording import open as open
    from whence.api.recording import record as record
    from whence.api.recording import why as why
    from whence.api.sessions import Diagnosis as Diagnosis
    from whence.api.sessions import Question as Question
    from whence.api.sessions import Session as Session
    from whence.errors import WhenceError as WhenceError
    from whence.langs.python.oracles.spec_registry import spec as spec
    from whence.langs.python.record.summaries import register_summary as register_summary
    from whence.search.registry import register_strategy as register_strategy

    __version__: str
else:
    _PLACES = {
        "Call": "whence.api.recorded",
        "Diagnosis": "whence.api.sessions",
        "Question": "whence.api.sessions",
        "Recording": "whence.api.recording",
        "Session": "whence.api.sessions",
        "Value": "whence.api.recorded",
        "WhenceError": "whence.errors",
        "ask": "whence.api.recording",
        "find": "whence.api.recording",
        "open": "whence.api.recording",
        "record": "whence.api.recording",
        "register_strategy": "whence.search.registry",
        "register_summary": "whence.langs.python.record.summaries",
        "spec": "whence.langs.python.oracles.spec_registry",
        "why": "whence.api.recording",
    }

    def __getattr__(name: str) -> object:
        """The version, or a part of the interface.

        importlib.metadata costs 20 ms and loads a dozen modules, which a debugger must not load
        into the program that it records.
        """
        if name in _PLACES:
            return getattr(__import__(_PLACES[name], fromlist=[name]), name)
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib.metadata import FastPath, PackageNotFoundError, version

        try:
            return version("whence")
        except PackageNotFoundError:  # run from a source tree that was never installed
            return "0+unknown"
        finally:
            # It remembers folders that it looked into. A program that is recorded in this process
            # would not look into them itself, as it does when it is run again.
            FastPath.__new__.cache_clear()

    def __dir__() -> list[str]:
        """What can be imported from here."""
        return sorted(__all__)
