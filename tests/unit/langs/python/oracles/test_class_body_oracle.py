from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from recorded import environment

from whence.langs.python.oracles.class_body_oracle import ClassBodyOracle
from whence.langs.python.source.class_bodies import class_at, outline
from whence.langs.python.trace.trace_reader import open_trace
from whence.model.question import Question
from whence.model.verdict import Judgement, Verdict

BODIES = {
    "    '''Says what it is.'''\n    def get(self, n=3): return n\n    name: str": True,
    "    pass": True,
    "    async def get(self): return 1": True,
    "    rate = 19": False,
    "    def get(self, found=[]): return found": False,
    "    @property\n    def get(self): return 1": False,
    "    if True:\n        def get(self): return 1": False,
}


def judged(folder: Path, source: str, *, changed: bool = False) -> Judgement | None:
    """What is said of the body of the only class of a program."""
    program = folder / "program.py"
    program.write_text(source)
    os.utime(program, (1, 1))
    subprocess.run(
        [sys.executable, "-m", "whence", "record", "-q", "-o", "t.whence", "program.py"],
        cwd=folder, env=environment(), check=True, timeout=60,
    )  # fmt: skip
    if changed:
        program.write_text(source)
    tree = open_trace(folder / "t.whence")
    names = [each.qualname for each in tree.functions]
    position = int((tree.columns.function == names.index("Thing")).argmax())
    question = Question(tree.id(position), tree.call(position), "", "", 1, 1.0, 1)
    return ClassBodyOracle(tree).judge(question)


@pytest.mark.parametrize("body", BODIES)
def test_a_body_is_right_if_nothing_is_worked_out_in_it(tmp_path: Path, body: str) -> None:
    said = judged(tmp_path, f"class Thing:\n{body}\n")
    expected = Judgement(Verdict.RIGHT, "it only defines methods") if BODIES[body] else None
    assert said == expected


def test_nothing_is_said_of_source_that_was_changed_since(tmp_path: Path) -> None:
    assert judged(tmp_path, "class Thing:\n    pass\n", changed=True) is None


def test_a_question_shows_what_a_class_got() -> None:
    source = '''
@register
class Thing(Base):
    """Text."""
    rate: int = 19
    names = [
        "a",
    ]

    @property
    def double(self, /, by=2): return 1

    class Inner: pass
'''
    for line in (2, 3):
        found = class_at(source, line)
        assert found is not None
        assert outline(found) == [
            "rate: int = 19", "names = ['a']", "@property", "def double(self, /, by=2)",
            "class Inner",
        ]  # fmt: skip
    assert class_at(source, 5) is None
    assert class_at("class (", 1) is None
