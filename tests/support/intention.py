"""Finds out what each call should have done, by continuing it with the repaired function.

Runs as its own process (`python intention.py SPEC`) with a program whose faulty function
holds both bodies, the faulty and the repaired one, and a switch (`bug_corpus.combined`). At the
start of each call that is asked about the process forks. The child turns the switch and runs on to
the end of that call, on the very objects that the call was given; the parent does the same without
the switch. A call is right if both leave the same behind: outcome, all that can be reached from its
inputs and from the program's modules, and what was printed.

So the answer is not taken from whence in any part: neither from its recorder, nor its values, nor
its reference oracle. It is what a person would say who knows the repaired program by heart.

A call is known by its function and by how many calls of that function started before it. (A
recording numbers generators by when they were made, and they start later.)

It also reports the input of every call. Compared with that of the repaired program, this shows
which calls got input that they should never get (`bug_corpus.misled`).

Invariant: each function starts as often as was recorded. If not, all answers are refused.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import enum
import gc
import hashlib
import io
import json
import os
import re
import select
import signal
import sys
import types
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

TOOL = 4
SECONDS = 10
SWITCH = "__intended__"
MOST_PARTS, DEEPEST = 400, 6
_WORD = re.compile(r"\d+(?:\.\d+)*|[^\W\d]\w*|\s+|[^\w\s]|\w+")
_CONTAINER = re.compile(r"\w+ of \d+")
_TRANSPARENT = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
_BY_TEXT = {"decimal", "fractions", "datetime", "pathlib", "re", "uuid"}
_CODE = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type)
_ITERATORS = (
    "list_iterator", "list_reverseiterator", "tuple_iterator", "str_ascii_iterator", "enumerate",
    "range_iterator", "zip", "map", "filter", "reversed",
)  # fmt: skip


class Dump:
    """Whatever can be reached, as text that is equal for equal content and equal sharing."""

    def __init__(self, modules: set[str]) -> None:
        self._modules = modules
        self._seen: dict[int, int] = {}
        self._kept: list[object] = []

    def of(self, value: Any) -> Any:
        kind = type(value)
        if value is None or kind in (bool, int, str, bytes, complex):
            return [kind.__name__, repr(value)]
        if kind is float:
            return ["float", value.hex()]
        if kind in (tuple, frozenset):
            parts = [self.of(each) for each in value]
            return [kind.__name__, parts if kind is tuple else sorted(parts, key=json.dumps)]
        if kind is range or kind.__module__ in _BY_TEXT:
            return ["text", repr(value)]
        if isinstance(value, types.ModuleType):
            return ["module", value.__name__]
        if isinstance(value, type) and value.__module__ not in self._modules:
            return ["class", f"{value.__module__}.{value.__qualname__}"]
        if id(value) in self._seen:
            return ["same", self._seen[id(value)]]
        self._seen[id(value)] = len(self._seen)
        self._kept.append(value)
        return [kind.__name__, self._content(value, kind)]

    def _content(self, value: Any, kind: type) -> Any:
        if isinstance(value, type):
            own = vars(value).items()
            return [value.__qualname__, [[k, self.of(v)] for k, v in own if k[:2] != "__"]]
        if isinstance(value, types.FunctionType):
            names = value.__code__.co_freevars
            cells = [
                [n, self._cell(c)] for n, c in zip(names, value.__closure__ or (), strict=True)
            ]
            given = [self.of(value.__defaults__), self.of(value.__kwdefaults__)]
            return [value.__module__, value.__qualname__, cells, given, self.of(value.__dict__)]
        if isinstance(value, types.MethodType):
            return [value.__func__.__qualname__, self.of(value.__self__)]
        if isinstance(value, types.GeneratorType | types.CoroutineType):
            frame = getattr(value, "gi_frame", None) or getattr(value, "cr_frame", None)
            return [value.__qualname__, self._names(frame.f_locals) if frame else "ended"]
        if isinstance(value, property):
            return [self.of(value.fget), self.of(value.fset)]
        if kind.__name__ in _ITERATORS and kind.__module__ in ("builtins", "itertools"):
            return self.of(value.__reduce__()[1:])
        if kind.__module__ == "itertools":
            return [self.of(each) for each in gc.get_referents(value) if each is not kind]
        if kind.__name__ == "SimpleQueue":
            held = []
            while not value.empty():
                held.append(value.get_nowait())
            for each in held:
                value.put(each)
            return [self.of(each) for each in held]
        if kind.__module__ == "_asyncio" or kind.__module__.startswith("asyncio.tasks"):
            done = value.done() and not value.cancelled()
            return [self.of(value.exception()), self.of(value.result())] if done else "waiting"
        if kind.__module__ == "numpy" and kind.__name__ == "ndarray":
            return [str(value.dtype), value.shape, value.tobytes().hex()]
        return self._instance(value, kind)

    def _instance(self, value: Any, kind: type) -> Any:
        if isinstance(value, BaseException):
            return [self.of(value.args), self._names(value.__dict__)]
        held: list[Any] = []
        if isinstance(value, dict):
            # One that keeps an order of its own has it from its own method.
            pairs = (
                OrderedDict.items(value) if isinstance(value, OrderedDict) else dict.items(value)
            )
            held = [[self.of(k), self.of(v)] for k, v in pairs]
        elif isinstance(value, list | deque):
            items = list.__iter__(value) if isinstance(value, list) else deque.__iter__(value)
            held = [self.of(item) for item in items]
        elif isinstance(value, set):
            held = sorted((self.of(each) for each in set.__iter__(value)), key=json.dumps)
        elif isinstance(value, tuple | int | float | str):
            held = [repr(value) if not isinstance(value, tuple) else [self.of(e) for e in value]]
        machinery = kind.__module__.split(".")[0] in ("threading", "_thread", "asyncio", "weakref")
        if machinery and kind.__name__ not in ("Queue", "Event"):
            return "opaque"
        names = dict(getattr(value, "__dict__", {})) if hasattr(kind, "__dictoffset__") else {}
        for base in kind.__mro__:
            for name, member in vars(base).items():
                if isinstance(member, types.MemberDescriptorType):
                    try:
                        names.setdefault(name, member.__get__(value))
                    except AttributeError:
                        continue
        names.pop("_loop", None)
        return [held, self._names(names)]

    def _cell(self, cell: Any) -> Any:
        try:
            return self.of(cell.cell_contents)
        except ValueError:
            return "empty"

    def _names(self, names: dict[str, Any]) -> Any:
        return [[name, self.of(names[name])] for name in sorted(names) if name != SWITCH]


def parts(root: str, value: Any) -> dict[str, str]:
    """The parts of a value by the paths that a person would mark them by, outer ones first."""
    found: dict[str, str] = {}
    for path, part, held in _walk(root, value):
        plain = part is None or type(part) in (bool, int, float, str, bytes)
        plain = plain or type(part).__module__ in _BY_TEXT or isinstance(part, enum.Enum)
        if held is not None:
            found[path] = f"{type(part).__name__} of {len(held)}"
        else:
            found[path] = repr(part) if plain else type(part).__name__
    return found


def members(root: str, value: Any) -> dict[str, str]:
    """The members of the sets in a value, by the paths of the sets."""
    return {
        path: repr(sorted(map(repr, part)))
        for path, part, _ in _walk(root, value)
        if type(part) in (set, frozenset)
    }


def _walk(root: str, value: Any) -> Iterator[tuple[str, Any, list[tuple[str, Any]] | None]]:
    """The parts of a value with their paths and what they hold, outer ones first."""
    pending = [(root, value, 0)]
    seen = set()
    for count, (path, part, depth) in enumerate(pending):
        if count >= MOST_PARTS:
            return
        held = _held(part) if depth < DEEPEST and id(part) not in seen else None
        if held is not None:
            seen.add(id(part))
            pending += [(path + step, each, depth + 1) for step, each in held]
        yield path, part, held


def _held(value: Any) -> list[tuple[str, Any]] | None:
    if type(value) in (list, tuple):
        return [(f"[{number}]", each) for number, each in enumerate(value)]
    if isinstance(value, dict):
        keys = [key for key in dict.keys(value) if type(key) in (int, str)]
        return [(f"[{key!r}]", dict.__getitem__(value, key)) for key in keys]
    if isinstance(value, types.ModuleType | type | types.FunctionType | BaseException | enum.Enum):
        return None
    names = getattr(value, "__dict__", None)
    return None if names is None else [(f".{name}", names[name]) for name in names]


def outcome_parts(outcome: list[Any]) -> dict[str, str]:
    """The parts of what came of a call; an exception is one part."""
    if outcome[0] == "raised":
        return {"raised": f"{type(outcome[1]).__name__} {outcome[1].args!r:.200}"}
    return parts("result", outcome[1]) if outcome[0] == "returned" else {}


def wrong_parts(ours: dict[str, str], intended: dict[str, str]) -> list[str]:
    """Which parts are not as intended: single values first, then what lacks or has too much."""
    wrong = [path for path in ours if ours[path] != intended.get(path)]
    if "raised" in intended and "raised" not in ours:
        return []  # it is not a part that is wrong
    single = [path for path in wrong if " of " not in ours[path]]
    first = [path + _letters(ours[path], intended[path]) for path in single[:1] if path in intended]
    return [*first, *single, *(path for path in reversed(wrong) if path not in single)]


def differences(ours: dict[str, str], intended: dict[str, str]) -> dict[str, list[str | None]]:
    """The parts that the repaired program would have left otherwise: as they are and as they would
    be, None where there is none. Two containers differ in their parts, so they are left out."""
    found = {}
    for path in dict.fromkeys([*ours, *intended]):
        pair = [ours.get(path), intended.get(path)]
        if pair[0] != pair[1] and not all(text and _CONTAINER.fullmatch(text) for text in pair):
            found[path] = pair
    return found


def _letters(ours: str, intended: str) -> str:
    if ours[:1] not in "'\"" or intended[:1] not in "'\"":
        return ""
    return wrong_letters(ast.literal_eval(ours), ast.literal_eval(intended))


def wrong_letters(ours: str, intended: str) -> str:
    """The step to what one would point at in a text: the first word, number or sign that is wrong,
    or that stands where something is missing."""
    words, others = (list(_WORD.finditer(text)) for text in (ours, intended))
    matcher = SequenceMatcher(None, [w[0] for w in words], [w[0] for w in others], autojunk=False)
    for what, first, last, _, _ in matcher.get_opcodes():
        if what != "equal" and words:
            near = words[first : max(last, first + 1)] or words[-1:]
            wrong = next((word for word in near if not word[0].isspace()), near[0])
            return f"[{wrong.start()}:{wrong.end()}]"
    return ""


@dataclass
class Watch:
    """A call that is under way."""

    number: int
    inputs: list[Any]
    names: list[str] = field(default_factory=list)
    intended: bytes = b""
    parts: dict[str, str] = field(default_factory=dict)
    more: dict[str, str] = field(default_factory=dict)
    """What a person sees, but cannot mark by a path: sets, variables of others, printed text."""
    yields: int = 0
    seen: list[str] = field(default_factory=list)
    printed_from: int = 0


class Intention:
    """Watches the program."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.folder = os.path.realpath(spec["folder"])
        self.wanted = {(name, start): number for name, start, number in spec["wanted"]}
        self.counts: Counter[str] = Counter()
        self.verdicts: dict[int, str] = {}
        self.wrong: dict[int, list[str]] = {}
        self.differences: dict[int, dict[str, list[str | None]]] = {}
        self.given: list[tuple[str, str, dict[str, str]]] = []
        """Of each call: its function, its place in the tree of calls, the parts of its inputs."""
        self._places: dict[Any, tuple[str, Counter[str]]] = {}
        self.watched: dict[Any, Watch] = {}
        self.report = -1
        self.target: Any = None
        self.out = io.StringIO()
        self._is_user: dict[Any, bool] = {}

    # --- events ----------------------------------------------------------------------------------

    def start(self) -> None:
        if sys.version_info < (3, 12):
            raise RuntimeError("the simulated person needs sys.monitoring")
        monitoring = sys.monitoring
        monitoring.use_tool_id(TOOL, "intention")
        events = monitoring.events
        callbacks: dict[int, Callable[..., object]] = {
            events.PY_START: self.on_start, events.PY_RESUME: self.on_resume,
            events.PY_THROW: self.on_throw, events.PY_YIELD: self.on_yield,
            events.PY_RETURN: self.on_return, events.PY_UNWIND: self.on_unwind,
        }  # fmt: skip
        for event, callback in callbacks.items():
            monitoring.register_callback(TOOL, event, callback)
        monitoring.set_events(TOOL, sum(callbacks))

    def is_user(self, code: Any) -> bool:
        known = self._is_user.get(code)
        if known is None:
            name = code.co_name
            inside = os.path.realpath(code.co_filename).startswith(self.folder + os.sep)
            known = inside and name not in _TRANSPARENT and not name.startswith("<generic ")
            self._is_user[code] = known
        return known

    def on_start(self, code: Any, offset: int) -> None:
        if not self.is_user(code):
            return
        name = code.co_qualname
        number = self.wanted.get((name, self.counts[name]))
        self.counts[name] += 1
        if self.report >= 0:
            return
        frame = sys._getframe(1)
        count = code.co_argcount + code.co_kwonlyargcount
        count += bool(code.co_flags & 4) + bool(code.co_flags & 8)
        inputs = {name: frame.f_locals.get(name) for name in code.co_varnames[:count]}
        self._note(name, frame, inputs)
        if number is not None:
            self._ask(number, frame, inputs)

    def _note(self, name: str, frame: Any, inputs: dict[str, Any]) -> None:
        outer = frame.f_back
        while outer is not None and outer not in self._places:
            outer = outer.f_back
        above, counts = self._places.setdefault(outer, ("", Counter()))
        place = hashlib.sha256(f"{above} {name} {counts[name]}".encode()).hexdigest()
        counts[name] += 1
        self._places[frame] = place, Counter()
        found: dict[str, str] = {}
        for root, value in inputs.items():
            found.update(parts(root, value))
        self.given.append((name, place, found))

    def _ask(self, number: int, frame: Any, inputs: dict[str, Any]) -> None:
        watch = Watch(number, list(inputs.values()), list(inputs), printed_from=self.out.tell())
        read, write = os.pipe()
        loop = _running_loop()
        child = os.fork()
        self.watched[frame] = watch
        if child == 0:
            os.close(read)
            if sys.version_info >= (3, 14):  # where the loop runs is told by process from there on
                _run_on(*loop)
            self.watched = {frame: watch}
            self.report, self.target = write, frame
            builtins.__dict__[SWITCH] = True
            return
        os.close(write)
        ready, _, _ = select.select([read], [], [], SECONDS)
        told = b""
        while ready:
            more = os.read(read, 1 << 16)
            if not more:
                break
            told += more
        watch.intended = told
        os.close(read)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)

    def on_resume(self, code: Any, offset: int) -> None:
        frame = sys._getframe(1)
        if self.target is frame:
            builtins.__dict__[SWITCH] = True
        watch = self.watched.get(frame)
        if watch is not None:
            watch.printed_from = self.out.tell()

    def on_throw(self, code: Any, offset: int, error: BaseException) -> None:
        self.on_resume(code, offset)

    def on_yield(self, code: Any, offset: int, value: object) -> None:
        frame = sys._getframe(1)
        watch = self.watched.get(frame)
        if watch is None:
            return
        if not code.co_flags & 0x80:  # what a coroutine waits for is the event loop's business
            watch.seen.append(self._state(frame, watch, ["yielded", value]))
            watch.parts.update(parts(f"yielded[{watch.yields}]", value))
            watch.yields += 1
        if self.target is frame:
            builtins.__dict__[SWITCH] = False

    def on_return(self, code: Any, offset: int, value: object) -> None:
        self._ended(sys._getframe(1), ["returned", value])

    def on_unwind(self, code: Any, offset: int, error: BaseException) -> None:
        frame = sys._getframe(1)
        left = isinstance(error, GeneratorExit)
        self._ended(frame, ["left"] if left else ["raised", error])

    # --- comparing -------------------------------------------------------------------------------

    def _ended(self, frame: Any, outcome: list[Any]) -> None:
        self._places.pop(frame, None)
        watch = self.watched.pop(frame, None)
        if watch is None:
            return
        last = "left" if outcome == ["left"] else self._state(frame, watch, outcome)
        watch.parts.update(outcome_parts(outcome))
        for name, value in zip(watch.names, watch.inputs, strict=True):
            watch.parts.update(parts(name, value))
        self._look_around(frame, watch, outcome)
        self._tell(watch, [*watch.seen, last])

    def _look_around(self, frame: Any, watch: Watch, outcome: list[Any]) -> None:
        """Note what a call left behind besides what can be marked."""
        code, names = frame.f_code, frame.f_globals
        for name in code.co_freevars:
            watch.more.update(parts(name, frame.f_locals.get(name)))
        for name in code.co_names:
            if name in names and not isinstance(names[name], _CODE):
                watch.more.update(parts(name, names[name]))
        seen = [*zip(watch.names, watch.inputs, strict=True), ("result", outcome[-1])]
        for root, value in seen:
            watch.more.update(members(root, value))
        watch.more["printed"] = self.out.getvalue()[watch.printed_from :]

    def _tell(self, watch: Watch, seen: list[str]) -> None:
        digest = hashlib.sha256("\n".join(seen).encode()).hexdigest()
        if self.report >= 0:
            with os.fdopen(self.report, "w") as told:
                json.dump([digest, watch.parts, watch.more], told)
            os._exit(0)
        if not watch.intended:
            self.verdicts[watch.number] = "unknown"
            return
        intended, parts, more = json.loads(watch.intended)
        self.verdicts[watch.number] = "right" if intended == digest else "wrong"
        if intended != digest and parts and watch.parts:
            self.wrong[watch.number] = wrong_parts(watch.parts, parts)[:20]
        if intended != digest:
            ours, theirs = {**watch.parts, **watch.more}, {**parts, **more}
            self.differences[watch.number] = differences(ours, theirs)

    def _state(self, frame: Any, watch: Watch, outcome: list[Any]) -> str:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(20_000)
        try:
            modules = {
                name: module
                for name, module in list(sys.modules.items())
                if os.path.realpath(getattr(module, "__file__", None) or "/").startswith(
                    self.folder + os.sep
                )
            }
            dump = Dump(set(modules))
            free = [frame.f_locals.get(name) for name in frame.f_code.co_freevars]
            printed = self.out.getvalue()[watch.printed_from :]
            state = [dump.of(outcome), [dump.of(each) for each in (*watch.inputs, *free)], printed]
            for name in sorted(modules):
                own = vars(modules[name])
                state.append([[k, dump.of(own[k])] for k in sorted(own) if k[:2] != "__"])
            return hashlib.sha256(json.dumps(state).encode()).hexdigest()
        finally:
            sys.setrecursionlimit(limit)

    def finish(self) -> None:
        if sys.version_info >= (3, 12):
            sys.monitoring.set_events(TOOL, 0)
        for watch in list(self.watched.values()):
            self._tell(watch, [*watch.seen, "left"])


def _running_loop() -> tuple[Any, Any]:
    """The event loop that runs, and its task."""
    asyncio: Any = sys.modules.get("asyncio")
    loop = asyncio._get_running_loop() if hasattr(asyncio, "current_task") else None
    return loop, asyncio.current_task(loop) if loop is not None else None


def _run_on(loop: Any, task: Any) -> None:
    """In a fork, where no event loop is said to run any more: this one goes on all the same."""
    asyncio: Any = sys.modules.get("asyncio")
    if loop is not None:
        asyncio._set_running_loop(loop)
    if task is not None and asyncio.current_task(loop) is None:
        asyncio.tasks._enter_task(loop, task)


def replaced(key: str, default: object, repaired: object) -> object:
    """The default of a parameter, which the repaired function has another one for."""
    _defaults[key] = (default, repaired)
    return default


def repaired(key: str, value: object) -> object:
    """What the repaired function would have been given."""
    default, instead = _defaults[key]
    return instead if value is default else value


_defaults: dict[str, tuple[object, object]] = {}


def main() -> None:
    spec = json.loads(Path(sys.argv[1]).read_text())
    script = Path(spec["script"])
    intention = Intention(spec)
    builtins.__dict__[SWITCH] = spec["repaired"]
    builtins.__dict__["__replaced__"], builtins.__dict__["__repaired__"] = replaced, repaired
    out = sys.stdout
    sys.argv = [spec["script"], *spec["argv"]]
    sys.path[0] = str(script.parent)
    sys.stdin, sys.stdout = io.StringIO(spec["stdin"]), intention.out
    code = compile(script.read_text(), str(script), "exec")
    module = types.ModuleType("__main__")
    module.__file__ = str(script)
    sys.modules["__main__"] = module
    intention.start()
    with contextlib.suppress(BaseException):  # how it ends is what is looked at
        exec(code, vars(module))
    intention.finish()
    result = {
        "verdicts": intention.verdicts, "wrong": intention.wrong,
        "differences": intention.differences,
        "given": intention.given, "counts": intention.counts,
    }  # fmt: skip
    sys.stdout = out
    json.dump(result, out)


if __name__ == "__main__":
    main()
