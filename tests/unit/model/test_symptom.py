import json

import pytest

from whence.errors import WhenceError
from whence.model.symptom import (
    AssertionOperand,
    FailedAssertion,
    Symptom,
    SymptomKind,
    from_json,
    to_json,
)

SYMPTOMS = [
    Symptom(SymptomKind.EXCEPTION),
    Symptom(SymptomKind.RESULT, function="shop.total"),
    Symptom(SymptomKind.OUTPUT, line=3),
    Symptom(SymptomKind.EXPRESSION, expression="result[2].name"),
    Symptom(SymptomKind.NOT_ENDED),
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
def test_a_symptom_comes_back_from_json_as_it_was(symptom):
    assert from_json(json.loads(json.dumps(to_json(symptom)))) == symptom


@pytest.mark.parametrize(
    ("record", "why"),
    [
        ([], "no JSON object"),
        ({"kind": "mood"}, "unknown kind"),
        ({"kind": ["exception"]}, "unknown kind"),
        ({"kind": "output", "line": True}, "no line number"),
        ({"kind": "output", "line": 0}, "no line number"),
        ({"kind": "result", "function": 3}, "function is no text"),
        ({"kind": "assertion", "assertion": {"file": "x", "line": 1, "operands": 3}}, "no list"),
        ({"kind": "assertion", "assertion": {"file": "x", "line": 1, "detail": [1]}}, "of lines"),
        (
            {
                "kind": "assertion",
                "assertion": {"file": "x", "line": 1, "operands": [{"span": [1, 2]}]},
            },
            "not four numbers",
        ),
    ],
)
def test_what_is_no_symptom_is_refused_with_the_reason(record, why):
    with pytest.raises(WhenceError, match=why):
        from_json(record)
