"""The MCP server: the eight tools with their schemas, over stdio or streamable HTTP.

Annotations are evaluated here and not kept as text, because the SDK reads the schemas from them.

Invariant: a tool answers within `LIMIT` seconds. What takes longer goes on in its thread, and the
same call made again waits for it.
"""

import functools
import hmac
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal, TypedDict

import anyio
import anyio.to_thread
import uvicorn
from mcp.server.mcpserver import Context, Elicit, ElicitationResult, MCPServer, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.stdio import stdio_server
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, Field
from starlette.types import ASGIApp, Receive, Scope, Send

from whence.errors import WhenceError
from whence.protocol import requests
from whence.protocol.problems import Code, Problem, problem_of
from whence.ui.mcp.replies import Reply
from whence.ui.mcp.tools import LONGEST_ARGUMENT, Tools

LIMIT = 18.0
"""Seconds after which a tool answers, whether it is done or not."""
INSTRUCTIONS = """\
whence finds the faulty call of a Python run. record a failing script or test, then find: it runs
all automatic oracles and either names the function at fault or asks whether ONE call is right,
given its inputs. Judge that call by what it is meant to do (its name, documentation, callers), not
by whether its code does what it says: wrong = inputs fine, outcome not as intended; inadmissible =
it should never have got these inputs; unknown = you cannot tell. Answer until a fault is named,
fix it, then check. Handles outlive the server."""
_REPORT_SECONDS = 1.0
_CURES = {
    Code.NO_SESSION: "find(recording=...) begins a session, and record makes a recording",
    Code.NO_JOB: "record begins one; jobs end with the server, recordings stay",
    Code.NO_CALL: "search finds calls",
    Code.NO_PART: "call shows the values of a call with the paths of their parts",
    Code.NOT_NOW: "find(session=...) says what the session needs",
    Code.HELD: "end the other whence that has it open",
    Code.NOT_ALLOWED: "find(session=..., allow_rerun=true), if the user agrees",
}
_SESSION = Annotated[str, Field(description="handle of the session, from find", examples=["03d3"])]
_CALL = Annotated[int | None, Field(description="number of a call; null: the one asked about")]
_DETAIL = Annotated[
    Literal["concise", "detailed"],
    Field(description="concise: at most about 2,000 tokens; detailed: more, with source"),
]
_SIDE = Annotated[
    Literal["outcome", "input"],
    Field(description="input: the value before the call, where the call changed it"),
]
_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_CHANGES = ToolAnnotations(destructive_hint=False, open_world_hint=False)
_RUNS = ToolAnnotations(destructive_hint=False, open_world_hint=True)


class SessionData(TypedDict, total=False):
    """What a session needs. Members that have nothing to say are left out."""

    session: str
    needs: Literal["question", "contradiction", "symptom", "nothing", "time"]
    status: str
    suspects: int
    answers: int
    call: int
    function: str
    equation: str
    asked: str
    fault: dict[str, Any]


class JobData(TypedDict, total=False):
    """A recording in the making, or a check."""

    job: str
    state: str
    seconds: float
    recording: str
    exit_code: int
    fixed: bool
    needs: str


class Data(TypedDict, total=False):
    """A call, a value, a list of calls, or an origin."""

    call: int
    function: str
    equation: str
    state: str
    callees: list[int]
    calls: list[dict[str, Any]]
    total: int
    path: str
    kind: str
    size: int
    origin: dict[str, Any]
    needs: str


class PersonsAnswer(BaseModel):
    """What a person says of a call."""

    verdict: Literal["right", "wrong", "inadmissible", "unknown"] = "unknown"
    part: str = Field(default="", description="the part that is wrong, such as result[2].name")
    expected: str = Field(default="", description="what it should have been")


def build(tools: Tools, version: str) -> MCPServer[Any]:
    """The server with its tools."""
    logging.getLogger("mcp").setLevel(logging.ERROR)
    server: MCPServer[Any] = MCPServer(
        "whence", instructions=INSTRUCTIONS, version=version, log_level="ERROR"
    )
    _add_run_tools(server, tools)
    _add_session_tools(server, tools)
    _add_reading_tools(server, tools)
    return server


def _add_run_tools(server: MCPServer[Any], tools: Tools) -> None:
    @server.tool(annotations=_RUNS)
    async def record(
        ctx: Context[Any, Any],
        command: Annotated[
            list[str],
            Field(
                description="what `python` is given: a script or -m MODULE or -c CODE, with "
                "arguments; of test: pytest's arguments; of call: MODULE:FUNCTION and literals",
                examples=[["app.py", "--fast"], ["-m", "pkg"], ["tests/test_a.py::test_b"]],
            ),
        ] = [],  # noqa: B006
        kind: Literal["run", "test", "call"] = "run",
        folder: Annotated[str, Field(description="where to run it")] = "",
        time_limit: Annotated[float, Field(description="seconds; then it is stopped")] = 120.0,
        job: Annotated[str, Field(description="a recording begun before: wait for it")] = "",
        stop: Annotated[bool, Field(description="with job: stop it, keeping its calls")] = False,
    ) -> Annotated[CallToolResult, JobData]:
        """Run a Python program, test or function and record its calls, in the background.

        Returns when it ends, or after 15 s with a job to wait for."""
        work = functools.partial(tools.record, command, kind, folder, time_limit, job, stop=stop)
        return await _answered(ctx, work)

    @server.tool(annotations=_RUNS)
    async def check(
        ctx: Context[Any, Any],
        session: _SESSION = "",
        recording: Annotated[str, Field(description="a recording, instead of a session")] = "",
        time_limit: Annotated[float, Field(description="seconds; then it is stopped")] = 120.0,
        job: Annotated[str, Field(description="a check begun before: wait for it")] = "",
    ) -> Annotated[CallToolResult, JobData]:
        """After a fix: run the recorded command again, and say whether the symptom is gone and what
        became of calls that were judged wrong."""
        work = functools.partial(tools.check, session, recording, time_limit, job)
        return await _answered(ctx, work)


def _add_session_tools(server: MCPServer[Any], tools: Tools) -> None:
    @server.tool(annotations=_CHANGES)
    async def find(
        ctx: Context[Any, Any],
        recording: Annotated[str, Field(description="a file; empty: the last recording")] = "",
        session: Annotated[str, Field(description="go on with this session")] = "",
        wrong: Annotated[
            str,
            Field(
                description="what is wrong with the run; not needed if it raised",
                examples=["output:3", "output:3:34.50", "exception", "result", "raises KeyError"],
            ),
        ] = "",
        operands: Annotated[
            list[int] | None, Field(description="of a failed assertion: which sides are wrong")
        ] = None,
        reference: Annotated[
            str, Field(description="a right version: a folder, git:REVISION or PACKAGE==VERSION")
        ] = "",
        fresh: Annotated[bool, Field(description="start anew")] = False,
        allow_rerun: Annotated[
            bool, Field(description="the program may run again, effects included")
        ] = False,
        detail: _DETAIL = "concise",
    ) -> Annotated[CallToolResult, SessionData]:
        """Search for the faulty call: asks all automatic oracles, then returns the fault, or one
        question with a session handle."""
        work = functools.partial(
            tools.find, recording, session, wrong, operands, reference,
            fresh=fresh, allow_rerun=allow_rerun, detailed=detail == "detailed",
        )  # fmt: skip
        return await _answered(ctx, work, detailed=detail == "detailed")

    async def persons_answer(
        session: str, ask_person: bool
    ) -> PersonsAnswer | Elicit[PersonsAnswer]:
        if not ask_person:
            return PersonsAnswer()
        view = await anyio.to_thread.run_sync(
            functools.partial(
                tools.find, "", session, "", None, "",
                fresh=False, allow_rerun=False, detailed=False,
            )
        )  # fmt: skip
        return Elicit(view.text, PersonsAnswer)

    @server.tool(annotations=_CHANGES)
    async def answer(
        ctx: Context[Any, Any],
        person: Annotated[ElicitationResult[PersonsAnswer], Resolve(persons_answer)],
        session: _SESSION,
        verdict: Annotated[
            Literal["right", "wrong", "inadmissible", "unknown", ""],
            Field(description="of the call, given its inputs"),
        ] = "",
        calls: Annotated[
            list[int], Field(description="the calls it is about; empty: the one asked about")
        ] = [],  # noqa: B006
        part: Annotated[
            str, Field(description="the part that is wrong", examples=["result[2].name", "xs[0]"])
        ] = "",
        expected: Annotated[str, Field(description="what it should have been")] = "",
        reason: Annotated[str, Field(description="why, for the report")] = "",
        keep: Annotated[
            Literal["earlier", "later", ""],
            Field(description="resolves a contradiction, instead of a verdict"),
        ] = "",
        ask_person: Annotated[
            bool, Field(description="ask the user, where the client can; no verdict then")
        ] = False,
        detail: _DETAIL = "concise",
    ) -> Annotated[CallToolResult, SessionData]:
        """Judge the call asked about (or others), and get the next question or the fault."""
        by = "agent"
        if ask_person:
            if person.action != "accept":
                raise ToolError("The user did not answer. Ask in another way, or say unknown.")
            verdict, part, expected = person.data.verdict, person.data.part, person.data.expected
            by = "person"
        work = functools.partial(
            tools.answer, session, verdict, calls, part, expected, reason, keep,
            by=by, detailed=detail == "detailed",
        )  # fmt: skip
        return await _answered(ctx, work, detailed=detail == "detailed")

    @server.tool(annotations=_CHANGES)
    async def undo(
        ctx: Context[Any, Any],
        session: _SESSION,
        redo: Annotated[bool, Field(description="say again what was taken back")] = False,
        revise: Annotated[
            int | None, Field(description="a judged call whose answer is replaced; later ones stay")
        ] = None,
        verdict: Annotated[
            Literal["right", "wrong", "inadmissible", "unknown", ""],
            Field(description="with revise: the new verdict; empty: take the answer back"),
        ] = "",
    ) -> Annotated[CallToolResult, SessionData]:
        """Take the last answer back, say it again, or replace an earlier one."""
        work = functools.partial(tools.undo, session, revise, verdict, redo=redo)
        return await _answered(ctx, work)


def _add_reading_tools(server: MCPServer[Any], tools: Tools) -> None:
    @server.tool(annotations=_RUNS)
    async def why(
        ctx: Context[Any, Any],
        session: _SESSION,
        path: Annotated[str, Field(description="the part", examples=["result[2].name", "basket"])],
        call: _CALL = None,
        side: _SIDE = "outcome",
        run: Annotated[bool, Field(description="the program may run again for it")] = False,
    ) -> Annotated[CallToolResult, Data]:
        """Where a part of a value came from: the expression that made it, and its way."""
        return await _answered(
            ctx, functools.partial(tools.why, session, path, call, side, run=run)
        )

    @server.tool(annotations=_READS)
    async def call(
        ctx: Context[Any, Any],
        session: _SESSION,
        call: _CALL = None,
        path: Annotated[
            str, Field(description="unfold this part of a value", examples=["result", "self.items"])
        ] = "",
        side: _SIDE = "outcome",
        detail: _DETAIL = "concise",
    ) -> Annotated[CallToolResult, Data]:
        """One call whole: inputs, outcome, effects, source, callers and callees."""
        work = functools.partial(
            tools.call, session, call, path, side, detailed=detail == "detailed"
        )
        return await _answered(ctx, work, detailed=detail == "detailed")

    @server.tool(annotations=_READS)
    async def search(
        ctx: Context[Any, Any],
        session: _SESSION,
        function: Annotated[str, Field(description="its name, or a part of it")] = "",
        text: Annotated[str, Field(description="in the equation, such as a value")] = "",
        exception: Annotated[str, Field(description="a type that left the call; *: any")] = "",
        state: Annotated[str, Field(description="suspect, right, wrong, trusted …")] = "",
        below: Annotated[int | None, Field(description="only calls below this one")] = None,
        callees_of: Annotated[int | None, Field(description="only what this call made")] = None,
        limit: Annotated[int, Field(ge=1, le=100)] = 20,
        offset: Annotated[int, Field(ge=0)] = 0,
    ) -> Annotated[CallToolResult, Data]:
        """Search calls by function, value, exception or state; all conditions must hold."""
        request = requests.Calls(
            session, function, text, exception, state, below, callees_of, limit, offset
        )
        return await _answered(ctx, functools.partial(tools.search, request))


async def _answered(
    ctx: Context[Any, Any], work: Callable[[], Reply], *, detailed: bool = False
) -> CallToolResult:
    """Do the work in a thread, tell how long it takes, and give the reply in time."""
    outcome: list[Reply | Exception] = []
    _refuse_long(work)

    def carried() -> Reply | Exception:
        try:
            return work()
        except Exception as problem:
            return problem

    async def report() -> None:
        for seconds in range(1, int(LIMIT) + 1):
            await anyio.sleep(_REPORT_SECONDS)
            await ctx.report_progress(seconds, LIMIT, "working")

    with anyio.move_on_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(report)
            outcome.append(await anyio.to_thread.run_sync(carried, abandon_on_cancel=True))
            tasks.cancel_scope.cancel()
    if not outcome:
        text = "It is still being worked on: make the same call again, which waits for it."
        return _result(Reply(text, {"needs": "time"}))
    (reply,) = outcome
    if isinstance(reply, WhenceError):
        problem = problem_of(reply)
        told = _CURES.get(problem.code, problem.cure)
        cure = f"\nWhat to do: {told}." if told else ""
        raise ToolError(f"{problem}{cure} [{problem.code.value}]")
    if isinstance(reply, Exception):
        raise reply
    return _result(reply.bounded(detailed=detailed))


def _refuse_long(work: Callable[[], Reply]) -> None:
    """Refuse an argument that no call of these tools can need."""
    assert isinstance(work, functools.partial)
    size = sum(len(str(value)) for value in (*work.args, *work.keywords.values()))
    if size > LONGEST_ARGUMENT:
        problem = Problem(
            Code.TOO_LARGE, f"the arguments have {size:,} characters, of {LONGEST_ARGUMENT:,}"
        )
        raise ToolError(f"{problem}\nWhat to do: {problem.cure}. [{problem.code.value}]")


def _result(reply: Reply) -> CallToolResult:
    text = TextContent(type="text", text=reply.text)
    return CallToolResult(content=[text], structured_content=reply.data)


def serve_stdio(server: MCPServer[Any]) -> None:
    """Serve on standard input and output until the input ends."""

    async def run() -> None:
        lowlevel = server._lowlevel_server
        async with stdio_server() as (source, target):
            await lowlevel.run(source, target, lowlevel.create_initialization_options())

    anyio.run(run)


def serve_http(server: MCPServer[Any], port: int, token: str, say: Callable[[str], None]) -> None:
    """Serve on the loopback interface, to whoever has the token, until a signal comes."""
    guarded = WithToken(server.streamable_http_app(host="127.0.0.1"), token)
    config = uvicorn.Config(
        guarded, host="127.0.0.1", port=port, log_level="error", access_log=False
    )
    running = uvicorn.Server(config)

    async def run() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(announce)
            await running.serve()
            tasks.cancel_scope.cancel()

    async def announce() -> None:
        while not running.started:
            await anyio.sleep(0.05)
        address = running.servers[0].sockets[0].getsockname()
        say(f"http://127.0.0.1:{address[1]}/mcp  Authorization: Bearer {token}")

    anyio.run(run)


class WithToken:
    """Lets only requests through that carry the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._expected = app, f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 401 to a request without the token."""
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            if not hmac.compare_digest(headers.get(b"authorization", b""), self._expected):
                await _refuse(send)
                return
        await self._app(scope, receive, send)


async def _refuse(send: Callable[[dict[str, Any]], Awaitable[None]]) -> None:
    body = json.dumps({"error": "the token is missing or wrong"}).encode()
    headers = [(b"content-type", b"application/json"), (b"www-authenticate", b"Bearer")]
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    await send({"type": "http.response.body", "body": body})
