"""Programs recorded in a debuggee process, as `whence run` and re-runs record them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from whence.cli import record
from whence.cli.main import parser
from whence.langs.python.debuggee.order import Order
from whence.langs.python.launching.debuggee_process import start_debuggee
from whence.langs.python.record.repeatable import pin_hash_seed


def order_for(output: Path, words: Sequence[str]) -> Order:
    """The order that a command line of `whence record` asks for."""
    command = record.protected(["record", "-o", str(output), *words])
    options = parser(("record",)).parse_args(command)
    return record.order_of(options, record.target_of(options, ""), options.output)


def record_repeatably(
    output: Path,
    words: Sequence[str],
    folder: Path,
    *,
    environment: Mapping[str, str] | None = None,
    stdin: str = "",
    check: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Record a program with a fixed hash seed, so that it can be run again."""
    variables, seed_by = pin_hash_seed(os.environ if environment is None else environment)
    order = order_for(output, words)
    order = replace(order, settings=replace(order.settings, repeatable=seed_by))
    process = start_debuggee(
        order, environment=variables, cwd=str(folder), stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    printed, complained = process.communicate(stdin.encode(), timeout=120)
    status, texts = (
        process.returncode,
        [text.decode(errors="replace") for text in (printed, complained)],
    )
    if check and status:
        raise subprocess.CalledProcessError(status, "debuggee", *texts)
    return subprocess.CompletedProcess("debuggee", status, *texts)
