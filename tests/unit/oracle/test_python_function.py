from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from whence.errors import UsageError, WhenceError
from whence.model.call import Binding, Call, Effect, Function, Outcome, OutcomeKind, Rule
from whence.model.question import Question
from whence.model.value import Kind, Value, atom
from whence.model.verdict import Verdict
from whence.oracle.python_function import PythonFunction, as_dictionary, load_oracle, plain


def a_call(**more: Any) -> Call:
    outcome = more.pop("outcome", Outcome(OutcomeKind.RETURNED, atom("3")))
    return Call(Function("m.f", "f"), Rule("m.f", "m.f"), outcome, **more)


def about(call: Call) -> Question:
    return Question(node=7, call=call, strategy="auto", why="", suspects=1, weight=1.0, expected=1)


def a_list(*texts: str, omitted: int = 0) -> Value:
    parts = tuple((f"[{place}]", atom(text)) for place, text in enumerate(texts))
    return Value(Kind.LIST, "", parts, omitted)


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        (True, Verdict.RIGHT),
        ("right", Verdict.RIGHT),
        (False, Verdict.WRONG),
        ("wrong", Verdict.WRONG),
        ("inadmissible", Verdict.INADMISSIBLE),
        (None, None),
    ],
)
def test_what_the_function_says_is_the_verdict(said: object, verdict: Verdict | None) -> None:
    assert PythonFunction("o", lambda call: said).judge(about(a_call())) is verdict


@pytest.mark.parametrize("said", [0, 1, "yes", [], 0.0])
def test_anything_else_that_it_says_is_a_mistake_and_no_verdict(said: object) -> None:
    with pytest.raises(WhenceError, match=r"the oracle o said .* about f\(\) → 3"):
        PythonFunction("o", lambda call: said).judge(about(a_call()))


def test_a_function_that_raises_is_named_with_the_line() -> None:
    def broken(call: dict[str, Any]) -> bool:
        raise KeyError("nothing")

    with pytest.raises(WhenceError, match=r"raised KeyError: 'nothing' \(.*\.py:\d+\)"):
        PythonFunction("o", broken).judge(about(a_call()))


def test_what_the_function_prints_stays_out_of_the_report(capsys: Any) -> None:
    PythonFunction("o", lambda call: print("thinking")).judge(about(a_call()))
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "thinking\n")


def test_the_function_gets_the_whole_call() -> None:
    call = a_call(
        arguments=(Binding("xs", a_list("1", "'a'")),),
        reads=(Binding("limit", atom("10")),),
        effects=(Effect("xs[0]", atom("1"), atom("2")), Effect("new", None, atom("0"))),
        printed="done\n",
    )
    seen: dict[str, Any] = {}
    PythonFunction("o", seen.update).judge(about(call))
    assert seen == {
        "node": 7,
        "function": "m.f",
        "rule": "m.f",
        "args": {"xs": [1, "a"]},
        "reads": {"limit": 10},
        "outcome": "returned",
        "returned": 3,
        "raised": None,
        "yielded": [],
        "effects": [
            {"target": "xs[0]", "before": 1, "after": 2},
            {"target": "new", "before": None, "after": 0},
        ],
        "printed": "done\n",
        "equation": call.equation(),
    }


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (OutcomeKind.RAISED, ("raised", None, "no")),
        (OutcomeKind.NOT_TERMINATED, ("not terminated", None, None)),
        (OutcomeKind.YIELDED, ("yielded", None, None)),
    ],
)
def test_an_outcome_is_told_by_its_kind(kind: OutcomeKind, expected: tuple[Any, ...]) -> None:
    seen = as_dictionary(a_call(outcome=Outcome(kind, atom("'no'"))))
    assert (seen["outcome"], seen["returned"], seen["raised"]) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (atom("true"), True),
        (atom("<socket>"), "<socket>"),
        (a_list("1", omitted=9), {"list": [1], "more": 9}),
        (Value(Kind.TUPLE, "", (("[0]", atom("1")),)), (1,)),
        (Value(Kind.DICT, "", (("['a']", atom("1")),)), {"a": 1}),
        (Value(Kind.DICT, "", (("[[1]]", atom("1")),)), [[[1], 1]]),
        (
            Value(Kind.OBJECT, "P", ((".x", atom("1")),)),
            {"object": "P", "fields": {"x": 1}},
        ),
        (Value(Kind.TERM, "s", (("[0]", atom("z")),)), {"term": "s", "args": ["z"]}),
        (Value(Kind.SHARED, identity=4), {"same": 4}),
    ],
)
def test_values_are_plain_python(value: Value, expected: Any) -> None:
    assert plain(value) == expected


@pytest.mark.parametrize("text", ["python", "python:m", "haskell:m:f", ":m:f", "python::f"])
def test_a_name_that_names_no_oracle_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="python:module:function"):
        load_oracle(text)


def test_an_oracle_is_a_function_of_a_module_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spec_of_f.py").write_text(
        "class Spec:\n"
        "    @staticmethod\n"
        "    def judge(call):\n"
        "        return call['returned'] == 3\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")
    oracle = load_oracle("python:spec_of_f:Spec.judge")
    assert oracle.judge(about(a_call())) is Verdict.RIGHT
    for wrong in ("python:spec_of_f:Spec.other", "python:no_such_module_here:f"):
        with pytest.raises(WhenceError):
            load_oracle(wrong)
