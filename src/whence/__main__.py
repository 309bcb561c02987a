"""`python -m whence`: the same as the `whence` command."""

import sys

from whence.cli import main

if __name__ == "__main__":
    sys.exit(main())
