"""How evidence is weighed: what raises suspicion, what lowers it, and what comes last."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from whence.langs.python.witnesses.evidence import Evidence, Place
from whence.langs.python.witnesses.reasons import reasons
from whence.langs.python.witnesses.suspicion import WEIGHTS, terms

BASE = Evidence(Place("/p/m.py", "f"), line=3, lines=4, passing=4, passing_calls=6, depth=2)


def score(**facts: Any) -> float:
    return sum(terms(replace(BASE, **facts)).values())


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ({"passing": 0}, {"passing": 1}),
        ({"passing": 1}, {"passing": 50}),
        ({"new_lines": 2}, {"new_lines": 0}),
        ({"stack": 0}, {"stack": 3}),
        ({"stack": 3}, {}),
        ({"raised": True}, {}),
        ({"depth": 0}, {"depth": 5}),
        ({"operand": 0}, {"operand": 4}),
        ({"named": 1.0}, {}),
        ({"changed": True}, {}),
        ({"days_old": 1.0}, {"days_old": 900.0}),
        ({"lacks": "size"}, {}),
    ],
)
def test_evidence_against_a_function_makes_it_more_suspicious(
    more: dict[str, Any], less: dict[str, Any]
) -> None:
    assert score(**more) > score(**less)


def test_what_ran_only_in_imports_comes_last() -> None:
    imported = score(only_imports=True, passing=0, new_lines=4, stack=0, named=1.5, changed=True)
    assert imported < score(passing=10_000, depth=10)


def test_a_missing_attribute_is_suspicious_even_in_a_class_that_only_was_imported() -> None:
    assert score(only_imports=True, lacks="size") > score(only_imports=True) + 50


def test_without_witnesses_nothing_is_said_of_passing_tests() -> None:
    alone = replace(BASE, passing=None)
    assert "spectrum" not in terms(alone)
    assert not any("passing" in reason for reason in reasons(alone, terms(alone), 0))


def test_the_reasons_name_the_line_that_no_passing_test_ran() -> None:
    evidence = replace(BASE, passing=0, rarest=7, stack=0, lacks="size", operand=1, depth=0)
    told = reasons(evidence, terms(evidence), 6)
    assert "the exception left it first" in told
    assert "the exception says that size is missing there" in told
    assert "it ran 1 call below the call that made what the assertion compares" in told
    spectrum = replace(BASE, passing=0, rarest=7)
    assert "no passing test ran line 7, 6 ran others" in reasons(spectrum, terms(spectrum), 6)


def test_the_manual_states_the_weights() -> None:
    manual = (Path(__file__).parents[5] / "docs" / "ranking.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| ([a-z ]+) \| (.*) \|$", manual, re.MULTILINE))
    for field in fields(WEIGHTS):
        term = field.name.removesuffix("_decay").replace("_", " ")
        weight = f"{getattr(WEIGHTS, field.name):g}".replace("-", "−")
        assert weight in rows[term].replace(".0", ""), f"{term}: {weight}"
