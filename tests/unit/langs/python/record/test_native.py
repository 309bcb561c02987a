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

from whence.errors import WhenceError
from whence.langs.python.record.backend import CodeDescription
from whence.langs.python.record.code_reader import PythonCodeReader
from whence.langs.python.record.options import Bound, Detail, RecordOptions
from whence.langs.python.record.user_code import UserCode, UserCodeRules
from whence.langs.python.trace.format import decode_page

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


def test_lent_recursion_lets_a_program_go_deeper() -> None:
    names = program("def depth(n):\n  try: return depth(n + 1)\n  except RecursionError: return n")
    before = names["depth"](0)
    _recorder.lend_recursion(50)
    try:
        assert names["depth"](0) == before + 50
    finally:
        _recorder.lend_recursion(-50)
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
