"""`whence mcp`: sessions for language models, by the Model Context Protocol."""

from __future__ import annotations

import argparse
import importlib.util
import os
import secrets
import sys

import whence
from whence.app.session_host import SessionHost
from whence.errors import WhenceError
from whence.ui.mcp.tools import Tools

_VARIABLE = "WHENCE_MCP_TOKEN"
_LEAST_TOKEN = 16


def configure(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The subcommand's options."""
    command = commands.add_parser(
        "mcp",
        help="hold sessions for coding agents (MCP)",
        description="Serves eight tools to a coding agent by the Model Context Protocol "
        "(docs/agents.md): on standard input and output, or with --http on 127.0.0.1. Needs "
        "`pip install whence[mcp]`. Where MCP is not allowed, see `whence skill`.",
    )
    command.add_argument(
        "--http", type=int, metavar="PORT", nargs="?", const=0,
        help="serve streamable HTTP on this port of 127.0.0.1 (default: a free one) and print the "
        f"address with the token that each request needs ({_VARIABLE} in the environment, else a "
        "new one)",
    )  # fmt: skip
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Serve until the end of the input, or until a signal."""
    if importlib.util.find_spec("mcp") is None:
        raise WhenceError(
            f"the package mcp is not installed for {sys.executable}: `pip install whence[mcp]`"
        )
    from whence.ui.mcp.server import build, serve_http, serve_stdio

    host = SessionHost()
    try:
        server = build(Tools(host.carry_out), whence.__version__)
        if options.http is None:
            serve_stdio(server)
        else:
            serve_http(server, options.http, _token(), lambda text: print(text, flush=True))
    finally:
        host.close()
    return 0


def _token() -> str:
    token = os.environ.get(_VARIABLE, "") or secrets.token_urlsafe()
    if len(token) < _LEAST_TOKEN:
        raise WhenceError(f"{_VARIABLE} needs {_LEAST_TOKEN} characters or more")
    return token
