"""`whence serve`: sessions for other programs, by the session protocol."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from whence.app.serving import SocketServer, default_socket, serve_lines
from whence.app.session_host import SessionHost
from whence.printable_text import raw


def configure(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The subcommand's options."""
    command = commands.add_parser(
        "serve",
        help="hold sessions for other programs",
        description="Answers requests of the session protocol (docs/protocol.md), one line of "
        "JSON each, on standard input and output until the input ends; with --socket on a Unix "
        "socket until Ctrl-C. `whence next` and `whence answer` use that socket.",
    )
    command.add_argument(
        "--socket", nargs="?", const="", metavar="PATH",
        help="listen on a socket that only you can use (default PATH: WHENCE_SOCKET, else "
        "whence/serve.sock in XDG_RUNTIME_DIR, else in the folder of whence's state)",
    )  # fmt: skip
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Serve until the end of the input, or until a signal."""
    host = SessionHost()
    try:
        if options.socket is None:
            # What anything else prints must not get between the messages.
            output, sys.stdout = raw(sys.stdout).buffer, sys.stderr
            serve_lines(host, sys.stdin.buffer, output)
            return 0
        server = SocketServer(host, Path(options.socket) if options.socket else default_socket())
        try:
            print(f"whence serves on {server.path} (Ctrl-C ends it)", flush=True)
            server.serve()
        finally:
            server.stop()
    finally:
        host.close()
    return 0
