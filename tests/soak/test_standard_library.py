"""CPython's own tests, with the tested module as user code: the same results under recording."""

from __future__ import annotations

import importlib.util
import sys

import pytest
from foreign_suites import Suite, differences, from_unittest

from whence.langs.python.trace.trace_reader import open_trace

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]

# The test and what it tests: data, text, classes, and whatever makes recording hard.
MODULES = {
    "test_json": ["json"],
    "test_heapq": ["heapq"],
    "test_bisect": ["bisect"],
    "test_textwrap": ["textwrap"],
    "test_string": ["string"],
    "test_statistics": ["statistics"],
    "test_fractions": ["fractions"],
    "test_collections": ["collections"],
    "test_dataclasses": ["dataclasses"],
    "test_enum": ["enum"],
    "test_functools": ["functools"],
    "test_copy": ["copy"],
    "test_pprint": ["pprint"],
    "test_difflib": ["difflib"],
    "test_configparser": ["configparser"],
    "test_csv": ["csv"],
    "test_argparse": ["argparse", "gettext"],
    "test_shlex": ["shlex"],
    "test_contextlib": ["contextlib"],
    "test_contextlib_async": ["contextlib", "asyncio"],
    "test_abc": ["abc", "_py_abc"],
    "test_typing": ["typing"],
    "test_weakref": ["weakref", "_weakrefset"],
    "test_queue": ["queue"],
    "test_generators": [],
    "test_coroutines": [],
    "test_asyncgen": [],
    "test_exceptions": [],
    "test_descr": [],
    "test_scope": [],
    "test_with": [],
    "test_generator_stop": [],
    "test_finalization": [],
    "test_threading_local": ["_threading_local"],
    "test_concurrent_futures": ["concurrent"],
}


# gh-125451: up to 3.12.7 and 3.13.0 a process pool that is shut down while its feeder meets an
# error waits for ever, with or without us. `test_processes_terminate` makes its feeder meet one,
# and a recording shifts the moment. There the process pools of that module are left out.
_PART = "test.test_concurrent_futures.test_"
_WITHOUT_THE_DEADLOCK = [
    *(_PART + each for each in ("as_completed", "deadlock", "future", "init", "process_pool")),
    *(_PART + each for each in ("thread_pool", "wait", "shutdown.ThreadPoolShutdownTest")),
]


def parts_of(name: str) -> list[str]:
    deadlocks = (3, 12) <= sys.version_info < (3, 12, 8) or sys.version_info[:3] == (3, 13, 0)
    return (
        _WITHOUT_THE_DEADLOCK
        if deadlocks and name == "test_concurrent_futures"
        else [f"test.{name}"]
    )


@pytest.mark.parametrize("name", MODULES)
def test_cpythons_own_tests_pass_as_without(name: str, suite: Suite) -> None:
    if importlib.util.find_spec(f"test.{name}") is None:
        pytest.skip("this Python was installed without its tests")
    user_code = ["test", *MODULES[name]]
    arguments = ["-m", "unittest", "-v", *parts_of(name)]
    plain, recorded, trace = suite.compare(arguments, from_unittest, user_code, "native")
    assert len(plain) > 1, "tests were run"
    assert differences(plain, recorded) == {}
    tree = open_trace(trace)
    assert len(tree.columns) > len(plain), "there is a call for each test at least"
