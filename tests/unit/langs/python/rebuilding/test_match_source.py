from __future__ import annotations

import re
import time

from whence.langs.python.rebuilding.match_source import match_source
from whence.langs.python.record import matches


def test_the_expression_makes_the_match_again() -> None:
    match = re.search(r"(\w+) ☃", "a snow ☃")
    assert match is not None
    text, complete = matches.text_of(match)
    assert complete
    assert match_source(text) == r"re.search(r'(\w+) ☃', 'a snow ☃')"


def test_a_pattern_that_takes_years_is_given_up() -> None:
    text = f"Match('(a+)+b', {'a' * 60!r}, ((0, 60),))"
    before = time.process_time()
    assert match_source(text) is None
    assert time.process_time() - before < 2


def test_what_no_recorder_writes_is_not_tried() -> None:
    assert match_source("Match('a', 'a', ((0, 1),)) " + "#" * 2000) is None
    assert match_source("__import__('os').system('true')") is None
