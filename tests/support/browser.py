"""A real browser, and `whence` as it serves the page to it.

The browser is Debian's Chromium under Playwright: `make test` installs both where it can. Without
them the tests are skipped, and say what is missing.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
_NAMES = ("chromium", "chromium-browser", "google-chrome")
WAIT = 60_000
"""In milliseconds. Timing decides nothing: this only ends a test that would never end."""


def need_browser() -> str:
    """The path of Chromium; skip the module that calls this where it or Playwright is missing."""
    pytest.importorskip("playwright.sync_api", reason="Playwright is missing (the extra `browser`)")
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        reason = "Chromium is not installed (apt-get install chromium)"
        if os.environ.get("CI"):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason, allow_module_level=True)
    return found


@contextmanager
def chromium(path: str) -> Iterator[Any]:
    """A browser with a profile of its own."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, headless=True, args=list(ARGUMENTS)
        )
        yield browser
        browser.close()


class Served:
    """A `whence` process that serves a page."""

    def __init__(self, words: Sequence[str], folder: Path, environment: dict[str, str]) -> None:
        ours = () if words[0] == "-m" else ("-m", "whence")
        command = [sys.executable, *ours, *words]
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        self.lines: list[str] = []
        self.address = ""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            if re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]+\n", line):
                self.address = line.strip()
                return
        raise AssertionError(f"no address was printed: {''.join(self.lines)}")

    def end(self, number: int = signal.SIGINT) -> tuple[int, str]:
        """End it; its exit code, and what it printed after the address."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        rest, _ = self.process.communicate(timeout=60)
        return self.process.returncode, rest


@contextmanager
def served(words: Sequence[str], folder: Path, environment: dict[str, str]) -> Iterator[Served]:
    """The page of a command, until the block ends."""
    server = Served(words, folder, environment)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.end()
        if server.process.stdout is not None:
            server.process.stdout.close()


class Tab:
    """A tab with the page, in the words of its user."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.problems: list[str] = []
        page.set_default_timeout(WAIT)
        page.on("pageerror", lambda error: self.problems.append(f"script: {error}"))
        page.on("console", self._note)

    def _note(self, message: Any) -> None:
        if message.type == "error" or "Content Security Policy" in message.text:
            self.problems.append(message.text)

    def open(self, address: str) -> Tab:
        """Go to an address, and wait for the session."""
        self.page.goto(address)
        self.page.wait_for_selector("#question h2")
        self.settle()
        return self

    def settle(self) -> None:
        """Wait until nothing is being asked for or drawn."""
        until = time.monotonic() + WAIT / 1000
        while self.page.evaluate("!!document.querySelector('.busy') || !!window.isDrawing"):
            assert time.monotonic() < until, "the page is still busy"
            self.page.wait_for_timeout(30)

    def see(self, text: str, within: str = "body") -> None:
        """Wait until a text is there."""
        self.page.wait_for_selector(f"{within} >> text={text}")
        self.settle()

    def text(self, within: str) -> str:
        """What can be read in a part of the page."""
        shown: str = self.page.inner_text(within)
        return shown

    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        for key in keys:
            self.settle()
            self.page.keyboard.press(key)
        self.settle()

    def click(self, selector: str) -> None:
        """Click, and wait for what comes of it."""
        self.settle()
        self.page.click(selector)
        self.settle()

    def click_call(self, name: str, *, count: int = 1) -> None:
        """Click the first box of the picture that has a name, where it is on the screen."""
        place = self.page.evaluate("name => document.getElementById('icicle').placeOf(name)", name)
        assert place is not None, f"no box of {name} is in the picture"
        self.page.mouse.click(place[0], place[1], click_count=count)
        self.settle()

    def part(self, path: str) -> str:
        """The selector of a part of a value."""
        quoted = path.replace('"', '\\"')
        return f'#question [data-path="{quoted}"]'


Opener = Callable[..., Tab]
