import io

import pytest

from whence.errors import UsageError
from whence.model.symptom import Symptom, SymptomKind
from whence.ui.terminal.plain import PlainScreen
from whence.ui.terminal.symptom_prompt import NobodySaid, ask

EXCEPTION = Symptom(SymptomKind.EXCEPTION)


def accept(symptom: Symptom) -> None:
    if symptom.line is not None and symptom.line > 2:
        raise UsageError("there are only two lines")


def asked(typed: str, default: Symptom | None = EXCEPTION) -> tuple[Symptom | None, str]:
    """What is wrong after some lines were typed, and what was shown."""
    output = io.StringIO()
    screen = PlainScreen(io.StringIO(typed), output)
    return ask(screen, "It ended.", ["one", "two"], default, accept), output.getvalue()


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("\n", EXCEPTION),
        ("2\n", Symptom(SymptomKind.OUTPUT, line=2)),
        ("output:2\n", Symptom(SymptomKind.OUTPUT, line=2)),
        ("3\n1\n", Symptom(SymptomKind.OUTPUT, line=1)),
        ("?\n1\n", Symptom(SymptomKind.OUTPUT, line=1)),
        ("2:wo\n", Symptom(SymptomKind.OUTPUT, line=2, expression="wo")),
        ('2 = "tow"\n', Symptom(SymptomKind.OUTPUT, line=2, expression="two")),
        ("2 = two or more\n", Symptom(SymptomKind.OUTPUT, line=2)),
        ("2 = two\n1\n", Symptom(SymptomKind.OUTPUT, line=1)),
        ("raises KeyError\n", Symptom(SymptomKind.RESULT, expected="raises KeyError")),
        ("result[2]\n", Symptom(SymptomKind.EXPRESSION, expression="result[2]")),
        ("n\n", None),
    ],
)
def test_what_is_wrong(typed: str, expected: Symptom | None) -> None:
    assert asked(typed)[0] == expected


def test_what_may_be_said_is_told_on_request() -> None:
    shown = asked("?\nn\n")[1]
    assert "[Enter: that exception, 1-2: that line, n: nothing]" in shown
    assert "  result[2].name  this part of the result\n" in shown


def test_what_is_not_there_is_refused_and_asked_again() -> None:
    assert "there are only two lines" in asked("3\nn\n")[1]


def test_where_nobody_answers_nothing_is_known() -> None:
    with pytest.raises(NobodySaid):
        asked("")


def test_of_many_lines_only_those_that_are_shown_are_written(monkeypatch) -> None:
    written: list[str] = []

    def noted(line: str, width: int) -> str:
        written.append(line)
        return line

    monkeypatch.setattr("whence.ui.terminal.symptom_prompt.cut", noted)
    output = io.StringIO()
    lines = [f"line {number}" for number in range(1, 5001)]
    ask(PlainScreen(io.StringIO("n\n"), output), "It ended.", lines, None, accept)
    assert written == [*lines[:4], *lines[-10:]]
    assert "  4990" not in output.getvalue()
    assert "     4 | line 4\n  … 4,986 more lines; all shows them\n  4991 | line 4991\n" in (
        output.getvalue()
    )


@pytest.mark.parametrize(
    ("line", "right", "words"),
    [
        ("import b as b", "import a as b", "b"),
        ("b is b", "b is c", " b"),
        ("total: 7 EUR", "total: 7.50 EUR", "7"),
        ("one  two", "one two", ""),
    ],
)
def test_of_a_line_that_should_be_another_the_first_other_word_is_wrong(line, right, words) -> None:
    screen = PlainScreen(io.StringIO(f"1 = {right!r}\n"), io.StringIO())
    symptom = ask(screen, "It ended.", [line], None, accept)
    assert symptom == Symptom(SymptomKind.OUTPUT, line=1, expression=words)
