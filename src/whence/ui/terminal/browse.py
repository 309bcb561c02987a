"""Walking into the values of a call, for `browse`: like a shell among folders.

The places at the top are what the call was given, what it read, what it changed and its result.
`mark` ends the walk with an answer: the place that one stands at is the part that is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from whence.errors import UsageError
from whence.model.call import RESULT, Call, MarkedPart, OutcomeKind, find_mark
from whence.model.value import BRIEF, FULL, Kind, Limits, Steps, Value, atom, parse_path, show
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
class Place:
    """One of the values at the top: where it stands and how it is marked, if it can be."""

    name: str
    value: Value
    verdict: Verdict | None = None
    """What marking a part of it says: wrong for what came of the call, else inadmissible."""
    root: str = ""


def places(call: Call) -> list[Place]:
    """All values of a call, in the order in which one reads them."""
    given = [(each.name or f"arg{n}", each) for n, each in enumerate(call.arguments, 1)]
    given += [(each.name, each) for each in call.reads]
    found = [
        Place(
            name,
            each.value,
            Verdict.WRONG if each.came_of_call else Verdict.INADMISSIBLE,
            name,
        )
        for name, each in given
    ]
    known = {place.name for place in found}
    for effect in call.effects:
        if effect.before is not None and effect.target not in known:
            found.append(Place(f"before {effect.target}", effect.before))
        if effect.after is not None:
            name = f"after {effect.target}"
            found.append(Place(name, effect.after, Verdict.WRONG, effect.target))
    if call.outcome.yielded:
        items = tuple((f"[{n}]", value) for n, value in enumerate(call.outcome.yielded))
        found.append(Place("yielded", Value(Kind.LIST, "", items)))
    if call.outcome.value is not None:
        name = "raised" if call.outcome.kind is OutcomeKind.RAISED else RESULT
        found.append(Place(name, call.outcome.value, Verdict.WRONG, name))
    if call.printed:
        found.append(Place("printed", atom(repr(call.printed))))
    return list({place.name: place for place in found}.values())


class Browser:
    """Where one stands in the values of a call."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._places = places(call)
        self._place: Place | None = None
        self._steps: Steps = ()
        if not self._places:
            raise UsageError("there are no values to look at: this call is known by its text alone")

    def path(self) -> str:
        """Where this is."""
        return "/" if self._place is None else self._place.name + "".join(self._steps)

    def value(self) -> Value | None:
        """What is here, None at the top."""
        return None if self._place is None else self._place.value.part(self._steps)

    def go(self, text: str) -> None:
        """Go to a part, or up. What is not there is a `UsageError`."""
        text = text.strip()
        if text in ("", "/"):
            self._place, self._steps = None, ()
        elif text == "..":
            if self._steps:
                self._steps = self._steps[:-1]
            else:
                self._place = None
        elif self._place is not None and text[0] in "[.":
            self._descend(self._place, self._steps, text)
        elif self._place is not None and self._has(self._place, text):
            self._descend(self._place, self._steps, self._own(self._place, text))
        else:
            self._enter(text)

    def _has(self, place: Place, text: str) -> bool:
        """Whether a part here is meant by its bare name: `cd name`, `cd 2`."""
        return self._own(place, text) != ""

    def _own(self, place: Place, text: str) -> str:
        steps = [step for step, _ in place.value.part(self._steps).parts]
        forms = (f"[{text}]", f".{text}", f"['{text}']", f'["{text}"]', text)
        return next((form for form in forms if form in steps), "")

    def _enter(self, text: str) -> None:
        # The longest name first: that of one place may be the beginning of another's.
        # What was changed goes by its own name too, unless that is the name of an input.
        for name, place in sorted(
            [(each.name, each) for each in self._places]
            + [(each.root, each) for each in self._places if each.root],
            key=lambda named: -len(named[0]),
        ):
            rest = text.removeprefix(name)
            if text.startswith(name) and (not rest or rest[0] in "[."):
                self._descend(place, (), rest)
                return
        names = ", ".join(place.name for place in self._places)
        raise UsageError(f"there is no {text} here; at the top there is {names}")

    def _descend(self, place: Place, start: Steps, text: str) -> None:
        below = place.value.part(start)
        steps = below.resolve(parse_path("x" + text)[1]) if text else ()
        below.part(steps)
        self._place, self._steps = place, (*start, *steps)

    def mark(self) -> Judge:
        """The answer that this part is wrong."""
        place = self._place
        if place is None:
            raise UsageError(
                "go to the part that is wrong first: ls shows the parts, cd goes there"
            )
        if place.verdict is None:
            raise UsageError(f"{place.name} can only be looked at, not be marked")
        path = place.root + "".join(self._steps)
        check_mark(self._call, path, place.verdict)
        return Judge(place.verdict, part=path)

    def listing(self, width: int) -> list[str]:
        """The parts of this place."""
        value = self.value()
        if value is None:
            rows = [(place.name, place.value) for place in self._places]
            hidden = 0
        else:
            rows, hidden = list(value.parts), value.omitted
        if not rows:
            return [*self._whole(value, width), *self._twin(value)]
        column = min(30, max(len(name) for name, _ in rows[:MOST]))
        out = []
        for name, part in rows[:MOST]:
            text = f"{name:<{column}}  {show(part, BRIEF)}"
            out.append(text if len(text) <= width else text[: width - 1] + "…")
        if len(rows) > MOST:
            out.append(f"… and {len(rows) - MOST} more, to which cd goes as well")
        if hidden:
            out.append(f"… and {hidden} more that were not recorded")
        return out

    def _whole(self, value: Value | None, width: int) -> list[str]:
        return [] if value is None else first_lines(fold(value, Limits(), width), MOST)

    def _twin(self, value: Value | None) -> list[str]:
        """Where a value stands that is shown only once."""
        if value is None or value.kind is not Kind.SHARED:
            return []
        for place in self._places:
            for steps, part in place.value.paths():
                if part.kind is not Kind.SHARED and part.identity == value.identity:
                    return [f"It stands at {place.name}{''.join(steps)}."]
        return []

    def printed(self, text: str, width: int) -> list[str]:
        """All of this place, within the limits that were typed."""
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
        for place in self._places:
            lines = fold(place.value, limits, width, before=f"{place.name} = ")
            out += first_lines(lines, _PRINTED_LINES)
        return out


def _options(text: str) -> dict[str, int]:
    words = text.split()
    names, numbers = words[::2], words[1::2]
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
    if not places(call):
        raise UsageError("no part can be named: this call is known by its text alone")
    part = find_mark(call, text, input_side=verdict is not Verdict.WRONG)
    if part.is_input and verdict is Verdict.WRONG:
        raise UsageError(
            f"{part.mark} is what the call was given: answer i {part.mark} if it should never "
            f"get that, and n with a part of what came of it"
        )
    if not part.is_input and verdict is Verdict.INADMISSIBLE:
        raise UsageError(
            f"{part.mark} is what came of the call: answer n {part.mark} if that is wrong, and i "
            "with a part of what the call was given"
        )
    return part


def browse(screen: Screen, call: Call, path: str, *, can_mark: bool) -> Judge | None:
    """Walk until `quit`, the end of the input, or `mark`, which gives an answer."""
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
            screen.say(*_shown(browser, word, rest, screen.width))
        except UsageError as problem:
            screen.warn(str(problem))


def _shown(browser: Browser, word: str, rest: str, width: int) -> list[str | Line]:
    if word == "cd":
        browser.go(rest)
        return []
    actions: dict[str, Callable[[], list[str]]] = {
        "": lambda: [],
        "ls": lambda: browser.listing(width),
        "pwd": lambda: [browser.path()],
        "print": lambda: browser.printed(rest, width),
        "help": lambda: [f"{form:<36} {brief}" for form, brief in BROWSING],
    }
    return [Line(text, Tone.CALL) for text in actions[word]()]


def _command(word: str) -> str:
    """The command that is meant by a word or by a beginning that fits only one."""
    names = [form.split()[0] for form, _ in BROWSING]
    fitting = [name for name in names if name.startswith(word.lower())]
    if word in ("", "q"):
        return "quit" if word else ""
    if len(fitting) != 1:
        raise UsageError(f"here one can type {', '.join(names)}")
    return fitting[0]
