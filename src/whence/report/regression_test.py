"""A regression test for a diagnosis: of the call at fault, or of a wrong caller of it.

Chooses the call and the file; how a test is written is the language's business. A file that exists
is never overwritten.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, replace
from pathlib import Path

from whence.errors import CannotWriteTest, UsageError, WhenceError
from whence.model.call import Call
from whence.model.diagnosis import Diagnosis, Status
from whence.model.value import Limits, cut
from whence.model.verdict import PERSON, Answer, Verdict
from whence.ports import RegressionTestWriter, TestRequest
from whence.session.state import State
from whence.tree.readable_call import readable_call, up_from

LONGEST = 60.0
"""How many seconds tests are tried if somebody waits for one."""
_MOST_LOOKED_AT = 300
"""How many calls below one are looked at for what they printed."""
_BRIEF = Limits(depth=2, parts=4, characters=70)


@dataclass(frozen=True, slots=True)
class RegressionTest:
    """A test and where it belongs; `note` says why it is not of the call at fault."""

    text: str
    path: Path
    note: str = ""


def regression_test(
    state: State,
    diagnosis: Diagnosis,
    writer: RegressionTestWriter | None,
    path: Path | None = None,
    seconds: float = LONGEST,
) -> RegressionTest:
    """A test that fails as long as the fault is there; `WhenceError` says why there is none.

    Tests are tried for so many seconds.
    """
    if diagnosis.status is not Status.FOUND or diagnosis.node is None:
        raise UsageError("a test can be written once a call was found to be at fault")
    if writer is None:
        raise WhenceError("a test can be written only of a recorded Python program")
    tree = state.tree
    deadline = time.monotonic() + seconds
    problems: list[str] = []
    for node in [diagnosis.node, *_wrong_callers(state, diagnosis.node)]:
        call, unreadable = readable_call(tree, tree.position(node))
        is_run = int(tree.columns.parent[tree.position(node)]) < 0
        name = "the program" if is_run else call.function.short()
        try:
            if unreadable:
                raise CannotWriteTest(unreadable)
            request = _request(state, node, call, path or default_path(name), is_run)
            text = writer.write(tree, replace(request, deadline=deadline))
        except CannotWriteTest as problem:
            message = f"{name}: {problem}"
            # After another reason, that it is the body of a module says nothing new.
            is_body = call.function.qualname == "<module>"
            if message not in problems and not (problems and is_body):
                problems.append(message)
            continue
        which = "what the program prints" if is_run else f"{name}, a caller"
        note = f"of {which}; not of {'; not of '.join(problems)}" if problems else ""
        return RegressionTest(text, request.path, note)
    why = "; nor of ".join(problems)
    is_cut = "recorded of" in why or "less was recorded" in why or "beyond what" in why
    hint = " (with --whole-values a recording holds all of it)" if is_cut else ""
    raise WhenceError(f"no test can be written of {why}{hint}")


def _request(state: State, node: int, call: Call, path: Path, is_run: bool) -> TestRequest:
    answer = wrong_answer(state, node)
    what = "the program prints what was wrong" if is_run else f"this is so: {_one_line(call)}"
    return TestRequest(
        node=node,
        path=path,
        summary=f"Fails as long as {what}.",
        expected=None if answer is None else answer.expected,
        mark=None if answer is None else answer.mark,
        checks_output=bool(call.printed) and _only_own_output(state, node),
        is_typed=answer is None or answer.by == PERSON,
    )


def default_path(name: str) -> Path:
    """Where a test of a function is put if nobody says."""
    words = re.sub(r"[\W_]+", "_", name).strip("_").lower()
    return Path("tests") / f"test_regression_{words}.py"


def write_test(test: RegressionTest) -> str:
    """Write the test to its file, and say so."""
    path = test.path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(test.text)
    except FileExistsError:
        raise UsageError(f"{path} exists already; name another file") from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise WhenceError(f"{path} cannot be written ({reason}); name another file") from problem
    note = f" It is a test {test.note}." if test.note else ""
    return f"Written to {path}; it fails until the fault is fixed.{note}"


def _one_line(call: Call) -> str:
    left, right = " ".join(call.left(_BRIEF).split()), " ".join(call.right(_BRIEF).split())
    return f"{cut(left, 60)} {cut(right, 40)}"


def wrong_answer(state: State, node: int) -> Answer | None:
    """The latest answer that calls this call, or one with an equal equation, wrong."""
    tree = state.tree
    equation = int(tree.columns.equation[tree.position(node)])
    for answer in reversed(state.facts.answers):
        if answer.verdict is Verdict.WRONG:
            same = int(tree.columns.equation[tree.position(answer.node)]) == equation
            if answer.node == node or same:
                return answer
    return None


def _wrong_callers(state: State, node: int) -> list[int]:
    """The callers of a call that were judged to be wrong, nearest first."""
    wrong = {answer.node for answer in state.facts.answers if answer.verdict is Verdict.WRONG}
    _, *callers = up_from(state.tree, state.tree.position(node))
    return [node for node in map(state.tree.id, callers) if node in wrong]


def _only_own_output(state: State, node: int) -> bool:
    """Whether nothing was printed in the calls that a call made."""
    tree = state.tree
    position = tree.position(node)
    below = range(position + 1, int(tree.columns.end[position]))
    if len(below) > _MOST_LOOKED_AT or tree.columns.implicit[position]:
        return False
    return not any(readable_call(tree, position)[0].printed for position in below)
