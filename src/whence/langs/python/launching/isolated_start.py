"""The start of every Python process of whence: `python [options] isolated_start.py MODULE WORDS`.

Imports the module and calls its `main` with an `InterpreterStart` and the words. Run as a file and
not with `-m`, so that nothing of the program can be imported in place of what whence needs, and
without `-P`, which the program could see.
"""

import os
import sys

_modules = frozenset(sys.modules)
_options = sys.orig_argv[: len(sys.orig_argv) - len(sys.argv)]
_path = sys.path
if not sys.flags.safe_path:
    del _path[0]
# The interpreter asked its path hooks whether this file is an archive.
sys.path_importer_cache.pop(__file__, None)

try:
    sys.path = [os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 4))]
    import whence  # noqa: F401 (its parts are found from here on, wherever it is)

    sys.path_importer_cache.pop(sys.path[0], None)
    sys.path = _path

    from whence.import_path import whence_path

    sys.path = whence_path(_path)

    from whence.langs.python.debuggee import lazy_imports

    lazy_imports.import_at_once()

    from whence.langs.python.debuggee.interpreter_start import InterpreterStart

    _start = InterpreterStart(tuple(_options), _path, _modules)
    _main = __import__(sys.argv[1], fromlist=["main"]).main
except KeyboardInterrupt:  # nothing of the program has run yet
    os.write(2, b"whence: stopped\n")
    os._exit(130)
_main(_start, *sys.argv[2:])
