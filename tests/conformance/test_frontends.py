"""Every front end keeps the laws of the ports that it offers."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from bug_corpus import record_program
from prolog import need_swipl

from whence.app.frontends import FRONTENDS, ArtFrontend, TreeFileFrontend
from whence.langs.prolog.frontend import PrologFrontend
from whence.langs.prolog.swipl_process import Engine
from whence.langs.python.frontend import PythonFrontend
from whence.testing.laws import check_frontend

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAM = """
    def scale(values, factor):
        return [value * factor for value in values]

    def total(values):
        return sum(scale(values, 2))

    print(total([1, 2, 3]))
"""


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAM).lstrip("\n"))
    record_program(tmp_path, ["program.py"], tmp_path / "run.whence", "", False)
    return tmp_path / "run.whence"


def test_python_recordings(recording: Path) -> None:
    opened = check_frontend(PythonFrontend(), recording)
    offered = (opened.reruns, opened.replay, opened.oracles, opened.symptoms, opened.tests)
    assert None not in offered
    assert opened.recording is not None
    assert opened.recording.command == ("program.py",)


def test_tree_files() -> None:
    check_frontend(TreeFileFrontend(), EXAMPLES / "sqrtest.jsonl")


def test_augmented_redex_trails() -> None:
    (art, *_) = sorted(EXAMPLES.glob("*art*.json"))
    assert check_frontend(ArtFrontend(), art).computes_origins


def test_prolog_goals(tmp_path: Path) -> None:
    need_swipl()
    file = tmp_path / "family.pl"
    file.write_text("parent(ann, bob).\ngrand(X, Y) :- parent(X, Y).\n")
    with Engine() as engine:
        opened = check_frontend(PrologFrontend(engine, "grand(ann, X)"), file)
        assert opened.oracles is not None


def test_each_file_is_opened_by_the_front_end_that_recognizes_it(recording: Path) -> None:
    (art, *_) = sorted(EXAMPLES.glob("*art*.json"))
    for path, name in ((recording, "python"), (art, "art"), (EXAMPLES / "sqrtest.jsonl", "tree")):
        start = path.read_bytes()[:4096]
        assert next(each for each in FRONTENDS if each.recognizes(start)).name == name
