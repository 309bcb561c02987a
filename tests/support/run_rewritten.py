"""Runs a test suite with some modules rewritten: `python run_rewritten.py MODULE,… TEST…`.

Tags are dropped before every test, so that memory stays bounded.
"""

from __future__ import annotations

import os
import sys
import unittest

from whence.langs.python.provenance.rewriter.rewriting_importer import Modules, rewrite_imports
from whence.langs.python.provenance.runtime.run_state import RUN
from whence.langs.python.provenance.runtime.shadow_switch import SWITCH

TOO_MANY = frozenset({"test_expandvars_large"})
"""Tests that make over a million calls, whose tags would take gigabytes."""


class Loader(unittest.TestLoader):
    """Loads all tests except `TOO_MANY`."""

    def getTestCaseNames(self, case: type[unittest.TestCase]) -> list[str]:  # noqa: N802
        return [each for each in super().getTestCaseNames(case) if each not in TOO_MANY]


def main() -> None:
    names = frozenset(sys.argv[1].split(","))

    def chosen(name: str, _: str) -> bool:
        return any(name == each or name.startswith(each + ".") for each in names)

    for name in [each for each in sys.modules if chosen(each, "")]:
        del sys.modules[name]
    SWITCH.start()
    rewrite_imports(chosen, Modules(dual=False))

    class Result(unittest.TextTestResult):
        def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802
            if not RUN.frames:  # else it is a test of a test
                RUN.reset()
            super().startTest(test)

    runner = unittest.TextTestRunner(verbosity=2, resultclass=Result)  # type: ignore[arg-type]  # typeshed wants any stream
    program = unittest.main(
        module=None, argv=["unittest", *sys.argv[2:]], testRunner=runner, exit=False,
        testLoader=Loader(),
    )  # fmt: skip
    sys.stderr.flush()
    # Suspended generators would continue while the interpreter shuts down.
    os._exit(not program.result.wasSuccessful())


main()
