"""`whence why`: where a value came from, without a session."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from debuggee_runs import record_repeatably
from recorded import environment

from whence.cli.main import main

PROGRAM = """
import operator
from importlib.metadata import version
version("pytest")
def read(text):
    return [price(word) for word in text.split()]
def price(word):
    return int(word) + 1
def clean(prices, limit):
    if not prices: prices.append(limit)
def unused():
    return 3
def taken():
    made = [1, 0 + 7, 7]
    operator.delitem(made, 0)
    return made
def half(number):
    return number / 2
def worth(prices):
    total = half(prices[0])
    for _ in range(60):
        total = total + total
    return total + half(prices[1])
def listed(prices):
    return repr([half(each) for each in prices])
def main(text):
    prices = read(text)
    clean(prices, 9)
    unused()
    of_all = {"worth": worth(prices), "listed": listed(prices), "deep": deep(prices)}
    return {"prices": prices, "one": taken(), **of_all}
def deep(prices):
    return [[[[[[price(str(each))] for each in prices]]]]]
main("1 2")
main("3 4")
"""


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "program.py").write_text(PROGRAM)
    record_repeatably(
        folder / "run.whence", ["program.py"], folder,
        environment={**os.environ, **environment()}, check=True,
    )  # fmt: skip
    return folder / "run.whence"


def why(
    capsys: pytest.CaptureFixture[str], recording: Path, call: str, path: str, status: int = 0
) -> Any:
    assert main(["why", str(recording), call, path, "--format", "json"]) == status
    return json.loads(capsys.readouterr().out)


def names(calls: list[dict[str, Any]]) -> list[str]:
    return [each["qualname"] for each in calls]


def test_the_last_call_of_a_function_is_meant_by_its_name(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = why(capsys, recording, "main", "result['prices'][1]")
    origin = told["origin"]
    assert origin["qualname"] == "price"
    assert origin["function"].endswith("price")
    assert origin["expression"] == "int(word) + 1"
    assert (Path(origin["file"]).name, origin["line"]) == ("program.py", 8)
    assert names(told["chain"]) == ["price", "read"]
    assert told["chain"][0]["node"] == origin["node"]
    assert set(told["slice"]) == {"L1", "L2", "L3"}
    nodes = [{each["node"] for each in told["slice"][width]} for width in ("L1", "L2", "L3")]
    assert nodes[0] <= nodes[1] <= nodes[2]
    assert "clean" not in names(told["slice"]["L1"])
    assert "clean" in names(told["slice"]["L2"])
    assert "unused" not in names(told["slice"]["L3"])
    assert [each["qualname"] for each in told["slice"]["L1"]].count("price") == 1


def test_an_argument_is_followed_into_the_callers(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = why(capsys, recording, "clean", "prices[0]")
    assert told["origin"]["qualname"] == "price"
    assert told["call"]["qualname"] == "clean"
    assert "read" in names(told["slice"]["L1"])


def test_a_part_that_was_not_recorded_is_followed_all_the_same(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = why(capsys, recording, "main", "result['deep'][0][0][0][0][1][0]")
    assert told["origin"]["expression"] == "int(word) + 1"
    assert main(["why", str(recording), "main", "result['deep'][0][0][0][0][7]"]) == 2
    assert "has no part [7]" in capsys.readouterr().err


def test_what_cannot_be_told_apart_is_a_set_of_candidates(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = why(capsys, recording, "taken", "result[0]", status=1)
    assert "origin" not in told
    texts = {each["expression"] for each in told["candidates"]}
    assert {"0 + 7", "7"} <= texts
    assert {each["qualname"] for each in told["candidates"]} == {"taken"}


def test_the_text_shows_the_line_of_source_and_the_calls(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["why", str(recording), "main", "result['prices'][0]"]) == 0
    out = capsys.readouterr().out
    assert "was made in call" in out
    assert "    8      return int(word) + 1" in out
    assert "L1: calls that influenced it" in out


def test_what_a_value_was_made_of_is_told_one_step_further(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = why(capsys, recording, "main", "result['worth']")
    assert told["origin"]["expression"] == "total + half(prices[1])"
    assert [each["expression"] for each in told["made_of"]] == ["total + total", "number / 2"]
    told = why(capsys, recording, "main", "result['listed']")
    assert told["origin"]["qualname"] == "listed"
    assert [each["expression"] for each in told["made_of"]][:2] == ["number / 2", "number / 2"]
    assert main(["why", str(recording), "main", "result['worth']"]) == 0
    assert "from what was made in call" in capsys.readouterr().out


def test_what_is_not_there_is_refused(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["nobody", "result"], ["999", "result"], ["main", "result['x']"]):
        assert main(["why", str(recording), *words]) == 2
    err = capsys.readouterr().err
    assert "no function in this tree is named nobody" in err
    assert "there is no call 999" in err
    assert "has no part ['x']" in err


def test_output_of_a_package_that_is_run_is_followed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package = tmp_path / "shop"
    package.mkdir()
    (package / "__init__.py").write_text("def tax(n):\n    return n + 2\nRATE = tax(1)\n")
    (package / "__main__.py").write_text(
        "from shop import RATE\ndef price(n):\n    return n * RATE\nprint('hello')\n"
        "print(price(7))\nprint('bye')\n"
    )
    record_repeatably(
        tmp_path / "run.whence", ["-m", "shop"], tmp_path,
        environment={**os.environ, **environment()}, check=True,
    )  # fmt: skip
    told = why(capsys, tmp_path / "run.whence", "0", "printed[1]")
    assert told["origin"]["qualname"] == "price"
    assert told["origin"]["expression"] == "n * RATE"
    assert "price" in names(told["slice"]["L1"])
    told = why(capsys, tmp_path / "run.whence", "0", "printed[2]")
    assert (told["origin"]["qualname"], told["origin"]["line"]) == ("<module>", 6)
    assert told["origin"]["file"].endswith("__main__.py")
