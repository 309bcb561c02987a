"""The command line as scripts use it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from forked_whence import whence

from whence.app.frontends import open_any
from whence.cli import main
from whence.search.registry import STRATEGIES
from whence.session import log_entries
from whence.store.session_log import SessionLog

EXAMPLES = Path(__file__).parents[3] / "examples"
SQRTEST = EXAMPLES / "sqrtest.jsonl"
ART = EXAMPLES / "sqrtest.art.json"
WRONG = {1, 2, 4, 16, 20, 23}


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def oracle(folder: Path, body: str) -> str:
    """An oracle in a module of its own."""
    name = f"oracle_{abs(hash((body, str(folder))))}"
    (folder / f"{name}.py").write_text(f"def judge(call):\n    {body}\n")
    return f"python:{name}:judge"


BY_NODE = f"return call['node'] not in {sorted(WRONG)}"


def debug(*arguments: str | Path) -> int:
    return main(["debug", *map(str, arguments)])


@pytest.mark.parametrize("file", [SQRTEST, ART], ids=["tree", "art"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_oracle_finds_the_fault_without_a_person(
    file: Path, strategy: str, tmp_path: Path, capsys: Any
) -> None:
    code = debug(file, "-s", strategy, "--oracle", oracle(tmp_path, BY_NODE), "--format", "json")
    report = json.loads(capsys.readouterr().out)
    assert code == 0
    assert report["status"] == "found"
    assert report["at_fault"]["call"] == 23
    assert report["at_fault"]["function"] == "sum2"
    assert report["at_fault"]["rule"] == "sum2.1"
    assert report["at_fault"]["kind"] == "wrong result"
    assert report["questions"]["person"] == 0
    assert report["questions"]["oracle"] == len(report["answers"]) > 0
    assert report["strategy"] == strategy


def test_the_report_has_all_that_its_manual_promises(tmp_path: Path, capsys: Any) -> None:
    answers = tmp_path / "answers.txt"
    answers.write_text("n\nn\ny\nn\ny\ny\nn\ny\nn\ny\nn\ny\n")
    out = tmp_path / "report.json"
    code = debug(
        SQRTEST, "-s", "top-down", "--answers", str(answers), "--format", "json", "-o", out
    )
    assert code == 0
    report = json.loads(out.read_text())
    assert set(report) == {
        "whence", "version", "status", "at_fault", "candidates", "questions", "oracles",
        "characters", "answers", "strategy", "reason", "more_candidates", "definitions",
    }  # fmt: skip
    assert set(report["at_fault"]) == {
        "passed_on", "raised_by",
        "function", "qualname", "rule", "file", "line", "call", "equation", "kind",
        "bad_input", "group", "expected", "within_slice", "source", "lines_not_known", "doubts",
        "more_bad_input", "more_group", "out_of_sight",
    }  # fmt: skip
    assert report["at_fault"]["file"] == "examples/sqrtest.hs"
    assert report["at_fault"]["line"] == 15
    assert report["at_fault"]["equation"] == "sum2(x=3) → 2"
    assert report["questions"] == {"person": 12, "oracle": 0}
    assert report["characters"] > 0
    assert report["answers"][0] == {"node": 1, "verdict": "wrong", "by": "person"}
    assert [answer["node"] for answer in report["answers"]] == [
        1, 2, 3, 4, 5, 7, 16, 17, 20, 21, 23, 24,
    ]  # fmt: skip
    assert "sum2" in capsys.readouterr().out, "the person's side goes to standard output"


def test_answers_that_run_out_leave_it_undetermined(tmp_path: Path, capsys: Any) -> None:
    answers = tmp_path / "answers.txt"
    answers.write_text("y\n")
    assert debug(SQRTEST, "--answers", str(answers), "--format", "json") == 1
    captured = capsys.readouterr()
    report = json.loads(captured.out)
    assert report["status"] == "undetermined"
    assert "ran out" in report["reason"]
    assert report["at_fault"] is None


def test_skipped_questions_leave_candidates(tmp_path: Path, capsys: Any) -> None:
    answers = tmp_path / "answers.txt"
    answers.write_text("?\n" * 200)
    assert debug(SQRTEST, "--answers", str(answers), "--format", "json") == 1
    report = json.loads(capsys.readouterr().out)
    assert report["status"] == "candidates"
    assert {item["call"] for item in report["candidates"]} == set(range(1, 28))


def test_a_right_program_has_no_fault(tmp_path: Path, capsys: Any) -> None:
    everything = oracle(tmp_path, "return True")
    assert debug(SQRTEST, "--oracle", everything, "--format", "json") == 1
    assert json.loads(capsys.readouterr().out)["status"] == "none"


def test_an_oracle_that_does_not_know_leaves_it_to_the_person(tmp_path: Path, capsys: Any) -> None:
    knows_some = oracle(tmp_path, "return True if call['function'] != 'sum2' else None")
    answers = tmp_path / "answers.txt"
    answers.write_text("n\n" * 5)
    code = debug(
        SQRTEST,
        "--oracle",
        knows_some,
        "--answers",
        str(answers),
        "-s",
        "single",
        "--format",
        "json",
    )
    report = json.loads(capsys.readouterr().out)
    assert code == 0
    assert report["at_fault"]["call"] == 23
    assert report["questions"]["person"] == 1
    by = {answer["node"]: answer["by"] for answer in report["answers"]}
    assert by[23] == "person"
    assert by[24] == knows_some


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("return 42", "said 42"),
        ("raise KeyError('x')", "raised KeyError"),
        ("return 'maybe'", "maybe"),
    ],
)
def test_a_bad_oracle_is_named(body: str, words: str, tmp_path: Path, capsys: Any) -> None:
    assert debug(SQRTEST, "--oracle", oracle(tmp_path, body)) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", ["python:nowhere:judge", "python:json:nothing", "magic:json:dumps", "python:json"]
)
def test_an_oracle_that_is_not_there_is_named(name: str, capsys: Any) -> None:
    assert debug(SQRTEST, "--oracle", name) == 2
    assert capsys.readouterr().err.startswith("whence: ")


def test_a_trusted_function_is_not_blamed(tmp_path: Path, capsys: Any) -> None:
    code = debug(
        SQRTEST, "--trust", "sum2", "--oracle", oracle(tmp_path, BY_NODE), "--format", "json"
    )
    report = json.loads(capsys.readouterr().out)
    assert (code, report["at_fault"]["function"]) == (0, "partialsums")


@pytest.mark.parametrize(
    "switch", ["--compress", "--single-rule", "--no-duplicates", "--no-slicing"]
)
def test_every_switch_is_an_option(switch: str, tmp_path: Path, capsys: Any) -> None:
    assert debug(SQRTEST, switch, "--oracle", oracle(tmp_path, BY_NODE), "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["at_fault"]["call"] == 23


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.jsonl"], "cannot be read"),
        ([str(SQRTEST), "-s", "magic"], "no strategy"),
        ([str(SQRTEST), "--answers", "nowhere.txt"], "answers cannot be read"),
        ([str(SQRTEST), "--trust", "nobody", "--answers", "/dev/null"], "no function"),
        ([str(SQRTEST), "--trust", "module:no", "--answers", "/dev/null"], "nothing in this tree"),
        ([str(EXAMPLES / "sqrtest.hs")], "sqrtest.hs"),
        (["."], "cannot be read"),
    ],
)
def test_bad_input_gets_a_clear_error_and_exit_code_2(
    arguments: list[str], words: str, capsys: Any
) -> None:
    assert debug(*arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("whence: ")
    assert words in error
    assert "Traceback" not in error


def test_wrong_usage_exits_with_2() -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["debug", "one", "another"])
    assert stopped.value.code == 2


def test_a_session_is_kept_where_it_is_told_and_gone_on_with(tmp_path: Path, capsys: Any) -> None:
    answers, session = tmp_path / "answers.txt", tmp_path / "kept.jsonl"
    answers.write_text("y\nn\n")
    assert debug(SQRTEST, "--session", session, "--answers", answers) == 1
    answers.write_text("y\ny\nn\n")
    code = debug(SQRTEST, "--session", session, "--answers", str(answers), "--format", "json")
    report = json.loads(capsys.readouterr().out.split("\n{\n", 1)[-1].join(["{\n", ""]))
    assert code == 0
    assert len(report["answers"]) == 5
    assert report["questions"]["person"] == 5
    assert debug(SQRTEST, "--session", session, "--fresh", "--answers", "/dev/null") == 1


def test_an_output_that_cannot_be_written_is_an_error(tmp_path: Path, capsys: Any) -> None:
    place = tmp_path / "no" / "such" / "folder.json"
    arguments = ["--oracle", oracle(tmp_path, BY_NODE), "--format", "json", "-o", str(place)]
    assert debug(SQRTEST, *arguments) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_converting_a_tree_changes_nothing_that_matters(tmp_path: Path, capsys: Any) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    assert main(["convert", str(SQRTEST), "-o", str(first)]) == 0
    assert main(["convert", str(first), "-o", str(second)]) == 0
    assert first.read_bytes() == second.read_bytes()
    assert main(["convert", str(first)]) == 0
    assert capsys.readouterr().out == first.read_text()


def test_a_converted_trail_keeps_its_origins(tmp_path: Path, capsys: Any) -> None:
    tree = tmp_path / "tree.jsonl"
    assert main(["convert", str(ART), "-o", str(tree)]) == 0
    answers = tmp_path / "answers.txt"
    answers.write_text("n\nn\ni arg1[2]\ny\nn\nn result[1]\nn\ny\n")
    arguments = ["-s", "subterm-tracking", "--answers", str(answers), "--format", "json"]
    assert debug(tree, *arguments) == 0
    report = json.loads(capsys.readouterr().out)
    assert [answer["node"] for answer in report["answers"]] == [1, 2, 3, 17, 16, 20, 23, 24]


def test_strategies_are_listed_with_a_line_each(capsys: Any) -> None:
    assert main(["strategies"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(STRATEGIES)
    assert all(len(line.split()) > 3 for line in lines)


def test_it_runs_as_a_module_and_tells_its_version() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "whence", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("whence ")


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f"{sys.executable} -m whence convert {ART} | head -c 10"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr
    assert done.stderr == ""


def test_the_oracle_in_the_manual_works(tmp_path: Path, capsys: Any) -> None:
    manual = (EXAMPLES.parent / "docs" / "report.md").read_text()
    blocks = [each.split("```")[0] for each in manual.split("```python\n")[1:]]
    (code,) = [each for each in blocks if "def judge" in each]
    (tmp_path / "spec.py").write_text(code)
    answers = tmp_path / "answers.txt"
    answers.write_text("y\n" * 50)
    arguments = ["--oracle", "python:spec:judge", "--answers", str(answers), "--format", "json"]
    debug(SQRTEST, "-s", "single", *arguments)
    report = json.loads(capsys.readouterr().out)
    judged = {answer["node"] for answer in report["answers"] if answer["by"] != "person"}
    assert judged >= {8, 9, 10, 11, 17, 18}


def test_the_manual_of_the_command_line_is_up_to_date() -> None:
    from whence.cli.manual import manual

    written = (EXAMPLES.parent / "docs" / "command-line.md").read_text(encoding="utf-8")
    assert written == manual(), "run: python -m whence.cli.manual > docs/command-line.md"


def start(*arguments: str | Path, **more: Any) -> subprocess.CompletedProcess[str]:
    """The command as a user starts it."""
    command = [sys.executable, "-m", "whence", *map(str, arguments)]
    return subprocess.run(command, check=False, text=True, timeout=60, **more)


def test_a_device_or_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    link, real = tmp_path / "link", tmp_path / "real.jsonl"
    real.write_text("old")
    link.symlink_to(real)
    assert whence("convert", SQRTEST, "-o", link).returncode == 0
    assert link.is_symlink()
    assert real.read_text().startswith('{"whence"')
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE)
    assert whence("convert", SQRTEST, "-o", pipe).returncode == 0
    assert reader.communicate(timeout=60)[0] == real.read_bytes()
    assert pipe.is_fifo()


def test_fresh_forgets_sessions_and_nothing_else(tmp_path: Path) -> None:
    precious = tmp_path / "main.py"
    precious.write_text("x = 1\n")
    done = whence("debug", SQRTEST, "--session", precious, "--fresh", stdin="n\n")
    assert done.returncode == 2
    assert "leaves it alone" in done.stderr
    assert precious.read_text() == "x = 1\n"


def test_two_sessions_do_not_share_a_file(tmp_path: Path) -> None:
    session = tmp_path / "session.jsonl"
    log = SessionLog(session, open_any(SQRTEST).tree, "tree", log_entries)
    done = whence("debug", SQRTEST, "--session", session, stdin="n\n")
    log.close()
    assert done.returncode == 2
    assert "another whence" in done.stderr


BAD_VALUE = """{"whence": "tree", "version": 1}
{"id": 1, "parent": null, "function": "main", "returned": 1}
{"id": 2, "parent": 1, "function": "f", "returned": {"list": 3}}
{"id": 3, "parent": 1, "function": "g", "returned": 3}
"""


def test_a_call_that_cannot_be_read_is_left_open_and_no_answer_is_lost(tmp_path: Path) -> None:
    tree = tmp_path / "tree.jsonl"
    tree.write_text(BAD_VALUE)
    for strategy in ("auto", "top-down", "single-stepping"):
        oracle_ = oracle(tmp_path, "return call['function'] == 'g'")
        done = whence(
            "debug", tree, "-s", strategy, "--oracle", oracle_, "--format", "json", cwd=tmp_path
        )
        report = json.loads(done.stdout)
        assert report["status"] == "candidates"
        assert {each["call"] for each in report["candidates"]} == {1, 2}
        assert "must be a list" in done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_the_report_is_json_in_any_encoding(encoding: str, tmp_path: Path) -> None:
    done = start(
        "debug", SQRTEST, "--oracle", oracle(tmp_path, BY_NODE), "--format", "json", cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": encoding}, encoding=encoding, capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0
    assert json.loads(done.stdout)["at_fault"]["equation"] == "sum2(x=3) → 2"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
@pytest.mark.parametrize("command", [["strategies"], ["convert", str(SQRTEST)]])
def test_a_full_disk_is_told_in_one_line(command: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = start(*command, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr.startswith("whence: ")
    assert "Traceback" not in done.stderr


def test_closed_streams_are_no_failure(tmp_path: Path) -> None:
    judged = oracle(tmp_path, BY_NODE)
    line = f"{sys.executable} -m whence debug {SQRTEST} --oracle {judged} --format json"
    for closed, code in ((">&-", 0), ("<&-", 0), (">&- 2>&- <&-", 0)):
        done = subprocess.run(["bash", "-c", f"{line} {closed}"], cwd=tmp_path, check=False)
        assert done.returncode == code, closed


def test_what_an_oracle_prints_stays_out_of_the_report(tmp_path: Path) -> None:
    loud = oracle(tmp_path, f"print('hello'); {BY_NODE}")
    done = whence("debug", SQRTEST, "--oracle", loud, "--format", "json", cwd=tmp_path)
    assert json.loads(done.stdout)["status"] == "found"
    assert "hello" in done.stderr


def test_answers_that_ran_out_leave_the_suspects(tmp_path: Path) -> None:
    done = whence("debug", SQRTEST, "--format", "json", stdin="y\nn\n")
    report = json.loads(done.stdout)
    assert {each["call"] for each in report["candidates"]} == {20, *range(21, 25)}


def test_a_tree_that_was_recorded_anew_starts_a_new_session(tmp_path: Path) -> None:
    pexpect = pytest.importorskip("pexpect")
    tree = tmp_path / "tree.jsonl"
    environment = {**os.environ, "TERM": "dumb"}
    for marker in ("1", "2"):
        tree.write_text(SQRTEST.read_text().replace('"returned": "False"', f'"returned": {marker}'))
        terminal = pexpect.spawn(
            sys.executable, ["-m", "whence", "debug", str(tree)], env=environment, timeout=30
        )
        terminal.expect("Question 1")
        terminal.sendline("?")
        terminal.expect("Question")
        terminal.sendline("quit")
        terminal.expect(pexpect.EOF)
    assert b"session about another tree" not in terminal.before
