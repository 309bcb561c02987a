"""How much a person has to read to answer, and whether the screen shows what decides.

    python bench/readability.py [--write docs/questions.md] [--mutants 3] [--bug knapsack]

The sessions of `bench/questions.py` with `auto`, on the corpus, on the mutants of installed
packages, and on bugs that were released on PyPI (`tests/releases`, which pip installs), without
marks and with them. Each question is shown as at a terminal of 80 columns and 24
rows. Printed: the lines of a question with its prompt (median and worst), the characters of all
questions, how many questions were about the body of a module or class, and for the questions whose
right answer is "wrong" how often *what decides is visible*; and how often as many questions came
afterwards as the question said, where it said so (*foreseen*).

What decides is visible if the first screen would have looked otherwise for the repaired program.
Its call is made from the recorded one by exchanging the parts in which the two differ
(`tests/support/intention.py`). A part that was not recorded or is not shown makes no difference on
the screen, nor does a different count of what was left out. Not counted are calls that differ in
something that has no path, such as the code of a function. `--hidden` prints each question whose
deciding difference is not visible.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
sys.path.insert(0, str(Path(__file__).parent))

import bug_corpus
import mutation
import released_bugs
from questions import DEFAULT, Case, Session, debug, mutant_cases, put, recorded, table

from whence.app.session_driver import SessionDriver
from whence.model.call import RAISED, RESULT, YIELDED, Call, Effect, OutcomeKind
from whence.model.value import Kind, Steps, Value, atom, parse_path, show
from whence.model.verdict import Verdict
from whence.session.events import Ask
from whence.ui.terminal.outcome_view import OutcomeView
from whence.ui.terminal.plain import PlainScreen

BEGIN = "<!-- begin: written by `whence bench readability --write docs/questions.md` -->"
COLUMNS, ROWS = 80, 24
_COUNT = re.compile(r"…[\d,]+ more")
_LEFT_OUT = "was left out"


class Terminal(io.StringIO):
    """A stream that is taken for a terminal."""

    def isatty(self) -> bool:
        return True


class SmallScreen(PlainScreen):
    """A terminal of 80 columns."""

    width = COLUMNS


@dataclass
class Shown:
    """A question that was asked."""

    lines: int
    characters: int
    is_body: bool
    is_visible: bool | None
    """Whether what decides is visible; None if the call is right, or differs in what has no path,
    such as the code of a function."""
    to_come: tuple[int, int] | None
    is_foreseen: bool | None = None
    """Whether as many questions came afterwards as was said; None if nothing was said."""


@dataclass
class Readings:
    """The questions of one session, as they are shown."""

    case: Case
    say_hidden: Callable[[str], None] | None
    shown: list[Shown] = field(default_factory=list)
    view: OutcomeView | None = None
    """What the person has seen so far."""

    def __call__(self, debugging: SessionDriver, outcome: Ask) -> None:
        """Note a question that is asked."""
        question = outcome.question
        if self.view is None:
            self.view = OutcomeView(debugging, SmallScreen(Terminal(), Terminal()))
        before = copy(self.view)
        lines = screen_lines(self.view, outcome)
        visible = None
        differences = self.case.person.differences.get(question.node)
        if differences and self.case.truth[question.node] is Verdict.WRONG:
            other = replace(
                outcome, question=replace(question, call=twin(question.call, differences))
            )
            visible = _first(lines) != _first(screen_lines(before, other))
            if not visible and self.say_hidden is not None:
                found = [f"{path}: {ours} → {right}" for path, (ours, right) in differences.items()]
                self.say_hidden("\n".join([self.case.bug.about, *found[:5], *lines, ""]))
        call = question.call
        is_body = call.function.qualname == "<module>" or call.text.startswith("class ")
        characters = sum(map(len, lines))
        self.shown.append(Shown(len(lines), characters, is_body, visible, question.to_come))


def screen_lines(view: OutcomeView, outcome: Ask) -> list[str]:
    """A question with its prompt, as a terminal shows it after the questions before."""
    output = Terminal()
    view.screen = SmallScreen(Terminal(), output)
    view.show(outcome)
    return [*output.getvalue().splitlines()[1:], view.prompt(outcome)]


def _first(lines: Sequence[str]) -> list[str]:
    return [_COUNT.sub("…", line) for line in lines[:ROWS] if _LEFT_OUT not in line]


# --- the call of the repaired program ------------------------------------------------------------


def twin(call: Call, differences: bug_corpus.Differences) -> Call:
    """The call as the repaired program would have made it, as far as its parts were recorded."""
    for path, (ours, right) in differences.items():
        if path == "printed":
            printed = call.printed if call.printed != ours else right or ""
            call = replace(call, printed=printed, output=())
            continue
        root, steps = parse_path(path)
        if root == RAISED:
            call = _raised(call, right)
        elif root == RESULT and call.outcome.value is not None:
            value = exchanged(call.outcome.value, steps, right)
            call = replace(call, outcome=replace(call.outcome, value=value))
        elif root == YIELDED:
            values = Value(Kind.LIST, "", tuple(enumerate_parts(call.outcome.yielded)))
            values = exchanged(values, steps, right) or values
            yielded = tuple(value for _, value in values.parts)
            call = replace(call, outcome=replace(call.outcome, yielded=yielded))
        else:
            call = _with_effect(call, root, steps, right)
    return call


def enumerate_parts(values: Sequence[Value]) -> Iterator[tuple[str, Value]]:
    """Values as the items of a list."""
    return ((f"[{number}]", value) for number, value in enumerate(values))


def _raised(call: Call, right: str | None) -> Call:
    kind = OutcomeKind.RETURNED if right is None else OutcomeKind.RAISED
    value = atom("None" if right is None else right)
    return replace(call, outcome=replace(call.outcome, kind=kind, value=value))


def _with_effect(call: Call, root: str, steps: Steps, right: str | None) -> Call:
    """The call with another effect on a part of its inputs."""
    path = root + "".join(steps)
    effects = list(call.effects)
    for index, effect in enumerate(effects):
        rest = path.removeprefix(effect.target)
        if path.startswith(effect.target) and rest[:1] in ("", ".", "["):
            inner = parse_path("x" + rest)[1]
            after = effect.after and exchanged(effect.after, inner, right)
            if effect.after is None and not inner and right is not None:
                after = atom(right)
            effects[index] = replace(effect, after=after)
            if (
                effect.before is not None
                and after is not None
                and show(effect.before) == show(after)
            ):
                del effects[index]
            return replace(call, effects=tuple(effects))
    given = [b.value for b in (*call.arguments, *call.reads) if b.name == root]
    for value in given:
        after = exchanged(value, steps, right)
        if after is not None and after != value:
            return replace(call, effects=(*effects, Effect(root, value, after)))
    return call


def exchanged(value: Value, steps: Steps, right: str | None) -> Value | None:
    """A value in which a part is another one, or is missing (None), or is new."""
    if not steps:
        return None if right is None else atom(right)
    first, *rest = steps
    parts = dict(value.parts)
    if first in parts:
        part = exchanged(parts[first], tuple(rest), right)
        if part is None:
            del parts[first]
        else:
            parts[first] = part
    elif not rest and right is not None and value.kind is not Kind.ATOM and not value.omitted:
        parts[first] = atom(right)
    return replace(value, parts=tuple(parts.items()))


# --- the table -----------------------------------------------------------------------------------

HEADER = [
    "sessions", "located", "questions", "median lines", "worst", "characters", "wrong",
    "decides, visible", "bodies", "foreseen",
]  # fmt: skip


@dataclass
class Row:
    """All sessions of one kind."""

    name: str
    sessions: list[Session] = field(default_factory=list)
    shown: list[Shown] = field(default_factory=list)

    def cells(self) -> list[str]:
        shown = self.shown
        judged = [each.is_visible for each in shown if each.is_visible is not None]
        foreseen = [each.is_foreseen for each in shown if each.is_foreseen is not None]
        lines = [each.lines for each in shown] or [0]
        return [
            self.name,
            f"{sum(each.located for each in self.sessions)} of {len(self.sessions)}",
            f"{len(shown):,}",
            f"{median(lines):g}",
            f"{max(lines)}",
            f"{sum(each.characters for each in shown):,}",
            f"{len(judged)}",
            f"{sum(judged)} ({sum(judged) / max(1, len(judged)):.0%})",
            f"{sum(each.is_body for each in shown)}",
            f"{sum(foreseen)} of {len(foreseen)} ({sum(foreseen) / max(1, len(foreseen)):.0%})",
        ]


def read_case(case: Case, rows: Sequence[Row], say_hidden: Callable[[str], None] | None) -> None:
    """Debug a program without marks and with them, and add what is shown to the two rows."""
    for row, marks in zip(rows, (False, True), strict=True):
        readings = Readings(case, say_hidden)
        session = debug(case, DEFAULT, marks=marks, on_question=readings)
        row.sessions.append(session)
        for came, shown in enumerate(reversed(readings.shown)):
            if shown.to_come is not None:
                least, most = shown.to_come
                shown.is_foreseen = least <= came <= most
        row.shown += readings.shown


def main(words: Sequence[str] | None = None, say: Callable[[str], None] = print) -> int:
    options = argparse.ArgumentParser(prog="whence bench readability")
    options.add_argument("--write", type=Path, metavar="FILE", help="put the table into FILE")
    options.add_argument("--bug", action="append", metavar="NAME", help="only this program")
    options.add_argument("--mutants", type=int, default=3, metavar="N", help="of each package")
    options.add_argument("--package", action="append", metavar="NAME", help="only this package")
    options.add_argument("--release", action="append", metavar="NAME", help="only this bug")
    options.add_argument("--hidden", action="store_true", help="print what could not be judged")
    given = options.parse_args(words)
    names = ("corpus", "mutants", "released")
    rows = {name: (Row(name), Row(f"{name} with marks")) for name in names}
    say_hidden = say if given.hidden else None
    everything = not (given.bug or given.package or given.release)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:

        def on_corpus(bug: bug_corpus.Bug) -> None:
            read_case(recorded(bug, Path(folder)), rows["corpus"], say_hidden)

        def on_package(package: str) -> None:
            for case in mutant_cases(package, given.mutants, say):
                if case is not None:
                    read_case(case, rows["mutants"], say_hidden)

        def on_release(name: str) -> None:
            own = Path(folder, name)
            own.mkdir()
            try:
                case = recorded(released_bugs.released_bug(name, own), own)
            except (bug_corpus.Refused, released_bugs.NotInstalled, ValueError) as why:
                say(f"left out: {name}: {str(why).splitlines()[-1]:.100}")
                return
            read_case(case, rows["released"], say_hidden)

        bugs = [bug for bug in bug_corpus.corpus() if bug.can_run]
        if not everything:
            bugs = [bug for bug in bugs if bug.name in (given.bug or ())]
        packages = given.package or (mutation.packages() if everything else [])
        list(pool.map(on_corpus, bugs))
        list(pool.map(on_package, packages if given.mutants else []))
        list(pool.map(on_release, given.release or (released_bugs.names() if everything else [])))
    filled = [row for name in names for row in rows[name] if row.sessions]
    text = table([row.cells() for row in filled], HEADER)
    if given.write:
        put(given.write, text, BEGIN)
    say(text)
    return 0 if all(each.located for row in filled for each in row.sessions) else 1


if __name__ == "__main__":
    sys.exit(main())
