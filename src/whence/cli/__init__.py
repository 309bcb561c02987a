"""The command line: one file per subcommand, which owns its options and help."""

from __future__ import annotations

from whence.cli.main import main

__all__ = ["main"]
