"""The MCP server, driven by the SDK's own client: sessions, errors, bounds, a killed server."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import io
import json
import os
import runpy
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

import httpx2
from example_copies import own_copy
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitRequestParams, ElicitResult

import whence
from whence.app.session_host import SessionHost
from whence.ui.mcp.server import build
from whence.ui.mcp.tools import LONGEST_ARGUMENT, Tools

ROOT = Path(__file__).parents[4]
TREE = str(own_copy("sqrtest.jsonl"))
MOST = 8_000
"""About 2,000 tokens."""
TOOLS = {"record", "find", "answer", "why", "call", "search", "check", "undo"}


@dataclass
class Agent:
    """Calls tools, and measures."""

    client: Client
    sizes: list[int] = field(default_factory=list)

    async def __call__(self, tool: str, **arguments: object) -> dict[str, Any]:
        result = await self.client.call_tool(tool, arguments)
        text = result.content[0].text  # type: ignore[union-attr]
        assert not result.is_error, text
        data: dict[str, Any] = result.structured_content or {}
        self.sizes.append(len(text) + len(json.dumps(data)))
        return {**data, "text": text}

    async def error(self, tool: str, **arguments: object) -> str:
        result = await self.client.call_tool(tool, arguments)
        assert result.is_error
        text: str = result.content[0].text  # type: ignore[union-attr]
        return text


@pytest.fixture
def host() -> Iterator[SessionHost]:
    sessions = SessionHost()
    yield sessions
    sessions.close()


def with_agent(host: SessionHost, work: Callable[[Agent], Awaitable[None]], **options: Any) -> None:
    """Let an agent work with a server in this process."""

    async def run() -> None:
        async with Client(build(Tools(host.carry_out), "0"), **options) as client:
            await work(Agent(client))

    asyncio.run(run())


def server(folder: Path) -> StdioServerParameters:
    """A server of its own, over standard streams."""
    keep = {name: os.environ[name] for name in ("XDG_STATE_HOME", "PATH", "HOME")}
    arguments = ["-m", "whence", "mcp"]
    return StdioServerParameters(command=sys.executable, args=arguments, cwd=folder, env=keep)


def namespace_of(script: Path) -> dict[str, Any]:
    """The functions of a right version."""
    with contextlib.redirect_stdout(io.StringIO()):
        return runpy.run_path(str(script), run_name="right_version")


def judged(equation: str, right: dict[str, Any]) -> str:
    """The verdict of somebody who has the right version at hand."""
    call, arrow, outcome = equation.partition(" → ")
    try:
        same = arrow and eval(call, dict(right)) == ast.literal_eval(outcome)
    except Exception:
        return "unknown"
    return "right" if same else "wrong"


async def debugged(agent: Agent, script: Path, wrong: str, right: dict[str, Any]) -> dict[str, Any]:
    """Record a script and answer until the search is over; what was found."""
    job = await agent("record", command=[script.name], folder=str(script.parent))
    while job["state"] == "running":
        job = await agent("record", job=job["job"])
    step = await agent("find", recording=job["recording"], wrong=wrong, fresh=True)
    while step["needs"] == "question":
        verdict = judged(step["equation"], right)
        step = await agent("answer", session=step["session"], verdict=verdict)
    return step


def test_there_are_eight_tools_with_schemas(host: SessionHost) -> None:
    async def work(agent: Agent) -> None:
        listed = (await agent.client.list_tools()).tools
        assert {tool.name for tool in listed} == TOOLS
        for tool in listed:
            assert tool.description
            assert tool.output_schema
            for name, schema in tool.input_schema["properties"].items():
                assert "description" in schema or name in ("kind", "limit", "offset"), name

    with_agent(host, work)


def orders(folder: Path) -> tuple[Path, str, dict[str, Any], str]:
    """The example, what is wrong with it, a right version, and the function at fault."""
    text = (ROOT / "examples" / "orders.py").read_text()
    faulty = "return {**basket, **items}"
    assert faulty in text
    sums = "return {a: basket.get(a, 0) + items.get(a, 0) for a in {**basket, **items}}"
    (folder / "orders.py").write_text(text)
    (folder / "fixed.py").write_text(text.replace(faulty, sums))
    return folder / "orders.py", "output:1", namespace_of(folder / "fixed.py"), "merge"


def of_corpus(name: str, folder: Path) -> tuple[Path, str, dict[str, Any], str]:
    """The same of a program of the corpus."""
    source = ROOT / "tests" / "corpus" / name
    (folder / "buggy.py").write_text((source / "buggy.py").read_text())
    fault = json.loads((source / "bug.json").read_text())["function"]
    return folder / "buggy.py", "output", namespace_of(source / "repaired.py"), fault


@pytest.mark.parametrize(
    "name",
    [
        "orders",
        pytest.param("roman_numerals", marks=pytest.mark.soak),
        pytest.param("table_format", marks=pytest.mark.soak),
    ],
)
def test_an_agent_debugs_a_program_over_stdio(tmp_path: Path, name: str) -> None:
    """The right diagnosis, in few calls, and no reply is long."""
    program = orders(tmp_path) if name == "orders" else of_corpus(name, tmp_path)
    script, wrong, right, fault = program

    async def run() -> None:
        async with Client(server(tmp_path)) as client:
            agent = Agent(client)
            end = await debugged(agent, script, wrong, right)
            assert (end["status"], end["fault"]["qualname"]) == ("found", fault)
            assert max(agent.sizes) <= MOST
            assert len(agent.sizes) <= 12

    asyncio.run(run())


@pytest.mark.soak
def test_a_session_survives_a_killed_server(tmp_path: Path) -> None:
    async def run() -> None:
        async with Client(server(tmp_path)) as client:
            first = await Agent(client)("find", recording=TREE, fresh=True)
            after = await Agent(client)("answer", session=first["session"], verdict="right")
            children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
            commands = {int(p): Path(f"/proc/{p}/cmdline").read_bytes() for p in children}
            (process,) = [p for p, words in commands.items() if b"\0mcp\0" in words]
            os.kill(process, signal.SIGKILL)
        async with Client(server(tmp_path)) as client:
            again = await Agent(client)("find", session=first["session"])
            assert again["equation"] == after["equation"]
            async with Client(server(tmp_path)) as other:
                said = await Agent(other).error("find", session=first["session"])
                assert "held by another whence" in said

    asyncio.run(run())


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("find", {"session": "no such"}, "find(recording=...) begins a session"),
        ("find", {"recording": "/no/such/file"}, "cannot be read"),
        ("record", {"command": []}, "names no program"),
        ("record", {"job": "job-9"}, "record begins one"),
        ("answer", {"session": "{session}"}, "needs a verdict"),
        ("answer", {"session": "{session}", "verdict": "wrong", "part": "zz"}, "there is no zz"),
        ("answer", {"session": "{session}", "keep": "later"}, "nothing contradicts"),
        ("answer", {"session": "{session}", "verdict": "blue"}, "verdict"),
        ("call", {"session": "{session}", "call": 10**9}, "search finds calls"),
        ("call", {"session": "{session}", "call": 1, "path": "zz"}, "there is no zz"),
        ("why", {"session": "{session}", "path": "zz"}, "there is no zz"),
        ("search", {"session": "{session}", "below": 10**9}, "search finds calls"),
        ("check", {}, "give session or recording"),
        ("undo", {"session": "{session}"}, "nothing to undo"),
        ("undo", {"session": "{session}", "revise": 1}, "no answer is about call 1"),
        ("find", {"recording": "x" * (LONGEST_ARGUMENT + 1)}, "characters"),
        ("answer", {"session": "{session}", "verdict": "wrong", "expected": "9" * 10**7}, "charac"),
    ],
)
def test_an_error_says_what_to_do_and_the_session_stays(
    host: SessionHost, tool: str, arguments: dict[str, Any], said: str
) -> None:
    async def work(agent: Agent) -> None:
        before = await agent("find", recording=TREE, fresh=True)
        given = {
            name: value.format(session=before["session"]) if isinstance(value, str) else value
            for name, value in arguments.items()
        }
        problem = await agent.error(tool, **given)
        assert said in problem
        assert len(problem) < MOST
        assert await agent("find", session=before["session"]) | {"text": ""} == before | {
            "text": ""
        }

    with_agent(host, work)


def make() -> dict[int, str]:
    return dict.fromkeys(range(400), "x" * 500)


def test_large_values_are_cut_off_and_can_be_unfolded(host: SessionHost, tmp_path: Path) -> None:
    with whence.record(tmp_path / "big.whence", only=(__file__,)):
        [make() for _ in range(31)]

    async def work(agent: Agent) -> None:
        step = await agent("find", recording=str(tmp_path / "big.whence"), wrong="result")
        session = step["session"]
        found = await agent("search", session=session, function="make", limit=100)
        assert found["total"] == 31
        call = found["calls"][0]["call"]
        await agent("call", session=session, call=call)
        part = await agent("call", session=session, call=call, path="result")
        assert "result[0] = 'xxx" in part["text"]
        assert max(agent.sizes) <= MOST
        detailed = await agent("call", session=session, call=call, path="result", detail="detailed")
        assert len(detailed["text"]) > len(part["text"])

    with_agent(host, work)


@pytest.mark.soak
def test_a_recording_that_never_ends_is_stopped(host: SessionHost, tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text(
        "def work(n):\n    return n\n\n\nwork(1)\nimport time\ntime.sleep(1000)\n"
    )

    async def work(agent: Agent) -> None:
        started = asyncio.create_task(
            agent("record", command=["endless.py"], folder=str(tmp_path), time_limit=2)
        )
        job = await started
        while job["state"] == "running":
            job = await agent("record", job=job["job"])
        assert job["recording"]
        step = await agent("find", recording=job["recording"])
        assert step["needs"] in ("symptom", "question", "nothing")

    with_agent(host, work)


def test_a_person_is_asked_where_the_client_can(host: SessionHost) -> None:
    asked: list[str] = []

    async def elicit(context: Any, params: ElicitRequestParams) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"verdict": "right"})

    async def work(agent: Agent) -> None:
        step = await agent("find", recording=TREE, fresh=True)
        await agent("answer", session=step["session"], ask_person=True)
        assert step["equation"].split(" → ")[0] in asked[0].replace("\n", " ")
        said = host.session(step["session"]).driver.state.facts.answers
        assert [answer.by for answer in said if answer.node == step["call"]] == ["person"]

    with_agent(host, work, elicitation_callback=elicit)


def test_an_answer_is_replaced_and_said_again(host: SessionHost) -> None:
    async def work(agent: Agent) -> None:
        first = await agent("find", recording=TREE, fresh=True)
        session = first["session"]
        second = await agent("answer", session=session, verdict="right", reason="it is")
        assert (await agent("undo", session=session))["call"] == first["call"]
        assert (await agent("undo", session=session, redo=True))["call"] == second["call"]
        revised = await agent("undo", session=session, revise=first["call"], verdict="wrong")
        assert revised["suspects"] < second["suspects"] or revised["needs"] == "nothing"

    with_agent(host, work)


def test_http_needs_the_token(tmp_path: Path) -> None:
    async def run() -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "whence", "mcp", "--http", cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        try:
            assert process.stdout is not None
            line = (await process.stdout.readline()).decode()
            address, _, token = line.partition("  Authorization: ")
            assert address.startswith("http://127.0.0.1:")
            async with httpx2.AsyncClient() as plain:
                body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
                assert (await plain.post(address, json=body)).status_code == 401
                wrong = {"Authorization": "Bearer no"}
                assert (await plain.post(address, json=body, headers=wrong)).status_code == 401
                rebound = {"Authorization": token.strip(), "Host": "evil.example"}
                refused = await plain.post(address, json=body, headers=rebound)
                assert refused.status_code in (403, 421)
            headers = {"Authorization": token.strip()}
            async with httpx2.AsyncClient(headers=headers) as own:
                transport = streamable_http_client(address, http_client=own)
                async with Client(transport) as client:
                    step = await Agent(client)("find", recording=TREE, fresh=True)
                    assert step["needs"] == "question"
        finally:
            process.terminate()
            await process.wait()

    asyncio.run(run())
