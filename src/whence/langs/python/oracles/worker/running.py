"""Runs a whole program and records it, with whole values or few: `python running.py CONFIG`."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace

from whence.langs.python.oracles.worker.calling import WHOLE
from whence.langs.python.record.launch import Kind, Target, launch
from whence.langs.python.record.options import RecordOptions
from whence.langs.python.record.recording import Recording, Settings
from whence.langs.python.record.user_code import UserCodeRules

_MOST_BYTES = 1 << 30


def main() -> None:
    """Run it; the process ends as it does."""
    config = json.loads(sys.argv[1])
    os.chdir(config["cwd"])
    target = Target(Kind(config["kind"]), config["program"], tuple(config["arguments"]))
    rules = UserCodeRules(*(tuple(each) for each in config["rules"]))
    chosen = WHOLE if config["whole"] else RecordOptions()
    options = replace(chosen, max_bytes=_MOST_BYTES)
    recording = Recording(Settings(config["output"], options, rules), target.words)

    def finished(how: int, value: object) -> None:
        if recording.is_here:
            recording.finish(how, value)

    launch(target, recording.start, finished)


main()
