"""What a command that diagnoses leaves behind: reports in their forms, and a regression test."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from whence.cli import main

PROGRAM = """
class Cart:
    def __init__(self, owner):
        self.owner = owner
        self.items = []
        self.total = 0
        self.log = None

    def add(self, name, price, count=1):
        self.items.append(name)
        self.total += price

def main():
    cart = Cart("Ada")
    cart.add("tea", 3, count=2)
    return cart.total

if __name__ == "__main__":
    print(main())
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cart")
    (folder / "cart.py").write_text(PROGRAM)
    words = [sys.executable, "-m", "whence", "record", "-o", "run.whence", "cart.py"]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    return folder


def debug(recorded: Path, folder: Path, *options: str, answers: str) -> int:
    file = folder / "answers.txt"
    file.write_text(answers)
    trust = ["--trust", "function:<module>", "-s", "top-down"]
    words = ["debug", str(recorded / "run.whence"), "--answers", str(file), *trust]
    return main([*words, *options])


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


ALL = "n\nn\ny\nn self.total = 6\n"


def test_the_regression_test_is_written_and_never_over_another(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert debug(recorded, tmp_path, "--regression-test", answers=ALL) == 0
    seen = capsys.readouterr().out
    assert "The fault is in Cart.add" in seen
    test = tmp_path / "tests" / "test_regression_cart_add.py"
    text = test.read_text()
    assert 'cart = Cart(owner="Ada")\n' in text
    assert 'result = cart.add("tea", 3, count=2)\n    assert cart.total == 6\n' in text
    assert debug(recorded, tmp_path, "--regression-test", answers=ALL) == 0
    assert "No regression test was written" in capsys.readouterr().out
    assert test.read_text() == text


def test_the_terminal_shows_the_test_and_writes_it(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = "test\ntest tests/test_it.py\ntest tests/test_it.py\n"
    debug(recorded, tmp_path, answers="test\n" + ALL + more)
    seen = capsys.readouterr().out
    assert "test is for when a call was found to be at fault" in seen
    assert "      assert cart.total == 6\n" in seen
    assert "test tests/test_regression_cart_add.py writes it." in seen
    assert "tests/test_it.py exists already" in " ".join(seen.split())
    assert (tmp_path / "tests" / "test_it.py").exists()


def test_the_report_shows_the_source_from_where_the_program_ran(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    debug(recorded, tmp_path, answers=ALL)
    seen = capsys.readouterr().out
    assert "11          self.total += price" in seen
    assert "  But            trusted without being asked about: function" in seen
    assert "self=Cart(items=[], total=0, …2 not used)" in seen, "owner and log do not matter"


def test_html_and_json_are_written_to_a_file_or_to_standard_output(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    debug(recorded, tmp_path, "--format", "html", answers=ALL)
    captured = capsys.readouterr()
    assert captured.out.startswith("<!DOCTYPE html>") and captured.out.endswith("</html>\n")
    assert "cart.total == 6" in captured.out, "the test is in it"
    assert "Question 1" in captured.err
    debug(recorded, tmp_path, "--format", "json", "-o", "r.json", answers=ALL)
    fault = json.loads((tmp_path / "r.json").read_text())["at_fault"]
    assert fault["source"]["line"] == 9 and not fault["source"]["changed"]
    assert fault["source"]["executed"] is None
    assert fault["doubts"] == ["trusted without being asked about: function __main__.<module>"]


def test_no_test_is_written_where_no_call_was_found(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert debug(recorded, tmp_path, "--regression-test", answers="n\n") == 1
    assert "no call was found to be at fault" in " ".join(capsys.readouterr().out.split())
    assert not (tmp_path / "tests").exists()


def test_after_a_resume_all_answers_are_counted(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = ("--session", "kept.session")
    debug(recorded, tmp_path, *kept, answers="n\nn\n")
    debug(recorded, tmp_path, *kept, "--format", "html", "-o", "r.html", answers="y\nn\n")
    assert "4 answered by a person, 0 by others" in (tmp_path / "r.html").read_text()


def test_what_a_zoom_found_is_in_the_report(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # The body of the module is trusted, and none of its calls is among the steps.
    for form, file in (("html", "r.html"), ("text", "r.txt")):
        debug(recorded, tmp_path, "--format", form, "-o", file, answers=f"{ALL}zoom\ny\nn\n")
        text = (tmp_path / file).read_text()
        assert "The fault is in Cart.add" in text and "fault is in Cart.add, line 11" in text, text
