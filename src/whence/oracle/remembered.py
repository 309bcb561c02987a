"""The oracle that remembers: what persons said of equal calls in earlier sessions of the project.

`Remembered` answers from the file, `Remembering` writes to it what a person says in this session.
Only persons' answers are kept, and only about calls that are known in full: what was cut off may
differ another time. How a call is known in every run (`Identify`) is the business of its language.
"""

from __future__ import annotations

import datetime
import getpass
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from whence.errors import UsageError
from whence.model.call import Call, Mark, find_mark
from whence.model.question import Question
from whence.model.value import Kind, Limits, Value
from whence.model.verdict import PERSON, REMEMBERED, Answer, Judgement, Verdict
from whence.oracle.answer_file import AnswerFile, Equation, Statement
from whence.ports import Tree
from whence.tree.codec import encode_call, stable_digest
from whence.tree.readable_call import readable_call

Identify = Callable[[int, Call], Equation | str]
"""The equation of a call, by its id and content, or why it is not known in every run."""
_TEXT = Limits(depth=4, parts=12, characters=200)


@dataclass
class Remembered:
    """Repeats what persons said."""

    file: AnswerFile
    identify: Identify
    notify: Callable[[str], None] = lambda text: None
    name: str = REMEMBERED

    def __post_init__(self) -> None:
        """Each conflict is told once."""
        self._told: set[str] = set()

    def judge(self, question: Question) -> Judgement | None:
        """What was said of an equal call, unless persons disagree about it."""
        equation = self.identify(question.node, question.call)
        if isinstance(equation, str):
            return None
        said = self.file.about(equation.digest)
        if not said:
            return None
        if len({each.verdict for each in said}) > 1:
            self._tell(equation, said)
            return None
        last = said[-1]
        assert last.verdict is not None, "what was taken back does not stand"
        return Judgement(
            last.verdict,
            f"{last.by} said so on {last.date[:10]}",
            _mark(question.call, last),
            last.expected,
        )

    def _tell(self, equation: Equation, said: list[Statement]) -> None:
        if equation.digest in self._told:
            return
        self._told.add(equation.digest)
        words = ", ".join(
            f"{each.verdict.value} ({each.by}, {each.date[:10]})" for each in said if each.verdict
        )
        self.notify(
            f"The remembered answers about {equation.text} contradict each other: {words}. "
            "What you say now will hold."
        )


def _mark(call: Call, said: Statement) -> Mark | None:
    if not said.mark:
        return None
    try:
        return find_mark(call, said.mark, input_side=said.verdict is Verdict.INADMISSIBLE).mark
    except UsageError:
        return None


class Remembering:
    """Writes down what a person says, and takes back what the person takes back."""

    def __init__(
        self,
        file: AnswerFile,
        identify: Identify,
        notify: Callable[[str], None],
        by: str = "",
        *,
        settles: bool = True,
    ) -> None:
        """`settles`: who answers has seen what was remembered before, so that others' statements
        to the contrary are taken back.
        """
        self.file = file
        self._settles = settles
        self._identify = identify
        self._notify = notify
        self._by = by
        self._known: dict[int, Equation | str] = {}
        self._noted: dict[str, Statement] = {}
        self._told: set[str] = set()

    def begin(self, tree: Tree, answers: Sequence[Answer]) -> None:
        """The session goes on with answers that were noted, or not, when they were given."""
        self._noted = self._statements(tree, answers)

    def update(self, tree: Tree, answers: Sequence[Answer]) -> None:
        """Note what is new among the person's answers, and withdraw what is gone."""
        stands = self._statements(tree, answers)
        new = [said for digest, said in stands.items() if _differs(said, self._noted.get(digest))]
        gone = [said for digest, said in self._noted.items() if digest not in stands]
        self._tell_what_is_not(answers)
        if not new and not gone:
            return
        date = now()
        by = self._person()
        taken_back = [
            standing
            for said in gone
            for standing in self.file.about(said.equation.digest)
            if standing.by == by
        ]
        taken_back += [
            standing
            for said in new
            for standing in self.file.about(said.equation.digest)
            if self._settles and standing.by != by and standing.verdict is not said.verdict
        ]
        self.file.withdraw(taken_back, date)
        self.file.append(replace(said, by=by, date=date) for said in new)
        if new:
            path = "/".join(self.file.path.parts[-2:])
            self._tell("kept", f"Answers are remembered in {path} for later runs.")
        self._noted = stands

    def _tell_what_is_not(self, answers: Sequence[Answer]) -> None:
        for answer in answers:
            why = self._known.get(answer.node)
            if answer.by == PERSON and isinstance(why, str):
                self._tell("not", f"Call {answer.node} is not known in full, so what you say of "
                           f"it is not remembered: {why}.")  # fmt: skip

    def _tell(self, what: str, text: str) -> None:
        """Say something once in a session."""
        if what not in self._told:
            self._told.add(what)
            self._notify(text)

    def _statements(self, tree: Tree, answers: Sequence[Answer]) -> dict[str, Statement]:
        found: dict[str, Statement] = {}
        for answer in answers:
            if answer.by != PERSON or answer.verdict is Verdict.UNKNOWN:
                continue
            equation = self._equation(tree, answer.node)
            if isinstance(equation, str):
                continue
            mark = str(answer.mark) if answer.mark else ""
            found[equation.digest] = Statement(
                equation, answer.verdict, PERSON, "", answer.expected, mark
            )
        return found

    def _equation(self, tree: Tree, node: int) -> Equation | str:
        if node not in self._known:
            call, problem = readable_call(tree, tree.position(node))
            self._known[node] = problem or self._identify(node, call)
        return self._known[node]

    def _person(self) -> str:
        self._by = self._by or person()
        return self._by


def _differs(said: Statement, other: Statement | None) -> bool:
    if other is None:
        return True
    return (said.verdict, said.expected, said.mark) != (other.verdict, other.expected, other.mark)


def now() -> str:
    """This moment, as statements are dated."""
    moment = datetime.datetime.now(datetime.UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def person() -> str:
    """Who is at the terminal: as commits name them, else as the machine does."""
    try:
        found = subprocess.run(
            ["git", "config", "user.name"], capture_output=True, text=True, timeout=5, check=False
        )
        name = found.stdout.strip()
    except (OSError, subprocess.SubprocessError, ValueError):
        name = ""
    if name:
        return name
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "somebody"


# --- calls of trees from other tracers -----------------------------------------------------------


def identify(node: int, call: Call) -> Equation | str:
    """The equation of a call as its tracer wrote it."""
    if call.text:
        return "the tracer gave its equation as a text"
    for value in _values(call):
        for _, part in value.paths():
            if part.omitted or (part.kind is Kind.ATOM and _is_vague(part.text)):
                return "not all of its values are known"
    record = encode_call(call)
    digest = stable_digest(record)
    if digest is None:
        return "what came of it is not known"
    given = {key: record[key] for key in record if key in {"function", "args", "reads"}}
    of_inputs = stable_digest({**given, "returned": None}) or ""
    return Equation(call.function.name, call.equation(_TEXT), digest, of_inputs)


def _values(call: Call) -> list[Value]:
    found = [each.value for each in (*call.arguments, *call.reads)]
    for effect in call.effects:
        found += [each for each in (effect.before, effect.after) if each is not None]
    return [*found, *call.outcome.yielded, *([call.outcome.value] if call.outcome.value else [])]


def _is_vague(text: str) -> bool:
    """Whether an atom is a description of something, which another thing may fit as well."""
    return "…" in text or (text.startswith("<") and text.endswith(">"))
