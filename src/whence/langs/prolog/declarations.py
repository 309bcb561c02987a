"""Judges calls by the declarations of their predicates: modes and types in comments, and det.

`%! length(+List:list, -N:nonneg) is det.` (PlDoc) says that a call must receive a list, that its
result is not negative, and that it has an answer. A call that matches none of its modes is
inadmissible; one that matches must comply with it. If a det predicate has two answers, one is
wrong, but it is unknown which; so neither is judged.

This module reads comments. `declaring.pl` reads `:- pred` and `:- type` (of the pack type_check)
and checks terms.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import dropwhile
from pathlib import Path

from whence.langs.prolog.goal_execution import GoalExecution
from whence.langs.prolog.swipl_process import plain, quoted
from whence.langs.prolog.traced_call import Port, PortEvent
from whence.model.question import Question
from whence.model.verdict import Judgement, Verdict

NAME = "declarations"
_VERDICTS = {"wrong": Verdict.WRONG, "inadmissible": Verdict.INADMISSIBLE}
_COMMENT = re.compile(r"^(?:%!|%%[ \t]).*(?:\n%.*)*|^/\*\*[ \t\n](?:.|\n)*?(?=\*/)", re.MULTILINE)
"""A PlDoc comment: lines from one that starts with `%!` or `%% `, or a block."""
_MARGIN = re.compile(r"^\s*(?:%+!?|/\*\*|\*)")
_EITHER = re.compile(r"(?<=[\w)])\s*\|\s*(?=[a-z])")
"""Between types; Prolog does not accept | in an argument."""
_NONTERMINAL = re.compile(r"(?<=[\w)])\s*//(?=\s|\.|$)")


class DeclarationOracle:
    """Judges events by the declarations of their predicates."""

    name = NAME

    def __init__(self, execution: GoalExecution) -> None:
        self._execution = execution
        self._declared: set[tuple[int, str, str]] = set()

    def judge(self, question: Question) -> Judgement | None:
        """Wrong or inadmissible; None if the declarations allow it."""
        source = self._execution.source
        event = source.event(question.node)
        item = _item(event)
        predicate = event.call.predicate
        if item is None or not predicate.is_user or not predicate.file:
            return None
        engine = source.engine_of(event.call.term)
        key = (id(engine), predicate.module, predicate.file)
        if key not in self._declared:
            self._declared.add(key)
            texts = ", ".join(f"{kind}-{quoted(text)}" for kind, text in modes_in(predicate.file))
            where = f"{quoted(predicate.module)}, {quoted(predicate.file)}"
            engine.do(f"declare({where}, [{texts}])")
        # "No further answer" is not a failure.
        port = Port.STOPPED if event.port is Port.FAIL and event.call.answers else event.port
        request = f"declared({port.value}, {quoted(predicate.module)}, {event.call.term}, {item})"
        for _, verdict, why in engine.do(request):
            return Judgement(_VERDICTS[verdict], plain(why))
        return None


def _item(event: PortEvent) -> int | None:
    """The term that is judged besides the call's; -1 if there is none."""
    call = event.call
    match event.port:
        case Port.EXIT:
            return call.answers[event.number].term
        case Port.RAISE:
            return call.raised
        case _:
            return -1


def modes_in(file: str) -> list[tuple[str, str]]:
    """The modes in the comments of a file: `dcg` or `head`, and the text."""
    try:
        text = Path(file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    modes = []
    for comment in _COMMENT.findall(text):
        for mode in _modes(comment):
            bare = _NONTERMINAL.sub("", mode)
            kind = "dcg" if bare != mode else "head"
            modes.append((kind, _EITHER.sub(" or ", bare).rstrip(". ")))
    return modes


def _modes(comment: str) -> Iterator[str]:
    """The modes in a comment: its lines up to the first empty one, those of one mode joined."""
    waiting = ""
    lines = [_MARGIN.sub("", line).strip() for line in comment.splitlines()]
    for line in dropwhile(lambda line: not line, lines):
        if not line:
            return
        waiting = f"{waiting} {line}".strip()
        if waiting.count("(") <= waiting.count(")") and not waiting.endswith(" is"):
            yield waiting
            waiting = ""
