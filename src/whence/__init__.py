"""whence: an algorithmic debugger.

It records a run of a program as a tree of calls, asks whether calls did what they should, and from
the answers names the call at fault. This module owns the version and nothing else, so that
importing any part of whence costs no more than that part.
"""

from typing import TYPE_CHECKING

__all__ = ["__version__"]

if TYPE_CHECKING:
    __version__: str
else:

    def __getattr__(name: str) -> str:
        """The version, when it is asked for.

        importlib.metadata costs 20 ms and brings a dozen modules, which a debugger that is a guest
        in somebody's program has no business to load there.
        """
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("whence")
        except PackageNotFoundError:  # run from a source tree that was never installed
            return "0+unknown"
