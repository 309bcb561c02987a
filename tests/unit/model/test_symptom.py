import json

import pytest

from whence.errors import WhenceError
from whence.langs.python.recordings import beside, read_symptom, write_symptom
from whence.model.symptom import AssertionOperand, FailedAssertion, Symptom, SymptomKind

SYMPTOMS = [
    Symptom(SymptomKind.EXCEPTION),
    Symptom(SymptomKind.RESULT, function="shop.total"),
    Symptom(SymptomKind.OUTPUT, line=3),
    Symptom(SymptomKind.EXPRESSION, expression="result[2].name"),
    Symptom(SymptomKind.NOT_ENDED),
    Symptom(SymptomKind.RESULT, expected="raises ValueError"),
    Symptom(
        SymptomKind.ASSERTION,
        function="test_total",
        assertion=FailedAssertion(
            "tests/test_shop.py",
            7,
            (
                AssertionOperand("total(cart)", "25", (7, 11, 7, 22), wrong=True),
                AssertionOperand("30"),
            ),
            ("assert 25 == 30", " +  where 25 = total([10, 15])"),
        ),
    ),
]


@pytest.mark.parametrize("symptom", SYMPTOMS, ids=lambda each: each.kind.value)
def test_a_symptom_comes_back_from_json_as_it_was(symptom, tmp_path):
    write_symptom(tmp_path / "run.whence", symptom)
    assert read_symptom(tmp_path / "run.whence") == symptom


def test_what_is_empty_is_not_written(tmp_path):
    write_symptom(tmp_path / "run.whence", Symptom(SymptomKind.OUTPUT, line=3))
    text = beside(tmp_path / "run.whence", "symptom.json").read_text("utf-8")
    assert json.loads(text) == {"kind": "output", "line": 3}


@pytest.mark.parametrize(
    ("record", "why"),
    [
        ([], "of type list, not dict"),
        ({"kind": "mood"}, "symptom.kind: .mood. is none of"),
        ({"kind": ["exception"]}, "symptom.kind: .* is none of"),
        ({"kind": "output", "line": True}, "symptom.line: is of type bool"),
        ({"kind": "output", "line": 0}, "counted from 1"),
        ({"kind": "result", "function": 3}, "symptom.function: is of type int"),
        (
            {"kind": "assertion", "assertion": {"file": "x", "line": 1, "operands": 3}},
            "operands: is of type",
        ),
        (
            {"kind": "assertion", "assertion": {"file": "x", "line": 1, "detail": [1]}},
            "detail.0.: is of type",
        ),
        (
            {
                "kind": "assertion",
                "assertion": {
                    "file": "x",
                    "line": 1,
                    "operands": [{"expression": "y", "span": [1, 2]}],
                },
            },
            "span: has 2 items, not 4",
        ),
    ],
)
def test_what_is_no_symptom_is_refused_with_the_reason(record, why, tmp_path):
    path = tmp_path / "run.whence"
    beside(path, "symptom.json").write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(WhenceError, match=why):
        read_symptom(path)
