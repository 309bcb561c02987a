"""A recorded program prints, raises and exits as it does without us."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from recorded import as_node, environment

from whence.langs.python.record.journal.journal_choice import obstacle
from whence.langs.python.trace.trace_reader import open_trace, recording_summary

PROGRAMS = {
    "uncaught": "def f(x):\n    return 1 / x\ndef g():\n    f(0)\nprint('before')\ng()\n",
    "chained": "def f():\n try:\n  {}[1]\n except KeyError as e:\n  raise ValueError from e\nf()\n",
    "syntax error": "x = 1\ndef f(:\n",
    "exit code": "import sys\nsys.exit(7)\n",
    "exit message": "import sys\nsys.exit('good bye')\n",
    "exit none": "raise SystemExit\n",
    "exit object": "raise SystemExit([1, 2])\n",
    "exit large": "import sys\nsys.exit(2**33 + 3)\n",
    "interrupt": "raise KeyboardInterrupt\n",
    "interrupted": "import os, signal\ndef f():\n    os.kill(os.getpid(), signal.SIGINT)\n    while True: pass\nf()\n",  # noqa: E501
    "hard exit": "import os\nprint('x', flush=True)\nos._exit(3)\n",
    "killed": "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n",
    "at exit": """
import atexit, threading
def last(): print('last')
def late(): print('late', threading.current_thread() is threading.main_thread())
atexit.register(last)
threading.Timer(0.05, late).start()
print('main')
""",
    "main module": """
import sys
print(sorted(k for k in globals() if k != 'sys'), __name__, __doc__, __spec__, __package__)
print(type(__loader__).__name__, __file__, sys.argv, sys.path[0], __builtins__)
print(sys.modules['__main__'].__dict__ is globals(), sys.orig_argv[1:])
""",
    "hook": """
import sys
def hook(kind, value, tb):
    print('hook', kind.__name__, value, tb.tb_frame.f_code.co_name, tb.tb_next)
sys.excepthook = hook
1 / 0
""",
    "broken hook": "import sys\ndef hook(*a): [][1]\nsys.excepthook = hook\n1 / 0\n",
    "metaclasses in C": """
import ctypes
class Unit(ctypes.Structure):
    _fields_ = [('x', ctypes.c_int)]
@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
def called(n): return n + 1
print(called(3), Unit(7).x)
""",
    "thread error": """
import threading
def f(): raise ValueError('in a thread')
t = threading.Thread(target=f, name='T'); t.start(); t.join()
""",
    "lifetimes": """
import weakref, gc
class R:
    def __init__(self, name): self.name = name
    def __del__(self): print('del', self.name)
def rebind(r):
    r = None
    print('after')
def use(r): return r.name
def fails(r): raise ValueError(r.name)
def gen(r):
    yield r.name
rebind(R('a')); print(use(R('b')))
try: fails(R('c'))
except ValueError as e: print(e)
print('next')
g = gen(R('d')); next(g); del g; print('closed')
h = gen(R('e')); del h; print('never run')
x = R('f'); w = weakref.ref(x); use(x); del x; print(w())
R('g'); globals()['kept'] = R('h'); gc.collect(); print('end')
""",
    "locals": """
def f(a, b=2):
    before = locals()
    c = 3
    return before, sorted(locals())
print(f([1]))
""",
    "exec and eval": """
ns = {'__name__': 'made'}
exec('def f(x): return x + 1', ns); print(eval('f(2)', ns), ns['f'].__module__)
exec('y = 5'); print(y)
""",
    "reload": "import importlib, helper\nprint(helper.f(1), importlib.reload(helper).f(2))\n",
    "fork": """
import os, sys
def child(): print('child', flush=True); return 3
def parent(pid): return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
pid = os.fork()
if pid == 0:
    sys.exit(child())
print(parent(pid))
""",
    "multiprocessing": """
import multiprocessing as m
def square(x): return x * x
if __name__ == '__main__':
    for method in ('fork', 'spawn'):
        with m.get_context(method).Pool(2) as pool:
            print(pool.map(square, [1, 2, 3]))
""",
    "signals": """
import signal, os
def handler(n, frame): print('signal', frame.f_code.co_name)
signal.signal(signal.SIGUSR1, handler)
def f():
    os.kill(os.getpid(), signal.SIGUSR1)
    return 1
print(f())
""",
    "temporary classes": """
import collections, dataclasses, enum, gc, weakref
def use(value): return value
def plain():
    class C:
        def __init__(self): self.x = 1
        def get(self): return self.x
    use(C()).get()
    return C
def made(): return type(use(type('T', (list,), {}))([1]))
def failing():
    class E(Exception): pass
    try: raise use(E(1))
    except E as error: return type(error)
def slotted():
    class S:
        __slots__ = ('a', '__weakref__')
        def walk(self): yield self
    list(S().walk())
    return S
def listed(): return type(use(enum.Enum('E', 'a b').a))
def named(): return type(use(collections.namedtuple('N', 'a')(1)))
def data(): return type(use(dataclasses.make_dataclass('D', ['a'])(1)))
for make in (plain, made, failing, slotted, listed, named, data):
    classes = [weakref.ref(make()) for _ in range(50)]
    gc.collect()
    print(make.__name__, sum(reference() is not None for reference in classes))
""",
    "recursion through C": """
import sys
class C:
    def __eq__(self, other): return [self] == [other]
for limit in range(150, 170):
    sys.setrecursionlimit(limit)
    try: C() == C()
    except BaseException as error: print(type(error))
""",
    "warnings": "import warnings\ndef f():\n    warnings.warn('w', stacklevel=2)\nf()\n",
    "descriptors": "f = open(__file__); print(f.fileno())\n",
    "unicode": "print('é'.encode('ascii', 'replace')); print('\\ud800')\n",
    "stdin": "print(input())\n",
    "subprocess": "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'print(1)'], capture_output=True, text=True).stdout)\n",  # noqa: E501
    "asyncio": """
import asyncio
async def work(n):
    await asyncio.sleep(0)
    if n == 2: raise ValueError(n)
    return n
async def main():
    print(await asyncio.gather(*[work(i) for i in range(4)], return_exceptions=True))
asyncio.run(main())
""",
    "hostile": """
class Meta(type):
    def __getattribute__(self, n): print('meta', n); return type.__getattribute__(self, n)
class A(metaclass=Meta):
    def __repr__(self): print('repr'); return 'A'
    def __eq__(self, o): print('eq'); return False
    def __hash__(self): print('hash'); return 1
    def __getattribute__(self, n): print('get', n); return object.__getattribute__(self, n)
    __dict__ = property(lambda s: print('dict'))
    def __bool__(self): print('bool'); return True
    def __len__(self): print('len'); return 0
def f(a, b): return [a, {1: b}]
f(A(), [A()])
""",
    "thread without a call": """
import threading
def f(): print("here")
for target in (bytes, f):
    thread = threading.Thread(target=target)
    thread.start()
    thread.join()
""",
    "debugger": """
import io, pdb
shown = io.StringIO()
def f(n):
    pdb.Pdb(stdin=io.StringIO("b 7\\nc\\np m\\nn\\np m\\nc\\n"), stdout=shown).set_trace()
    m = n + 1
    m = m * 2
    return m
print(f(3))
# Where it first stops is left out: with any user of sys.monitoring 3.13 is a line late there.
print(*shown.getvalue().split("(Pdb) ")[1:], sep="|")
""",
    "profiler": """
import cProfile, pstats
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
profile = cProfile.Profile()
print(profile.runcall(fib, 9))
print(sorted((where[2], *times[:2]) for where, times in pstats.Stats(profile).stats.items()))
""",
}
# What only a recorder in C can do: recorders in Python use what they must hide.
NATIVE_ONLY = {
    "stack": """
import inspect, sys, traceback
def f():
    traceback.print_stack()
    print(len(inspect.stack()), sys._getframe(1).f_back)
f()
""",
    "recursion": """
def f(n):
    try: return f(n + 1)
    except RecursionError: return n
print(f(0))
""",
    "nesting in C": """
low, high = 1, 100_000
while low < high:
    levels = (low + high + 1) // 2
    value = []
    for _ in range(levels): value = [value]
    try: repr(value); low = levels
    except RecursionError: high = levels - 1
print(low)
""",
    "recursion in C": """
class C:
    calls = 0
    def __eq__(self, other): C.calls += 1; return [self] == [other]
    def __call__(self): C.calls += 1; return self()
    def __repr__(self): C.calls += 1; return repr([self])
    def __getitem__(self, n): C.calls += 1; return max([n], key=self.__getitem__)
def fails(make):
    C.calls = 0
    try: make()
    except RecursionError as error: return C.calls, error
for make in (lambda: C() == C(), lambda: C()(), lambda: repr(C()), lambda: C()[0]):
    print(*fails(make))
""",
    "profilers": """
import sys
def f(): return 1
print(sys.getprofile(), sys.gettrace())
seen = []
sys.setprofile(lambda frame, event, arg: seen.append((frame.f_code.co_name, event)))
f()
sys.setprofile(None)
print(seen)
seen.clear()
def trace(frame, event, arg): seen.append((frame.f_code.co_name, event)); return trace
sys.settrace(trace)
f()
sys.settrace(None)
print(seen)
""",
}


def run(folder: Path, words: list[str], source: str = "") -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment(), capture_output=True, text=True,
        input="typed\n", timeout=60, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def recorded(backend: str, *words: str) -> list[str]:
    return ["-m", "whence", "record", "--backend", backend, "-o", "t.whence", *words]


def check_the_same(folder: Path, backend: str, *words: str) -> None:
    plain = run(folder, list(words))
    assert run(folder, recorded(backend, *words)) == plain


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "helper.py").write_text("def f(x):\n    return x + 1\n")
    return tmp_path


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_recorded_program_behaves_as_without(name: str, folder: Path, backend: str) -> None:
    (folder / "program.py").write_text(PROGRAMS[name])
    check_the_same(folder, backend, "program.py", "a", "--detail", "-b")
    if name not in {"killed", "hard exit", "main module", "syntax error"}:
        info = recording_summary(open_trace(folder / "t.whence"))
        assert info is not None
        assert info.ended
        assert not info.unread


def test_coverage_beside_a_recording_finds_what_it_finds_without(
    folder: Path, backend: str
) -> None:
    pytest.importorskip("coverage")
    source = "def f(n):\n    if n > 1:\n        return g()\n    return n\n"
    source += "def g():\n    yield 1\ndef never():\n    return 2\nprint(f(1), list(f(2)))\n"
    (folder / "program.py").write_text(source)
    run_it = ["-m", "coverage", "run", "--branch", "--data-file", "data", "program.py"]
    report = ["-m", "coverage", "json", "-q", "--data-file", "data", "-o", "-"]

    def measured(words: list[str]) -> object:
        status, output, _ = run(folder, words)
        assert (status, output) == (0, "1 [1]\n")
        return json.loads(run(folder, report)[1])["files"]

    assert measured(recorded(backend, *run_it)) == measured(run_it)


@pytest.mark.parametrize("name", NATIVE_ONLY)
def test_the_recorder_in_c_hides_all_of_itself(name: str, folder: Path, backend: str) -> None:
    if backend != "native":
        pytest.skip("a recorder in Python cannot")
    (folder / "program.py").write_text(NATIVE_ONLY[name])
    if sys.version_info >= (3, 14) and name == "nesting in C":
        # The C stack itself is the limit. Where it begins is random, by some 8 of 8,192 kB.
        plain = int(run(folder, ["program.py"])[1])
        status, printed, errors = run(folder, recorded(backend, "program.py"))
        assert (status, errors) == (0, "")
        assert abs(int(printed) - plain) <= plain * 16 / 8192
        return
    check_the_same(folder, backend, "program.py")


def test_a_module_a_package_code_a_folder_and_an_archive_are_run_as_python_does(
    folder: Path, backend: str
) -> None:
    show = "import sys\nprint(__name__, __package__, sys.argv, sys.path[0], sys.orig_argv[1:])\n"
    show += "print(__spec__ and __spec__.name)\n1 / 0\n"
    (folder / "single.py").write_text(show)
    package = folder / "package"
    package.mkdir()
    (package / "__init__.py").write_text("print('package')\n")
    (package / "__main__.py").write_text(show)
    (package / "inner.py").write_text(show)
    with zipfile.ZipFile(folder / "archive.zip", "w") as archive:
        archive.writestr("__main__.py", show)
    for words in (
        ["-m", "single", "-x", "y"], ["-m", "package"], ["-m", "package.inner", "--", "a"],
        ["-c", show, "-m", "z"], ["package", "1"], ["archive.zip", "-c"],
    ):  # fmt: skip
        check_the_same(folder, backend, *words)


def test_no_file_of_the_program_is_written_to_if_it_closes_ours(folder: Path, backend: str) -> None:
    (folder / "program.py").write_text("""
import os
def f(): return 1
os.closerange(3, 2000)
data = open('data.bin', 'wb')
os.dup2(data.fileno(), 1016); f(); data.write(b'mine'); data.close()
print(open('data.bin', 'rb').read())
""")
    code, out, err = run(folder, recorded(backend, "program.py"))
    assert (code, out) == (0, "b'mine'\n")
    assert (folder / "data.bin").read_bytes() == b"mine"
    assert "t.whence is not whole: the program closed the file of the trace" in err


def test_calls_before_the_program_closes_our_files_are_kept(folder: Path, backend: str) -> None:
    (folder / "program.py").write_text("""
import os
def f(n): return n
for i in range(20): f(i)
os.closerange(3, 2000)
mine = [os.open('data.bin', os.O_RDWR | os.O_CREAT | os.O_APPEND)]
while mine[-1] < 1030:
    try: mine.append(os.dup(mine[0]))
    except OSError: break
for i in range(20): f(i)
import atexit
atexit.register(lambda: print(sum(os.fstat(number).st_size for number in mine)))
""")
    code, out, _ = run(folder, recorded(backend, "program.py"))
    assert (code, out) == (0, "0\n")
    assert (folder / "data.bin").read_bytes() == b""
    tree = open_trace(folder / "t.whence")
    known = recording_summary(tree)
    assert known is not None
    assert known.why_stopped == "the program closed the file of the trace"
    calls = as_node(tree).calls[0].calls
    assert [call.outcome for call in calls[:20]] == [f"→ {n}" for n in range(20)]


@pytest.mark.skipif(obstacle(None) is not None, reason="nothing here keeps a journal")
def test_no_file_of_the_program_is_written_to_if_it_closes_the_journal(folder: Path) -> None:
    (folder / "program.py").write_text("""
import os, time
def f(): return time.time()
f()
os.closerange(3, 2000)
mine = os.open('data.bin', os.O_RDWR | os.O_CREAT)
for number in range(900, 1024): os.dup2(mine, number)
block = 'x' * 1000
for i in range(3000): os.environ['A'] = block; os.getcwd(); f()
print(os.fstat(1010).st_size)
""")
    code, out, _ = run(folder, recorded("native", "--journal", "program.py"))
    assert (code, out) == (0, "0\n")
    assert (folder / "data.bin").read_bytes() == b""


def test_an_interrupt_from_outside_ends_it_by_the_signal(folder: Path, backend: str) -> None:
    source = "import time\nprint('ready', flush=True)\ntime.sleep(30)\n"
    (folder / "program.py").write_text(source)
    results = []
    for words in (["program.py"], recorded(backend, "program.py")):
        process = subprocess.Popen(
            [sys.executable, *words], cwd=folder, env=environment(), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        results.append((process.returncode, out, err))
    # Where it was interrupted, between its last two lines, is chance.
    plain, ours = ((code, out, err.splitlines()[-1]) for code, out, err in results)
    assert plain == ours == (-signal.SIGINT, "", "KeyboardInterrupt")


def test_a_killed_program_leaves_a_trace_that_opens(folder: Path, backend: str) -> None:
    (folder / "program.py").write_text(
        "import os, signal\ndef f(n):\n    return n\n"
        "for i in range(30_000):\n    f(i)\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    code, _, _ = run(folder, recorded(backend, "program.py"))
    assert code == -signal.SIGKILL
    tree = open_trace(folder / "t.whence")
    info = recording_summary(tree)
    assert info is not None
    assert not info.ended
    if len(tree.columns) > 1:
        assert tree.call(1).right().startswith("did not end")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")  # noqa: PTH110
def test_a_full_disk_does_not_disturb_the_program(folder: Path, backend: str) -> None:
    (folder / "program.py").write_text("def f(n): return n\nprint(sum(f(i) for i in range(100)))\n")
    words = ["-m", "whence", "record", "--backend", backend, "-o", "/dev/full", "program.py"]
    code, out, err = run(folder, words)
    # Even the header does not fit: that is said before the program is run.
    assert (code, out) == (2, "")
    assert "cannot be written" in err


BUSY = {  # with which hardly anything runs but whence's own code
    "at code": """for number in range(3000):
        exec(f"def f{number}(): pass\\nf{number}()")""",
    "at values": """for number in range(20_000):
        look([datetime.date.fromordinal(number + each) for each in range(1, 9)])""",
}


@pytest.mark.parametrize("busy", BUSY.values(), ids=BUSY)
def test_an_interrupt_that_comes_while_we_look_reaches_the_program(
    busy: str, tmp_path: Path
) -> None:
    program = f"""
import datetime, signal
def look(value): pass
def busy():
    {busy}
def interrupt(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, interrupt)
lost = 0
for turn in range(60):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001 + turn * 1e-5)
        busy()
        lost += 1
    except KeyboardInterrupt:
        pass
print(lost)
"""
    (tmp_path / "program.py").write_text(program)
    command = [sys.executable, "-m", "whence", "record", "--backend", "native", "-o", "run.whence"]
    done = subprocess.run(
        [*command, "program.py"],
        cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("0\n", "")
