"""The worker: loads one version of a program, and forks a process for each request.

Started by `oracles/worker_process.py` with a `WorkerConfig` as JSON.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile

from whence.langs.python.debuggee.interpreter_start import InterpreterStart, program_places

# All that requests need is loaded before a module of the program can take its place.
from whence.langs.python.oracles.worker import (
    contract_checks,
    forked_versions,
    program_loader,
    rebuilt_call,
)
from whence.langs.python.oracles.worker.process_sandbox import Sandbox
from whence.langs.python.oracles.worker.program_names import CannotBuild
from whence.langs.python.oracles.worker.worker_protocol import (
    CallRequest,
    CannotAnswer,
    CheckRequest,
    Ended,
    ForkRequest,
    Loaded,
    Message,
    Respond,
    Response,
    Started,
    WorkerConfig,
    decode_as,
    decode_message,
    encode_message,
)
from whence.langs.python.record.backend_choice import choose_backend
from whence.langs.python.record.confinement import confine
from whence.langs.python.record.user_code import UserCodeRules

# The program may replace them.
fork, wait_for, leave = os.fork, os.waitpid, os._exit


def main(interpreter: InterpreterStart, message: str) -> None:
    """Load the program, then answer requests until the pipe is closed."""
    config = decode_as(WorkerConfig, message)
    choose_backend(None)
    responses = os.fdopen(config.write, "w", encoding="utf-8", errors="surrogatepass")
    requests = os.fdopen(config.read, "r", encoding="utf-8", errors="surrogatepass")
    for stream in (responses, requests):
        os.set_inheritable(stream.fileno(), False)

    def respond(response: Response) -> None:
        responses.write(encode_message(response) + "\n")
        responses.flush()

    rules = UserCodeRules(*map(tuple, config.rules))
    sys.dont_write_bytecode = True
    sys.argv[:] = config.argv
    os.chdir(config.cwd)
    sys.path = [config.folder, *interpreter.path]
    interpreter.give_way(program_places(sys.path))
    if config.writable:
        confine(config.writable)
        Sandbox.enter(respond, allowed=("ctypes.",))  # which many libraries load
    problems = program_loader.load(config.kind, config.program, config.modules)
    Sandbox.leave()
    respond(Loaded(problems))
    for line in requests:
        request = decode_message(line)
        if isinstance(request, ForkRequest):
            forked_versions.prepare(request)
        process = fork()
        if process == 0:
            _answer(request, respond, rules, interpreter)
        respond(Started(process))
        wait_for(process, 0)
        respond(Ended())
    leave(0)


def _answer(
    request: Message, respond: Respond, rules: UserCodeRules, interpreter: InterpreterStart
) -> None:
    try:
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if isinstance(request, CallRequest | CheckRequest):
            confine(os.path.dirname(request.trace))
        if isinstance(request, CallRequest):
            rebuilt_call.make_call(request, respond, rules)
        elif isinstance(request, CheckRequest):
            contract_checks.check_contracts(request, respond, rules)
        elif isinstance(request, ForkRequest):
            # A whole program may need temporary files.
            confine(os.path.dirname(request.trace), tempfile.gettempdir())
            forked_versions.run_to_call(request, respond, rules, interpreter)
    except (CannotBuild, program_loader.CannotLoad) as problem:
        respond(CannotAnswer(str(problem)))
    except BaseException as problem:
        respond(CannotAnswer(f"{type(problem).__name__}: {problem}"[:500]))
    finally:
        leave(0)
