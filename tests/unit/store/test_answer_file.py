from __future__ import annotations

import json
import multiprocessing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.errors import WhenceError
from whence.model.equation import StableEquation
from whence.model.verdict import Verdict
from whence.oracle.remembered import StoredAnswer
from whence.store.answer_file import AnswerFile, from_line, to_line

SAID = StoredAnswer(
    StableEquation("m.f", "f(1) → 2", "d1", "i1"), Verdict.RIGHT, "Ada", "2026-01-01T00:00:00.000Z"
)
TEXTS = st.text(max_size=8)
STATEMENTS = st.builds(
    StoredAnswer,
    st.builds(StableEquation, TEXTS, TEXTS, TEXTS, TEXTS),
    st.sampled_from([None, Verdict.RIGHT, Verdict.WRONG, Verdict.INADMISSIBLE]),
    TEXTS,
    TEXTS,
    st.none() | TEXTS,
    TEXTS,
)


@given(STATEMENTS)
def test_every_statement_survives_writing_and_reading(said: StoredAnswer) -> None:
    assert from_line(to_line(said)) == said
    assert "\n" not in to_line(said)


def test_a_line_has_sorted_keys_and_says_it_all(tmp_path: Path) -> None:
    record = json.loads(to_line(replace(SAID, expected="3", mark="result[0]")))
    *members, last = record
    assert members == sorted(members)
    assert last == "check"
    assert record["call"] == "f(1) → 2"
    assert (record["expected"], record["mark"], record["verdict"]) == ("3", "result[0]", "right")


def a_file(folder: Path, *statements: StoredAnswer) -> AnswerFile:
    file = AnswerFile(folder / "answers.jsonl")
    file.append(statements)
    return file


def test_the_last_word_of_each_person_stands(tmp_path: Path) -> None:
    later = replace(SAID, verdict=Verdict.WRONG, date="2026-01-02")
    other = replace(SAID, by="Bob")
    file = a_file(tmp_path, later, SAID, other)
    assert file.about("d1") == [other, later]
    assert file.about("d2") == []


def test_what_was_withdrawn_does_not_stand(tmp_path: Path) -> None:
    other = replace(SAID, by="Bob")
    file = a_file(tmp_path, SAID, other)
    file.withdraw([SAID], "2026-01-03")
    assert file.about("d1") == [other]
    file.append([replace(SAID, date="2026-01-04")])
    assert {each.by for each in file.about("d1")} == {"Ada", "Bob"}


def test_two_versions_of_the_file_merge_by_keeping_the_lines_of_both(tmp_path: Path) -> None:
    lines = [
        to_line(SAID),
        to_line(replace(SAID, verdict=None, date="2026-01-02")),
        to_line(replace(SAID, verdict=Verdict.WRONG, date="2026-01-03")),
    ]
    for number, order in enumerate(([0, 1, 2], [2, 1, 0], [1, 2, 0, 2])):
        path = tmp_path / f"{number}.jsonl"
        path.write_text("".join(lines[each] + "\n" for each in order))
        assert [each.verdict for each in AnswerFile(path).about("d1")] == [Verdict.WRONG]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "no JSON"),
        ("[]", "no JSON object"),
        ('{"verdict": 3}', "is no text"),
        (to_line(SAID).replace("right", "perhaps"), "no verdict 'perhaps'"),
        (to_line(SAID).replace('"digest"', '"gone"'), '"digest" is missing'),
        ("[" * 100_000, ""),
        ("<<<<<<< HEAD", "no JSON"),
    ],
)
def test_a_damaged_line_is_named_and_passed_over(tmp_path: Path, line: str, why: str) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(f"{line}\n\n{to_line(SAID)}\n")
    notes: list[str] = []
    file = AnswerFile(path, notes.append)
    assert file.about("d1") == [SAID]
    assert file.all() == [SAID]
    assert len(notes) == 1
    assert "answers.jsonl:1 is skipped" in notes[0]
    assert why in notes[0]


def test_the_marks_of_a_merge_conflict_cost_no_line_around_them(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    mine, theirs = to_line(SAID), to_line(replace(SAID, by="Bob"))
    path.write_text(f"<<<<<<< HEAD\n{mine}\n=======\n{theirs}\n>>>>>>> theirs\n")
    notes: list[str] = []
    file = AnswerFile(path, notes.append)
    assert file.about("d1") == [SAID, replace(SAID, by="Bob")]
    assert len(notes) == 3
    assert all("marks a conflict of a merge" in note for note in notes)


def test_any_damaged_byte_costs_at_most_its_own_line(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    answers = [replace(SAID, by=name) for name in ("Ada", "Bob", "Eve")]
    a_file(tmp_path, *answers)
    whole = path.read_bytes()
    for place in range(len(whole)):
        for byte in (0, 0x0A, 0x22, 0x39, 0xFF):
            if whole[place] != byte:
                path.write_bytes(whole[:place] + bytes([byte]) + whole[place + 1 :])
                kept = AnswerFile(path).all()
                assert len(kept) >= 2, (place, byte)
                assert set(kept) <= set(answers), (place, byte)


def test_a_line_of_an_earlier_version_needs_no_checksum(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    record = json.loads(to_line(SAID))
    del record["check"]
    path.write_text(json.dumps(record) + "\n")
    assert AnswerFile(path).all() == [SAID]


def test_a_file_without_an_end_of_line_is_added_to_on_a_new_one(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(to_line(SAID))
    file = AnswerFile(path)
    file.append([replace(SAID, by="Bob")])
    assert len(file.about("d1")) == 2


def test_what_another_process_adds_is_seen(tmp_path: Path) -> None:
    file = a_file(tmp_path)
    assert file.all() == []
    a_file(tmp_path, SAID)
    assert file.all() == [SAID]


def test_a_file_that_cannot_be_written_is_told_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "answers.jsonl").mkdir()
    with pytest.raises(WhenceError, match="cannot be remembered there"):
        a_file(tmp_path, SAID)


def _adds(path: Path, by: str) -> None:
    file = AnswerFile(path)
    for number in range(200):
        file.append(
            [replace(SAID, by=by, equation=StableEquation("m.f", "x" * 500, f"{by}{number}"))]
        )


def test_two_processes_that_add_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    context = multiprocessing.get_context("spawn")
    both = [context.Process(target=_adds, args=(path, by)) for by in ("Ada", "Bob")]
    for process in both:
        process.start()
    for process in both:
        process.join()
    notes: list[str] = []
    assert len(AnswerFile(path, notes.append).all()) == 400
    assert notes == []


def test_an_answer_with_a_date_in_the_future_can_be_forgotten(tmp_path: Path) -> None:
    file = AnswerFile(tmp_path / "answers.jsonl")
    equation = StableEquation("f", "f(1) → 2", "d" * 32, "i" * 32)
    file.append([StoredAnswer(equation, Verdict.WRONG, "Ada", "2999-01-01T00:00:00Z")])
    file.withdraw(file.all(), "2026-01-01T00:00:00Z")
    assert file.all() == []


def test_answers_are_not_added_to_the_file_that_a_link_leads_to(tmp_path: Path) -> None:
    profile = tmp_path / ".profile"
    profile.write_text("umask 077\n")
    link = tmp_path / "answers.jsonl"
    link.symlink_to(profile)
    with pytest.raises(WhenceError, match="it is a symbolic link"):
        AnswerFile(link).append([SAID])
    assert profile.read_text() == "umask 077\n"
