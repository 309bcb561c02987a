"""The worker: loads one version of a program, and forks a process for each request.

Started by `oracles/worker_process.py` as `python WORKER_FOLDER CONFIG`, where CONFIG is JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

# All that the calls need is loaded before anything of the program can stand in its way.
from whence.langs.python.oracles.worker import (
    contract_checks,
    forked_versions,
    program_loader,
    rebuilt_call,
)
from whence.langs.python.oracles.worker.program_names import CannotBuild
from whence.langs.python.record.choose import chosen
from whence.langs.python.record.user_code import UserCodeRules

# The program may put something else in their place.
encode, decode = json.JSONEncoder().encode, json.JSONDecoder().decode
fork, wait_for, leave = os.fork, os.waitpid, os._exit


def main() -> None:
    """Load, then answer until nobody asks any more."""
    config = json.loads(sys.argv[1])
    chosen(None)
    answers = os.fdopen(config["write"], "w", encoding="utf-8", errors="surrogatepass")
    orders = os.fdopen(config["read"], "r", encoding="utf-8", errors="surrogatepass")
    for stream in (answers, orders):
        os.set_inheritable(stream.fileno(), False)

    def say(answer: dict[str, Any]) -> None:
        answers.write(encode(answer) + "\n")
        answers.flush()

    rules = UserCodeRules(*(tuple(each) for each in config["rules"]))
    sys.dont_write_bytecode = True
    sys.argv[:] = config["argv"]
    sys.path[0] = config["folder"]
    os.chdir(config["cwd"])
    kind, name = config["program"]
    if config.get("guarded"):
        rebuilt_call.stay_inside(say, allowed="ctypes.")  # which many libraries load
    problems = program_loader.load(kind, name, config["modules"])
    rebuilt_call.Inside.over = True
    say({"said": "loaded", "problems": problems})
    for line in orders:
        order = decode(line)
        if order["do"] == "in place":
            forked_versions.prepare(order)
        process = fork()
        if process == 0:
            _answer(order, say, rules)
        say({"said": "started", "process": process})
        wait_for(process, 0)
        say({"said": "ended"})
    leave(0)


def _answer(order: dict[str, Any], say: Any, rules: UserCodeRules) -> None:
    try:
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if order["do"] == "call":
            rebuilt_call.perform(order, say, rules)
        elif order["do"] == "check":
            contract_checks.perform(order, say, rules)
        elif order["do"] == "in place":
            forked_versions.perform(order, say, rules)
    except (CannotBuild, program_loader.CannotLoad) as problem:
        say({"said": "cannot", "why": str(problem)})
    except BaseException as problem:
        say({"said": "cannot", "why": f"{type(problem).__name__}: {problem}"[:500]})
    finally:
        leave(0)


main()
