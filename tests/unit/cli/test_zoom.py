"""`whence zoom`: the statement at fault, by another run of the program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from debuggee_runs import record_repeatably
from recorded import environment

from whence.app.frontends import open_any
from whence.app.session_driver import SessionDriver
from whence.cli.main import main
from whence.cli.why import find_call
from whence.errors import WhenceError
from whence.langs.python.record.journal.journal_choice import obstacle
from whence.model.call import OutcomeKind
from whence.model.diagnosis import Diagnosis, Status
from whence.model.verdict import PERSON, Answer, Verdict
from whence.ports import Zooming
from whence.session import log_entries
from whence.session.events import Answered, Ask, Exhausted, Found, Undone
from whence.session.state import Options, State
from whence.store.checked_lines import checked_line
from whence.store.session_log import SessionLog
from whence.tree.column_tree import ColumnTree
from whence.tree.fingerprint import fingerprint

PROGRAM = """\
def double(x):
    return x * 2


def deep(x):
    return double(x) + 1


def total(xs, limit):
    kept = []
    for x in xs:
        y = double(x)
        if y > limit:
            y = limit + 1
        kept.append(y)
    print("kept", kept)
    return kept


def gathered(n):
    seen = 0
    while seen < n:
        yield deep(seen)
        seen += 1


class Shop:
    prices = [1, 2]

    def cheapest(self):
        best = self.prices[-1]
        return best


shortest = lambda words: min(words, key=len)
print(total([1, 2, 3], 4), list(gathered(2)), Shop().cheapest(), shortest(["a"]))
"""


WORLDLY = """\
import os
import random
import sqlite3
import sys
import time

import other

freed = []


class Knot:
    def __init__(self):
        self.me = self

    def __del__(self):
        freed.append(time.time())


class Plain:
    pass


def drawn(n):
    found = []
    for number in range(n):
        found.append((random.random(), time.time_ns(), id(found)))
        print("drawn", number, flush=True)
        sys.stdout.write("and ")
        os.write(1, b"kept\\n")
    with open("out.txt", "a") as file:
        file.write("once more\\n")
    return found


def waited(n):
    Knot()
    for number in range(n):
        if freed:
            return number
    return -1


def kept(path):
    sqlite3.connect(path).close()


drawn(2)
held = [[] for _ in range(48_500)]  # garbage is collected when there are 50,000
waited(600)
plain = [Plain() for _ in range(9)]
other.walked([plain.index(each) for each in set(plain)])
kept("names.db")
"""


ROUND_3 = (", round 3; ", "rounds 2 to 3", "for x in xs", "lines 10 to 15;")
"""What the third round of the loop is a part of."""


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _recorded(tmp_path_factory.mktemp("zoomed"), PROGRAM)


def _recorded(folder: Path, text: str, *options: str) -> Path:
    (folder / "program.py").write_text(text)
    recording = folder / "run.whence"
    variables = {**os.environ, **environment()}
    words = [*options, "program.py"]
    record_repeatably(recording, words, folder, environment=variables, check=True)
    return recording


@cache
def inside(recording: Path, name: str) -> ColumnTree:
    """The steps of the last call of a function."""
    opened = open_any(recording)
    tree, reruns = opened.tree, opened.reruns
    assert isinstance(reruns, Zooming)
    steps, _ = reruns.zoom(find_call(tree, name))
    assert isinstance(steps, ColumnTree)
    return steps


def diagnosed(tree: ColumnTree, *wrong: str) -> Diagnosis:
    """What is found if those steps and calls are wrong whose text holds one of these."""
    options = Options(ask_top=False, confirm_top=False)
    debugging = SessionDriver(State(tree, options=options))
    outcome = debugging.start()
    while isinstance(outcome, Ask):
        text = outcome.question.call.equation()
        verdict = Verdict.WRONG if any(each in text for each in wrong) else Verdict.RIGHT
        outcome = debugging.send(Answered((Answer(outcome.question.node, verdict),)))
    assert isinstance(outcome, Found | Exhausted)
    return outcome.diagnosis


def report(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, words: list[str], answers: str, status: int
) -> tuple[Any, str]:
    """The report of a session with these answers, and what was shown."""
    script = tmp_path / "answers"
    script.write_text(answers.replace(" ", "\n"))
    assert main([*words, "--answers", str(script), "--format", "json"]) == status
    out, shown = capsys.readouterr()
    return json.loads(out), shown


def test_a_call_is_gone_into_down_to_a_statement_with_its_parts(recording: Path) -> None:
    tree = inside(recording, "total")
    found = diagnosed(tree, "kept = [2, 4, 5]", "y = 5")
    assert found.status is Status.FOUND and found.node is not None
    call = tree.call(tree.position(found.node))
    assert call.step is not None
    assert call.step.label == "line 14, in round 3: y = limit + 1"
    assert call.equation().endswith("before: limit = 4 → after: y = 5")
    assert [(each.name, each.value.text) for each in call.step.parts] == [("limit + 1", "5")]
    where = call.where()
    assert where is not None and where.file.endswith("program.py") and where.line == 14


def test_a_statement_that_is_missing_is_looked_for_where_all_others_are_right(
    recording: Path,
) -> None:
    tree = inside(recording, "total")
    found = diagnosed(tree, *ROUND_3)
    assert found.node is not None
    call = tree.call(tree.position(found.node))
    assert call.step is not None and call.step.label == "lines 12 to 15, round 3"


def test_calls_that_nobody_judged_are_never_blamed_for_what_is_below_them(
    recording: Path,
) -> None:
    tree = inside(recording, "total")
    found = diagnosed(tree, *ROUND_3, "after: y = 6", "double(x=3)")
    assert found.node is not None
    assert tree.call(tree.position(found.node)).function.qualname == "double"
    tree = inside(recording, "gathered")
    found = diagnosed(tree, "yields 3", "deep(x=1)")
    assert found.status is Status.UNDETERMINED
    assert "not searched inside another call" in found.reason
    assert tree.call(tree.position(found.candidates[0])).function.qualname == "deep"


def test_the_statements_of_a_module_are_gone_into_too(recording: Path) -> None:
    tree = inside(recording, "<module>")
    labels = [call.step.label for n in range(len(tree.columns)) if (call := tree.call(n)).step]
    assert any("shortest = lambda words" in label for label in labels)
    printed = [tree.call(n).printed for n in range(len(tree.columns)) if tree.call(n).step]
    assert any(text.endswith("[2, 4, 5] [1, 3] 2 a\n") for text in printed)


def test_zoom_asks_and_reports_as_every_session_does(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["zoom", str(recording), "total", "-s", "top-down"]
    told, shown = report(capsys, tmp_path, words, "y undo y n n", 0)
    assert "before: xs = [1, 2, 3], limit = 4\n    after:  kept = [2, 4, 5]" in shown
    assert "it printed: kept [2, 4, 5]" in shown
    fault = told["at_fault"]
    assert (fault["line"], fault["step"]["label"]) == (16, 'line 16: print("kept", kept)')
    assert fault["step"]["before"] == {"kept": "[2, 4, 5]"}
    assert fault["step"]["after"] == ["nothing changed"]


def test_zoom_at_a_diagnosis_holds_what_was_said_of_calls(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = PROGRAM.partition("def gathered")[0] + "print(total([1, 2, 3], 4))\n"
    words = ["debug", str(_recorded(tmp_path, text)), "--wrong", "output", "-s", "top-down"]
    told, shown = report(capsys, tmp_path, words, "n y y y zoom y n y n", 0)
    assert told["at_fault"]["qualname"] == "total"
    inner = told["zoom"]
    said = [each for each in inner["answers"] if each["by"] == "the session before"]
    assert [each["verdict"] for each in said] == ["right"] * 3
    assert inner["at_fault"]["step"]["label"] == "line 17: return kept"
    assert "Back at the diagnosis" in shown


def test_a_mark_inside_a_call_leads_to_the_statement_that_set_the_part(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "answers"
    script.write_text("n kept[2]\nn\n")
    words = ["zoom", str(recording), "total", "-s", "subterm-tracking", "--format", "json"]
    assert main([*words, "--answers", str(script)]) == 0
    out, shown = capsys.readouterr()
    assert "Wrong: kept[2]. It was set by line 14, in round 3: y = limit + 1" in shown
    assert "and put there by line 15, in round 3: kept.append(y)." in " ".join(shown.split())
    assert json.loads(out)["at_fault"]["line"] == 14


def test_what_was_marked_on_the_call_leads_on_inside_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = PROGRAM.partition("def gathered")[0] + "print(total([1, 2, 3], 4))\n"
    words = ["debug", str(_recorded(tmp_path, text)), "--wrong", "output", "-s", "top-down"]
    script = tmp_path / "answers"
    script.write_text("n result[2]\ny\nzoom\nstrategy auto\nn\n")
    assert main([*words, "--answers", str(script), "--format", "json", "--no-session"]) == 0
    out, shown = capsys.readouterr()
    inside = shown[shown.index("> zoom") :]
    assert "Wrong: result[2]. It was set by line 14, in round 3: y = limit + 1" in inside
    assert "kept in None" not in shown
    assert json.loads(out)["zoom"]["at_fault"]["line"] == 14


def test_what_was_said_inside_a_call_is_kept_with_the_session(tmp_path: Path) -> None:
    text = PROGRAM.partition("def gathered")[0] + "print(total([1, 2, 3], 4))\n"
    opened = open_any(_recorded(tmp_path, text))
    tree, provenance = opened.tree, opened.provenance
    total, kept = find_call(tree, "total"), tmp_path / "session.jsonl"
    notes: list[str] = []

    def held() -> tuple[SessionDriver, SessionLog[log_entries.LogEntry]]:
        log = SessionLog(kept, tree, "a tree", log_entries)
        debugging = SessionDriver(
            State(tree, provenance), log=log, reruns=opened.reruns, may_run=True,
            notify=notes.append,
        )  # fmt: skip
        return debugging, log

    def said(inner: SessionDriver) -> list[Answer]:
        return [each for each in inner.state.facts.answers if each.by == PERSON]

    outer, log = held()
    outer.start()
    outer.send(Answered((Answer(total, Verdict.WRONG),)))
    inner, outcome = outer.zoom(total)
    for verdict in (Verdict.RIGHT, Verdict.RIGHT, Verdict.WRONG):
        assert isinstance(outcome, Ask)
        outcome = inner.send(Answered((Answer(outcome.question.node, verdict),)))
    outcome = inner.send(Undone())
    log.close()
    outer, log = held()
    outer.start()
    again, same = outer.zoom(total)
    assert said(again) == said(inner)
    assert len(said(again)) == 2
    assert isinstance(outcome, Ask) and isinstance(same, Ask)
    assert same.question.node == outcome.question.node
    again.send(Undone())
    outer.save(tmp_path / "copy.jsonl")
    log.close()
    copy, original = (path.read_bytes().splitlines() for path in (tmp_path / "copy.jsonl", kept))
    assert copy[1:] == original[1:]
    assert b'"the same tree"' in copy[0]
    # Another run, in which the steps are others.
    header, *entries = kept.read_bytes().splitlines(keepends=True)
    others = [{**json.loads(line), "tree": "another"} for line in entries]
    for other in others:
        other.pop("check")
    lines = [checked_line(other, fingerprint(tree)) for other in others]
    kept.write_bytes(header + b"".join(lines))
    outer, log = held()
    outer.start()
    assert said(outer.zoom(total)[0]) == []
    assert f"Earlier answers inside call {total} are about steps that it no longer has." in notes
    log.close()


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ("<lambda>", "a lambda is one expression"),
        ("Shop", "zoom does not go into the body of a class"),
        ("0", "call 0 is no call of a function"),
    ],
)
def test_what_cannot_be_gone_into_is_said(
    recording: Path, call: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["zoom", str(recording), call]) == 2
    assert why in capsys.readouterr().err


def test_a_text_that_was_changed_is_not_gone_into(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = _recorded(tmp_path, "def f(x):\n    return x\nf(1)\n")
    (tmp_path / "program.py").write_text("def f(x):\n    y = x\n    return y\nf(1)\n")
    assert main(["zoom", str(recording), "f"]) == 2
    assert "has changed since it was recorded" in capsys.readouterr().err


def test_a_run_that_goes_another_way_is_not_believed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (
        "from pathlib import Path\nseen = Path('seen')\ndef f(x):\n    return x\n"
        "def main(n):\n    return f(n)\nmain(len(seen.read_text()) if seen.exists() else 0)\n"
        "seen.write_text('one')\n"
    )
    recording = _recorded(tmp_path, text)
    assert main(["zoom", str(recording), "f"]) == 2
    assert "the re-run diverged" in capsys.readouterr().err


@pytest.mark.skipif(obstacle(None) is not None, reason="nothing here keeps a journal")
def test_with_a_journal_a_call_is_gone_into_as_it_was_and_nothing_is_done_again(
    tmp_path: Path,
) -> None:
    (tmp_path / "other.py").write_text("def walked(order):\n    return order[::-1]\n")
    recording = _recorded(tmp_path, WORLDLY, "--journal")
    written = tmp_path / "out.txt"
    assert written.read_text() == "once more\n"
    written.unlink()
    # Each is refused unless the run went as it did, up to what the call gave.
    tree = inside(recording, "drawn")
    printed = [tree.call(n).printed for n in range(len(tree.columns)) if tree.call(n).step]
    assert {"drawn 0\n", "and ", "kept\n", "drawn 1\nand kept\n"} <= set(printed)
    inside(recording, "waited")
    inside(recording, "walked")
    assert not written.exists()
    with pytest.raises(WhenceError, match="reach beyond the re-run by sqlite3"):
        inside(recording, "kept")


def test_a_generator_that_was_left_is_gone_into_up_to_where_it_waits(tmp_path: Path) -> None:
    text = (
        "def f(n):\n    total = 0\n    for x in range(n):\n        total += x\n"
        "        yield total\n    print('never')\n"
        "left = f(5)\nnext(left)\nnext(left)\nunasked = f(1)\n"
    )
    recording = _recorded(tmp_path, text)
    with pytest.raises(WhenceError, match="never advanced"):
        inside(recording, "f")
    opened = open_any(recording)
    tree, reruns = opened.tree, opened.reruns
    assert isinstance(reruns, Zooming)
    steps, _ = reruns.zoom(find_call(tree, "f") - 1)
    shown = [steps.call(each) for each in range(1, len(steps.columns))]
    assert "yields 1, it waits there" in shown[-1].equation()
    assert shown[-1].outcome.kind is OutcomeKind.YIELDED
    assert not any("what came after that" in each.equation() for each in shown)


ADDRESSES = """\
import builtins


class Key:
    def __init__(self, name):
        self.name, self.number = name, hash(object())
        self._hash = hash((Key, id(self)))
        self.address = id(self)
        self.text = repr(object())


def size(key):
    return len(key.name) + 1


def total(keys):
    found = sum(map(size, keys))
    visible = [name for name in {**vars(builtins), **globals()} if "zoom" in name or "@" in name]
    return found, visible


print(total([Key("a"), Key("bb")]))
"""


def test_what_depends_on_addresses_is_no_divergence_and_no_hook_is_visible(tmp_path: Path) -> None:
    (tmp_path / "keys.py").write_text(ADDRESSES)
    recording = tmp_path / "run.whence"
    record_repeatably(recording, ["keys.py"], tmp_path, check=True)
    steps = inside(recording, "total")
    last = steps.call(len(steps.columns) - 1).equation()
    assert "returns (5, [])" in last


def test_another_number_is_a_divergence(tmp_path: Path) -> None:
    text = ADDRESSES.replace("hash((Key, id(self)))", "0").replace("hash(object())", "COUNT")
    count = "import os\nCOUNT = os.getpid()\n"
    (tmp_path / "keys.py").write_text(count + text)
    recording = tmp_path / "run.whence"
    record_repeatably(recording, ["keys.py"], tmp_path, check=True)
    with pytest.raises(WhenceError, match=r"the re-run diverged: at call .*number="):
        inside(recording, "total")


CHILDREN = """\
import os


def price(n):
    return n + 1


def main():
    if os.fork() == 0:
        price(1)
        os._exit(0)
    os.wait()
    print(price(2))


main()
"""


def test_zoom_is_not_offered_for_a_call_of_a_child_process(tmp_path: Path) -> None:
    (tmp_path / "children.py").write_text(CHILDREN)
    recording = tmp_path / "run.whence"
    words = [sys.executable, "-m", "whence", "record", "-o", "run.whence", "children.py"]
    subprocess.run(words, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    opened = open_any(recording)
    tree, reruns = opened.tree, opened.reruns
    assert isinstance(reruns, Zooming)
    calls = [
        tree.id(position)
        for position in range(len(tree.columns))
        if tree.functions[int(tree.columns.function[position])].qualname == "price"
    ]
    assert sorted(map(reruns.can_zoom, calls)) == [False, True]
