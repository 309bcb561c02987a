"""`whence show` on recordings and on trees of other languages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from whence.cli import main
from whence.langs.python.trace import trace_format as f
from whence.langs.python.trace import trace_writer as w

SQRTEST = Path(__file__).parents[3] / "examples" / "sqrtest.jsonl"
HEADER = {
    "root": "run.py 3",
    "command": ["run.py", "3"],
    "cwd": "/x",
    "python": "3.12.1",
    "backend": "native",
    "started": "2026-11-16T01:02:03+00:00",
    "options": {"detail": "full"},
}


@pytest.fixture(autouse=True)
def narrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """main calls square 128 times; the last one printed, and calls of another were skipped."""
    out = bytearray()
    for name in ("/x/run.py", "__main__", "main", "square", "number", "LIMIT"):
        w.add_name(out, name)
    w.add_record(out, f.VARIABLE, 1, 5)
    w.add_code(out, 0, (0, 1, 2, 9), ((), ()), (), b"")
    w.add_code(out, 0, (0, 1, 3, 1), ((4,), ()), (0,), b"")
    w.add_record(out, f.CALL, 1, 0, 0)
    for number in range(128):
        w.add_record(out, f.GLOBAL, 0)
        w.add_whole(out, number)
        w.add_record(out, f.CALL, 1 + number, 1, 0)
        w.add_whole(out, number)
        if number == 127:
            w.add_output(out, 1, 1, "last\n")
        w.add_record(out, f.GLOBAL, 0)
        w.add_whole(out, number + 1)
        w.add_record(out, f.RETURN, 1)
        w.add_whole(out, number * number)
    w.add_record(out, f.SKIPPED, 129, 1000)
    w.add_record(out, f.RETURN, 129)
    out.append(f.NONE)
    w.add_note(out, "the program replaced the profile function")
    w.add_record(out, f.END, f.ENDED)
    w.add_whole(out, 0)
    path = tmp_path / "run.whence"
    path.write_bytes(w.header_bytes(HEADER) + w.page_bytes(out))
    return path


def shown(capsys: Any, *arguments: str | Path) -> str:
    assert main(["show", *map(str, arguments)]) == 0
    output: str = capsys.readouterr().out
    return output


def test_the_summary_tells_what_was_recorded_and_how(recording: Path, capsys: Any) -> None:
    text = shown(capsys, recording)
    assert "run.py 3" in text
    assert "3.12.1, recorded by native, detail full" in text
    assert "129 of 2 functions; 1,000 more were not recorded" in text
    assert "bytes a call" in text
    assert "outcome   → 0" in text
    assert "note      the program replaced the profile function" in text


def test_every_line_fits_into_eighty_columns(recording: Path, capsys: Any) -> None:
    name, *lines = shown(capsys, recording, "--depth", "9").splitlines()
    assert name == str(recording), "a path stays in one piece"
    assert max(map(len, lines)) <= 80


def test_functions_are_sorted_by_weight(recording: Path, capsys: Any) -> None:
    rows = [line.split() for line in shown(capsys, recording, "--functions").splitlines()]
    assert rows[0] == ["calls", "weight", "with", "below", "function"]
    assert ["128", "128", "128", "__main__.square"] in rows
    assert ["1", "1", "1,129", "__main__.main"] in rows


def test_recursion_is_not_counted_twice_in_what_is_below(capsys: Any) -> None:
    rows = [line.split() for line in shown(capsys, SQRTEST, "--functions").splitlines()]
    assert ["10", "10", "10", "listsum"] in rows


def test_calls_of_one_function_are_folded(recording: Path, capsys: Any) -> None:
    lines = [line.strip() for line in shown(capsys, recording).splitlines()]
    assert "square × 128" in lines
    assert "130 1,000 calls that were not recorded" in lines


def test_depth_limits_the_tree(recording: Path, capsys: Any) -> None:
    assert "square ×" not in shown(capsys, recording, "--depth", "1")


def test_one_call_is_shown_in_full(recording: Path, capsys: Any) -> None:
    text = shown(capsys, recording, "--call", "129")
    assert "call 129: __main__.square, at /x/run.py:1" in text
    assert "called by call 1, main" in text
    assert "number = 127" in text
    assert "read LIMIT = 127" in text
    assert "returned: 16129" in text
    assert "LIMIT after: 128" in text
    assert "| last" in text


def test_a_call_lists_what_it_called(recording: Path, capsys: Any) -> None:
    text = shown(capsys, recording, "--call", "1")
    assert "called 129:" in text
    assert "    2 square(number=0) → 0" in text
    assert "… 109 more" in text


def test_a_call_that_there_is_not_is_an_error(recording: Path, capsys: Any) -> None:
    assert main(["show", str(recording), "--call", "999"]) == 2
    assert "there is no call 999" in capsys.readouterr().err


def test_a_recording_that_was_cut_short_says_so(recording: Path, capsys: Any) -> None:
    recording.write_bytes(recording.read_bytes()[:-1])
    text = shown(capsys, recording)
    assert "damage    the last page is cut short" in text
    assert "was killed or is still running" in text


def test_trees_of_other_languages_are_shown_too(capsys: Any) -> None:
    text = shown(capsys, SQRTEST)
    assert "27 of 15 functions" in text
    assert "4 computs(x=3) → (9, 9, 8)  (21 in all)" in text


def test_a_recording_is_converted_and_shown_alike(
    recording: Path, tmp_path: Path, capsys: Any
) -> None:
    tree = tmp_path / "tree.jsonl"
    assert main(["convert", str(recording), "-o", str(tree)]) == 0
    from_trace = shown(capsys, recording, "--call", "129")
    assert shown(capsys, tree, "--call", "129") == from_trace


def test_a_recording_is_debugged(recording: Path, tmp_path: Path, capsys: Any) -> None:
    answers = tmp_path / "answers"
    answers.write_text("n\n" * 20)
    code = main(["debug", str(recording), "--answers", str(answers), "--no-session"])
    assert code == 0
    assert "The fault is in" in capsys.readouterr().out
