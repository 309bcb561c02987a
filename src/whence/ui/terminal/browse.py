"""The command `browse`: walks through the values of a call as a shell walks through folders.

At the top are the call's inputs, effects and outcome. `mark` ends the walk with an answer: the
current part is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from whence.errors import UsageError
from whence.model.call import RESULT, Call, MarkedPart, OutcomeKind, find_mark
from whence.model.value import BRIEF, FULL, Kind, Limits, Steps, Value, atom, cut, parse_path, show
from whence.model.verdict import Verdict
from whence.ui.terminal.commands import Judge
from whence.ui.terminal.multiline import first_lines, fold
from whence.ui.terminal.screen import Line, Screen, Tone

MOST = 40
_PRINTED_LINES = 200
_LARGEST = 10_000

BROWSING = (
    ("ls", "the parts of this place"),
    ("cd PART", "go to a part: [2], .name, [2].name; .. goes up, / to the top"),
    ("pwd", "where this is"),
    ("print [depth N] [size N] [width N]", "all of it: N levels, N parts a value, N columns"),
    ("mark", "answer the question: this part is what is wrong"),
    ("help", "this list"),
    ("quit", "back to the question"),
)


@dataclass(frozen=True, slots=True)
class NamedValue:
    """A value at the top, and how a part of it is marked, if it can be."""

    name: str
    value: Value
    verdict: Verdict | None = None
    """The verdict of a mark in it: wrong for an outcome or effect, inadmissible for an input."""
    root: str = ""


def named_values(call: Call) -> list[NamedValue]:
    """All values of a call, in reading order."""
    inputs = [
        (argument.name or f"arg{n}", argument) for n, argument in enumerate(call.arguments, 1)
    ]
    inputs += [(read.name, read) for read in call.reads]
    values = [
        NamedValue(
            name,
            binding.value,
            Verdict.WRONG if binding.came_of_call else Verdict.INADMISSIBLE,
            name,
        )
        for name, binding in inputs
    ]
    names = {named.name for named in values}
    for effect in call.effects:
        if effect.before is not None and effect.target not in names:
            values.append(NamedValue(f"before {effect.target}", effect.before))
        if effect.after is not None:
            name = f"after {effect.target}"
            values.append(NamedValue(name, effect.after, Verdict.WRONG, effect.target))
    if call.outcome.yielded:
        items = tuple((f"[{n}]", value) for n, value in enumerate(call.outcome.yielded))
        values.append(NamedValue("yielded", Value(Kind.LIST, "", items)))
    if call.outcome.value is not None:
        name = "raised" if call.outcome.kind is OutcomeKind.RAISED else RESULT
        values.append(NamedValue(name, call.outcome.value, Verdict.WRONG, name))
    if call.printed:
        values.append(NamedValue("printed", atom(repr(call.printed))))
    return list({named.name: named for named in values}.values())


class Browser:
    """The current part among the values of a call."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._named_values = named_values(call)
        self._current: NamedValue | None = None
        self._steps: Steps = ()
        if not self._named_values:
            raise UsageError("there are no values to look at: this call is known by its text alone")

    def path(self) -> str:
        """The path of the current part."""
        return "/" if self._current is None else self._current.name + "".join(self._steps)

    def value(self) -> Value | None:
        """The current part, None at the top."""
        return None if self._current is None else self._current.value.part(self._steps)

    def go(self, text: str) -> None:
        """Go to a part, or up. What is not there is a `UsageError`."""
        text = text.strip()
        if text in ("", "/"):
            self._current, self._steps = None, ()
        elif text == "..":
            if self._steps:
                self._steps = self._steps[:-1]
            else:
                self._current = None
        elif self._current is not None and text[0] in "[.":
            self._descend(self._current, self._steps, text)
        elif self._current is not None and self._step_named(self._current, text):
            self._descend(self._current, self._steps, self._step_named(self._current, text))
        else:
            self._enter(text)

    def _step_named(self, named: NamedValue, text: str) -> str:
        """The step to a part that is given by its bare name, as in `cd name` or `cd 2`."""
        steps = [step for step, _ in named.value.part(self._steps).parts]
        forms = (f"[{text}]", f".{text}", f"['{text}']", f'["{text}"]', text)
        return next((form for form in forms if form in steps), "")

    def _enter(self, text: str) -> None:
        # The longest name first: the name of one value may be the beginning of another's.
        # What was changed goes by its own name too, unless that is the name of an input.
        for name, named in sorted(
            [(named.name, named) for named in self._named_values]
            + [(named.root, named) for named in self._named_values if named.root],
            key=lambda pair: -len(pair[0]),
        ):
            rest = text.removeprefix(name)
            if text.startswith(name) and (not rest or rest[0] in "[."):
                self._descend(named, (), rest)
                return
        names = ", ".join(named.name for named in self._named_values)
        raise UsageError(f"there is no {text} here; at the top there is {names}")

    def _descend(self, named: NamedValue, start: Steps, text: str) -> None:
        below = named.value.part(start)
        steps = below.resolve(parse_path("x" + text)[1]) if text else ()
        below.part(steps)
        self._current, self._steps = named, (*start, *steps)

    def mark(self) -> Judge:
        """The answer that this part is wrong."""
        named = self._current
        if named is None:
            raise UsageError(
                "go to the part that is wrong first: ls shows the parts, cd goes there"
            )
        if named.verdict is None:
            raise UsageError(f"{named.name} can only be looked at, not be marked")
        path = named.root + "".join(self._steps)
        check_mark(self._call, path, named.verdict)
        return Judge(named.verdict, part=path)

    def listing(self, width: int) -> list[str]:
        """The parts of the current value."""
        value = self.value()
        if value is None:
            rows = [(named.name, named.value) for named in self._named_values]
            hidden = 0
        else:
            rows, hidden = list(value.parts), value.omitted
        if not rows:
            whole = [] if value is None else first_lines(fold(value, Limits(), width), MOST)
            return [*whole, *self._shared_with(value)]
        column = min(30, max(len(name) for name, _ in rows[:MOST]))
        out = []
        for name, part in rows[:MOST]:
            out.append(cut(f"{name:<{column}}  {show(part, BRIEF)}", width))
        if len(rows) > MOST:
            out.append(f"… and {len(rows) - MOST} more, to which cd goes as well")
        if hidden:
            out.append(f"… and {hidden} more that were not recorded")
        return out

    def _shared_with(self, value: Value | None) -> list[str]:
        """Where a value is shown in full that occurs more than once."""
        if value is None or value.kind is not Kind.SHARED:
            return []
        for named in self._named_values:
            for steps, part in named.value.paths():
                if part.kind is not Kind.SHARED and part.identity == value.identity:
                    return [f"It is shown at {named.name}{''.join(steps)}."]
        return []

    def print_part(self, text: str, width: int) -> list[str]:
        """All of the current value, within the limits that were typed."""
        options = _options(text)
        limits = replace(
            FULL,
            depth=options.get("depth", FULL.depth),
            parts=options.get("size", FULL.parts),
        )
        width = options.get("width", width)
        value = self.value()
        if value is not None:
            return first_lines(fold(value, limits, width), _PRINTED_LINES)
        out: list[str] = []
        for named in self._named_values:
            lines = fold(named.value, limits, width, before=f"{named.name} = ")
            out += first_lines(lines, _PRINTED_LINES)
        return out


def _options(text: str) -> dict[str, int]:
    pieces = text.split()
    names, numbers = pieces[::2], pieces[1::2]
    good = len(names) == len(numbers) and all(re.fullmatch("[0-9]{1,6}", n) for n in numbers)
    if not good or not set(names) <= {"depth", "size", "width"}:
        raise UsageError("say it like this: print depth 3 size 20 width 100")
    lowest = {"depth": 0, "size": 1, "width": 20}
    return {
        name: max(lowest[name], min(int(number), _LARGEST))
        for name, number in zip(names, numbers, strict=True)
    }


def check_mark(call: Call, text: str, verdict: Verdict) -> MarkedPart:
    """The part that is marked with an answer; `UsageError` if that answer cannot be about it."""
    if not named_values(call):
        raise UsageError("no part can be named: this call is known by its text alone")
    part = find_mark(call, text, input_side=verdict is not Verdict.WRONG)
    if part.is_input and verdict is Verdict.WRONG:
        raise UsageError(
            f"{part.mark} is what the call was given: answer i {part.mark} if it should never "
            f"get that, and n with a part of its outcome"
        )
    if not part.is_input and verdict is Verdict.INADMISSIBLE:
        raise UsageError(
            f"{part.mark} is part of the outcome: answer n {part.mark} if that is wrong, and i "
            "with a part of what the call was given"
        )
    return part


def browse(screen: Screen, call: Call, path: str, *, can_mark: bool) -> Judge | None:
    """Read commands until `quit`, the end of the input, or `mark`, which gives an answer."""
    browser = Browser(call)
    if path:
        browser.go(path)
    screen.say(*browser.listing(screen.width))
    while True:
        line = screen.read(f"browse {browser.path()} > ")
        if line is None:
            return None
        word, _, rest = line.strip().partition(" ")
        try:
            word = _command(word)
            if word == "quit":
                return None
            if word == "mark":
                if can_mark:
                    return browser.mark()
                raise UsageError("there is no question that could be answered with a mark now")
            screen.say(*_run_command(browser, word, rest, screen.width))
        except UsageError as problem:
            screen.warn(str(problem))


def _run_command(browser: Browser, word: str, rest: str, width: int) -> list[str | Line]:
    if word == "cd":
        browser.go(rest)
        return []
    actions: dict[str, Callable[[], list[str]]] = {
        "": lambda: [],
        "ls": lambda: browser.listing(width),
        "pwd": lambda: [browser.path()],
        "print": lambda: browser.print_part(rest, width),
        "help": lambda: [f"{form:<36} {brief}" for form, brief in BROWSING],
    }
    return [Line(text, Tone.CALL) for text in actions[word]()]


def _command(word: str) -> str:
    """The command with this name, or the only one that starts so."""
    names = [form.split()[0] for form, _ in BROWSING]
    fitting = [name for name in names if name.startswith(word.lower())]
    if word in ("", "q"):
        return "quit" if word else ""
    if len(fitting) != 1:
        raise UsageError(f"type one of {', '.join(names)}")
    return fitting[0]
