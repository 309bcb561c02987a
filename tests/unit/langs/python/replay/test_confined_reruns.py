"""A re-run with a journal reaches nothing outside, by whatever means the program tries it."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from debuggee_runs import record_repeatably

from whence.cli.main import main

SENDS_BY_C = """
import ctypes, socket
libc = ctypes.CDLL(None)
sender = socket.socket(type=socket.SOCK_DGRAM)
class Address(ctypes.Structure):
    _fields_ = [("family", ctypes.c_ushort), ("port", ctypes.c_ushort), ("host", ctypes.c_uint32),
                ("padding", ctypes.c_char * 8)]
def send(port):
    address = Address(socket.AF_INET, socket.htons(port), socket.htonl(0x7F000001), b"")
    return libc.sendto(sender.fileno(), b"message", 7, 0, ctypes.byref(address), 16)
send(PORT)
"""
WRITES_BY_SQLITE = """
import sqlite3
def add():
    with sqlite3.connect("base") as base:
        base.execute("create table if not exists t (x)")
        base.execute("insert into t values (1)")
    base.close()
add()
"""


def rerun(folder: Path, source: str) -> None:
    (folder / "program.py").write_text(source)
    record_repeatably(folder / "run.whence", ["--journal", "program.py"], folder, check=True)
    main(["rerun", str(folder / "run.whence")])


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="only Linux confines re-runs")
def test_a_message_that_the_journal_does_not_see_is_not_sent_again(tmp_path: Path) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(0.5)
        port = receiver.getsockname()[1]
        rerun(tmp_path, SENDS_BY_C.replace("PORT", str(port)))
        assert receiver.recv(10) == b"message"
        with pytest.raises(TimeoutError):
            receiver.recv(10)


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="only Linux confines re-runs")
def test_a_library_in_c_does_not_change_the_users_files_again(tmp_path: Path) -> None:
    import sqlite3

    rerun(tmp_path, WRITES_BY_SQLITE)
    base = sqlite3.connect(tmp_path / "base")
    assert base.execute("select count(*) from t").fetchone() == (1,)
    base.close()
