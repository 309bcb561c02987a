"""Sessions behind the protocol: handles that outlive a process, statements, lookups, errors."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from example_copies import own_copy

import whence
from whence.app.session_client import result_of
from whence.app.session_host import MAX_REQUEST, SessionHost
from whence.protocol.problems import Problem

TREE = own_copy("sqrtest.jsonl")
PROGRAM = """\
def double(x):
    return x + x


def shift(x):
    return x - 1


def whole(xs):
    return [shift(double(x)) for x in xs]


print(whole([1, 2, 3]))
"""


class Session:
    """One session, asked as a client would."""

    def __init__(self, host: SessionHost, handle: str = "") -> None:
        self.host, self.handle = host, handle

    def __call__(self, method: str, **parameters: object) -> dict[str, Any]:
        if self.handle:
            parameters.setdefault("session", self.handle)
        message = {"version": 1, "id": 1, "method": method, "params": parameters}
        return result_of(json.loads(self.host.handle_text(json.dumps(message))))

    def begin(self, path: Path, **more: object) -> dict[str, Any]:
        view = self("open", recording=str(path), **more)
        self.handle = view["session"]
        return view


@pytest.fixture
def ask() -> Iterator[Session]:
    host = SessionHost()
    yield Session(host)
    host.close()


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    (folder / "program.py").write_text(PROGRAM)
    ask = Session(SessionHost())
    job = ask("record", command=["program.py"], folder=str(folder))
    while job["state"] == "running":
        job = ask("job", job=job["job"], wait=10.0)
    assert job["state"] == "done", job
    ask.host.close()
    return Path(job["recording"])


def code_of(problem: pytest.ExceptionInfo[Problem]) -> str:
    return problem.value.code.value


def judge_all(ask: Session, view: dict[str, Any], wrong: set[str]) -> dict[str, Any]:
    """Answer all questions as somebody who knows which functions are wrong."""
    while view["needs"] == "question":
        name = view["question"]["call"]["function"]["qualname"]
        view = ask("answer", verdict="wrong" if name in wrong else "right", by="agent")
    return view


def test_a_session_finds_the_fault_and_writes_a_test_of_it(ask: Session, recording: Path) -> None:
    view = ask.begin(recording, fresh=True)
    assert view["needs"] == "symptom"
    assert view["symptom"]["output"] == ["[1, 3, 5]"]
    view = judge_all(ask, ask("wrong", what="output:1"), {"whole", "shift"})
    assert view["needs"] == "nothing"
    assert view["diagnosis"]["record"]["at_fault"]["qualname"] == "shift"
    assert "shift" in view["diagnosis"]["text"]
    assert "def test_shift" in ask("test")["text"]


def test_another_process_goes_on_with_a_handle(ask: Session, recording: Path) -> None:
    view = ask.begin(recording, wrong="output:1", fresh=True)
    after = ask("answer", verdict="right")
    ask.host.close()
    other = Session(SessionHost(), view["session"])
    assert other("next")["question"] == after["question"]
    assert [a["by"] for a in other("answers")["answers"]][-1] == "person"
    shortened = Session(other.host, view["session"][:8])
    assert shortened("next")["session"] == view["session"]
    other.host.close()


def test_a_session_is_held_by_one_process_at_a_time(ask: Session) -> None:
    ask.begin(TREE, fresh=True)
    other = Session(SessionHost())
    with pytest.raises(Problem) as problem:
        other.begin(TREE)
    assert code_of(problem) == "session-held"
    other.host.close()


def test_a_log_of_its_own_is_a_handle(ask: Session, tmp_path: Path) -> None:
    log = tmp_path / "my.jsonl"
    view = ask.begin(TREE, log=str(log))
    assert view["session"] == str(log)
    ask("answer", verdict="right")
    ask("close")
    assert ask("next")["answers"] == 1


def test_two_clients_share_one_session(ask: Session) -> None:
    first = ask.begin(TREE, fresh=True)
    other = Session(ask.host)
    assert other.begin(TREE)["revision"] == first["revision"]
    other("answer", verdict="right")
    with pytest.raises(Problem) as problem:
        ask("answer", verdict="right", revision=first["revision"])
    assert code_of(problem) == "stale"


def test_undo_redo_and_a_revised_answer(ask: Session) -> None:
    first = ask.begin(TREE, fresh=True)
    call = first["question"]["call"]["call"]
    second = ask("answer", verdict="right", by="agent")
    assert ask("undo")["question"] == first["question"]
    assert ask("redo")["question"] == second["question"]
    ask("answer", verdict="unknown", by="agent one")
    index = next(a["index"] for a in ask("answers")["answers"] if a["call"] == call)
    revised = ask("revise", index=index, verdict="wrong")
    said = {a["call"]: (a["verdict"], a["by"]) for a in ask("answers")["answers"]}
    assert said[call] == ("wrong", "person")
    assert said[second["question"]["call"]["call"]] == ("unknown", "agent one")
    assert revised["suspects"] < first["suspects"]
    withdrawn = ask("revise", index=index)
    assert call not in {a["call"] for a in ask("answers")["answers"]}
    assert withdrawn["answers"] == revised["answers"] - 1


def test_a_contradiction_is_resolved(ask: Session) -> None:
    call = ask.begin(TREE, fresh=True)["question"]["call"]["call"]
    ask("answer", verdict="right")
    view = ask("answer", verdict="wrong", calls=[call])
    assert view["needs"] == "contradiction"
    assert view["contradiction"]["earlier_call"] == call
    with pytest.raises(Problem) as problem:
        ask("answer", verdict="right")
    assert code_of(problem) == "not-now"
    assert ask("keep", which="later")["needs"] == "question"
    assert ask("answers")["answers"][-1]["verdict"] == "wrong"


def test_parts_are_marked_by_their_paths(ask: Session, recording: Path) -> None:
    ask.begin(recording, wrong="output:1", fresh=True)
    row = ask("calls", function="whole")["rows"][0]
    part = ask("call", call=row["call"])["outcome"]["value"]["parts"][1]["value"]
    assert (part["path"], part["text"]) == ("result[1]", "3")
    view = ask("answer", verdict="wrong", calls=[row["call"]], part=part["path"], expected="5")
    marked = ask("answers")["answers"][-1]
    assert (marked["part"], marked["expected"]) == ("result[1]", "5")
    assert any("result[1]" in note for note in view["notes"])
    for path, verdict in (("xs[0]", "wrong"), ("result[0]", "inadmissible"), ("xs", "right")):
        with pytest.raises(Problem) as problem:
            ask("answer", verdict=verdict, calls=[row["call"]], part=path)
        assert code_of(problem) == "bad-parameters"
    with pytest.raises(Problem) as problem:
        ask("answer", verdict="wrong", calls=[row["call"]], part="result[9]")
    assert code_of(problem) == "no-such-part"


def make() -> dict[str, object]:
    return {"rows": list(range(500)), "name": "x" * 300}


def test_values_unfold_bit_by_bit(ask: Session, tmp_path: Path) -> None:
    with whence.record(tmp_path / "block.whence", only=(__file__,), whole_values=True):
        make()
    ask.begin(tmp_path / "block.whence", wrong="result")
    call = ask("calls", function="make")["rows"][0]["call"]
    whole = ask("value", call=call, path="result", text=100)
    rows, name = (part["value"] for part in whole["parts"])
    assert (rows["path"], rows["size"], rows["parts"]) == ("result['rows']", 500, [])
    assert (name["characters"], len(name["text"]) < 200) == (302, True)
    page = ask("value", call=call, path=rows["path"], first=490, parts=5)
    assert [part["value"]["text"] for part in page["parts"]] == ["490", "491", "492", "493", "494"]
    assert (page["first"], page["more"]) == (490, 5)


def test_calls_are_searched_by_what_is_known_of_them(ask: Session, recording: Path) -> None:
    ask.begin(recording, wrong="output:1", fresh=True)
    whole = ask("calls", function="whole")["rows"][0]["call"]
    assert ask("calls", function="shift")["total"] == 3
    assert ask("calls", function="shift", limit=1, offset=2)["rows"][0]["function"] == "shift"
    assert [r["equation"] for r in ask("calls", text="→ 5")["rows"]] == ["shift(x=6) → 5"]
    assert ask("calls", callees_of=whole)["total"] == 6
    assert ask("calls", below=whole, function="doub")["total"] == 3
    assert ask("calls", exception="*")["total"] == 0
    suspects = ask("next")["suspects"]
    assert ask("calls", state="suspect")["total"] == suspects


def test_the_source_has_the_lines_that_ran_and_what_they_called(
    ask: Session, recording: Path
) -> None:
    ask.begin(recording, wrong="output:1", fresh=True)
    whole = ask("calls", function="whole")["rows"][0]["call"]
    lines = ask("source", call=whole, run=True)["lines"]
    assert [line["text"].strip() for line in lines if line["ran"]] == [
        "return [shift(double(x)) for x in xs]"
    ]
    assert len(lines[-1]["calls"]) == 6


def test_an_origin_is_found_if_the_program_may_run_again(ask: Session, recording: Path) -> None:
    ask.begin(recording, wrong="output:1", fresh=True)
    whole = ask("calls", function="whole")["rows"][0]["call"]
    refused = ask("why", call=whole, path="result[1]")
    assert refused["needs_run"]
    assert refused["origin"] is None
    known = ask("why", call=whole, path="result[1]", run=True)
    assert known["origin"]["expression"] == "x - 1"
    assert known["origin"]["call"]["function"] == "shift"


def test_strategies_trust_and_switches(ask: Session, recording: Path) -> None:
    ask.begin(recording, wrong="output:1", fresh=True)
    ask("strategy", name="top-down")
    current = [s["name"] for s in ask("strategy")["strategies"] if s["is_current"]]
    assert current == ["top-down"]
    assert ask("next")["strategy"] == "top-down"
    ask("trust", name="double")
    assert ask("answers")["trusted"] == ["function __main__.double"]
    ask("trust", name="double", withdraw=True)
    ask("switch", name="slicing", on=False)
    ask("oracle", name="type hints", on=False)
    assert ask("answers")["silenced"] == ["type hints"]


@pytest.mark.parametrize(
    ("method", "parameters", "code"),
    [
        ("next", {"session": "no such"}, "no-such-session"),
        ("next", {"session": "../../etc/passwd"}, "no-such-session"),
        ("job", {"job": "job-7"}, "no-such-job"),
        ("call", {"call": 10**6}, "no-such-call"),
        ("value", {"call": 1, "path": "nothing"}, "no-such-part"),
        ("answer", {"verdict": "blue"}, "bad-parameters"),
        ("answer", {"verdict": "right", "by": "the queen"}, "bad-parameters"),
        ("answer", {"verdict": 3}, "bad-parameters"),
        ("answer", {"verdict": "right", "calls": [10**6]}, "bad-parameters"),
        ("keep", {"which": "later"}, "not-now"),
        ("reject", {}, "not-now"),
        ("test", {}, "not-now"),
        ("zoom", {}, "not-now"),
        ("open", {"recording": "/no/such/file"}, "cannot"),
        ("record", {"command": []}, "bad-parameters"),
        ("record", {"command": ["x.py"], "kind": "fly"}, "bad-parameters"),
        ("fly", {}, "unknown-method"),
    ],
)
def test_an_error_says_what_to_do_and_changes_nothing(
    ask: Session, method: str, parameters: dict[str, object], code: str
) -> None:
    before = ask.begin(TREE, fresh=True)
    if method in ("open", "record", "job"):
        ask.handle = ""
    with pytest.raises(Problem) as problem:
        ask(method, **parameters)
    assert code_of(problem) == code
    assert str(problem.value)
    ask.handle = before["session"]
    assert ask("next") == before


def test_a_long_message_is_refused(ask: Session) -> None:
    response = json.loads(ask.host.handle_text("x" * (MAX_REQUEST + 1)))
    assert response["error"]["code"] == "too-large"


def test_a_recording_that_never_ends_is_stopped(ask: Session, tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text(
        "def work(n):\n    return n\n\nprint('on', flush=True)\nwhile True:\n    work(1)\n"
    )
    job = ask("record", command=["endless.py"], folder=str(tmp_path), options=["--max-calls=1000"])
    while "on" not in job["output"]:
        job = ask("job", job=job["job"], wait=0.1)
    assert job["state"] == "running"
    job = ask("stop", job=job["job"])
    assert job["state"] == "stopped"
    assert Path(job["recording"]).exists()
    assert [one["job"] for one in ask("jobs")["jobs"]] == [job["job"]]


@pytest.mark.soak
def test_a_program_that_cannot_be_recorded_says_why(ask: Session, tmp_path: Path) -> None:
    job = ask("record", command=["missing.py"], folder=str(tmp_path))
    while job["state"] == "running":
        job = ask("job", job=job["job"], wait=10.0)
    assert job["state"] == "failed"
    assert "missing.py" in job["problem"]


@pytest.mark.soak
def test_a_failing_test_is_recorded_and_its_operand_is_asked_for(
    ask: Session, tmp_path: Path
) -> None:
    (tmp_path / "test_it.py").write_text(
        "def add(a, b):\n    return a - b\n\n\ndef test_add():\n    assert add(2, 1) == 3\n"
    )
    job = ask("record", kind="test", command=["-q", "test_it.py"], folder=str(tmp_path))
    while job["state"] == "running":
        job = ask("job", job=job["job"], wait=10.0)
    assert job["state"] == "done", job
    view = ask.begin(Path(job["recording"]))
    operands = [side["expression"] for side in view["symptom"]["operands"]]
    assert operands == ["add(2, 1)", "3"]
    view = ask("wrong", operands=[0])
    assert view["diagnosis"]["record"]["at_fault"]["qualname"] == "add"


def test_requests_of_many_threads_are_carried_out_one_after_the_other(ask: Session) -> None:
    ask.begin(TREE, fresh=True)
    problems: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(5):
                ask("answer", verdict="unknown", calls=[2])
                ask("undo")
        except Problem as problem:  # another thread was faster: a refusal, never damage
            if problem.code.value not in ("bad-parameters", "not-now"):
                problems.append(problem)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    assert ask("next")["needs"] in ("question", "contradiction")
