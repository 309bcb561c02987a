"""A match of a regular expression as it is recorded, shown and made again."""

import re

import pytest

from whence.langs.python.oracles.worker.summary_values import value_from_summary
from whence.langs.python.record import matches
from whence.langs.python.trace.summary_text import readable_summary
from whence.langs.python.trace.trace_tables import TypeEntry

RE = TypeEntry("re", "Match", 0)
LINE = re.compile(r"(\w+)\s+(\d+)(?:\s+x(\d+))?")


def second_of(pattern: str, text: str, flags: int = 0) -> re.Match[str]:
    return [*re.finditer(pattern, text, flags)][1]


MADE = [
    (LINE.match("milk 12 x3"), "re.match("),
    (LINE.match("milk 12"), "re.match("),
    (re.search("b+", "abbb"), "re.search("),
    (re.fullmatch("a|ab", "ab"), "re.fullmatch("),
    (re.match(b"(a)\\0?", b"a\0b"), "re.match("),
    (second_of("a(?=(b)?)", "ab ac"), "[*re.finditer("),
    (second_of("[A-C]", "xaxb", re.IGNORECASE), "[*re.finditer("),
    (re.compile("a").search("aXa", 1), "re.compile('a').search('aXa', 1)"),
    (re.compile("a+").match("aaaa", 1, 3), "re.compile('a+').match('aaaa', 1, 3)"),
    (second_of("a*", "baac"), "[*re.finditer("),
]


@pytest.mark.parametrize(("match", "way"), MADE)
def test_a_short_match_is_recorded_in_full_and_made_again(match: re.Match[str], way: str) -> None:
    text, complete = matches.text_of(match)
    assert complete
    told = matches.read(text)
    assert told is not None
    found = matches.rebuild(told)
    assert found is not None
    again, source = found
    assert source.startswith(way)
    for each in (again, eval(source), value_from_summary("re", "Match", text)):
        assert each.re == match.re
        assert (each.regs, each.pos, each.endpos) == (match.regs, match.pos, match.endpos)
        assert (each.string, each.lastindex) == (match.string, match.lastindex)


@pytest.mark.parametrize(
    ("match", "shown"),
    [
        (re.search("b+", "abbb"), "Match('bbb', span=(1, 4))"),
        (LINE.match("milk 12"), "Match('milk 12', groups=('milk', '12', None), span=(0, 7))"),
        (re.match("(a)", "a"), "Match('a', groups=('a',), span=(0, 1))"),
        (
            re.match(r"(?P<year>\d+)-(\d+)", "2024-05"),
            "Match('2024-05', groups={'year': '2024', 2: '05'}, span=(0, 7))",
        ),
    ],
)  # fmt: skip
def test_a_match_is_shown_by_what_it_matched_and_its_groups(
    match: re.Match[str], shown: str
) -> None:
    text, complete = matches.text_of(match)
    assert readable_summary(RE, text, complete=complete) == shown


def test_of_a_match_in_a_long_text_the_match_and_its_groups_are_known() -> None:
    match = LINE.search("." * 1000 + "milk 12 x3")
    assert match is not None
    text, complete = matches.text_of(match)
    assert not complete
    expected = "Match('milk 12 x3', groups=('milk', '12', '3'), span=(1000, 1010))"
    assert text == expected
    assert readable_summary(RE, text, complete=False) == f"{expected} …"


def test_of_long_and_many_groups_the_beginning_is_shown() -> None:
    match = re.match("(.)" * 20 + "(.*)", "a" * 500)
    assert match is not None
    text, complete = matches.text_of(match)
    assert not complete
    assert text.startswith(f"Match('{'a' * 80}'…, groups=('a', 'a', ")
    assert text.endswith(", …5 more), span=(0, 500))")


def test_a_text_of_a_class_of_the_programs_is_not_looked_into() -> None:
    class Loud(str):
        def __getitem__(self, key: object) -> str:
            raise AssertionError("it was looked into")

    match = re.match("a", Loud("abc"))
    assert match is not None
    assert matches.text_of(match) == ("Match(span=(0, 1))", False)


@pytest.mark.parametrize(
    "text",
    [
        "Match('a', 'a', ((0, 1),), pos='x')", "Match('a', b'a', ((0, 1),))", "Match('a', 'a', 3)",
        "Match('a', 'a', ())", "Match('a', 'a', ((0, 1), 'ab'))", "Match('a')", "Match(",
        "Match('a', __import__('os'), ((0, 1),))", "3",
    ],
)  # fmt: skip
def test_a_text_that_is_not_of_a_match_is_shown_as_it_is(text: str) -> None:
    assert matches.read(text) is None
    assert matches.shown(text) == text


@pytest.mark.parametrize("text", ["Match('(', 'a', ((0, 1),))", "Match('a', 'b', ((0, 1),))"])
def test_what_no_function_gives_is_not_made(text: str) -> None:
    told = matches.read(text)
    assert told is not None
    assert matches.rebuild(told) is None


@pytest.mark.parametrize(
    "pattern", ["\\\\", "'\\\\", "a\\n\\d", "[\"']\\w", "é\\w", "a\\\n", "\\d'"]
)
def test_a_pattern_is_written_so_that_it_is_that_pattern(pattern: str) -> None:
    match = re.match(f"|{pattern}", "")
    assert match is not None
    told = matches.read(matches.text_of(match)[0])
    assert told is not None
    found = matches.rebuild(told)
    assert found is not None
    assert eval(found[1]).re.pattern == match.re.pattern
