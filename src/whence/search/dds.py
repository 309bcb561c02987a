"""DDS (Takahashi & Ono): first a function, by the text of the program, then one of its calls.

Two spaces are searched. S_F holds the functions that can be at fault, with edges from
`function_graph`; S_I the suspects. The function is chosen of which either answer, right or wrong,
is expected to leave the fewest functions: wrong leaves what it can reach, right takes away what is
reached through it alone. Equals come in the order of the text, the function of the top last.

- *Folding*: a function of which one call was judged right is passed over, with all that is reached
  through it alone, until one of its calls is wrong or nothing else is left: then it is *unfolded*.
  Which call comes then the paper does not say; here it is the one that splits the rest most evenly.
- *Expansion*: calls of the top's own function are two groups, those that called it again and those
  that did not, and are asked about from the leaves upwards; each group is folded like a function.
- Of another function the call nearest to the top is asked about; if the top raised or did not end,
  the one nearest to where that happened. (The paper prints the first rule alone; the second is
  what its sessions do.) A call that was stopped gives way to one with the same inputs that ended.
- Loops: of a run that did not end, the last call that led to one with the same inputs comes
  first among those of the top's function.

All calls of the function are shown with the question (`instances`). Folding is a guess about the
order only: a folded function stays suspect, so nothing is lost by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

from whence.model.call import OutcomeKind
from whence.model.verdict import Verdict
from whence.ports import Choice, Int64s, Suspects
from whence.search.function_graph import FunctionGraph
from whence.search.instances import ended_twin, failing_path, inputs
from whence.search.optimal_divide_and_query import OptimalDivideAndQuery
from whence.tree.cycles import find_cycle

_ALIKE = 1000
"""At most this many calls are searched for a loop."""

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Dds:
    """Chooses a function, then the call of it that is asked about."""

    name: str = "dds"
    asks_top: bool = False

    def choose(self, suspects: Suspects) -> Choice | None:
        """The next call, with the function whose calls are to be shown."""
        still_open = suspects.open_calls.positions()
        if not len(still_open):
            return None
        functions = suspects.columns.function[still_open]
        names, graph = suspects.tree.functions, FunctionGraph(suspects)
        fresh = _fresh(suspects, graph, np.unique(functions).tolist())
        if fresh is not None:
            function, why = fresh
            chosen, which = _nearest(suspects, still_open[functions == function])
            return Choice(chosen, f"{why}; {which}", function)
        own = still_open[functions == graph.root]
        leaf = _from_the_leaves(suspects, own, graph.root) if len(own) else None
        if leaf is not None:
            return Choice(leaf[0], f"no other function is left to try; {leaf[1]}", graph.root)
        best = OptimalDivideAndQuery().choose(suspects)
        if best is None:
            return None
        function = int(suspects.columns.function[best.position])
        why = f"nothing else is left, so {names[function].short()} is unfolded; {best.why}"
        return Choice(best.position, why, function)


# --- the function ------------------------------------------------------------------------------


def _fresh(
    suspects: Suspects, graph: FunctionGraph, functions: list[int]
) -> tuple[int, str] | None:
    """The function to look at, of those with open calls that are not folded, and why."""
    folded = _folded_functions(suspects) - {graph.root}
    names = suspects.tree.functions
    through = sum(1 << function for function in folded)
    space = graph.reached(graph.root, through) & sum(1 << function for function in functions)
    fresh = [
        function for function in graph.order if space >> function & 1 and function != graph.root
    ]
    if not fresh:
        return None
    space |= 1 << graph.root
    left = {function: _functions_left(graph, space, through, function) for function in fresh}
    best = min(fresh, key=left.__getitem__)
    passed = [names[function].short() for function in sorted(folded) if function in functions]
    why = f"{names[best].short()} leaves the fewest functions, whichever the answer"
    if passed:
        are = "is" if len(passed) == 1 else "are"
        why += f"; {', '.join(passed)} gave something right and {are} folded"
    return best, why


def _functions_left(graph: FunctionGraph, space: int, folded: int, function: int) -> int:
    """How many functions the two answers leave together: half of it is to be expected."""
    if_wrong = graph.reached(function, folded) & space
    if_right = graph.reached(graph.root, folded | 1 << function) & space
    return if_wrong.bit_count() + if_right.bit_count()


def _folded_functions(suspects: Suspects) -> set[int]:
    """The functions of which one call was right, and since then none was wrong."""
    folded: set[int] = set()
    for judged in suspects.history:
        function = int(suspects.columns.function[judged.position])
        if judged.verdict is Verdict.RIGHT:
            folded.add(function)
        elif judged.verdict is Verdict.WRONG:
            folded.discard(function)
    return folded


# --- the call ----------------------------------------------------------------------------------


def _nearest(suspects: Suspects, calls: Int64s) -> tuple[int, str]:
    """The call nearest to the top, or to where a run was broken off."""
    columns = suspects.columns
    path = failing_path(suspects.columns, suspects.top)
    if len(path) == 1:
        chosen = int(calls[np.argmin(columns.depth[calls])])
        return chosen, "of its calls this is nearest to the top"
    # Intervals of callers are nested, so how many of them hold a call tells the lowest that does.
    begun = np.searchsorted(path, calls, side="right")
    running = len(path) - np.searchsorted(columns.end[path][::-1], calls, side="right")
    common = np.minimum(begun, running) - 1
    distance = columns.depth[calls] - 2 * columns.depth[path[common]]
    chosen = int(calls[np.argmin(distance)])
    ended = calls[columns.outcome[calls] != OutcomeKind.NOT_TERMINATED]
    chosen = ended_twin(suspects.tree, chosen, ended)
    return chosen, "of its calls this is nearest to where the run was broken off"


def _from_the_leaves(suspects: Suspects, calls: Int64s, function: int) -> tuple[int, str] | None:
    """The lowest of the calls that end the recursion, then of those that go on with it.

    None if both were right once.
    """
    columns = suspects.columns
    cyclic = _looping_call(suspects, calls)
    if cyclic is not None:
        return cyclic, "it led to a call of itself with the same inputs"
    right = [
        judged.position for judged in suspects.history
        if judged.verdict is Verdict.RIGHT
        and columns.function[judged.position] == function
        and suspects.top < judged.position < suspects.stop
    ]  # fmt: skip
    ends = _is_last(suspects, function, calls)
    ended_right = _is_last(suspects, function, np.array(right, dtype=np.int64))
    for part, was_right, verb in (
        (calls[ends], ended_right.any(), "ends"),
        (calls[~ends], (~ended_right).any(), "goes on with"),
    ):
        if len(part) and not was_right:
            lowest = int(part[np.argmax(columns.depth[part])])
            return lowest, f"it {verb} the recursion, lowest of its kind"
    return None


def _is_last(suspects: Suspects, function: int, calls: Int64s) -> Bools:
    """Which calls of a function led to no other call of it."""
    all_of_it = np.flatnonzero(suspects.columns.function == function)
    after = np.searchsorted(all_of_it, calls, side="right")
    following = np.append(all_of_it, len(suspects.columns))[after]
    last: Bools = following >= suspects.columns.end[calls]
    return last


def _looping_call(suspects: Suspects, calls: Int64s) -> int | None:
    """Of a run that did not end, the last open call that led to one with the same inputs.

    Of all equal calls it has the fewest calls below it, and one of these is equal to it, so it had
    not just begun.
    """
    columns, tree = suspects.columns, suspects.tree
    if columns.outcome[suspects.top] != OutcomeKind.NOT_TERMINATED:
        return None
    cycle = find_cycle(tree)
    if cycle is None:
        return None
    key = inputs(tree, tree.position(cycle.path[0]))
    pending = calls[columns.outcome[calls] == OutcomeKind.NOT_TERMINATED][::-1]
    alike = (int(position) for position in pending[:_ALIKE] if inputs(tree, int(position)) == key)
    last_two = list(islice(alike, 2))
    return last_two[-1] if last_two else None
