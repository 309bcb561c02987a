"""The operation that raised, with what the recording knows of its operands, and what a run adds."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from recorded import BACKENDS

from whence.langs.python.record.backend_choice import PURE
from whence.langs.python.record.options import RecordOptions
from whence.langs.python.record.recording import Recording, Settings
from whence.langs.python.record.user_code import UserCodeRules
from whence.langs.python.source.python_syntax import PythonSyntax
from whence.langs.python.trace.trace_provenance import TraceProvenance
from whence.langs.python.trace.trace_reader import open_trace
from whence.model.call import Binding
from whence.model.primitive import Primitive, WorkedOut
from whence.model.value import atom, show
from whence.report.raising import own_primitive, primitive, raiser
from whence.report.source import Sources
from whence.session.state import State

PROGRAM = """\
LIMIT = 4

def index(xs): return xs[3]
def attribute(value): return value.name
def divided(n): return 1 / (n - n)
def key(d, name): return {**d}[name] + d[name]
def number(text): return int(text)
def compared(a, b): return a < b
def read(n): return n[LIMIT]
def method(words): return words.index("é", 0)
def unknown(): return nowhere
def unpacked(pair):
    a, b = pair
def added(xs):
    xs.append(2)
    xs += 5
def rebound(n):
    n = str(n)
    return n[7]
def local(n):
    half = n // 2
    return half.size
def raising(n): raise ValueError(n)
def passing(n): return index(n)
def failing(n):
    assert n > 0, "no"
def within(xs, n):
    with open(__file__):
        return xs[n]
def let_go(xs):
    try:
        return xs[3]
    finally:
        xs.append(9)
def unwanted(xs):
    try:
        return xs[3]
    except KeyError:
        return 0
def several(xs):
    return [each.size for each in xs]

for function, given in (
    (index, ([1, 2],)), (attribute, (None,)), (divided, (2,)), (key, ({"a": 1}, "k")),
    (number, ("x",)), (compared, (1, "b")), (read, ((1, 2),)), (method, (["a"],)), (unknown, ()),
    (unpacked, ((1, 2, 3),)), (added, ([1],)), (rebound, (1,)), (local, (3,)), (raising, (1,)),
    (passing, ([],)), (failing, (0,)), (within, ([1], 5)), (let_go, ([1],)), (unwanted, ([1],)),
    (several, ([7],)),
):
    try:
        function(*given)
    except Exception:
        pass
"""

KNOWN = {
    "index": "xs[3] | xs = [1, 2]",
    "attribute": "value.name | value = None",
    "divided": "1 / (n - n) | n = 2",
    "key": "{**d}[name] | d = {'a': 1} | name = 'k'",
    "number": "int(text) | text = 'x'",
    "compared": "a < b | a = 1 | b = 'b'",
    "read": "n[LIMIT] | n = (1, 2) | LIMIT = 4",
    "method": "words.index(\"é\", 0) | words = ['a']",
    "unknown": "nowhere",
    "unpacked": "a, b | pair = (1, 2, 3)",
    "added": "xs += 5",
    "rebound": "n[7]",
    "local": "half.size",
    "raising": "",
    "passing": "xs[3] | xs = []",
    "within": "xs[n] | n = 5",
    "let_go": "xs[3]",
    "unwanted": "xs[3]",
}


@dataclass
class Run:
    state: State
    sources: Sources
    backend: str

    def node(self, name: str) -> int:
        names = [each.short() for each in self.state.tree.functions]
        function = self.state.tree.columns.function.tolist()
        return self.state.tree.id(function.index(names.index(name)))


@pytest.fixture(scope="module", params=BACKENDS)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("raising")
    program, output = folder / "program.py", folder / "run.whence"
    program.write_text(PROGRAM, encoding="utf-8")
    began = time.time() + 1
    rules = UserCodeRules(only=(str(program),))
    recording = Recording(Settings(str(output), RecordOptions(), rules, request.param), ("x",))
    code = compile(PROGRAM, str(program), "exec")
    recording.start()
    exec(code, {"__name__": "program", "__file__": str(program)})
    recording.finish(0, 0)
    tree = open_trace(output)
    return Run(
        State(tree, TraceProvenance(tree)),
        Sources(Path(folder), began, PythonSyntax()),
        request.param,
    )


def told(found: Primitive | None) -> str:
    if found is None:
        return ""
    return " | ".join([found.text, *(f"{e.name} = {show(e.value)}" for e in found.operands)])


@pytest.mark.parametrize("name", KNOWN)
def test_what_raised_is_told_with_what_is_known_of_its_operands(name: str, run: Run) -> None:
    inner = raiser(run.state, run.node(name))
    assert inner is not None
    found = told(primitive(run.state, inner, run.sources))
    if name == "within" and run.backend == PURE and not found:
        return  # some Pythons tell it another place
    assert found == KNOWN[name]
    assert (own_primitive(run.state, run.node(name), run.sources) is None) is (
        name == "passing" or not found
    )


def test_of_an_assertion_the_test_is_told(run: Run) -> None:
    found = own_primitive(run.state, run.node("failing"), run.sources)
    assert found is not None
    assert found.text in ("n > 0", 'assert n > 0, "no"'), "as the Python at hand has it"
    assert [(each.name, show(each.value)) for each in found.operands] == [("n", "0")]


def test_variables_of_a_comprehension_are_not_taken_for_others(run: Run) -> None:
    found = own_primitive(run.state, run.node("several"), run.sources)
    assert found is not None
    assert "each" not in [each.name for each in found.operands]


def test_what_a_run_worked_out_comes_before_what_was_recorded(run: Run) -> None:

    def tell(node: int, learned: WorkedOut = WorkedOut()) -> Primitive:  # noqa: B008
        result = primitive(run.state, node, run.sources, learned)
        assert result is not None
        return result

    node = run.node("local")
    assert not tell(node).is_whole
    with_variable = tell(node, learned=WorkedOut({"half": atom("1")}))
    assert with_variable.operands == (Binding("half", atom("1")),)
    assert with_variable.is_whole
    node = run.node("divided")
    line = PROGRAM.splitlines().index("def divided(n): return 1 / (n - n)") + 1
    column = "def divided(n): return 1 / (n - n)".index("n - n") + 1
    learned = WorkedOut({}, {(line, column, line, column + 5): atom("0")})
    assert told(tell(node, learned=learned)) == "1 / (n - n) | n - n = 0"


def test_nothing_is_said_of_a_text_that_may_be_another_one(run: Run) -> None:
    assert (
        own_primitive(
            run.state, run.node("index"), Sources(run.sources.folder, 0.0, PythonSyntax())
        )
        is None
    )
    assert (
        own_primitive(
            run.state, run.node("index"), Sources(run.sources.folder, None, PythonSyntax())
        )
        is None
    )
