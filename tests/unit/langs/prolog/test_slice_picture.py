import re
import shutil
from pathlib import Path

import pytest
from prolog import need_swipl

from whence.errors import WhenceError
from whence.langs.prolog.goal_execution import GoalExecution
from whence.langs.prolog.slice_picture import Picture, as_dot, as_text, draw_slices, write_svg
from whence.langs.prolog.swipl_process import Engine
from whence.langs.prolog.term_provenance import slices_of
from whence.langs.prolog.traced_call import Port, PortEvent

need_swipl()

CUT = """\
a(X) :- b(X), c(X).
a(X) :- g(X).
b(X) :- c(X), !, d(X).
b(X) :- e(X).
c(1).
c(2).
d(2).
e(1).
g("3\\\\").
"""


def drawn(folder: Path, program: str, goal: str, most: int = 400) -> Picture:
    """The picture of the first answer, with the slices of its first argument."""
    file = folder / "program.pl"
    file.write_text(program)
    with Engine() as engine:
        execution = GoalExecution(engine, file, goal)
        event = PortEvent(Port.EXIT, execution.trace.root, 0)
        flow, debug = slices_of(execution.source, event, (1,))
        assert debug is not None
        return draw_slices(execution.source, event, flow, debug, most)


def test_the_text_tells_what_became_of_each_call_and_its_slices(tmp_path: Path) -> None:
    assert as_text(drawn(tmp_path, CUT, "a(X)")) == [
        "+ on the success branch, x failed at once, - on a failed branch, ~ cut away, not tried",
        "f in the data-flow slice, d in the debug slice, ! it cut",
        '1 + fd  a("3\\\\")',
        "2 -  d    b(_A)  !",
        "  ~         b/1, line 4: not tried, as b/1 cut",
        "3 -  d      c(_A)",
        "  ~           c/1, line 6: not tried, as b/1 cut",
        "4 x  d      d(1)",
        '5 + fd    g("3\\\\")',
    ]


def test_in_the_graph_each_kind_has_its_own_shape_and_line(tmp_path: Path) -> None:
    graph = as_dot(drawn(tmp_path, CUT, "a(X)"))
    nodes = dict(re.findall(r"^  (n\d) \[(.*)\];$", graph, re.MULTILINE))
    shapes = {name: re.findall(r"shape=(\w+)", words)[0] for name, words in nodes.items()}
    assert shapes == {
        "n0": "box", "n1": "ellipse", "n2": "note", "n3": "ellipse", "n4": "note",
        "n5": "octagon", "n6": "box",
    }  # fmt: skip
    assert [name for name, words in nodes.items() if "peripheries=2" in words] == ["n0", "n6"]
    assert all("penwidth=2.5" in nodes[name] for name in ("n0", "n1", "n3", "n5", "n6"))
    assert '\\"3\\\\\\\\\\"' in nodes["n0"], "quotes and backslashes are escaped"
    edges = set(re.findall(r"^  (n\d -> n\d)", graph, re.MULTILINE))
    assert edges == {"n0 -> n1", "n1 -> n2", "n1 -> n3", "n3 -> n4", "n3 -> n5", "n0 -> n6"}


def test_of_many_calls_those_in_slices_are_shown_and_the_rest_is_counted(tmp_path: Path) -> None:
    program = """
        top(Y) :- ( idle(30), fail ; true ), made(Y).
        idle(0).
        idle(N) :- N > 0, M is N - 1, idle(M).
        made(1).
    """
    picture = drawn(tmp_path, program, "top(Y)", most=5)
    shown = [node.text for node in picture.nodes]
    assert {"top(1)", "made(1)"} <= set(shown)
    assert len(shown) <= 5
    assert picture.left_out > 50
    assert as_text(picture)[-1] == f"… {picture.left_out} more calls"
    assert f"… {picture.left_out} more calls" in as_dot(picture)


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_draws_it(tmp_path: Path) -> None:
    write_svg(drawn(tmp_path, CUT, "a(X)"), tmp_path / "calls.svg")
    svg = (tmp_path / "calls.svg").read_text(encoding="utf-8")
    assert svg.startswith("<?xml") and "d(1)" in svg and "cut away" in svg


def test_without_graphviz_it_is_said_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    picture = drawn(tmp_path, CUT, "a(X)")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(WhenceError, match="apt-get install graphviz"):
        write_svg(picture, tmp_path / "calls.svg")
