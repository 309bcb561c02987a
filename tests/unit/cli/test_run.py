"""`whence run` and `whence call` as commands: what becomes of every way in which a program ends."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple, Protocol

import pytest
from recorded import environment

from whence.cli.main import main
from whence.langs.python.record.backend_choice import NATIVE, candidates
from whence.langs.python.recordings import (
    beside,
    latest,
    read_symptom,
    recordings,
    write_symptom,
)
from whence.langs.python.trace.trace_reader import open_trace
from whence.model.symptom import Symptom, SymptomKind

if not any(each.name == NATIVE and each.can_be_used for each in candidates()):
    pytest.skip("the recorder in C knows what is printed", allow_module_level=True)

SHOP = """
def tax(net): return net * 19 // 100
def total(net): return net + tax(net) + 1
def main():
    print("net", 100)
    print("total", total(100))
main()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, value in _private(tmp_path).items():
        monkeypatch.setenv(name, value)
    return tmp_path


def _private(folder: Path) -> dict[str, str]:
    places = {name: str(folder / name) for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME")}
    return {**places, "PYTHONPATH": environment()["PYTHONPATH"]}


class Done(NamedTuple):
    stdout: str
    stderr: str
    status: int


class Whence(Protocol):
    """`whence` with its answers, in this process; the program has one of its own."""

    def __call__(self, *words: str, answers: str = "", status: int | None = None) -> Done: ...


@pytest.fixture
def whence(folder: Path, capfd: pytest.CaptureFixture[str]) -> Whence:
    def run(*words: str, answers: str = "", status: int | None = None) -> Done:
        capfd.readouterr()
        if words[0] in ("run", "call", "debug"):
            place = folder / "typed"
            place.write_text(answers)
            words = (words[0], "--answers", str(place), *words[1:])
        try:
            code = main(words)
        except SystemExit as left:  # argparse
            code = int(str(left.code))
        sys.stdout.flush()
        done = Done(*capfd.readouterr(), code)
        assert status in (None, code), done.stdout + done.stderr
        return done

    return run


def apart(folder: Path, *words: str, given: bytes = b"", status: int | None = None) -> Done:
    """`whence` in a process of its own, without a terminal."""
    done = subprocess.run(
        [sys.executable, "-m", "whence", *words], cwd=folder, env=os.environ | _private(folder),
        capture_output=True, input=given, timeout=60, check=False, start_new_session=True,
    )  # fmt: skip
    found = Done(done.stdout.decode(), done.stderr.decode(), done.returncode)
    assert status in (None, found.status), found.stdout + found.stderr
    return found


def program(folder: Path, source: str, name: str = "program.py") -> str:
    (folder / name).write_text(source)
    return name


def recording(folder: Path) -> Path:
    found = latest(folder)
    assert found is not None
    return found


# --- what is wrong -------------------------------------------------------------------------------


def test_the_wrong_line_leads_to_the_call_at_fault(whence: Whence, folder: Path) -> None:
    answers = "2\nn\ny\n"
    done = whence("run", program(folder, SHOP), answers=answers, status=0)
    assert done.stdout.startswith("net 100\ntotal 120\n"), "the program's output comes untouched"
    assert "  2 | total 120" in done.stdout
    assert "The fault is in total" in done.stdout
    assert read_symptom(recording(folder)) == Symptom(SymptomKind.OUTPUT, line=2, by_person=True)


def test_the_exception_leads_to_the_call_that_raised_it(whence: Whence, folder: Path) -> None:
    source = "def bad(x): return 1 // x\ndef mid(x): return bad(x - x)\nmid(3)\n"
    done = whence("run", program(folder, source), answers="\ni\nn\n", status=0)
    assert "ZeroDivisionError" in done.stderr
    first = done.stdout.index("Question 1")
    assert "bad(x=0) raised ZeroDivisionError" in done.stdout[first:].splitlines()[1]
    assert "The fault is in mid" in done.stdout


def test_what_is_wrong_can_be_given(whence: Whence, folder: Path) -> None:
    done = whence("run", "--wrong", "output:2", program(folder, SHOP),
        answers="n\ny\n", status=0,
    )  # fmt: skip
    assert "What is wrong?" not in done.stdout
    assert "The fault is in total" in done.stdout


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("output:7", "there is no line 7 of its output: 2 lines are known"),
        ("exception", "no exception left the program: it returned 0"),
        ("not-ended", "has ended"),
        ("result[3]", "0 has no part [3]"),
    ],
)
def test_a_symptom_that_is_not_there_is_refused(
    whence: Whence, folder: Path, wrong: str, why: str
) -> None:
    done = whence("run", "--wrong", wrong, program(folder, SHOP), status=2)
    assert why in done.stderr


def test_in_the_dialogue_it_is_refused_and_asked_again(whence: Whence, folder: Path) -> None:
    answers = "9\noutput:x\n2\nn\ny\n"
    done = whence("run", program(folder, SHOP), answers=answers, status=0)
    assert "there is no line 9" in done.stdout
    assert "is named by its number" in done.stdout


def test_where_nothing_is_wrong_nothing_is_searched(whence: Whence, folder: Path) -> None:
    done = whence("run", program(folder, SHOP), answers="n\n", status=1)
    assert "There is nothing to find: nothing is wrong." in done.stdout
    assert read_symptom(recording(folder)) is None


def test_what_nobody_calls_wrong_is_not_taken_to_be_wrong(whence: Whence, folder: Path) -> None:
    done = whence("run", program(folder, SHOP), status=1)
    assert "nobody said what is wrong" in done.stdout
    assert "fault is in" not in done.stdout


def test_a_failure_is_taken_to_be_wrong_without_a_word(whence: Whence, folder: Path) -> None:
    name = program(folder, "def f(x): return x[1]\nf([0])\n")
    (folder / "always_wrong.py").write_text("def judge(call): return 'wrong'\n")
    done = whence("run", "--oracle", "python:always_wrong:judge", name, status=0)
    assert "The fault is in f" in done.stdout


# --- calling a function --------------------------------------------------------------------------

MODULE = """
import dataclasses
@dataclasses.dataclass
class Point:
    x: int
    y: int
def half(n): return n // 2 + 1
def middle(a, b, scale=1): return Point(half(a) * scale, half(b))
async def later(n): return half(n)
def several(n):
    for i in range(n): yield half(i)
"""


def test_the_result_of_a_function_is_what_is_wrong(whence: Whence, folder: Path) -> None:
    program(folder, MODULE, "shapes.py")
    done = whence("call", "shapes:middle", "4", "6", "scale=2", answers="\nn\n",
        status=0,
    )  # fmt: skip
    assert "middle(a=4, b=6, scale=2) → Point(x=6, y=4)" in done.stdout
    assert "Enter: that result" in done.stdout
    assert "The fault is in half" in done.stdout


def test_a_part_of_the_result_can_be_what_is_wrong(whence: Whence, folder: Path) -> None:
    program(folder, MODULE, "shapes.py")
    whence("call", "--wrong", "result.x", "shapes:middle", "4", "6", status=1)
    assert read_symptom(recording(folder)) == Symptom(SymptomKind.EXPRESSION, expression="result.x")


@pytest.mark.parametrize("name", ["later", "several"])
def test_coroutines_and_generators_are_run(whence: Whence, folder: Path, name: str) -> None:
    program(folder, MODULE, "shapes.py")
    done = whence("call", "--wrong", "result", f"shapes:{name}", "2",
        answers="n\n", status=0,
    )  # fmt: skip
    assert "The fault is in half" in done.stdout


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["shapes:half", "x"], "Python literals"),
        (["shapes:half", "n=1", "2"], "stands before those by name"),
        (["shapes.half"], "package.module:function"),
        (["nowhere:half", "1"], "no module named nowhere"),
        ([], "which function?"),
    ],
)
def test_a_call_that_makes_no_sense_is_refused(
    whence: Whence, folder: Path, words: list[str], why: str
) -> None:
    program(folder, MODULE, "shapes.py")
    done = whence("call", *words, status=2)
    assert why in done.stderr
    assert recordings(folder) == []


def test_a_function_that_is_not_in_its_module_is_named(whence: Whence, folder: Path) -> None:
    program(folder, MODULE, "shapes.py")
    done = whence("call", "shapes:nothing", status=1)
    assert "module 'shapes' has no attribute 'nothing'" in done.stderr


def test_a_module_that_cannot_be_imported_is_debugged(whence: Whence, folder: Path) -> None:
    program(folder, "def f(x): return x + ''\nlimit = f(3)\ndef g(): pass\n", "broken.py")
    done = whence("call", "broken:g", answers="\nn\n", status=0)
    assert "The program raised TypeError" in done.stdout
    assert "The fault is in f" in done.stdout


# --- ways to end ---------------------------------------------------------------------------------


def test_a_program_that_is_not_there_is_not_run(whence: Whence, folder: Path) -> None:
    done = whence("run", "nothing.py", status=2)
    assert "nothing.py: the program to record cannot be read" in done.stderr
    assert recordings(folder) == []


def test_without_a_program_the_usage_is_said(whence: Whence, folder: Path) -> None:
    assert "whence run [OPTIONS]" in whence("run", status=2).stderr


def test_a_syntax_error_leaves_nothing_to_search(whence: Whence, folder: Path) -> None:
    done = whence("run", program(folder, "def f(:\n"), status=1)
    assert "SyntaxError" in done.stderr
    assert "The program raised SyntaxError" in done.stdout
    assert "no call of the program's own code was recorded" in done.stdout


def test_a_program_that_crashes_at_import_is_debugged(whence: Whence, folder: Path) -> None:
    program(folder, "def load(n): return [1][n]\ntable = load(5)\n", "tables.py")
    name = program(folder, "import tables\nprint('never')\n")
    done = whence("run", name, answers="\nn\n", status=0)
    assert "The fault is in load" in done.stdout


@pytest.mark.parametrize(
    ("end", "told"),
    [
        ("sys.exit(3)", "The program ended with exit status 3."),
        ("sys.exit('no good')", "The program ended with exit status 'no good'."),
        ("os._exit(4)", "The program ended with exit status 4."),
        ("sys.exit()", "The program ended."),
    ],
)
def test_an_exit_is_told_and_leads_to_who_exits(
    whence: Whence, folder: Path, end: str, told: str
) -> None:
    source = f"import os, sys\ndef check(x):\n    if x: {end}\ncheck(1)\n"
    done = whence("run", program(folder, source), answers="\nn\n", status=0)
    assert told in done.stdout
    assert "The fault is in check" in done.stdout


def test_a_program_that_prints_nothing_can_be_called_wrong(whence: Whence, folder: Path) -> None:
    source = "def f(x): return x + 1\nf(1)\n"
    done = whence("run", program(folder, source), answers="\nn\n", status=0)
    assert "It printed" not in done.stdout
    assert "The fault is in f" in done.stdout


def test_a_program_that_forks_is_debugged_in_the_parent(whence: Whence, folder: Path) -> None:
    source = """
import os
def work(n): return n + 2
def main():
    child = os.fork()
    if child == 0:
        print("child", work(1), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    print("parent", work(2))
main()
"""
    done = whence("run", program(folder, source), answers="1\nn\n", status=0)
    assert done.stdout.startswith("child 3\nparent 4\n")
    assert "  1 | parent 4" in done.stdout
    assert "The fault is in work" in done.stdout


def test_a_program_that_is_killed_leaves_what_it_did(whence: Whence, folder: Path) -> None:
    source = """
import os, signal
def step(n):
    if n == 600_000: os.kill(os.getpid(), signal.SIGKILL)
for n in range(600_001): step(n)
"""
    done = whence("run", program(folder, source), answers="\n", status=1)
    assert "the program was killed by SIGKILL" in done.stderr
    assert "The program did not end" in done.stdout
    assert "step(n=" in done.stdout


def test_recursion_to_the_limit_is_no_end(whence: Whence, folder: Path) -> None:
    source = "def down(n): return down(n)\ndown(3)\n"
    done = whence("run", program(folder, source), answers="\nn\n", status=0)
    assert "RecursionError" in done.stderr
    assert "The program did not end: the recursion limit was reached." in done.stdout
    assert "The fault is in down" in done.stdout


def test_a_recursion_error_that_is_caught_is_an_exception_like_any_other(
    whence: Whence, folder: Path
) -> None:
    source = """
def down(n): return down(n + 1)
def safely():
    try: down(0)
    except RecursionError: return "too deep"
print(safely())
"""
    whence("run", "--wrong", "output:1", program(folder, source), status=1)
    shown = whence("show", str(recording(folder)), "--call", "3", status=0)
    assert "raised RecursionError" in shown.stdout


# --- being stopped -------------------------------------------------------------------------------

ENDLESS = """
import sys
def count(n):
    print("started", flush=True)
    while True: n = step(n)
def step(n): return n + 1
count(0)
"""


def test_the_time_limit_stops_the_program_and_calls_that_ran_did_not_end(
    whence: Whence, folder: Path
) -> None:
    done = whence("run", "--time-limit", "0.5", "--max-calls", "100",
        program(folder, ENDLESS), answers="\nn\ny\n",
    )  # fmt: skip
    assert "The program did not end: it was stopped after 0.5 seconds." in done.stdout
    tree = open_trace(recording(folder))
    count = tree.call(tree.position(2))
    assert "did not end: it was stopped after 0.5 seconds" in count.equation()
    assert "started\n" in done.stdout
    assert read_symptom(recording(folder)) == Symptom(SymptomKind.NOT_ENDED, by_person=True)


def test_nothing_in_the_program_can_catch_the_time_limit(whence: Whence, folder: Path) -> None:
    source = """
import signal, time
def forever():
    while True:
        try: time.sleep(10)
        except BaseException: pass
        finally: print("no", flush=True)
for number in (signal.SIGINT, signal.SIGTERM): signal.signal(number, signal.SIG_IGN)
forever()
"""
    done = whence("run", "--time-limit", "0.5", program(folder, source), answers="\nn\n",
        status=0,
    )  # fmt: skip
    assert "The fault is in forever" in done.stdout
    assert "no\n" not in done.stdout


def test_a_program_that_is_busy_in_c_is_killed_after_a_while(whence: Whence, folder: Path) -> None:
    source = "def add(n): return sum(range(n))\nadd(10**13)\n"
    done = whence("run", "--time-limit", "0.2", program(folder, source), status=1)
    assert "The program did not end" in done.stdout
    assert "the program was killed by SIGKILL" in done.stderr
    assert "add(n=10000000000000) did not end" in done.stdout


@pytest.mark.parametrize("text", ["0", "-1", "soon", "nan", "inf"])
def test_a_time_limit_that_is_none_is_refused(whence: Whence, folder: Path, text: str) -> None:
    done = whence("run", f"--time-limit={text}", program(folder, SHOP), status=2)
    assert "--time-limit" in done.stderr


def started(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    """A run that has begun to print."""
    process = subprocess.Popen(
        [sys.executable, "-m", "whence", *words], cwd=folder, env=os.environ | _private(folder),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == b"started\n"
    return process


def test_an_interrupt_stops_the_program_and_keeps_what_was_recorded(folder: Path) -> None:
    process = started(folder, "run", "--max-calls", "100", program(folder, ENDLESS))
    process.send_signal(signal.SIGINT)
    out, problems = process.communicate(timeout=60)
    assert b"KeyboardInterrupt" in problems
    assert "The program did not end: it was interrupted (Ctrl-C)." in out.decode()
    assert "count(n=0) did not end: it was interrupted (Ctrl-C)" in out.decode()
    assert process.returncode == 1


def test_a_program_that_handles_an_interrupt_goes_on_as_it_wishes(folder: Path) -> None:
    source = """
def wait():
    try:
        print("started", flush=True)
        while True: pass
    except KeyboardInterrupt: return "cleaned up"
print(wait())
"""
    process = started(folder, "run", "--wrong", "output:2", program(folder, source))
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert "cleaned up" in out.decode()
    assert "did not end" not in out.decode()


def test_who_is_told_to_end_ends_the_program_and_itself(folder: Path) -> None:
    process = started(folder, "run", program(folder, ENDLESS))
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM


# --- input and output ----------------------------------------------------------------------------

SUMS = """
import sys
def add(numbers): return sum(numbers) + 1
print(add(int(line) for line in sys.stdin))
"""


def test_a_piped_input_is_the_programs_and_is_kept(folder: Path) -> None:
    name = program(folder, SUMS)
    done = apart(folder, "run", "--wrong", "output:1", name, given=b"1\n2\n")
    assert done.stdout.startswith("4\n")
    assert beside(recording(folder), "stdin").read_text() == "1\n2\n"


def test_an_input_file_is_the_programs_from_where_it_stands_and_is_kept(folder: Path) -> None:
    (folder / "numbers").write_text("heading\n1\n2\n")
    name = program(folder, SUMS)
    with (folder / "numbers").open() as numbers:
        os.lseek(numbers.fileno(), len("heading\n"), os.SEEK_SET)
        done = subprocess.run(
            [sys.executable, "-m", "whence", "run", "--wrong", "output:1", name], cwd=folder,
            env=environment(), stdin=numbers, capture_output=True, timeout=60, check=False,
            start_new_session=True,
        )  # fmt: skip
    assert done.stdout.startswith(b"4\n")
    assert beside(recording(folder), "stdin").read_text() == "1\n2\n"


def test_a_program_that_leaves_its_input_unread_does_no_harm(folder: Path) -> None:
    given = b"x" * 1_000_000
    apart(folder, "run", "--wrong", "output:2", program(folder, SHOP), given=given, status=1)


FREE_THREADED = """
import sysconfig
real = sysconfig.get_config_var
sysconfig.get_config_var = lambda name: 1 if name == "Py_GIL_DISABLED" else real(name)
"""


def test_on_a_free_threaded_python_one_sentence_says_that_nothing_is_recorded(
    tmp_path: Path,
) -> None:
    (tmp_path / "sitecustomize.py").write_text(FREE_THREADED)
    (tmp_path / "program.py").write_text("print(1)\n")
    environ = environment()
    environ["PYTHONPATH"] = os.pathsep.join([str(tmp_path), environ["PYTHONPATH"]])
    done = subprocess.run(
        [sys.executable, "-m", "whence", "run", "program.py"], cwd=tmp_path, env=environ,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "whence: nothing can record here: this is a free-threaded build of Python, where calls of "
        "different threads would get mixed up; record with a standard build\n"
    )


@pytest.mark.skipif(sys.version_info < (3, 15), reason="it takes Python 3.15")
@pytest.mark.parametrize("mode", ["normal", "all"])
def test_imports_are_as_lazy_as_without_whence(mode: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import sys, sched\n"
        "lazy import colorsys\n"
        "def f(): return sched.scheduler.__name__\n"
        "def kinds(): return [type(globals()[name]).__name__ for name in ('sched', 'colorsys')]\n"
        "print(sys.get_lazy_imports(), sys.flags.lazy_imports, kinds(), f(), kinds())\n"
    )
    words = ["-m", "whence", "run", "--no-session", "program.py"]
    environ = {**environment(), "PYTHON_LAZY_IMPORTS": mode}

    def first_line(words: list[str]) -> str:
        done = subprocess.run(
            [sys.executable, *words], cwd=tmp_path, env=environ, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.stdout.partition("\n")[0]

    plain = first_line(["program.py"])
    assert mode in plain
    assert first_line(words) == plain


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_environment_is_kept_for_nobody_else_and_out_of_git(
    whence: Whence, folder: Path
) -> None:
    whence("run", "--wrong", "output:1", program(folder, SHOP))
    kept = beside(recording(folder), "environment.json")
    assert json.loads(kept.read_text())["PYTHONPATH"]
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    listed = subprocess.run(
        ["git", "status", "--short", "--untracked-files=all"], cwd=folder, check=True,
        capture_output=True, text=True,
    )  # fmt: skip
    assert ".whence/.gitignore" in listed.stdout
    assert "runs" not in listed.stdout


def test_a_recording_elsewhere_has_no_environment_beside_it(whence: Whence, folder: Path) -> None:
    whence("run", "--recording", "here.whence", "--wrong", "output:2", program(folder, SHOP))
    assert sorted(path.name for path in folder.glob("here*")) == [
        "here.whence",
        "here.whence.signature",
        "here.whence.symptom.json",
    ]
    assert not (folder / ".whence").exists()


def test_binary_and_partial_lines_do_no_harm(whence: Whence, folder: Path) -> None:
    source = r"""
import sys
def raw(): sys.stdout.buffer.write(b"\xff\x00\n"); sys.stdout.buffer.flush()
def piece(text): sys.stdout.write(text)
def done(): print("!")
piece("a"); piece("b"); done(); sys.stdout.flush()
raw()
print("\x1b[31mred\rline", "\udcff".encode("utf-8", "surrogateescape"))
piece("no end")
"""
    done = whence("run", program(folder, source), answers="1\nn\n", status=0)
    assert "  1 | ab!" in done.stdout
    assert "  3 | no end" in done.stdout
    assert "\x1b[31m" not in done.stdout[done.stdout.index("It printed:") :]
    assert "The fault is in piece" in done.stdout, "who wrote the first piece is asked first"


def test_what_goes_to_a_stream_of_the_programs_own_is_no_output(
    whence: Whence, folder: Path
) -> None:
    source = """
import contextlib, io, sys
def shown(): print("shown")
def hidden(): print("hidden")
with contextlib.redirect_stdout(io.StringIO()): hidden()
class Upper:
    def write(self, text): sys.__stdout__.write(text.upper())
    def flush(self): pass
sys.stdout = Upper()
shown()
"""
    done = whence("run", program(folder, source), answers="1\n", status=1)
    assert "  1 | SHOWN" in done.stdout
    assert "hidden\n" not in done.stdout


def test_a_diagnosis_as_json_stands_alone(whence: Whence, folder: Path) -> None:
    done = whence("run", "--format", "json", "--wrong", "output:2",
        program(folder, SHOP), answers="n\ny\n", status=0,
    )  # fmt: skip
    report = json.loads(done.stdout)
    assert report["at_fault"]["qualname"] == "total"
    assert {answer["by"] for answer in report["answers"]} == {"symptom", "person"}
    assert "total 120" in done.stderr, "the program's output goes where it does not disturb"


# --- what the program sees -----------------------------------------------------------------------


def test_the_program_sees_what_it_sees_under_python(folder: Path) -> None:
    source = """
import os, signal, sys
print(sys.argv, __name__, __file__, sys.path[0], sys.flags.dev_mode, sys.orig_argv[1:])
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
print(sorted(name for name in os.environ if "WHENCE" in name), os.getcwd())
print(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
"""
    name = program(folder, source)
    # Files that would be loaded in place of what whence needs, if it looked here.
    (folder / "json.py").write_text("raise SystemExit('the wrong json')\n")
    (folder / "whence.py").write_text("raise SystemExit('the wrong whence')\n")
    plain = subprocess.run(
        [sys.executable, "-X", "dev", name, "--", "-x", "a b"], cwd=folder, env=environment(),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    ours = subprocess.run(
        [sys.executable, "-X", "dev", "-P", "-m", "whence", "run", "--wrong", "result", name, "--",
         "-x", "a b"],
        cwd=folder, env=environment(), capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    seen = ours.stdout.splitlines()[:4]
    assert seen[1:] == plain.stdout.splitlines()[1:]


def test_words_after_the_program_are_the_programs(whence: Whence, folder: Path) -> None:
    name = program(folder, "import sys\nprint(sys.argv[1:])\n")
    done = whence("run", "--wrong", "output:1", name, "--wrong", "--", "--time-limit", status=0)
    assert done.stdout.startswith("['--wrong', '--', '--time-limit']\n")


@pytest.mark.parametrize(
    "words", [["-m", "program", "1"], ["-c", "import program", "1"], ["program.py", "1"]]
)
def test_scripts_modules_and_code_can_be_run(
    whence: Whence, folder: Path, words: list[str]
) -> None:
    program(folder, "import sys\ndef f(x): return x + 1\nprint(f(len(sys.argv)))\n")
    done = whence("run", *words, answers="1\nn\n", status=0)
    assert done.stdout.startswith("3\n")
    assert "The fault is in f" in done.stdout


# --- recordings ----------------------------------------------------------------------------------


def test_the_last_recording_is_opened_again_with_what_was_wrong(
    whence: Whence, folder: Path
) -> None:
    whence("run", "--wrong", "output:2", program(folder, SHOP), status=1)
    done = whence("debug", answers="n\ny\n", status=0)
    assert "What is wrong?" not in done.stdout
    assert "The fault is in total" in done.stdout


def test_what_was_not_said_about_the_last_recording_is_asked(whence: Whence, folder: Path) -> None:
    whence("run", program(folder, SHOP), status=1)
    done = whence("debug", answers="2\nn\ny\n", status=0)
    assert "What is wrong?" in done.stdout
    assert "The fault is in total" in done.stdout


def test_without_a_recording_there_is_nothing_to_open_again(whence: Whence, folder: Path) -> None:
    assert "there is no recording" in whence("debug", status=2).stderr


def test_recordings_are_listed_and_old_ones_removed(whence: Whence, folder: Path) -> None:
    assert "no recordings here" in whence("list", status=0).stdout
    whence("run", "--wrong", "output:2", program(folder, SHOP))
    whence("run", program(folder, "def f(x): return x[3]\nf('a')\n", "other.py"), "a b")
    lines = whence("list", status=0).stdout.splitlines()
    assert lines[0] == ".whence/runs/program-1.whence"
    assert lines[1].endswith("  program.py")
    assert lines[2].startswith("  4 calls, ")
    assert lines[2].endswith(", ended, wrong: output line 2")
    assert lines[4].endswith("  other.py 'a b'")
    assert lines[5].endswith(", raised IndexError, wrong: exception")
    assert "removed 1, kept 1" in whence("list", "--prune", "1", status=0).stdout
    left = {path.name for path in (folder / ".whence" / "runs").iterdir()}
    ends = ("", ".environment.json", ".signature", ".symptom.json")
    kept = {f"other-2.whence{end}" for end in ends}
    assert kept <= left <= {*kept, "other-2.whence.stdin"}


def test_a_damaged_recording_is_named_and_the_others_are_listed(
    whence: Whence, folder: Path
) -> None:
    whence("run", "--wrong", "output:2", program(folder, SHOP))
    (folder / ".whence" / "runs" / "bad-7.whence").write_bytes(b"nothing of ours")
    lines = whence("list", status=0).stdout.splitlines()
    assert lines[0] == ".whence/runs/program-1.whence"
    assert "bad-7.whence: this is not a trace file" in lines[3]


def test_an_option_of_the_program_that_could_be_short_for_ours_is_the_programs(
    whence: Whence, folder: Path
) -> None:
    name = program(folder, "import sys\nprint(sys.argv[1:])\n")
    done = whence("run", name, "--n", "3", "--de=1", "-n1", answers="n\n")
    assert "['--n', '3', '--de=1', '-n1']" in done.stdout + done.stderr


# --- the lines that ran --------------------------------------------------------------------------

SIGN = """\
def sign(n):
    if n < 0:
        return "minus"
    return "plus"
print(sign(3))
"""
MARKED = '  > 2      if n < 0:\n    3          return "minus"\n  > 4      return "plus"\n'


def test_a_diagnosis_marks_the_lines_that_ran(whence: Whence, folder: Path) -> None:
    done = whence("run", program(folder, SIGN), answers="\nn\n", status=0)
    assert MARKED in done.stdout
    done = whence("run", "--no-rerun", "program.py", answers="\nn\n", status=0)
    assert MARKED.replace(">", " ") in done.stdout
    assert "which lines ran" not in done.stdout


def test_the_lines_that_ran_are_in_every_form_of_the_report(whence: Whence, folder: Path) -> None:
    name = program(folder, SIGN)
    whence("run", "--format", "json", "-o", "a.json", name, answers="\nn\n", status=0)
    report = json.loads((folder / "a.json").read_text())["at_fault"]
    assert (report["source"]["executed"], report["lines_not_known"]) == ([2, 4], "")
    whence("run", "--format", "html", "-o", "a.html", name, answers="\nn\n", status=0)
    page = (folder / "a.html").read_text()
    assert page.count("<span class=ran>") == 2


def test_the_program_is_run_again_for_its_lines_only_if_that_is_allowed(
    whence: Whence, folder: Path
) -> None:
    name = program(folder, f"with open('runs', 'a') as file: file.write('x')\n{SIGN}")
    marked = '  > 3      if n < 0:\n    4          return "minus"\n  > 5      return "plus"\n'
    done = whence("run", name, answers="\nn\n", status=0)
    why = "while its module is loaded it opens a file for writing; ran runs the program again"
    assert f"(which lines ran is not known: {why} for it)" in done.stdout
    assert (folder / "runs").read_text() == "x"
    done = whence("run", "--rerun", name, answers="\nn\n", status=0)
    assert marked in done.stdout
    assert (folder / "runs").read_text() == "xxx"


def test_a_script_does_not_depend_on_what_a_person_said_before(
    whence: Whence, folder: Path
) -> None:
    (folder / "shop.py").write_text(SHOP)
    words = ["record", "-q", "-o", "shop.whence", "shop.py"]
    subprocess.run([sys.executable, "-m", "whence", *words], cwd=folder, check=True)
    recording = folder / "shop.whence"
    first = whence("debug", "--plain", str(recording), answers="q\n")
    said = whence("debug", "--plain", "--wrong", "output:2", str(recording), answers="q\n")
    stored = read_symptom(recording)
    assert stored is not None and stored.by_person
    assert said.stdout != first.stdout
    for option in ((), ("--no-session",)):
        again = whence("debug", "--plain", *option, str(recording), answers="q\n")
        assert again.stdout == first.stdout
    # What a test or `whence check` wrote belongs to the recording.
    write_symptom(recording, Symptom(SymptomKind.OUTPUT, line=2))
    assert whence("debug", "--plain", str(recording), answers="q\n").stdout == said.stdout
