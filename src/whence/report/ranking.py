"""Where to look first, as text and as JSON. `docs/ranking.md` is the manual of both.

It is never called a diagnosis: nobody judged a call.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap

from whence.model.ranking import RankedCall, RankedFunction, Ranking
from whence.model.value import cut
from whence.ports import Tree
from whence.tree.readable_call import readable_call

VERSION = 1
MOST_FUNCTIONS = 10
MOST_CALLS = 5
MOST_WRITTEN = 1_000
"""The most functions in JSON."""
_NARROWEST = 40
_MARGIN = " " * 5


def lines(ranking: Ranking, tree: Tree, folder: Path, width: int) -> Iterator[str]:
    """The ranking for a person."""
    width = max(width, _NARROWEST)
    yield f"Where to look first for {ranking.test}"
    yield f"(evidence, not a diagnosis; {_witnesses(ranking)}):"
    for note in ranking.notes:
        yield f"{note}."
    yield ""
    for number, function in enumerate(ranking.functions[:MOST_FUNCTIONS], start=1):
        yield f"{number:>3}. {function.qualname}  {_place(function, folder)}"
        yield from wrap(
            "; ".join(function.reasons), width, initial_indent=_MARGIN, subsequent_indent=_MARGIN
        )
    more = len(ranking.functions) - MOST_FUNCTIONS
    if more > 0:
        yield f"     and {more:,} more that ran"
    if ranking.calls:
        yield ""
        yield "Calls of these, as `whence debug` knows them:"
        for call in ranking.calls[:MOST_CALLS]:
            why = f"  ({'; '.join(call.reasons)})" if call.reasons else ""
            yield cut(f"  {call.node:>6}  {_equation(tree, call)}{why}", width)


def record(ranking: Ranking, tree: Tree) -> dict[str, object]:
    """The ranking for tools. Within one version keys are added, never renamed or dropped."""
    return {
        "whence": "ranking",
        "version": VERSION,
        "test": ranking.test,
        "witnesses": ranking.witnesses,
        "seconds": round(ranking.seconds, 2),
        "notes": list(ranking.notes),
        "functions": [_function(function) for function in ranking.functions[:MOST_WRITTEN]],
        "more_functions": max(0, len(ranking.functions) - MOST_WRITTEN),
        "calls": [
            {
                "id": call.node, "function": call.function, "score": round(call.score, 4),
                "equation": _equation(tree, call), "reasons": list(call.reasons),
            }
            for call in ranking.calls
        ],
    }  # fmt: skip


def _function(function: RankedFunction) -> dict[str, object]:
    return {
        "function": function.qualname, "file": function.file, "line": function.line,
        "score": function.score, "reasons": list(function.reasons),
        "terms": dict(function.terms),
        "facts": dict(function.facts),
    }  # fmt: skip


def _witnesses(ranking: Ranking) -> str:
    if not ranking.witnesses:
        return "no passing test was run"
    tests = "1 passing test" if ranking.witnesses == 1 else f"{ranking.witnesses} passing tests"
    return f"{tests} in {ranking.seconds:.0f} s"


def _place(function: RankedFunction, folder: Path) -> str:
    path = Path(function.file)
    name = path.relative_to(folder) if path.is_relative_to(folder) else path
    return str(name) if function.line is None else f"{name}:{function.line}"


_MOST_CHARACTERS = 1_000


def _equation(tree: Tree, call: RankedCall) -> str:
    read, problem = readable_call(tree, tree.position(call.node))
    return cut(read.text if problem else read.equation(), _MOST_CHARACTERS)


def exit_code(ranking: Ranking) -> int:
    """0 if there is an order, 1 if nothing of the program ran."""
    return 0 if ranking.functions else 1
