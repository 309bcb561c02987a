"""The start of a debuggee process: `python [options] __main__.py DESCRIPTOR`.

Run as a file and not with `-m`, so that nothing of the program can be imported in place of what
whence needs. The descriptor holds the order; it is closed before the program starts.
"""

import os
import sys

if not sys.flags.safe_path:
    sys.path[0] = os.path.dirname(sys.executable)
# The interpreter asked its path hooks whether this file is an archive.
sys.path_importer_cache.pop(__file__, None)

from whence.langs.python.debuggee import lazy_imports  # noqa: E402

lazy_imports.import_at_once()

from whence.langs.python.debuggee.start import main  # noqa: E402

main(int(sys.argv[1]))
