"""whence: an algorithmic debugger.

It records a run of a program as a tree of calls, asks whether calls did what they should, and from
the answers names the call at fault. This module owns the version and what a program may import from
whence, and loads either when it is asked for, so that importing any part costs no more than that.

PYTEST_DONT_REWRITE (see `_whence_pytest`).
"""

__all__ = ["__version__", "register_summary", "spec"]

TYPE_CHECKING = False  # for type checkers it is true; `typing` may be a module of the project
if TYPE_CHECKING:
    from whence.langs.python.oracles.spec_registry import spec as spec
    from whence.langs.python.record.summaries import register_summary as register_summary

    __version__: str
else:

    def __getattr__(name: str) -> object:
        """The version, or a part of the interface.

        importlib.metadata costs 20 ms and loads a dozen modules, which a debugger must not load
        into the program that it records.
        """
        if name == "register_summary":
            from whence.langs.python.record.summaries import register_summary

            return register_summary
        if name == "spec":
            from whence.langs.python.oracles.spec_registry import spec

            return spec
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
