"""Lists of calls and functions: the outline, the table of functions, and what a search finds.

All of them are bounded by a limit; what is left out is counted, or can be asked for. Nothing here
judges anything: states of calls come from the session.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np

from whence.errors import UsageError
from whence.model.value import Limits
from whence.ports import Int64s, Tree
from whence.report.source import Sources
from whence.session.call_states import CallState
from whence.tree.readable_call import readable_call
from whence.ui.web.layouts import Layouts, Parameters, bounded

MOST_LISTED = 500
_MOST_FOUND = 200
_SECONDS_OF_SEARCH = 1.5
_BRIEF = Limits(depth=2, parts=4, text=40, characters=160)


class CallLists:
    """Lists of one state of a session; `asked` is the call that is asked about."""

    def __init__(self, layouts: Layouts, asked: int | None, sources: Sources | None = None) -> None:
        self.layouts = layouts
        self.asked = asked
        self._sources = sources or Sources()

    @property
    def _tree(self) -> Tree:
        return self.layouts.state.tree

    def row(self, parameters: Parameters) -> object:
        """One call on one line."""
        position = self.layouts.position(parameters, "id", 0)
        return self._listed(np.array([position]))[0]

    def outline(self, parameters: Parameters) -> object:
        """The callees of a call, some at a time, with their equations."""
        tree, columns = self._tree, self._tree.columns
        if parameters.get("id") is None:
            return {"calls": self._listed(np.array([0])), "more": None}
        parent = self.layouts.position(parameters, "id", 0)
        limit = bounded(parameters, "limit", 50, MOST_LISTED)
        after = parameters.get("after")
        callee = parent + 1
        if after is not None:
            last = self.layouts.position(parameters, "after", 0)
            if int(columns.parent[last]) != parent:
                raise UsageError("the call to go on after is no callee of this one")
            callee = int(columns.end[last])
        callees: list[int] = []
        while callee < int(columns.end[parent]) and len(callees) < limit:
            callees.append(callee)
            callee = int(columns.end[callee])
        more = callee < int(columns.end[parent])
        return {
            "calls": self._listed(np.array(callees, dtype=np.int64)),
            "more": tree.id(callees[-1]) if more else None,
        }

    def functions(self, parameters: Parameters) -> object:
        """How many calls each function has, and what is known of them."""
        state, layouts = self.layouts.state, self.layouts
        columns, count = state.tree.columns, len(state.tree.functions)
        calls = np.bincount(columns.function, minlength=count)
        suspects = np.bincount(columns.function[layouts.suspects], minlength=count)
        judged = np.zeros((3, count), dtype=np.int64)
        for answer in state.facts.answers:
            states = layouts.states.of(np.array([state.tree.position(answer.node)]))
            if CallState.RIGHT <= states[0] <= CallState.INADMISSIBLE:
                position = state.tree.position(answer.node)
                judged[int(states[0]) - 1, int(columns.function[position])] += 1
        return {
            "functions": [
                {
                    "function": number,
                    "name": function.short(),
                    "place": self._sources.shown(function.location) if function.location else "",
                    "calls": int(calls[number]),
                    "suspects": int(suspects[number]),
                    "right": int(judged[0, number]),
                    "wrong": int(judged[1, number]),
                    "inadmissible": int(judged[2, number]),
                }
                for number, function in enumerate(state.tree.functions)
                if calls[number]
            ]
        }

    def instances(self, parameters: Parameters) -> object:
        """The calls of one function, some at a time."""
        positions = self._calls_of(parameters)
        limit = bounded(parameters, "limit", 50, MOST_LISTED)
        offset = bounded(parameters, "offset", 0, len(positions), least=0)
        if parameters.get("suspects"):
            positions = positions[self.layouts.suspects[positions]]
        shown = positions[offset : offset + limit]
        return {"calls": self._listed(shown), "total": len(positions), "offset": offset}

    def neighbours(self, parameters: Parameters) -> object:
        """Which functions call one, and which ones it calls, with how often."""
        tree, columns = self._tree, self._tree.columns
        positions = self._calls_of(parameters)
        parents = columns.parent[positions]
        callers = np.bincount(columns.function[parents[parents >= 0]])
        is_called = columns.parent >= 0
        is_called[is_called] = (
            columns.function[columns.parent[is_called]] == (columns.function[positions[0]])
        )
        callees = np.bincount(columns.function[is_called])

        def counted(counts: Int64s) -> list[Mapping[str, object]]:
            order = np.argsort(-counts, kind="stable")
            return [
                {"function": n, "name": tree.functions[n].short(), "calls": int(counts[n])}
                for n in order.tolist()
                if counts[n]
            ]

        return {"callers": counted(callers), "callees": counted(callees)}

    def search(self, parameters: Parameters) -> object:
        """The calls whose function or values contain a text, from a call on.

        Reading calls takes time, so a search stops after a while and says where to go on.
        """
        text = str(parameters.get("text", "")).strip()
        if not text:
            raise UsageError("a search needs a text to look for")
        tree, columns = self._tree, self._tree.columns
        named = self.layouts.named(text)
        if len(named):
            return {
                "calls": self._listed(named[:_MOST_FOUND]),
                "total": len(named),
                "where": "name",
                "more": None,
            }
        start = self.layouts.position(parameters, "after", -1) + 1
        until = time.monotonic() + _SECONDS_OF_SEARCH
        found: list[int] = []
        position = start
        while position < len(columns) and len(found) < _MOST_FOUND and time.monotonic() < until:
            call, problem = readable_call(tree, position)
            if not problem and text in call.equation():
                found.append(position)
            position += 1
        return {
            "calls": self._listed(np.array(found, dtype=np.int64)),
            "total": len(found),
            "where": "value",
            "more": tree.id(position - 1) if position < len(columns) else None,
            "read": position - start,
        }

    def _calls_of(self, parameters: Parameters) -> Int64s:
        tree = self._tree
        number = parameters.get("function")
        if not isinstance(number, int) or not 0 <= number < len(tree.functions):
            raise UsageError("there is no such function")
        positions = np.flatnonzero(tree.columns.function == number)
        if len(positions) == 0:
            raise UsageError("this function was not called")
        return positions

    def _listed(self, positions: Int64s) -> list[Mapping[str, object]]:
        """Calls as rows: the equation in brief, and what is known of them."""
        state, layouts = self.layouts.state, self.layouts
        tree, columns = state.tree, state.tree.columns
        states = layouts.states.of(positions).tolist()
        asked = self.asked
        rows: list[Mapping[str, object]] = []
        for position, known in zip(positions.tolist(), states, strict=True):
            call, problem = readable_call(tree, position)
            answer = layouts.states.answer(position)
            node = tree.id(position)
            rows.append(
                {
                    "id": node,
                    "name": call.function.short(),
                    "equation": call.equation(_BRIEF),
                    "problem": problem,
                    "state": known,
                    "by": None if answer is None else answer.by,
                    "calls": int(columns.end[position]) - position,
                    "suspects": int(
                        self.layouts.suspects_within(
                            np.array([position]), np.array([int(columns.end[position])])
                        )[0]
                    ),
                    "implicit": bool(columns.implicit[position]),
                    "asked": node == asked,
                }
            )
        return rows
