"""What only the C recorder promises: its pages, its references, its room, its refusals."""

import gc
import os
import sys
import weakref
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
import recorded

from whence.errors import WhenceError
from whence.langs.python.record.backend import CodeDescription
from whence.langs.python.record.code_reader import PythonCodeReader
from whence.langs.python.record.options import Bound, Detail, RecordOptions
from whence.langs.python.record.user_code import UserCode, UserCodeRules
from whence.langs.python.trace.trace_format import decode_page

_recorder = pytest.importorskip("whence.langs.python.record._recorder")

from whence.langs.python.record.native_backend import NativeBackend  # noqa: E402

Summaries = Mapping[type, Callable[[Any], tuple[str, bool]]]


class OfProgram:
    """Takes as user code what was compiled under one file name, and nothing else."""

    def __init__(self) -> None:
        self._reader = PythonCodeReader(UserCode(UserCodeRules()))
        self.asked = 0

    def describe(self, code: CodeType, namespace: dict[str, Any]) -> CodeDescription | None:
        if code.co_filename != "/program.py":
            return None
        self.asked += 1
        return self._reader.describe(code, namespace)


def program(source: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "program"}
    exec(compile(source, "/program.py", "exec"), namespace)
    return namespace


def record(
    folder: Path, run: Callable[[], object], summaries: Summaries | None = None, **options: Any
) -> tuple[NativeBackend, bytes]:
    path = folder / "trace"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    backend = NativeBackend(descriptor, RecordOptions(**options), OfProgram(), summaries or {})
    backend.start()
    try:
        run()
    finally:
        backend.stop()
        backend.end(0, None)
        os.close(descriptor)
    return backend, path.read_bytes()


def pages(data: bytes) -> list[tuple[int, bytes, int]]:
    """Codec, payload and decoded length of each page; every byte of the file is in one."""
    found = []
    at = 0
    while at < len(data):
        assert data[at : at + 4] == b"PAGE"
        stored, decoded, crc = (
            int.from_bytes(data[at + k : at + k + 4], "little") for k in (8, 12, 16)
        )
        payload = data[at + 20 : at + 20 + stored]
        assert zlib.crc32(payload) == crc
        found.append((data[at + 4], payload, decoded))
        at += 20 + stored
    return found


def test_every_page_has_its_checksum_and_length(tmp_path: Path) -> None:
    names = program("def f(i): return str(i) * 5\ndef go():\n  for i in range(60000): f(i)")
    backend, data = record(tmp_path, names["go"])
    assert backend.calls == 60001
    assert len(pages(data)) >= 2
    assert all(decoded <= 16 << 20 for _, _, decoded in pages(data))


def test_repeated_records_are_compressed(tmp_path: Path) -> None:
    names = program("def f(i): return i\ndef go():\n  for i in range(20000): f(7)")
    _, data = record(tmp_path, names["go"])
    assert any(codec == 2 for codec, _, _ in pages(data))
    assert len(data) * 2 < sum(decoded for _, _, decoded in pages(data))


def test_code_is_described_once(tmp_path: Path) -> None:
    names = program("def f(i): return i\ndef go():\n  for i in range(50): f(i)")
    descriptor = os.open(os.devnull, os.O_WRONLY)
    reader = OfProgram()
    backend = NativeBackend(descriptor, RecordOptions(), reader, {})
    backend.start()
    names["go"]()
    backend.stop()
    os.close(descriptor)
    assert reader.asked == 2
    assert backend.calls == 51


@pytest.mark.parametrize("detail", list(Detail))
def test_reference_counts_are_as_before(tmp_path: Path, detail: Detail) -> None:
    names = program("""
class Box:
    __slots__ = ("inner", "__weakref__")
def f(a, b, *rest, key=None, **more):
    def g(): return a, b
    for _ in h(b): pass
    return g()
def h(x):
    yield x
    yield [x]
def fails(a, b): raise KeyError(a, b)
def go(a, b):
    for i in range(200):
        f(a, b, a, key=b, z=a)
        try: fails(a, b)
        except KeyError: pass
""")
    box, items = names["Box"](), [{"k": (1, 2)}, {3.5}]
    box.inner = items
    watched = [box, items, items[0], items[1], names["Box"], names["f"]]
    before = [sys.getrefcount(each) for each in watched]
    record(tmp_path, lambda: names["go"](box, items), detail=detail)
    gc.collect()
    assert [sys.getrefcount(each) for each in watched] == before


def test_objects_and_classes_die_when_they_would_without(tmp_path: Path) -> None:
    names = program("""
import weakref
def f(x): return None
def go():
    class Own:
        pass
    own = Own()
    f(own); f(Own)
    return weakref.ref(own), weakref.ref(Own)
""")
    alive: list[object] = []

    def run() -> None:
        for _ in range(50):
            instance, kind = names["go"]()
            alive.append(instance())
            gc.collect()
            alive.append(kind())

    record(tmp_path, run)
    assert alive == [None] * 100


def test_nothing_of_the_program_is_run_to_see_a_value(tmp_path: Path) -> None:
    names = program("""
ran = []
class Meta(type):
    def __hash__(cls): ran.append('meta hash'); return 1
    def __eq__(cls, other): ran.append('meta eq'); return True
    def __getattribute__(cls, name):
        ran.append('meta ' + name); return type.__getattribute__(cls, name)
class Evil(metaclass=Meta):
    def __getattribute__(self, name): ran.append(name); return object.__getattribute__(self, name)
    def __repr__(self): ran.append('repr'); return ''
    def __hash__(self): ran.append('hash'); return 1
    def __eq__(self, other): ran.append('eq'); return True
    @property
    def p(self): ran.append('p')
class Items(list, metaclass=Meta):
    def __iter__(self): ran.append('iter'); return iter(())
    def __len__(self): ran.append('len'); return 3
def f(x, y): return [x, y]
""")
    evil = object.__new__(names["Evil"])
    items = list.__new__(names["Items"])
    list.append(items, evil)
    names["ran"].clear()
    record(tmp_path, lambda: names["f"](evil, items))
    assert names["ran"] == []


def test_a_dict_is_not_made_for_an_object_that_has_none(tmp_path: Path) -> None:
    names = program("class C:\n  def __init__(self): self.a = 1; self.b = 2\ndef f(x): return x")
    many = [names["C"]() for _ in range(2)]
    record(tmp_path, lambda: [names["f"](each) for each in many])
    untouched, touched = many
    touched.__dict__  # noqa: B018
    assert sum(type(each) is dict for each in gc.get_referents(untouched)) == 0
    if sys.version_info < (3, 13):  # From then on the collector does not tell.
        assert sum(type(each) is dict for each in gc.get_referents(touched)) == 1


def test_a_generator_that_is_dropped_leaves_its_address_to_others(tmp_path: Path) -> None:
    names = program("""
def g(n): yield n; yield n
def go():
    for i in range(1000):
        next(g(i))
""")
    backend, _ = record(tmp_path, names["go"])
    assert backend.calls == 1001


@pytest.mark.parametrize(
    ("go_on", "record_byte"),
    [
        ("next(it)", b"\x07"),
        ("it.throw(KeyError)", b"\x08"),
        ("it.send(7)", b"\x18"),
    ],
)
def test_what_others_changed_stands_right_before_a_generator_goes_on(
    tmp_path: Path, go_on: str, record_byte: bytes
) -> None:
    names = program(f"""
def g(xs):
    try:
        yield 1
    except KeyError:
        pass
    yield 2
def go():
    xs = [1]
    it = g(xs)
    next(it)
    xs.append(5)
    {go_on}
""")
    _, data = record(tmp_path, names["go"])
    records = b"".join(
        decode_page(codec, payload, decoded) for codec, payload, decoded in pages(data)
    )
    changed = b"\x0c\x01\x00" + b"\x10\x02\x02\x81\x85"  # call 2 of 2, its first input: [1, 5]
    assert records.count(changed) == 1
    assert changed + record_byte + b"\x01\x02" in records


DEEP = """
import sys, threading
def down(n): return 0 if n == 0 else down(n - 1) + 1
def numbers(n):
    if n: yield from numbers(n - 1)
    yield n
def go(n):
    total = down(n)
    below = list(numbers(20))
    return total + down(1)
def limited():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)
    try:
        return go(15_000)
    finally:
        sys.setrecursionlimit(limit)
def in_small_thread():
    size = threading.stack_size(256 * 1024)
    found = []
    thread = threading.Thread(target=lambda: found.append(go(800)))
    thread.start(); thread.join()
    threading.stack_size(size)
    return found
"""


def test_calls_too_deep_for_the_c_stack_are_recorded_like_others(tmp_path: Path) -> None:
    names = program(DEEP)
    results: list[int] = []
    backend, _ = record(tmp_path, lambda: results.append(names["limited"]()))
    assert results == [15_001]
    assert backend.calls == 1 + 1 + 15_001 + 21 + 2
    again, _ = record(tmp_path, names["limited"])
    assert again.calls == backend.calls


def test_calls_too_deep_for_the_stack_of_a_thread_have_their_callers(tmp_path: Path) -> None:
    body = recorded.record(DEEP + "in_small_thread()\n", tmp_path, "native")
    go = body.find("in_small_thread").calls[0].calls[0]
    assert [call.name for call in go.calls] == ["down", "numbers", "down"]
    assert [call.outcome for call in go.calls[::2]] == ["→ 800", "→ 1"]
    depth, call = 0, go.calls[0]
    while call.calls:
        assert (call.arguments["n"], call.line) == (str(800 - depth), 3 if depth else 8)
        depth, call = depth + 1, call.calls[0]
    assert depth == 800
    assert len(list(go.calls[1].walk())) == 21


def test_a_profile_function_of_the_program_is_no_reason_to_record_less(tmp_path: Path) -> None:
    names = program("""
import sys
def f(n): return n
def go():
    seen = []
    def tell(frame, event, argument): seen.append((frame.f_code.co_name, event))
    f(1)
    sys.setprofile(tell)
    f(2)
    sys.setprofile(None)
    f(3)
    return seen
""")
    seen: list[tuple[str, str]] = []
    backend, _ = record(tmp_path, lambda: seen.extend(names["go"]()))
    assert seen == [("f", "call"), ("f", "return"), ("go", "c_call")]
    assert backend.calls == 4


HELD = """
import sys
told = []
class R:
    def __init__(self, name): self.name = name
    def __del__(self): told.append(self.name)
    def bind(self, r): r = None; told.append('bound'); self = None; told.append('both')
def first(a, b=3, *rest, d=None, **named):
    a = b = None
    told.append('after')
def second(a, b):
    a = None; told.append('between'); b = None; told.append('after')
def last(r):
    local = R('local')
    return 1
def count(x): return sys.getrefcount(x)
def numbers(r):
    try: yield count([r.name])
    finally: told.append(last(R('m')))
def go():
    told.clear()
    first(R('a'), R('b'), R('c'), d=R('d'), e=R('e'))
    second(b=R('f'), a=R('g')), second(R('h'), b=R('i'))
    last(R('j')), last(r=R('k'))
    R('self').bind(R('l')), R('self').bind(r=R('l'))
    bound = R('self').bind; bound(R('m')); del bound
    for n in range(3):
        try:
            told.append((count([]), count(x=[]), second(R(n), R(-n)), 1 / (n - 1)))
        except ZeroDivisionError:
            told.append((n, count([n]), *numbers(R('n'))))
    told.append([count([x]) for x in 'ab'])
    (lambda r: told.append(count(r)))([])
    return list(told)
"""


def test_arguments_are_held_by_nobody_else_than_without_us(tmp_path: Path) -> None:
    go = program(HELD)["go"]
    plain = go()
    recorded_ones: list[list[object]] = []
    for detail in (Detail.FULL, Detail.IDS):
        record(tmp_path, lambda: recorded_ones.append(go()), detail=detail)
    assert recorded_ones == [plain, plain]
    assert go() == plain


def test_a_failing_summary_leaves_the_program_alone(tmp_path: Path) -> None:
    names = program("class C: pass\ndef f(x): return x\ndef go():\n  return f(C())")

    def fails(_: object) -> tuple[str, bool]:
        raise RuntimeError

    backend, _ = record(tmp_path, names["go"], {names["C"]: fails})
    assert backend.calls == 2
    assert backend.problem is None


def test_other_threads_may_change_what_a_summary_is_part_of(tmp_path: Path) -> None:
    names = program("class C: pass\ndef f(x): return len(x)")
    data: list[object] = [names["C"]() for _ in range(8)]

    def empties(_: object) -> tuple[str, bool]:
        data.clear()
        return "gone", True

    backend, _ = record(tmp_path, lambda: names["f"](data), {names["C"]: empties})
    assert backend.calls == 1


def test_a_second_recording_is_refused_while_one_runs(tmp_path: Path) -> None:
    descriptor = os.open(os.devnull, os.O_WRONLY)
    first, second = (NativeBackend(descriptor, RecordOptions(), OfProgram(), {}) for _ in range(2))
    first.start()
    try:
        with pytest.raises(WhenceError, match="running already"):
            second.start()
    finally:
        first.stop()
        os.close(descriptor)


def test_a_bound_out_of_range_is_refused(tmp_path: Path) -> None:
    descriptor = os.open(os.devnull, os.O_WRONLY)
    options = RecordOptions(bound=Bound(depth=1000))
    try:
        with pytest.raises(WhenceError, match="out of range"):
            NativeBackend(descriptor, options, OfProgram(), {}).start()
    finally:
        os.close(descriptor)


def test_a_full_disk_ends_the_recording_only(tmp_path: Path) -> None:
    names = program("def f(i): return str(i)\ndef go():\n  return sum(len(f(i)) for i in range(9))")
    descriptor = os.open("/dev/full", os.O_WRONLY)
    backend = NativeBackend(descriptor, RecordOptions(), OfProgram(), {})
    backend.start()
    assert names["go"]() == 9
    backend.stop()
    os.close(descriptor)
    assert backend.problem is not None
    assert "space" in backend.problem


def test_a_call_at_the_bottom_has_the_whole_recursion_limit() -> None:
    names = program("def depth(n):\n  try: return depth(n + 1)\n  except RecursionError: return n")
    before = names["depth"](0)
    depths: list[int] = []
    _recorder.at_bottom(None, lambda: depths.append(names["depth"](0)))
    assert depths == [sys.getrecursionlimit() - 2]
    assert names["depth"](0) == before


def test_recording_takes_nothing_of_the_recursion_limit(tmp_path: Path) -> None:
    names = program("def depth(n):\n  try: return depth(n + 1)\n  except RecursionError: return n")
    plain = names["depth"](0)
    deepest: list[int] = []
    # One frame more than above: the function that calls it.
    record(tmp_path, lambda: deepest.append(names["depth"](0)))
    assert plain - deepest[0] in {1, 2}


def test_after_a_recording_nothing_of_it_is_left(tmp_path: Path) -> None:
    names = program("def g():\n  yield 1\ndef go():\n  return list(g())")
    ended = weakref.WeakSet[object]()
    record(tmp_path, names["go"])
    generator = names["g"]()
    ended.add(generator)
    assert names["go"]() == [1]
    del generator
    assert len(ended) == 0
    if sys.version_info >= (3, 12):
        assert sys.monitoring.get_tool(3) is None
    assert sys.getprofile() is None
