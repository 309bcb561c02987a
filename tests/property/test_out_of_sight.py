"""No diagnosis without evidence: what the recorder could not see is the other candidate.

A generated program is a chain of functions, each of which calls the next. One of them leaves part
of its work to code that is not recorded. There is one fault, in a function or in that hidden part.
The twin without the fault answers the questions. Law: a call outside the hidden part is called at
fault only if its function has the fault, or if the diagnosis names the hidden part as the other
candidate.
"""

from __future__ import annotations

import concurrent.futures
import importlib
import itertools
import os
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from whence.langs.python.frontend import PythonFrontend
from whence.langs.python.record.recording import Recording, Settings
from whence.langs.python.record.user_code import UserCodeRules
from whence.model.diagnosis import Status
from whence.model.question import Question
from whence.model.value import Value, show
from whence.model.verdict import Answer, Verdict
from whence.report.explanation import explain
from whence.report.source import Sources
from whence.session.state import State
from whence.testing.answerer import run

HIDDEN = {
    "process": """
    ends = os.pipe()
    if os.fork() == 0:
        os.write(ends[1], str(hidden(x)).encode())
        os._exit(0)
    os.wait()
    x = int(os.read(ends[0], 100))
    os.close(ends[0])
    os.close(ends[1])
""",
    "left out": """
    x = hidden(x)
""",
    "library": """
    x = hidden_library.apply(same, x)
""",
    "library's constant": """
    x = x + hidden_library.SHIFT
""",
    "library's function as a key": """
    x = min([x, x + 7], key=hidden_library.key)
""",
    "decorator": """
    x = decorated(x)
""",
    "decorated method": """
    x = HOLDER.decorated(x)
""",
    "descriptor": """
    x = x + HOLDER.field
""",
    "class": """
    x = x + Derived(x).start
""",
    "keys": """
    x = x + (7 if hidden_library.Box() in KEYS else 0)
""",
    "stream": """
    for item in stream():
        x = x + item
""",
    "import": """
    import hidden_import
    x = x + hidden_import.VALUE
""",
    "await": """
    x = hidden_library.drive(waits(x))
""",
    "exec": """
    space = {"x": x}
    exec(HIDDEN_TEXT, space)
    x = space["x"]
""",
    "state": """
    x = x + STATE
""",
    "thread": """
    REQUESTS.put(x)
    x = REPLIES.get()
""",
    "thread and shared list": """
    SHARED.append(x)
    REQUESTS.put(None)
    while len(SHARED) < 2:
        time.sleep(0)
    x = SHARED.pop()
    SHARED.clear()
""",
    "pool": """
    x = POOL.submit(hidden_library.apply, same, x).result()
""",
    "compiled": """
    x = hidden_compiled.apply(same, x)
""",
    "compiled object": """
    x = COMPILED + x
""",
}
"""What a function leaves to code that is not recorded."""
WAYS = {
    "global": "box = BOX",
    "item": "box = BOXES[0]",
    "value": "box = NAMED['box']",
    "callee": "box = get_box()",
    "attribute": "box = HOLDER.box",
    "own class": "box = DERIVED",
    "loop": "box = next(box for box in BOXES)",
    "filled": "boxes = []\n    fill(boxes)\n    box = boxes[-1]",
    "pair": "_, box = pair()",
}
"""How a function gets an object of the library."""
OPERATIONS = {
    "property": "x = x + box.total",
    "missing attribute": "x = x + box.missing",
    "set attribute": "box.level = 1\n    x = x + box.state",
    "operator": "x = box + x",
    "reflected operator": "x = x + box",
    "augmented": "x += box",
    "sign": "x = x + (-box)",
    "subscript": "x = x + box[0]",
    "deleted item": "del box[0]\n    x = x + box.state",
    "call": "x = x + box()",
    "method": "x = x + box.get()",
    "with": "with box as extra:\n        x = x + extra",
    "for": "for item in box:\n        x = x + item",
    "comprehension": "x = x + [item for item in box][0]",
    "unpacking": "(extra,) = box\n    x = x + extra",
    "star": "x = add(x, *box)",
    "double star": "x = add(x, **box)",
    "comparison": "x = x + (7 if box < 1 else 0)",
    "comparison of lists": "x = x + (7 if [box] == [1] else 0)",
    "membership": "x = x + (7 if 1 in box else 0)",
    "truth": "if box:\n        x = x + 7",
    "choice": "x = x + (7 if box else 0)",
    "and": "x = x + ((box and 7) or 0)",
    "not": "x = x + (0 if not box else 7)",
    "f-string": "x = x + int(f'{box}')",
    "percent": "x = x + int('%s' % box)",
    "format": "x = x + int('{}'.format(box))",
    "str": "x = x + int(str(box))",
    "len": "x = x + len(box)",
    "sum": "x = sum([box], x)",
    "sorted": "x = x + (7 if sorted([1, box])[1] == 1 else 0)",
    "match": "match box:\n        case hidden_library.Box(total=7):\n            x = x + 7",
    "list": "x = x + list(box)[0]",
    "isinstance": "x = x + (7 if isinstance(x, box) else 0)",
}
"""What runs a method of such an object."""
SEEN = {
    "operators": "x = -(-x) + TABLE['one'] - 1",
    "result": "x = add(x, 1) - 1",
    "own attribute": "x = x + COUNTER.count - 1",
    "own operator": "x = (COUNTER + x) - 1",
    "own iteration": "for item in COUNTER:\n        x = x + item - 1",
    "new own object": "counter = Counter(1)\n    x = x + counter.count - 1",
    "own property": "x = x + COUNTER.next - 2",
    "own method": "x = COUNTER.added(x) - 1",
    "own context": "with COUNTER as count:\n        x = x + count - 1",
    "loop": "for name, value in TABLE.items():\n        x = x + value * len(name) - 3",
    "comprehension": "x = x + sum(value for value in TABLE.values() if value) - 1",
    "nested": "x = x + [row[0] for row in ROWS][0] - 1",
    "unpacking": "first, *rest = ROWS[0]\n    x = x + first + rest[0] - 3",
    "texts": "text = f'{x:>4}' + '%s' % x\n    x = int(text.strip().split()[0][:0] or x)",
    "sorted": "x = x + sorted(ROWS, key=lambda row: row[1])[0][0] - 1",
    "filled list": "found = []\n    found.append(x)\n    fill_numbers(found)\n    x = found[0]",
    "dates": "x = x + (datetime.date(2024, 1, 2) - DAY).days - 1",
    "match": "match ROWS[0]:\n        case [first, _]:\n            x = x + first - 1",
    "exception": "try:\n        int('')\n    except ValueError as e:\n        x += len(e.args) - 1",
    "generator": "for item in numbers():\n        x = x + item - 1",
    "bound function": "work = add\n    x = work(x)",
    "default": "x = TABLE.get('none', x)",
    "global function": "x = FUNCTIONS['add'](x)",
}
"""What runs no code that was not recorded."""
LIBRARY = """
import functools
SHIFT = 0
def apply(function, x):
    return function(x) + SHIFT
def key(x):
    return -x if SHIFT else x
def stream():
    yield SHIFT
def drive(coroutine):
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
def decorate(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return function(*arguments) + SHIFT
    return wrapper
class Field:
    def __get__(self, instance, owner):
        return SHIFT
class Box:
    __match_args__ = ("total",)
    def __init__(self, *arguments):
        self.__dict__["state"] = 0
        self.__dict__["start"] = SHIFT
    @property
    def total(self):
        return SHIFT
    def __getattr__(self, name):
        if name != "missing":
            raise AttributeError(name)
        return SHIFT
    def __setattr__(self, name, value):
        self.__dict__["state"] = SHIFT
    def __add__(self, other):
        return other + SHIFT
    __radd__ = __add__
    def __neg__(self):
        return SHIFT
    __call__ = get = __len__ = __enter__ = __neg__
    def __delitem__(self, key):
        self.__dict__["state"] = SHIFT
    def __getitem__(self, key):
        if key == 1:
            raise IndexError
        return SHIFT
    def __iter__(self):
        return iter([SHIFT])
    def keys(self):
        return ["more"]
    def __exit__(self, *exception):
        pass
    def __lt__(self, other):
        return bool(SHIFT)
    __eq__ = __contains__ = __instancecheck__ = __lt__
    def __hash__(self):
        return 1
    def __bool__(self):
        return bool(SHIFT)
    def __str__(self):
        return str(SHIFT)
    def __format__(self, form):
        return str(SHIFT)
    def __await__(self):
        return SHIFT
        yield
"""
IMPORTED = "import hidden_library\nVALUE = hidden_library.SHIFT\n"
COMPILED = """
#include <Python.h>
static long shift;
static PyObject *set_shift(PyObject *self, PyObject *number) {
    shift = PyLong_AsLong(number);
    Py_RETURN_NONE;
}
static PyObject *shifted(PyObject *value) {
    if (value == NULL) return NULL;
    PyObject *number = PyLong_FromLong(PyLong_AsLong(value) + shift);
    Py_DECREF(value);
    return number;
}
static PyObject *apply(PyObject *self, PyObject *arguments) {
    PyObject *function, *x;
    if (!PyArg_ParseTuple(arguments, "OO", &function, &x)) return NULL;
    return shifted(PyObject_CallOneArg(function, x));
}
static PyObject *add(PyObject *left, PyObject *right) {
    return shifted(Py_NewRef(right));
}
static PyNumberMethods numbers = {.nb_add = add};
static PyTypeObject Number = {
    PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "hidden_compiled.Number",
    .tp_basicsize = sizeof(PyObject), .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = PyType_GenericNew, .tp_as_number = &numbers,
};
static PyMethodDef functions[] = {
    {"set_shift", set_shift, METH_O, ""}, {"apply", apply, METH_VARARGS, ""}, {0},
};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "hidden_compiled", "", -1, functions,
};
PyMODINIT_FUNC PyInit_hidden_compiled(void) {
    PyObject *module = PyModule_Create(&definition);
    if (module && PyModule_AddType(module, &Number) < 0) return NULL;
    return module;
}
"""
DEFINITIONS = """
import datetime
import concurrent.futures, os, queue, threading, time
import hidden_library, hidden_compiled
def hidden(x):
    return x + HIDDEN_SHIFT
def same(x):
    return x
def add(x, more=0):
    return x + more
def get_box():
    return BOX
def pair():
    return 1, BOX
def fill(boxes):
    boxes.append(BOX)
def stream():
    return hidden_library.stream()
async def waits(x):
    return x + await BOX
@hidden_library.decorate
def decorated(x):
    return x
class Derived(hidden_library.Box):
    pass
class Holder:
    field = hidden_library.Field()
    def __init__(self):
        self.box = BOX
    @hidden_library.decorate
    def decorated(self, x):
        return x
class Counter:
    def __init__(self, count):
        self.count = count
    @property
    def next(self):
        return self.count + 1
    def added(self, x):
        return self.count + x
    __add__ = added
    def __iter__(self):
        return iter([self.count])
    def __enter__(self):
        return self.count
    def __exit__(self, *exception):
        pass
def fill_numbers(found):
    found.append(1)
def numbers():
    yield 1
COUNTER, TABLE, ROWS, DAY = Counter(1), {"one": 1}, [[1, 2]], datetime.date(2024, 1, 1)
FUNCTIONS = {"add": add}
BOX = hidden_library.Box()
DERIVED = Derived()
BOXES, NAMED, KEYS = [BOX], {"box": BOX}, {BOX: 0}
HOLDER = Holder()
COMPILED = hidden_compiled.Number()
REQUESTS, REPLIES, SHARED = queue.SimpleQueue(), queue.SimpleQueue(), []
def serve():
    while (x := REQUESTS.get()) != "end":
        if x is None:
            SHARED.append(SHARED[0] + HIDDEN_SHIFT)
        else:
            REPLIES.put(x + HIDDEN_SHIFT)
"""
THREADED = ("thread", "thread and shared list", "pool")
EXAMPLES = 2_000 if os.environ.get("WHENCE_HYPOTHESIS_PROFILE") == "soak" else 150
_numbers = itertools.count()


@dataclass(frozen=True)
class Program:
    """A chain of functions f0, f1, …; `faulty` is the one with the fault, None: the hidden part."""

    hidden: str
    steps: tuple[int, ...]
    place: int
    faulty: int | None
    in_body: bool
    """Whether the last statement is one of a cell that uses what another one computed."""

    def text(self, *, repaired: bool) -> str:
        wrong = 0 if repaired or self.faulty is not None else 7
        lines = [f"HIDDEN_TEXT = 'x = x + {wrong}'", f"STATE = HIDDEN_SHIFT = {wrong}", DEFINITIONS]
        for number, step in enumerate(self.steps):
            lines.append(f"def f{number}(x):")
            if number == self.place:
                lines.append(self.hidden_work)
            if number + 1 < len(self.steps):
                lines.append(f"    x = f{number + 1}(x)")
            extra = 100 if number == self.faulty and not repaired else 0
            lines.append(f"    return x + {step + extra}")
        return "\n".join(lines) + "\n"

    @property
    def hidden_work(self) -> str:
        way, _, operation = self.hidden.partition(": ")
        if way == "seen":
            return f"    {SEEN[operation]}"
        if not operation:
            return HIDDEN[self.hidden].strip("\n")
        return f"    {WAYS[way]}\n    {OPERATIONS[operation]}"


@st.composite
def programs(draw: st.DrawFn) -> Program:
    steps = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    place = draw(st.integers(0, len(steps) - 1))
    faulty = draw(st.one_of(st.none(), st.integers(0, len(steps) - 1)))
    ways = [f"{way}: {operation}" for way in WAYS for operation in OPERATIONS]
    hidden = draw(st.one_of(st.sampled_from(sorted(HIDDEN)), st.sampled_from(ways)))
    in_body = draw(st.integers(0, 5)) == 0
    return Program(hidden, steps, place, faulty, in_body)


@pytest.fixture(scope="module")
def compiled_module(tmp_path_factory) -> Path:
    """The folder with the compiled library."""
    folder: Path = tmp_path_factory.mktemp("compiled")
    source = folder / "hidden_compiled.c"
    source.write_text(COMPILED)
    include = sysconfig.get_path("include")
    target = folder / f"hidden_compiled{sysconfig.get_config_var('EXT_SUFFIX')}"
    command = ["cc", "-shared", "-fPIC", "-w", f"-I{include}", str(source), "-o", str(target)]
    subprocess.run(command, check=True)
    return folder


@contextmanager
def library(folder: Path, compiled: Path) -> Iterator[Any]:
    """The libraries that the program imports, as if they were installed."""
    packages = folder / "site-packages"
    packages.mkdir()
    (packages / "hidden_library.py").write_text(LIBRARY)
    (packages / "hidden_import.py").write_text(IMPORTED)
    sys.path[:0] = [str(packages), str(compiled)]
    importlib.invalidate_caches()
    try:
        yield importlib.import_module("hidden_library")
    finally:
        sys.path.remove(str(packages))
        sys.path.remove(str(compiled))
        sys.modules.pop("hidden_library", None)
        sys.modules.pop("hidden_import", None)
        sys.path_importer_cache.pop(str(packages), None)


@contextmanager
def shifted(module: Any, shift: int) -> Iterator[None]:
    """The libraries, wrong by so much."""
    compiled = importlib.import_module("hidden_compiled")
    module.SHIFT = shift
    compiled.set_shift(shift)
    sys.modules.pop("hidden_import", None)
    try:
        yield
    finally:
        module.SHIFT = 0
        compiled.set_shift(0)
        sys.modules.pop("hidden_import", None)


@contextmanager
def threads_of(program: Program, space: dict[str, Any]) -> Iterator[None]:
    """The threads that the program has already begun."""
    if program.hidden not in THREADED:
        yield
        return
    thread = threading.Thread(target=space["serve"], daemon=True)
    thread.start()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        space["POOL"] = pool
        yield
    space["REQUESTS"].put("end")
    thread.join()


def number_of(value: Value | None) -> int:
    assert value is not None
    return int(show(value))


class Twin:
    """Answers as the program without the fault would."""

    def __init__(self, program: Program) -> None:
        self.space: dict[str, Any] = {"__name__": "program"}
        self.program = program

    def start(self, file: Path) -> None:
        exec(compile(self.program.text(repaired=True), str(file), "exec"), self.space)
        self.own = {name for name in self.space if name[0] == "f" and name[1:].isdigit()}

    def judge(self, question: Question) -> Answer:
        call, node = question.call, question.node
        reads = {binding.name: binding.value for binding in call.reads}
        if "STATE" in reads and number_of(reads["STATE"]) != self.space["STATE"]:
            return Answer(node, Verdict.INADMISSIBLE)
        name = call.function.qualname
        if node == 0:
            return Answer(node, Verdict.WRONG)
        if name == "<module>":
            before = self.space["f0"](1)
            if "early" in reads and number_of(reads["early"]) != before:
                return Answer(node, Verdict.INADMISSIBLE)
            return Answer(node, Verdict.WRONG)
        if name == "waits":
            right = self.space["hidden_library"].drive(self.space[name](1)) == 1
            result = number_of(call.outcome.value) - number_of(call.arguments[0].value)
            return Answer(node, Verdict.RIGHT if right and result == 0 else Verdict.WRONG)
        if name not in self.own:
            return Answer(node, Verdict.RIGHT)  # it hands on what it is given
        given_number = number_of(call.arguments[0].value)
        right = self.space[name](given_number) == number_of(call.outcome.value)
        return Answer(node, Verdict.RIGHT if right else Verdict.WRONG)


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
@pytest.mark.timeout(1800)
@given(program=programs())
@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_hidden_part_is_the_other_candidate(program: Program, compiled_module: Path) -> None:
    found = diagnosed(program, compiled_module)
    if found is None:
        return
    blamed, headline = found
    if program.faulty is not None and not program.in_body:
        assert blamed == f"f{program.faulty}"
    else:
        hidden = "what set STATE before it" if program.hidden == "state" else "out of sight"
        assert hidden in headline or (program.in_body and "out of sight" in headline), headline


@pytest.mark.parametrize("operation", sorted(SEEN))
def test_what_was_recorded_or_is_builtin_is_not_named(operation, compiled_module: Path) -> None:
    for place in (0, 1):
        program = Program(f"seen: {operation}", (1, 2), place, place, False)
        found = diagnosed(program, compiled_module)
        assert found is not None
        blamed, headline = found
        assert blamed == f"f{place}"
        assert "out of sight" not in headline, headline


def diagnosed(program: Program, compiled: Path) -> tuple[str, str] | None:
    """The function that is blamed for the program's fault, and the first line of the report."""
    twin = Twin(program)
    hidden_wrong = 7 if program.faulty is None else 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / f"program_{next(_numbers)}.py"
        file.write_text(program.text(repaired=False))
        body = "print(early)\n" if program.in_body else "early = f0(1)\nprint(early)\n"
        cell = folder / f"cell_{file.stem}.py"
        cell.write_text(body)
        space: dict[str, Any] = {"__name__": file.stem, "__file__": str(file), "print": str}
        with library(folder, compiled) as module:
            exec(compile(file.read_text(), str(file), "exec"), space)
            with threads_of(program, space), shifted(module, hidden_wrong):
                if program.in_body:
                    exec("early = f0(1)", space)  # in a cell that was not recorded
                    sys.modules.pop("hidden_import", None)
                left_out = ("hidden", "same") if program.hidden == "left out" else ()
                rules = UserCodeRules(left_out=left_out)
                recording = Recording(Settings(str(folder / "t.whence"), rules=rules), ("cell",))
                recording.start()
                try:
                    exec(compile(body, str(cell), "exec"), space)
                finally:
                    recording.finish(0, 0)
            twin.start(file)
            with threads_of(program, twin.space):
                opened = PythonFrontend().open(folder / "t.whence")
                transcript = run(State(opened.tree, None), twin.judge)
            diagnosis = transcript.diagnosis
            if diagnosis.status is not Status.FOUND or diagnosis.node is None:
                return None
            blamed = opened.tree.call(opened.tree.position(diagnosis.node)).function.qualname
            assert transcript.state is not None
            sources = Sources(opened.folder, opened.began, opened.syntax)
            return blamed, explain(transcript.state, diagnosis, sources).headline
