from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

from whence.model.call import Binding, Call, Function, Location, Outcome, OutcomeKind, Rule
from whence.model.diagnosis import Diagnosis, Status
from whence.model.value import atom
from whence.model.verdict import Answer, Verdict
from whence.report.html import page
from whence.report.source import Sources
from whence.session.state import Facts, State
from whence.tree.column_tree import Node, tree_of

EVIL = "</pre></style><script>alert('x')</script><img src=x onerror=alert(1)>\"'\x1b[2J"


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.attributes += attrs


def whole_page(text: str) -> tuple[str, Tags]:
    place = Location("m.py", 3)
    call = Call(
        Function(f"m.{text}", text, "m", place),
        Rule(text, text, place, f"def f():\n    return {text!r}"),
        Outcome(OutcomeKind.RETURNED, atom(repr(text))),
        (Binding(text, atom(repr(text))),),
        (Binding("state", atom(text)),),
        printed=text,
    )
    answers = (Answer(0, Verdict.WRONG, expected=text, by=text, reason=text),)
    state = State(tree_of([Node(0, None, call)]), facts=Facts(answers=answers))
    found = Diagnosis(Status.FOUND, node=0)
    html = page(state, found, Sources(Path()), asked="1 by a person", test=f"assert {text!r}")
    tags = Tags()
    tags.feed(html)
    return html, tags


def test_nothing_of_the_program_becomes_markup() -> None:
    html, evil = whole_page(EVIL)
    _, harmless = whole_page("f")
    assert evil.seen == harmless.seen
    assert not {"script", "img", "link", "iframe"} & set(evil.seen)
    assert not [name for name, _ in evil.attributes if name.startswith("on") or name == "src"]
    assert "\x1b" not in html


def test_nothing_is_loaded_from_elsewhere() -> None:
    html, _ = whole_page("f")
    assert not re.search(r"https?:|url\(|@import|href", html)


def test_the_page_shows_all_that_the_text_does() -> None:
    html, _ = whole_page("f")
    for words in ("The fault is in f (m.py:3), call 0.", "def f():", "It should be", "A test that"):
        assert words in html
    assert "prefers-color-scheme: dark" in html
