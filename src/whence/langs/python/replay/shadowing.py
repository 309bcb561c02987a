"""Where the values of a recorded program came from, learned by running it again with tags.

The call that was marked is shadowed, in a process of its own (`provenance.shadow_run`). If the part
was given to it, its caller is shadowed, and so on up to the whole run. Calls of that run are calls
of the recording if the tree of calls below the shadowed one is the same.

Invariant: nothing is believed of a run whose calls are not those that were recorded; then, and
where the tags do not tell, the origin is unknown, and the reason is given.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from whence.langs.python.provenance.shadow_run import WHOLE, Request
from whence.langs.python.record.executed_lines import Wanted
from whence.langs.python.record.user_code import UserCodeRules
from whence.langs.python.replay.rerun import CannotRepeat, Conditions, ProgramReruns
from whence.model.call import Location, MarkedPart
from whence.model.origin import Influence, Origin
from whence.tree.memory import ColumnTree

_RESULT = "result"


class ShadowedProvenance(ProgramReruns):
    """Origins and influences of marked parts, by runs that are made when they are asked for."""

    def origin(self, node: int, part: MarkedPart) -> Origin:
        """The call that made the marked part of a call, and the calls that it came through."""
        shadowed = node
        unknown = ""
        try:
            while True:
                answer, ids = self._answer(shadowed, node, part)
                makers = answer["origin"].get("makers", [])
                if makers and not any("parameter" in each for each in makers):
                    return self._told(node, answer, ids, makers)
                # It is older than the shadowed call: its caller may know more.
                unknown = answer["origin"].get("unknown", "")
                shadowed = self._caller(shadowed)
        except CannotRepeat as problem:
            return Origin(None, unknown=unknown or str(problem))

    def influence(self, node: int, part: MarkedPart) -> Influence | None:
        """The calls below the marked one that could have influenced the part: no other can."""
        try:
            answer, ids = self._answer(node, node, part)
        except CannotRepeat:
            return None
        wide = answer["slices"]["L3"]
        if not answer["is_complete"] or any(each not in ids for each in wide):
            return None
        return Influence(frozenset(ids[each] for each in wide), complete=True)

    def grown(self, tree: ColumnTree) -> ShadowedProvenance:
        """The same for a tree with more of the calls in it."""
        return ShadowedProvenance(self._recording, tree, self._time_limit)

    # --- one run -------------------------------------------------------------------------------

    def _answer(
        self, shadowed: int, node: int, part: MarkedPart
    ) -> tuple[dict[str, Any], dict[int, int]]:
        """What a run tells of the part, and which recorded call each of its calls is."""
        conditions = Conditions.of(self._recording, self._header())
        wanted, marked = self._wanted(shadowed), self._wanted(node)
        if shadowed != node:
            before = self._count_before(shadowed, node)
            marked = replace(marked, count=marked.count - before)
        else:
            marked = replace(marked, count=1)
        root = _RESULT if part.mark.root == _RESULT and not part.is_input else part.mark.root
        request = Request(
            words=conditions.command, wanted=wanted, marked=marked, root=root,
            steps=tuple(_step(each) for each in part.mark.steps), is_input=part.is_input,
            rules=UserCodeRules.told(conditions.options),
        )  # fmt: skip
        answer = self._shadow(conditions, request)
        if "unknown" in answer:
            raise CannotRepeat(str(answer["unknown"]))
        return answer, self._aligned(shadowed, answer["calls"])

    def _count_before(self, shadowed: int, node: int) -> int:
        """How many calls of the marked call's function began before the shadowed one did."""
        columns, tree = self._tree.columns, self._tree
        function = int(columns.function[tree.position(node)])
        places = (columns.function == function).nonzero()[0]
        return sum(1 for place in places if tree.id(int(place)) < shadowed)

    def _shadow(self, conditions: Conditions, request: Request) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="whence-") as folder:
            asked, answered = Path(folder) / "request.json", Path(folder) / "answer.json"
            asked.write_text(request.text(), encoding="utf-8")
            command = [
                sys.executable, "-m", "whence.langs.python.provenance.shadow_run", str(asked),
                str(answered),
            ]  # fmt: skip
            stdin = conditions.stdin.read_bytes() if conditions.stdin is not None else b""
            try:
                subprocess.run(
                    command, cwd=conditions.cwd, env=conditions.variables(), input=stdin,
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
                    timeout=self._time_limit,
                )  # fmt: skip
            except (subprocess.TimeoutExpired, OSError) as problem:
                raise CannotRepeat(f"the program could not be run with tags: {problem}") from None
            if not answered.exists():
                raise CannotRepeat("the program was run with tags, and did not come to its end")
            found = json.loads(answered.read_text(encoding="utf-8"))
            assert isinstance(found, dict)
            return found

    def _caller(self, node: int) -> int:
        """The call that made a call; above the first one, the statements of the program."""
        tree = self._tree
        position = int(tree.columns.parent[tree.position(node)])
        while position > 0 and self._code_of(position).name == WHOLE:
            above = int(tree.columns.parent[position])
            if above <= 0:
                return tree.id(position)
            position = above
        if position <= 0:
            raise CannotRepeat("it was given to the program from outside")
        return tree.id(position)

    def _wanted(self, node: int) -> Wanted:
        source: Any = self._tree.sources[0]
        position = self._tree.position(node)
        if source.code(int(self._tree.details[position])).is_stepped:
            raise CannotRepeat("what generators and coroutines give is not followed yet")
        return super()._wanted(node)

    # --- which call is which -------------------------------------------------------------------

    def _aligned(self, top: int, calls: Sequence[Mapping[str, Any]]) -> dict[int, int]:
        """The recorded call of each shadowed one; of some generators it is not known."""
        below: dict[int, list[int]] = {}
        for place, each in enumerate(calls[1:], 1):
            below.setdefault(each["parent"], []).append(place)
        ids = {0: top}
        pending = [0]
        while pending:
            place = pending.pop()
            recorded = self._callees(ids[place])
            for key, ours in recorded.items():
                theirs = [each for each in below.get(place, []) if _key(calls[each]) == key]
                if len(ours) != len(theirs):
                    raise CannotRepeat(self._diverged(
                        f"{key[0]} was called {len(ours)} times by call {ids[place]}, "
                        f"now {len(theirs)} times"
                    ))  # fmt: skip
                if len(theirs) > 1 and calls[theirs[0]]["is_stepped"]:
                    continue  # in which order they began is not in which they were made
                ids.update(zip(theirs, ours, strict=True))
                pending += theirs
            more = [each for each in below.get(place, []) if _key(calls[each]) not in recorded]
            if more:
                name = calls[more[0]]["name"]
                raise CannotRepeat(self._diverged(f"call {ids[place]} now also calls {name}"))
        return ids

    def _callees(self, node: int) -> dict[tuple[str, int], list[int]]:
        tree = self._tree
        columns = tree.columns
        position = tree.position(node)
        found: dict[tuple[str, int], list[int]] = {}
        below = position + 1
        while below < columns.end[position]:
            if columns.implicit[below]:
                raise CannotRepeat("calls below it were left out of the recording")
            key = self._key_of(below)
            if key[0] == WHOLE:  # of a module that was imported: what it calls, the caller does
                below += 1
                continue
            found.setdefault(key, []).append(tree.id(below))
            below = int(columns.end[below])
        return {key: sorted(ids) for key, ids in found.items()}

    def _key_of(self, position: int) -> tuple[str, int]:
        wanted = self._code_of(position)
        return wanted.name, wanted.first_line

    def _code_of(self, position: int) -> Wanted:
        source: Any = self._tree.sources[int(self._tree.source_of[position])]
        code = source.code(int(self._tree.details[position]))
        return Wanted(code.file, code.first_line, code.qualname, 1)

    # --- telling -------------------------------------------------------------------------------

    def _told(
        self, node: int, answer: Mapping[str, Any], ids: Mapping[int, int],
        makers: Sequence[Mapping[str, Any]],
    ) -> Origin:  # fmt: skip
        if len(makers) > 1:
            texts = [f"{each['expression']} (line {each['line']})" for each in makers]
            return Origin(None, unknown=f"it came from one of {', '.join(texts)}")
        [maker] = makers
        if maker["call"] not in ids:
            return Origin(None, unknown="it was made in a generator, or outside of the call")
        made_by = ids[maker["call"]]
        way = [ids[each] for each in reversed(answer["chain"]) if each in ids]
        chain = tuple(dict.fromkeys(each for each in way if each != node))
        callers = self._callers(made_by) | self._callers(node)
        return Origin(
            node=made_by,
            chain=chain,
            passed_through=frozenset(each for each in chain if each not in callers),
            location=Location(maker["file"], maker["line"]),
            expression=maker["expression"],
        )

    def _callers(self, node: int) -> set[int]:
        """A call and all that led to it."""
        tree = self._tree
        position = tree.position(node)
        found = set()
        while position >= 0:
            found.add(tree.id(position))
            position = int(tree.columns.parent[position])
        return found


def _key(call: Mapping[str, Any]) -> tuple[str, int]:
    return call["name"], call["line"]


def _step(text: str) -> tuple[str, Any]:
    """A step of a mark, as the run takes it."""
    if text.startswith("."):
        return "attribute", text[1:]
    try:
        key = ast.literal_eval(text[1:-1])
    except (ValueError, SyntaxError):
        key = text
    if type(key) not in {int, str}:
        raise CannotRepeat(f"parts at {text} are not followed yet, only those at texts and numbers")
    return "item", key
