"""Completes the beginning of a line: commands, strategies, functions, parts.

Parts are proposed step by step, as a shell proposes folders, so the size of a value does not
matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from whence.errors import UsageError
from whence.model.call import Call, find_mark, roots
from whence.model.verdict import TrustScope
from whence.ports import Tree
from whence.search.registry import STRATEGIES
from whence.search.space import Switches
from whence.ui.terminal.commands import COMMANDS, SPECS
from whence.ui.terminal.screen import Complete

MOST = 200
_CUT = re.compile(r"[\[.]")


def completer(tree: Tree, call: Call | None) -> Complete:
    """Proposals at a question about `call`."""

    def complete(text: str) -> Sequence[str]:
        word, space, rest = text.lstrip().partition(" ")
        if not space:
            names = (name for spec in SPECS for name in spec.words)
            return [n for n in names if n.isalpha() and len(n) > 1 and n.startswith(word)]
        rest = rest.lstrip()
        return [f"{word} {argument}" for argument in _arguments(word, rest, tree, call)][:MOST]

    return complete


def _arguments(word: str, rest: str, tree: Tree, call: Call | None) -> list[str]:
    options: Sequence[str] = ()
    if word in ("n", "no", "wrong") and call is not None:
        return parts(call, rest, input_side=False)
    if word in ("i", "inadmissible", "browse") and call is not None:
        return parts(call, rest, input_side=word != "browse")
    if word == "strategy":
        options = list(STRATEGIES)
    elif word == "switch":
        options = [
            f"{name} {state}" for name in Switches.__dataclass_fields__ for state in ("on", "off")
        ]
    elif word == "list":
        options = [function.short() for function in tree.functions]
    elif word in ("trust", "distrust"):
        options = _trustable(rest, tree)
    elif word == "help":
        options = [spec.words[0] for spec in COMMANDS]
    return [option for option in options if option.startswith(rest)]


def _trustable(rest: str, tree: Tree) -> list[str]:
    scope, space, _ = rest.partition(" ")
    if not space:
        return [scope.value for scope in TrustScope]
    names = {
        TrustScope.FUNCTION.value: [function.name for function in tree.functions],
        TrustScope.MODULE.value: [function.module for function in tree.functions],
        TrustScope.FILE.value: [f.location.file for f in tree.functions if f.location],
    }
    return [f"{scope} {name}" for name in dict.fromkeys(names.get(scope, [])) if name]


def parts(call: Call, text: str, *, input_side: bool) -> list[str]:
    """The paths that begin with `text` and are one step longer than what is complete in it."""
    options = [name for name in roots(call) if name.startswith(text)]
    for beginning in _beginnings(text):
        try:
            value = find_mark(call, beginning, input_side=input_side).value
        except UsageError:
            continue
        below = (beginning + step for step, _ in value.parts)
        options += [part for part in below if part.startswith(text) and part != text]
        break
    return list(dict.fromkeys(options))[:MOST]


def _beginnings(text: str) -> Iterator[str]:
    """The text and each of its prefixes that ends before a step, longest first."""
    yield text
    for cut in reversed(list(_CUT.finditer(text))):
        yield text[: cut.start()]
