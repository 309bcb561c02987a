"""When the recording of a test begins and ends.

It begins with the set-up of the test, so that its fixtures are in the tree, and ends with its call,
or with its teardown if that failed. Collection is not recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

import pytest


class RecordedPhases:
    """The plugin that says when the test of this process begins and ends."""

    def __init__(
        self, begin: Callable[[], object], end: Callable[[], object], *, with_teardown: bool
    ) -> None:
        self._begin, self._end = begin, end
        self._with_teardown = with_teardown
        self._begun = False

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Generator[None, None, None]:
        """Begin: fixtures may be at fault too."""
        if not self._begun:
            self._begun = True
            self._begin()
        outcome = yield
        if getattr(outcome, "excinfo", None) is not None:
            self._end()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self) -> Generator[None, None, None]:
        """End, unless the test failed in its teardown."""
        yield
        if not self._with_teardown:
            self._end()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> Generator[None, None, None]:
        """End with the teardown of a test that failed in it."""
        yield
        self._end()
