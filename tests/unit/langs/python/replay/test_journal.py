"""A program that was recorded with a journal runs again as it did, and changes nothing."""

from __future__ import annotations

import marshal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from journal_programs import PROGRAMS, USE, Program, World

from whence.cli.main import main
from whence.errors import WhenceError
from whence.langs.python.record.journal.journal_choice import obstacle
from whence.langs.python.recording_signature import allow
from whence.langs.python.recordings import beside
from whence.langs.python.replay.program_reruns import ProgramReruns
from whence.langs.python.trace.trace_reader import open_trace
from whence.model.value import FULL, show

pytestmark = pytest.mark.skipif(obstacle(None) is not None, reason="nothing here keeps a journal")


def as_expected(world: World, program: Program) -> None:
    before = world.state()
    checked = world.check()
    assert world.state() == before
    if program.if_refused and checked.divergence is not None:
        assert program.if_refused in checked.cause
    elif program.refused is None:
        assert checked.divergence is None, f"{checked.divergence}: {checked.cause}"
        assert checked.calls >= 1
    else:
        assert checked.divergence is not None
        assert program.refused in f"{checked.divergence}: {checked.cause}"


def joined(programs: dict[str, Program], folder: Path) -> Program:
    """One after another in one process, each a module in a folder of its own."""
    files: dict[str, str] = {}
    after: dict[str, str | None] = {}
    variables: dict[str, str] = {}
    source = "import os\nhome = os.getcwd()\n"
    for number, program in enumerate(programs.values()):
        (folder / f"part_{number}.py").write_text(USE + textwrap.dedent(program.source))
        source += f"os.chdir(os.path.join(home, '{number}'))\nimport part_{number}\n"
        files |= {f"{number}/{name}": text for name, text in program.files.items()}
        files[f"{number}/there"] = ""
        after |= {f"{number}/{name}": text for name, text in program.after.items()}
        variables |= program.variables
    return Program(source, files=files, after=after, variables=variables)


def test_programs_that_depend_on_the_world_run_again_as_they_did(tmp_path: Path) -> None:
    programs = {name: program for name, program in PROGRAMS.items() if program.joins}
    assert len(programs) > 40
    program = joined(programs, tmp_path)
    as_expected(World(tmp_path, program), program)


@pytest.mark.parametrize(
    "name",
    [
        "addresses in texts",
        "ctypes",
        "random numbers and the clock by ctypes",
        "utcnow, which warns",
        "utcnow, which prints its warning",
        "a database in memory that picks a random number",
        "a module that is written, imported, written and reloaded",
        "a module that is written, imported and removed",
    ],
)
def test_what_cannot_be_run_again_is_refused_for_the_right_reason(
    name: str, tmp_path: Path
) -> None:
    as_expected(World(tmp_path, PROGRAMS[name]), PROGRAMS[name])


@pytest.mark.parametrize("name", ["input"])
def test_a_program_that_reads_or_ends_in_its_own_way_runs_again(name: str, tmp_path: Path) -> None:
    as_expected(World(tmp_path, PROGRAMS[name]), PROGRAMS[name])


@pytest.mark.soak
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_program_alone_runs_again_as_it_did_or_is_refused_for_the_right_reason(
    name: str, tmp_path: Path
) -> None:
    as_expected(World(tmp_path, PROGRAMS[name]), PROGRAMS[name])


# --- a guest -------------------------------------------------------------------------------------

SEES = {
    "functions are what they were": """
        import builtins, datetime, io, os, random, select, time
        for each in (time.time, os.open, os.stat, os.scandir, os.urandom, id, open, select.select,
                     io.FileIO.readinto, io.FileIO.__init__, datetime.datetime.now, random.seed,
                     os.fork, os.DirEntry.is_dir):
            print(type(each), getattr(each, "__name__", None), getattr(each, "__doc__", "")[:20],
                  getattr(each, "__text_signature__", None), getattr(each, "__module__", None))
        print(builtins.open is io.open, time.time.__self__ is time)
    """,
    "a traceback has no foreign frames": """
        import os, traceback
        def tried(what):
            try:
                what()
            except Exception:
                print(traceback.format_exc())
        tried(lambda: open("no/such/file"))
        tried(lambda: os.open("no/such/file", os.O_RDONLY))
        tried(lambda: os.scandir("no/such/folder"))
        tried(lambda: os.stat("no/such/file"))
        tried(lambda: open("."))
        tried(lambda: os.stat("\\0"))
        tried(lambda: open("x", "q"))
    """,
    "exceptions keep what they were raised with": """
        import os, pathlib
        path = pathlib.Path("no/such/file")
        for what in (os.stat, os.unlink, os.listdir, open, os.scandir):
            try:
                what(path)
            except OSError as error:
                print(type(error), error.args, repr(error.filename), error.filename2)
        try:
            os.rename(path, "other")
        except OSError as error:
            print(repr(error.filename), repr(error.filename2), error.__context__)
    """,
    "descriptors have the numbers that they have": """
        import os, socket, tempfile
        print(os.open(".", os.O_RDONLY), os.pipe(), open(__file__).fileno())
        with tempfile.TemporaryFile() as file, socket.socket() as end:
            print(file.fileno(), end.fileno(), file.name)
    """,
    "warnings name the program's lines": """
        import datetime, sys, warnings
        warnings.simplefilter("always")
        print(type(datetime.datetime.utcnow()))
        file = open(__file__)
        del file
        sys.stderr.flush()
    """,
    "nobody is traced but the program": """
        import os, sys, time
        seen = []
        def trace(frame, event, argument):
            seen.append((frame.f_code.co_name, event))
            return trace
        def work():
            time.time()
            os.listdir(".")
            with open(__file__) as file:
                return len(file.readline())
        sys.settrace(trace)
        work()
        sys.settrace(None)
        print([each for each in seen if "codec" not in each[0] and each[0] != "__init__"])
    """,
    "a signal is handled in the program's own code": """
        import os, signal, sys
        def handler(number, frame):
            print("signal in", frame.f_code.co_name)
        signal.signal(signal.SIGUSR1, handler)
        def work():
            os.kill(os.getpid(), signal.SIGUSR1)
            return open(__file__).close()
        work()
    """,
    "files are what they were": """
        import io, os
        with open("f", "w+") as file:
            print(file, file.buffer.raw, file.mode, file.name)
        class Own(io.FileIO):
            def __init__(self, *given):
                super().__init__(*given)
        with Own("f", "r+") as file:
            print(file.name, file.mode, file.closefd, file.read())
        print(open("g", "xb", opener=lambda path, flags: os.open(path, flags)).name)
        print([each.name for each in sorted(os.scandir("."), key=lambda each: each.name)])
    """,
    "garbage is collected as it says": """
        import gc
        print(gc.get_threshold(), gc.isenabled(), len(gc.get_count()), len(gc.get_stats()))
        gc.set_threshold(5, 6)
        print(gc.get_threshold()[:2])
        class Own:
            def __del__(self):
                print("gone")
        def made():
            one = Own()
            one.other = one
        def call():
            pass
        gc.disable()
        made()
        [call() for _ in range(3000)]
        print("still there", gc.isenabled())
        print(gc.collect() > 0)
        gc.enable()
        gc.set_threshold(0)
        made()
        [call() for _ in range(3000)]
        print("still there", gc.get_threshold()[0])
        gc.collect()
    """,
    "children are not noted": """
        import os, sys, time
        child = os.fork()
        if child == 0:
            time.time(); open(__file__).close(); print("child", os.getpid() != 1, flush=True)
            sys.exit(0)
        print("parent", os.waitpid(child, 0)[1])
    """,
}


def test_with_a_journal_the_program_sees_nothing_different(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    lines = []
    for number, (what, source) in enumerate(SEES.items()):
        (tmp_path / f"part_{number}.py").write_text(textwrap.dedent(source))
        lines.append(f"print({what!r}, flush=True)\nimport part_{number}\n")
    script.write_text("".join(lines))
    seen = []
    for number, words in enumerate(([], ["-m", "whence", "record", "--journal", "-o", "../r"])):
        folder = tmp_path / str(number)
        folder.mkdir()
        done = subprocess.run(
            [sys.executable, "-B", *words, str(script)], cwd=folder,
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert list(SEES)[-1] in done.stdout
        seen.append((done.stdout.splitlines(), done.stderr.splitlines(), done.returncode))
    assert seen[0] == seen[1]


# --- what else it is for -------------------------------------------------------------------------


def test_classes_made_at_run_time_are_collected_without_a_request(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import weakref\nmade = []\ndef make():\n    class Made: pass\n"
        "    made.append(weakref.ref(Made))\nfor _ in range(300):\n    make()\n"
        "print(sum(reference() is not None for reference in made))\n"
    )
    output = tmp_path / "run.whence"
    words = ["-m", "whence", "record", "--journal", "-o", str(output), str(program)]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=True)
    assert int(done.stdout.split()[0]) <= 100


def test_what_a_recording_does_not_say_is_had_from_a_run_that_depends_on_chance(
    tmp_path: Path,
) -> None:
    source = "import random\nuse(*[random.random() for _ in range(200)])\n"
    world = World(tmp_path, Program(source))
    tree = open_trace(world.recording)
    reruns = ProgramReruns(world.recording, tree)
    assert reruns.is_harmless
    node = next(n for n in range(1, 9) if tree.call(n).function.short() == "use")
    recorded = tree.call(node).arguments[0].value
    whole = reruns.whole(node).arguments[0].value
    assert 0 < len(recorded.parts) < 200
    assert [show(part) for _, part in whole.parts][: len(recorded.parts)] == [
        show(part) for _, part in recorded.parts
    ]
    assert len(whole.parts) == 200


def test_variables_of_modules_are_had_in_full_as_well(tmp_path: Path) -> None:
    source = """
        log = []
        def fill():
            log.extend((n, [n, (n, n)]) for n in range(200))
        def size():
            return len(log)
        fill(); size()
    """
    world = World(tmp_path, Program(source))
    tree = open_trace(world.recording)
    reruns = ProgramReruns(world.recording, tree)
    nodes = {tree.call(n).function.short(): n for n in range(1, len(tree.columns))}
    [effect] = reruns.whole(nodes["fill"]).effects
    [read] = reruns.whole(nodes["size"]).reads
    for value in (effect.after, read.value):
        assert value is not None
        assert show(value, FULL).endswith("(199, [199, (199, 199)])]")
    assert not reruns.whole(nodes["size"]).effects


def test_a_program_that_was_changed_is_refused_and_the_file_is_named(tmp_path: Path) -> None:
    world = World(tmp_path, Program("import time\nuse(time.time())\nuse(2)\n"))
    world.script.write_text(world.script.read_text().replace("use(2)", "use(3)"))
    checked = world.check()
    assert checked.divergence is not None
    assert "3" in checked.divergence.again
    assert "program.py" in checked.cause


@pytest.mark.parametrize(
    ("before", "after", "recorded", "again"),
    [
        ("return -n", "return n", "inner(n=1) → -1", "inner(n=1) → 1"),
        ("inner(n) #", "inner(n + 1) #", "inner(n=1) → -1", "inner(n=2) → -2"),
        ("inner(n) #", "use(n) #", "inner (", "use ("),
        ("'a'", "'b'", "show() → None", "show() → None; it printed 'a', now 'b'"),
    ],
)
def test_the_call_that_began_to_differ_is_named_and_not_who_called_it(
    before: str, after: str, recorded: str, again: str, tmp_path: Path
) -> None:
    source = """
        def inner(n): return -n
        def outer(n): return inner(n) #
        def show(): print(f"same\\n{'a'}")
        print(outer(1))
        show()
    """
    world = World(tmp_path, Program(source))
    world.script.write_text(world.script.read_text().replace(before, after))
    divergence = world.check().divergence
    assert divergence is not None
    assert divergence.recorded.startswith(recorded)
    assert divergence.again.startswith(again)


def test_what_was_compiled_when_it_ran_is_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    (tmp_path / "other.py").write_text("VALUE = 1\n")
    world = World(tmp_path, Program("import other\nuse(other.VALUE)\n"))
    [cached] = tmp_path.rglob("other.*.pyc")
    of_another = marshal.dumps(compile("VALUE = 2\n", str(tmp_path / "other.py"), "exec"))
    cached.write_bytes(cached.read_bytes()[:16] + of_another)
    assert world.check().divergence is None


def test_a_question_that_was_not_asked_before_is_named(tmp_path: Path) -> None:
    world = World(tmp_path, Program("import time\nuse(1)\ntime.time()\nuse(2)\n"))
    world.script.write_text(world.script.read_text().replace("time.time()", "time.monotonic()"))
    checked = world.check()
    assert checked.divergence is not None
    assert "asked for time.monotonic(), recorded was time.time" in checked.cause


def test_the_journal_of_another_recording_is_not_played(tmp_path: Path) -> None:
    world = World(tmp_path, Program("import time\nuse(time.time())\n"))
    journal = beside(world.recording, "journal")
    kept = journal.read_bytes()
    line, rest = kept.split(b"\n", 1)
    journal.write_bytes(line.replace(b'"run": "', b'"run": "0') + b"\n" + rest)
    reruns = ProgramReruns(world.recording, open_trace(world.recording))
    assert not reruns.is_harmless
    with pytest.raises(WhenceError, match="--journal"):
        reruns.debug(1)


def test_a_journal_that_is_cut_off_ends_the_re_run_there(tmp_path: Path) -> None:
    world = World(tmp_path, Program("import time\nfor _ in range(50):\n    use(time.time())\n"))
    journal = beside(world.recording, "journal")
    kept = journal.read_bytes()
    journal.write_bytes(kept[: len(kept) - 300])
    allow(world.recording)
    checked = world.check()
    assert checked.divergence is not None
    assert "recorded was nothing more" in checked.cause
    assert checked.calls > 10


def test_a_program_that_was_killed_leaves_a_journal_up_to_there(tmp_path: Path) -> None:
    source = "import os, time\nuse(time.time())\nuse(time.time())\nos.kill(os.getpid(), 9)\n"
    world = World(tmp_path, Program(source))
    assert world.ran.returncode == -9
    journal = beside(world.recording, "journal").read_bytes()
    assert len(journal.rstrip(b"\0").split(b"\n", 1)[1]) > 10
    checked = world.check()
    assert checked.divergence is None
    assert not checked.ended
    assert "breaks off" in checked.unknown


def test_a_re_run_that_ends_in_another_way_is_not_the_same(tmp_path: Path) -> None:
    world = World(tmp_path, Program("use(1)\nend = 3\nraise SystemExit(end)\n"))
    assert world.check().divergence is None
    world.script.write_text(world.script.read_text().replace("end = 3", "end = 4"))
    divergence = world.check().divergence
    assert divergence is not None
    assert "3" in divergence.recorded
    assert "4" in divergence.again
    crash = "import faulthandler; faulthandler._sigsegv()"
    world.script.write_text(world.script.read_text().replace("end = 4", crash))
    divergence = world.check().divergence
    assert divergence is not None
    assert divergence.again == "the process died"


def test_rerun_tells_whether_the_calls_are_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(tmp_path, Program("import random\nuse(random.random())\n"))
    words = ["rerun", str(world.recording)]
    assert main(words) == 0
    assert "the re-run matches the recording: 2 calls are the same" in " ".join(
        capsys.readouterr().out.split()
    )
    beside(world.recording, "journal").unlink()
    assert main(words) == 2
    assert "--live" in capsys.readouterr().err
    assert main([*words, "--live"]) == 1
    assert "--journal" in capsys.readouterr().out
