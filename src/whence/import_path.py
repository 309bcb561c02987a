"""Where whence imports from: never the folder of the debugged project in place of its own modules.

A project may have a `random.py` or a `json/`. Python looks for modules in the folder of the script
or in the current folder first, then in those of PYTHONPATH, so whence would get the project's
modules. The processes of whence start with `whence_path` instead.

Invariant: this module imports only what every Python has loaded when it starts.
"""

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""The folder that whence itself is in."""


def whence_path(path: list[str]) -> list[str]:
    """A `sys.path` without its first entry for whence: the folders of PYTHONPATH come last."""
    named = _named_folders()
    return sorted(path, key=lambda folder: os.path.abspath(folder) in named)


def _named_folders() -> set[str]:
    variable = "" if sys.flags.ignore_environment else os.environ.get("PYTHONPATH", "")
    return {os.path.abspath(folder) for folder in variable.split(os.pathsep)} if variable else set()
