"""`python -m whence`, and the `whence` command."""

import sys

from whence.import_path import whence_path


def main() -> int:
    """Carry out the command line; the exit status."""
    try:
        return _command()
    except KeyboardInterrupt:  # while modules are imported, or while an earlier one is handled
        sys.stderr.write("whence: stopped\n")
        return 130


def _command() -> int:
    # The first entry is the current folder with `-m`, or that of the `whence` command.
    sys.path[:] = whence_path(sys.path if sys.flags.safe_path else sys.path[1:])
    from whence.cli import main as command

    return command()


if __name__ == "__main__":
    sys.exit(main())
