"""Pictures of a session's tree: the boxes of an icicle with what is known of their calls.

A picture is bounded by the pixels of the screen, whatever the size of the tree. Nothing here judges
anything: states of calls come from the session.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from whence.errors import UsageError
from whence.ports import Bytes, Int64s, Tree
from whence.session.call_states import CallState
from whence.tree.icicle import MIXED, Boxes, Icicle, View
from whence.ui.web.layouts import WIDTHS, Layouts, Parameters, bounded, number

MOST_PIXELS = 8192
MOST_ROWS = 400
_MOST_CALLERS = 500
_MOST_GIVERS = 500
_COUNTED_DEPTH = 20_000_000


class Pictures:
    """Pictures of one state of a session; `asked` is the call that is asked about."""

    def __init__(self, layouts: Layouts, asked: int | None) -> None:
        self.layouts = layouts
        self.asked = asked

    @property
    def _tree(self) -> Tree:
        return self.layouts.state.tree

    def picture(self, parameters: Parameters) -> object:
        """The boxes of a view: from one call to another, or a part of these."""
        tree, columns = self._tree, self._tree.columns
        layouts = self.layouts
        width = str(parameters.get("width", WIDTHS[0]))
        icicle = self.layouts.icicle(width)
        first = self.layouts.position(parameters, "from", 0)
        last = self.layouts.position(parameters, "to", first)
        if int(columns.depth[last]) != int(columns.depth[first]) or last < first:
            raise UsageError("a picture shows a call, or siblings from the left to the right")
        left, right = icicle.edges(np.array([first, int(columns.end[last])])).tolist()
        if right <= left:  # nothing of it is suspected any more
            first = last = 0
            left, right = 0.0, icicle.width
        row = int(columns.depth[first])
        view = _part(parameters, left, right, row)
        boxes = icicle.boxes(view)
        text = str(parameters.get("find", ""))
        found = self.layouts.named(text) if text else None
        deepest = columns.depth[first : int(columns.end[last])]
        return {
            "calls": len(columns),
            "suspects": int(layouts.suspects.sum()),
            "width": width,
            "first": tree.id(first),
            "last": tree.id(last),
            "row": row,
            "depth": int(deepest.max()) - row + 1 if len(deepest) <= _COUNTED_DEPTH else None,
            "callers": self._callers(first),
            "boxes": self._described(boxes, view, found),
            "asked": self._asked_place(icicle, view),
            "names": self._names(boxes),
        }

    def merged(self, parameters: Parameters) -> object:
        """The same of the tree with equal calls merged; entries have numbers in place of ids."""
        layout = self.layouts.merged()
        paths, columns = layout.paths, layout.paths.columns
        first = bounded(parameters, "from", 0, len(columns) - 1, least=0)
        last = bounded(parameters, "to", first, len(columns) - 1, least=first)
        if int(columns.depth[last]) != int(columns.depth[first]):
            raise UsageError("a picture shows a call, or siblings from the left to the right")
        left, right = layout.icicle.edges(np.array([first, int(columns.end[last])])).tolist()
        view = _part(parameters, left, right, int(columns.depth[first]))
        boxes = layout.icicle.boxes(view)
        scale = view.right - view.left
        single = boxes.siblings == 1
        before = np.concatenate(([0], np.cumsum(paths.calls)))
        stops = np.where(single, boxes.first + 1, boxes.stop)
        suspects = np.array(
            [
                int(layout.suspects[a]) if one else int(layout.suspects[a:b].max())
                for a, b, one in zip(boxes.first, boxes.stop, single, strict=True)
            ],
            dtype=np.int64,
        )
        calls = np.where(single, before[stops] - before[boxes.first], boxes.siblings)
        state = np.where(suspects > 0, CallState.SUSPECT, CallState.CLEARED).astype(np.uint8)
        alone = single & (calls == 1)
        state[alone] = self.layouts.states.of(paths.first[boxes.first[alone]])
        callers, entry = list[int](), int(columns.parent[first])
        while entry >= 0 and len(callers) < _MOST_CALLERS:
            callers.insert(0, entry)
            entry = int(columns.parent[entry])
        tree = self._tree
        return {
            "calls": len(tree.columns),
            "suspects": int(self.layouts.suspects.sum()),
            "first": first,
            "last": last,
            "row": view.row,
            "depth": None,
            "callers": [
                {"id": one, "name": tree.functions[int(columns.function[one])].short()}
                for one in callers
            ],
            "boxes": {
                "row": (boxes.row - view.row).tolist(),
                "left": np.round((boxes.left - view.left) / scale, 6).tolist(),
                "right": np.round((boxes.right - view.left) / scale, 6).tolist(),
                "id": boxes.first.tolist(),
                "last": boxes.last.tolist(),
                "call": [tree.id(position) for position in paths.first[boxes.first].tolist()],
                "siblings": calls.tolist(),
                "calls": (before[boxes.stop] - before[boxes.first]).tolist(),
                "function": boxes.function.tolist(),
                "state": state.tolist(),
                "suspects": suspects.tolist(),
                "implicit": [],
                "by": {},
            },
            "asked": None,
            "names": self._names(boxes),
        }

    def _described(self, boxes: Boxes, view: View, found: Int64s | None) -> Mapping[str, object]:
        """The boxes as lists of equal lengths; places are parts of the view's width."""
        tree, columns = self._tree, self._tree.columns
        layouts = self.layouts
        scale = view.right - view.left
        single = boxes.siblings == 1
        states = layouts.states.of(boxes.first)
        suspects = self.layouts.suspects_within(boxes.first, boxes.stop)
        merged = np.where(suspects > 0, CallState.SUSPECT, CallState.CLEARED)
        states = np.where(single, states, merged).astype(np.uint8)
        implicit = single & (columns.implicit[boxes.first] != 0)
        described: dict[str, object] = {
            "row": (boxes.row - view.row).tolist(),
            "left": np.round((boxes.left - view.left) / scale, 6).tolist(),
            "right": np.round((boxes.right - view.left) / scale, 6).tolist(),
            "id": [tree.id(position) for position in boxes.first.tolist()],
            "last": [tree.id(position) for position in boxes.last.tolist()],
            "siblings": boxes.siblings.tolist(),
            "calls": (boxes.stop - boxes.first).tolist(),
            "function": boxes.function.tolist(),
            "state": states.tolist(),
            "suspects": suspects.tolist(),
            "implicit": np.flatnonzero(implicit).tolist(),
            "by": self._givers(boxes, states),
        }
        if found is not None:
            counts = np.searchsorted(found, boxes.stop) - np.searchsorted(found, boxes.first)
            described["found"] = counts.tolist()
        return described

    def _givers(self, boxes: Boxes, states: Bytes) -> Mapping[str, str]:
        """Who answered, for the boxes of calls with an answer, by their index."""
        judged = (CallState.RIGHT, CallState.WRONG, CallState.INADMISSIBLE)
        indices = np.flatnonzero((boxes.siblings == 1) & np.isin(states, judged))
        givers = {}
        for index in indices[:_MOST_GIVERS].tolist():
            answer = self.layouts.states.answer(int(boxes.first[index]))
            if answer is not None:
                givers[str(index)] = answer.by
        return givers

    def _asked_place(self, icicle: Icicle, view: View) -> Mapping[str, object] | None:
        """Where the call that is asked about stands, even if it has no box of its own."""
        node = self.asked
        if node is None:
            return None
        tree = self._tree
        position = tree.position(node)
        stop = int(tree.columns.end[position])
        left, right = icicle.edges(np.array([position, stop])).tolist()
        scale = view.right - view.left
        return {
            "id": node,
            "row": int(tree.columns.depth[position]) - view.row,
            "left": round((left - view.left) / scale, 6),
            "right": round((right - view.left) / scale, 6),
        }

    def _names(self, boxes: Boxes) -> Mapping[str, str]:
        functions = self._tree.functions
        numbers = np.unique(boxes.function[boxes.function != MIXED]).tolist()
        return {str(number): functions[number].short() for number in numbers}

    def _callers(self, position: int) -> list[Mapping[str, object]]:
        """The callers of a call, outermost first; the ones in the middle of many are left out."""
        tree, columns = self._tree, self._tree.columns
        chain: list[int] = []
        while position > 0 and len(chain) < _MOST_CALLERS:
            position = int(columns.parent[position])
            chain.append(position)
        if chain and chain[-1] != 0:
            chain.append(0)
        return [
            {"id": tree.id(caller), "name": tree.functions[columns.function[caller]].short()}
            for caller in reversed(chain)
        ]


def _part(parameters: Parameters, left: float, right: float, row: int) -> View:
    """The part of a range of widths that is wanted."""
    begin, end = number(parameters, "left", 0.0), number(parameters, "right", 1.0)
    if not 0 <= begin < end <= 1:
        raise UsageError("the part of a picture is given by two numbers from 0 to 1")
    return View(
        left + begin * (right - left),
        left + end * (right - left),
        row,
        bounded(parameters, "rows", 40, MOST_ROWS),
        bounded(parameters, "pixels", 1200, MOST_PIXELS),
    )
