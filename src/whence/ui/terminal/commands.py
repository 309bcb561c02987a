"""The grammar of what is typed at a question, and the help on it.

A line becomes one of the dataclasses below or a `UsageError`; what a command does is the loop's
business. Each command stands in one `Spec`: its words, its form and its help, which `help` shows
and `python -m whence.ui.terminal.commands` writes as docs/commands.md.

A command can be shortened as long as it is unambiguous, but a single letter means an answer or quit
only if it is one of their own words: a typing error must not judge a call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from whence.errors import UsageError
from whence.model.verdict import TrustScope, Verdict
from whence.ui.terminal.switches import SWITCHES

# --- what a line can mean ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Judge:
    """An answer: to the question, or to the calls with these ids; with the part that is wrong.

    `expected` is what the part, or the outcome, should have been.
    """

    verdict: Verdict
    part: str = ""
    nodes: tuple[int, ...] = ()
    expected: str | None = None


@dataclass(frozen=True, slots=True)
class Accept:
    """An empty line: the default."""


@dataclass(frozen=True, slots=True)
class TrustCode:
    """Trust some code, or trust it no longer."""

    scope: TrustScope | None
    name: str
    withdraw: bool


@dataclass(frozen=True, slots=True)
class ShowCall:
    """Print one call in full; None is the call that is asked about."""

    node: int | None


@dataclass(frozen=True, slots=True)
class TurnSwitch:
    """Turn a switch, or (without a name) show them."""

    name: str
    on: bool


@dataclass(frozen=True, slots=True)
class TurnOracle:
    """Turn an oracle off or on, or (without a name) show them."""

    name: str
    on: bool


@dataclass(frozen=True, slots=True)
class Keep:
    """Resolve a contradiction."""

    earlier: bool


@dataclass(frozen=True, slots=True)
class StepThrough:
    """Open a step debugger where this call begins, or where it ends."""

    at_end: bool


@dataclass(frozen=True, slots=True)
class Do:
    """Any other command, by its word, and the text after it: a name, a part, a file."""

    what: str
    text: str = ""


Command = Judge | Accept | TrustCode | ShowCall | TurnSwitch | TurnOracle | Keep | StepThrough | Do

# --- from text to meaning ----------------------------------------------------------------------

LONGEST_NAME = 200
_DIGITS = 18
"""More digits than any id has, and fewer than Python refuses to read."""


def is_id(word: str) -> bool:
    """Whether a word is the id of a call rather than a path."""
    return word.isascii() and word.isdecimal()


def _show(rest: str) -> Command:
    word = rest.strip()
    if not word:
        return ShowCall(None)
    if not is_id(word) or len(word) > _DIGITS:
        raise UsageError("show takes the number of a call, as in: show 14")
    return ShowCall(int(word))


def _judge(verdict: Verdict) -> Callable[[str], Command]:
    def parse(rest: str) -> Command:
        meant, expected = _split_expected(rest)
        if expected is not None and verdict is not Verdict.WRONG:
            raise UsageError("only n can be followed by what it should be, as in: n = [1, 2, 4]")
        numbers = meant.replace(",", " ").split()
        if numbers and all(map(is_id, numbers)):
            if max(map(len, numbers)) > _DIGITS:
                raise UsageError("there is no call with so long a number")
            nodes = tuple(dict.fromkeys(map(int, numbers)))
            if expected is not None and len(nodes) > 1:
                raise UsageError("say of one call at a time what it should be, as in: n 14 = 3")
            return Judge(verdict, nodes=nodes, expected=expected)
        if meant and verdict in (Verdict.RIGHT, Verdict.UNKNOWN):
            raise UsageError("only n and i can be followed by a part, as in: n result[2].name")
        first, _, part = meant.partition(" ")
        if not is_id(first.rstrip(",")):
            return Judge(verdict, part=meant, expected=expected)
        if "," in first or is_id(numbers[1]) or len(first) > _DIGITS:
            raise UsageError("a part is marked in one call at a time, as in: n 14 result[2]")
        return Judge(verdict, part.strip(), (int(first),), expected)

    return parse


def _split_expected(rest: str) -> tuple[str, str | None]:
    """The text before the first `=` that is not part of a path, and the text after it."""
    quote, depth, position = "", 0, 0
    while position < len(rest):
        character = rest[position]
        if quote:
            if character == "\\":
                position += 1
            elif character == quote:
                quote = ""
        elif character in "'\"" and depth:
            quote = character
        elif character in "[({":
            depth += 1
        elif character in "])}":
            depth -= 1
        elif character == "=" and depth <= 0:
            expected = rest[position + 1 :].removeprefix("=").strip()
            if not expected:
                raise UsageError("say after the = what it should be, as in: n = [1, 2, 4]")
            return rest[:position].strip(), expected
        position += 1
    return rest, None


def _trust(withdraw: bool) -> Callable[[str], Command]:
    def parse(rest: str) -> Command:
        first, _, name = rest.partition(" ")
        scopes = {scope.value: scope for scope in TrustScope}
        if first in scopes:
            return TrustCode(scopes[first], _name(name), withdraw)
        return TrustCode(None, _name(rest), withdraw)

    return parse


def _switch(rest: str) -> Command:
    parts = rest.lower().replace("-", "_").split()
    if not parts:
        return TurnSwitch("", on=False)
    if len(parts) != 2 or parts[1] not in ("on", "off"):
        raise UsageError("say which switch and how, as in: switch compression on")
    return TurnSwitch(parts[0], on=parts[1] == "on")


def _imports(rest: str) -> Command:
    if rest:
        raise UsageError("imports takes no argument")
    return TurnSwitch("presumption", on=False)


def _oracle(rest: str) -> Command:
    name, _, state = rest.rpartition(" ")
    if not rest:
        return TurnOracle("", on=False)
    if not name.strip() or state.lower() not in ("on", "off"):
        raise UsageError("say which oracle and how, as in: oracle remembered off")
    return TurnOracle(_name(name), on=state.lower() == "on")


def _do(what: str) -> Callable[[str], Command]:
    def parse(rest: str) -> Command:
        if rest:
            raise UsageError(f"{what} takes nothing after it")
        return Do(what)

    return parse


def _step(rest: str) -> Command:
    if rest.strip() not in ("", "start", "end"):
        raise UsageError("pdb, or pdb end, for where the call ends")
    return StepThrough(rest.strip() == "end")


def _keep(earlier: bool) -> Callable[[str], Command]:
    def parse(rest: str) -> Command:
        if rest:
            raise UsageError("1 keeps the earlier statement, 2 the later one")
        return Keep(earlier)

    return parse


def _name(text: str) -> str:
    text = text.strip()
    if len(text) > LONGEST_NAME:
        raise UsageError(f"a name of {len(text)} characters is not the name of anything here")
    return text


def _plain_name(text: str) -> str:
    """A name that whence gave; these are all ASCII."""
    if not text.isascii():
        raise UsageError(f"nothing here is named {text[:30]}")
    return _name(text)


# --- the commands ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Spec:
    """A command: its words, how it is written, what it does, and more about it."""

    words: tuple[str, ...]
    form: str
    brief: str
    parse: Callable[[str], Command]
    more: str = ""
    listed: bool = True
    """Whether it is in the short list, which has to fit on a small screen."""


ANSWERS = (
    Spec(
        ("y", "yes", "right"), "y", "right: given its input, this is what was meant",
        _judge(Verdict.RIGHT),
        "Also yes, right. Nothing that the call did can be at fault then, so all calls that it "
        "made are ruled out too. What it changed and printed is judged with it.",
    ),
    Spec(
        ("n", "no", "wrong"), "n [CALL] [PART] [= VALUE]",
        "wrong: the input is fine, the outcome is not",
        _judge(Verdict.WRONG),
        "Also no, wrong. The search goes on among the calls that this one made. With a part, as "
        "in `n result[2].name`, it says which part of the result (or of something that the call "
        "changed) is wrong; if the origin of that part can be found, the search follows it (for "
        "this a recorded program runs again, if you allow it). `n 14 result[2].name` marks a part "
        "of another call, by its number. With a value, as in `n = [1, 2, 4]`, `n result[2] = 7` or "
        "`n 14 = None`, it says what it "
        "should have been instead: as an expression of the program's language, or in words. The "
        "report repeats it, and if the program can run again without effects, whence tries it.",
    ),
    Spec(
        ("i", "inadmissible"), "i [CALL] [PART]",
        "the call should never have been given this input",
        _judge(Verdict.INADMISSIBLE),
        "Also inadmissible. The blame then lies with the caller that passed it on, and nothing "
        "is said about the outcome. With a part, as in `i xs[3]`, it says which part of the "
        "input should not be like this; of what the call changed, that is its value before. If it "
        "can be found which call made that part, that call is asked about next. `i 14 xs[3]` is "
        "about another call, by its number.",
    ),
    Spec(
        ("?", "d", "skip"), "?", "don't know; it is asked again when nothing else is left",
        _judge(Verdict.UNKNOWN),
        "Also d, skip. It is never asked again at once, and questions about the same code come "
        "later. If nobody knows the second time either, the diagnosis names all calls "
        "that may be at fault.",
    ),
)  # fmt: skip

SEVERAL = ("n 14 18", "the same about calls by number, see list (also y, i, ?)")
EXPECTED = ("n [PART] = VALUE", "wrong, and this is what it should have been")
EMPTY = ("Enter", "the answer named in the prompt, else the question again")

COMMANDS = (
    Spec(
        ("trust",), "trust [function|module|file] [NAME]",
        "this code cannot be at fault itself (distrust takes it back)",
        _trust(False),
        "Without a name it means the function (module, file) of the call in question. whence asks "
        "no more about calls of trusted code, but still searches what they call.",
    ),
    Spec(
        ("distrust",), "distrust [function|module|file] [NAME]", "take a trust back",
        _trust(True), "Without a name it takes back the only trust there is.", listed=False,
    ),
    Spec(
        ("undo",), "undo", "take back what you said last (redo says it again)", _do("undo"),
        "That may be an answer, a trust, a strategy, a switch or a rejected diagnosis; as often "
        "as you like.",
    ),
    Spec(("redo",), "redo", "say again what undo took back", _do("redo"), listed=False),
    Spec(
        ("browse",), "browse [PART]", "walk into the values of this call",
        lambda text: Do("browse", text),
        "For values that are too large for the question. `mark` answers with the part that you "
        "have walked to. `help` inside it says more.",
    ),
    Spec(
        ("list",), "list [FUNCTION]", "the other calls of this function, or of another one",
        lambda text: Do("list", _name(text)),
        "With their numbers, so that several can be judged at once: `y 8 10`. Those that can "
        "still be at fault come first.",
    ),
    Spec(
        ("suspects",), "suspects", "all calls that can still be at fault", _do("suspects"),
        "With their numbers: if one of them looks wrong, `n 14` judges it, and `y 8 10` rules "
        "others out. The callees of the call known to be wrong come first.",
        listed=False,
    ),
    Spec(
        ("show",), "show [CALL]", "all that was recorded of this call, or of another one", _show,
        "Calls are named by their numbers, which list gives.",
    ),
    Spec(
        ("full",), "full", "run the program again to see the values in full", _do("full"),
        "Of large values only the beginning is recorded. whence first shows what it is going to "
        "run, because the program repeats its effects on files and on other programs. They are "
        "shown page by page, and then the question again. If the re-run diverges from the "
        "recording, whence says so.",
        listed=False,
    ),
    Spec(("source",), "source", "the source of what this call ran", _do("source")),
    Spec(
        ("ran",), "ran", "run the program again to mark the lines that ran", _do("ran"),
        "The source of this call with the lines that it ran. whence first shows what it is going "
        "to run.",
        listed=False,
    ),
    Spec(
        ("pdb",), "pdb [end]", "step through this call in pdb", _step,
        "The program is run again up to the start of this call (or up to its end), in a process "
        "of its own that changes nothing, and pdb, or what PYTHONBREAKPOINT names, is opened "
        "there. quit, or continue without a breakpoint, comes back here. It needs a recording "
        "with a journal (docs/running-again.md).",
        listed=False,
    ),
    Spec(
        ("info",), "info", "where this call stands, and how the search is going", _do("info"),
    ),
    Spec(
        ("strategy",), "strategy [NAME]", "choose questions in another way, or list the ways",
        lambda text: Do("strategy", _plain_name(text)),
        "What was answered still counts.",
    ),
    Spec(
        ("switch",), "switch [NAME on|off]",
        "turn an option of the search on or off (see also oracle)",
        _switch,
        " ".join(f"{name}: {text}." for name, text in SWITCHES.items()),
    ),
    Spec(
        ("imports",), "imports", "ask about imports and class bodies like about other calls",
        _imports,
        "Until then they are presumed right, and asked about when nothing else is left. The same "
        "as `switch presumption off`.",
        listed=False,
    ),
    Spec(
        ("oracle",), "oracle [NAME on|off]", "who answers besides you: show or turn one off",
        _oracle,
        "An oracle that is turned off is no longer asked, and its answers in this session no "
        "longer count.",
        listed=False,
    ),
    Spec(
        ("save",), "save [FILE]", "write the session to a file, or say where it is kept",
        lambda text: Do("save", text),
        "`whence debug TREE --session FILE` resumes from there. A file that exists is not "
        "overwritten.",
    ),
    Spec(
        ("help",), "help [COMMAND]", "this list, or more about one command",
        lambda text: Do("help", _name(text).lower()),
    ),
    Spec(
        ("quit", "q", "exit"), "quit", "leave; a session that is kept can be resumed",
        _do("quit"), "Also q, exit, Ctrl-D.",
    ),
)  # fmt: skip

AT_THE_END = (
    Spec(
        ("reject",), "reject", "that is not the bug: ask again", _do("reject"),
        "All questions are asked again, with your earlier answers as defaults: Enter repeats one.",
    ),
    Spec(
        ("zoom",), "zoom", "go into the call at fault: which of its statements is it?",
        _do("zoom"),
        "The program runs again, and whence asks about the statements of this call, the rounds of "
        "its loops and its branches, each with the variables before and after it, until one "
        "statement is left. Your answers about the calls that it made still hold. See "
        "docs/zoom.md.",
    ),
    Spec(
        ("report",), "report", "the whole diagnosis, page by page", _do("report"),
        "At a terminal a diagnosis is shortened to the rows of the window: the values and the "
        "source, never the doubts.",
    ),
    Spec(
        ("test",), "test [FILE]", "a failing test of the call at fault; with a file, write it",
        lambda text: Do("test", text),
        "In pytest style, made from the recording: it fails until the fault is fixed. It asserts "
        "what you answered with `n = …`. A file that exists is not overwritten; if a value cannot "
        "be rebuilt, whence says so.",
    ),
    Spec(
        ("rest",), "rest", "search the calls below the top although it was judged right",
        _do("rest"),
    ),
    Spec(
        ("1", "2"), "1 or 2", "which of two contradictory statements holds",
        _keep(True),
        "1 is the earlier one, 2 the later one. `undo` takes back what you said last.",
    ),
)  # fmt: skip

SPECS: tuple[Spec, ...] = (*ANSWERS, *COMMANDS, *AT_THE_END)
_BY_WORD = {word: spec for spec in SPECS for word in spec.words}
HINT = "answer y, n, i or ?, or type help"


def parse(line: str, hint: str = HINT) -> Command:
    """The command that a line stands for; `UsageError` with a hint if there is none."""
    parts = line.split(maxsplit=1)
    if not parts:
        return Accept()
    word, rest = parts[0].lower(), "".join(parts[1:]).strip()
    name, equals, _ = word.partition("=")
    if equals and _BY_WORD.get(name) in ANSWERS:
        word, rest = name, line.lstrip()[len(name) :].strip()
    if word == "2":
        return _keep(False)(rest)
    return _find(word, hint).parse(rest)


def _find(word: str, hint: str = HINT) -> Spec:
    if word in _BY_WORD:
        return _BY_WORD[word]
    fitting = {name: spec for name, spec in _BY_WORD.items() if name.startswith(word)}
    if len(word) == 1:
        fitting = {name: spec for name, spec in fitting.items() if len(spec.words) == 1}
    forms = {spec.form: spec for spec in fitting.values()}
    if len(forms) == 1:
        return next(iter(forms.values()))
    if forms:
        raise UsageError(f"{word} may be {', '.join(fitting)}: write more of it")
    shown = word if len(word) <= 30 else word[:29] + "…"
    raise UsageError(f"{shown!r} is not understood: {hint}")


# --- help --------------------------------------------------------------------------------------

_GROUPS: tuple[tuple[str, Sequence[Spec]], ...] = (
    ("Answers", ANSWERS),
    ("Commands", COMMANDS),
    ("At a diagnosis or a contradiction", AT_THE_END),
)


def help_text(topic: str = "", *, at_question: bool = True) -> str:
    """The text of `help`: more about one command, or the commands that are of use now."""
    if topic:
        spec = _find(topic)
        return "\n".join([f"{spec.form}: {spec.brief}.", *([spec.more] if spec.more else [])])
    out: list[str] = []
    for title, specs in _GROUPS[:-1] if at_question else _GROUPS[1:]:
        rows = [(spec.form, spec.brief) for spec in specs if spec.listed]
        if specs is ANSWERS:
            rows += [EXPECTED, SEVERAL, EMPTY]
        out.append(f"{title}:")
        out += [f"  {_short(form):<16} {brief}" for form, brief in rows]
    return "\n".join(out)


def _short(form: str) -> str:
    """A form without the choices inside it, which would not fit beside the help."""
    for choices in ("[function|module|file] ", " on|off", " [= VALUE]"):
        form = form.replace(choices, "")
    return form.replace("[CALL] [PART]", "[PART]")


def documentation() -> str:
    """The text of docs/commands.md."""
    from whence.ui.terminal.browse import BROWSING

    out = [
        "# What you can type at a question",
        "",
        "<!-- Written by `python -m whence.ui.terminal.commands > docs/commands.md`. -->",
        "",
        "A command can be shortened as long as it is unambiguous: `str` is `strategy`. Calls are "
        "named by numbers, parts of values by paths: `n 14` is about call 14, `n result[1]` about "
        "the second element of this call's result.",
    ]
    for title, specs in _GROUPS:
        rows = [(spec.form, spec.brief, spec.more) for spec in specs]
        if specs is ANSWERS:
            rows += [(*SEVERAL, ""), (*EMPTY, "")]
        out += _section(title, rows)
    out += _section("Inside browse", [(form, brief, "") for form, brief in BROWSING])
    return "\n".join(out) + "\n"


def _section(title: str, rows: Sequence[tuple[str, str, str]]) -> list[str]:
    out = ["", f"## {title}", "", "| type | it means |", "|---|---|"]
    for form, brief, more in rows:
        text = f"{brief[0].upper()}{brief[1:]}. {more}".rstrip()
        out.append(f"| `{form.replace('|', chr(92) + '|')}` | {text} |")
    return out


if __name__ == "__main__":
    print(documentation(), end="")
