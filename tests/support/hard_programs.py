"""Programs that are hard on a recorder, one for each kind of trouble, with a fault in each.

`FAULT` in the source stands for the expression at fault; `right` is what stands there in the
repaired version, which is the reference.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent


@dataclass(frozen=True)
class Hard:
    """A program, and what whence has to come to."""

    source: str
    wrong: str
    right: str
    blamed: str
    above: tuple[str, ...] = ()
    """The functions whose calls are wrong as well, since they call it."""
    full: str = ""
    """What `full` shows of the call at fault."""
    no_test: str = ""
    """Why no regression test of the call is written; nothing if there is one."""
    output_test: bool = False
    """Whether a test of what the program prints is written instead."""
    not_known: str = ""
    """Why the reference cannot judge the call at fault; nothing if it can."""
    doubt: str = ""
    """What the diagnosis says of how sure it is."""
    symptom: str = ""
    """What is wrong, where that is not what shows first."""
    options: tuple[str, ...] = ()
    runs_again: bool = True
    reported: str = ""
    """What stands in the report in any case."""

    def text(self, *, repaired: bool = False) -> str:
        return dedent(self.source).lstrip().replace("FAULT", self.right if repaired else self.wrong)


_ODD = """
    class Odd:
        made = 0

        def __init__(self, number):
            self.number = number

        def METHOD

    def double(odd):
        return Odd(odd.number * FAULT)

    def twice(number):
        return double(Odd(number)).number

    print(twice(4))
"""


def _odd(*methods: str) -> Hard:
    """A class with methods of which none may be run while it is recorded, asked about or shown."""
    text = "\n\n        def ".join(method.replace("\n", "\n            ") for method in methods)
    return Hard(
        _ODD.replace("METHOD", text), "3", "2", "double", ("twice",),
        full="odd = Odd(number=4)\n  returned: Odd(number=12)",
    )  # fmt: skip


_DID_NOT_END = (
    "program.py runs its program as soon as it is imported, and that did not end by itself"
)

_FAULT_IN_A_CHILD = """
import os

def work(number):
    return number + FAULT

def parent():
    child = os.fork()
    if child == 0:
        os._exit(work(1))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

print("parent", parent())
"""

PROGRAMS = {
    "arguments that cannot be pickled": Hard(
        """
        import itertools, sys, threading

        def pick(key, numbers, where, local):
            local.seen = key
            return sorted(itertools.islice(numbers, 5), key=FAULT)

        def report(numbers):
            return pick(lambda n: -n, numbers, sys, threading.local())

        print(report(itertools.count(1)))
        """,
        "None", "key", "pick", ("report",),
        full="key = <function report.<locals>.<lambda>>\n  numbers = <itertools.count>\n"
        "  where = <module sys>\n  local = <_thread._local>\n  returned: [1, 2, 3, 4, 5]",
        output_test=True,
        no_test="no test can be written of pick: the function report.<locals>.<lambda>",
        doubt="changes inside these are not visible: numbers (<itertools.count>)",
    ),
    "open files": Hard(
        """
        import os

        def first_line(file):
            file.seek(0)
            return file.FAULT()

        def title(file):
            return first_line(file).strip()

        with open("notes.txt", "w+") as notes:
            notes.write("one\\ntwo\\n")
            print(repr(title(notes)))
        os.remove("notes.txt")
        """,
        "read", "readline", "first_line", ("title",),
        full="returned: 'one\\ntwo\\n'",
        no_test="no test can be written of first_line: a",
        doubt="changes inside these are not visible: file",
    ),
    "sockets": Hard(
        """
        import socket

        def send(end, text):
            end.sendall(text.encode())

        def receive(end, count):
            return end.recv(FAULT).decode()

        def talk(text):
            here, there = socket.socketpair()
            with here, there:
                send(here, text)
                return receive(there, len(text))

        print(talk("hello"))
        """,
        "count - 1", "count", "receive", ("talk",),
        full="end = socket(<_socket.socket>, _closed=False, _io_refs=0)\n  count = 5\n"
        "  returned: 'hell'",
        output_test=True,
        no_test="no test can be written of receive: an object of socket.socket: how it is made is "
        "not known",
        doubt="changes inside these are not visible: end",
    ),
    "locks": Hard(
        """
        import threading

        class Counter:
            def __init__(self):
                self.lock = threading.Lock()
                self.condition = threading.Condition()
                self.count = 0

            def add(self, number):
                with self.lock, self.condition:
                    self.count += FAULT

        def total(lock, numbers):
            counter = Counter()
            with lock:
                for number in numbers:
                    counter.add(number)
            return counter.count

        print(total(threading.RLock(), [1, 2, 3]))
        """,
        "1", "number", "Counter.add", ("total",),
        full="lock=<_thread.lock>,",
        output_test=True,
        no_test="no test can be written of Counter.add: an object of _thread.RLock, whose state "
        "cannot be seen",
        doubt="changes inside these are not visible: self.lock (<_thread.lock>)",
    ),
    "objects made in C": Hard(
        """
        import array, collections, hashlib, re, struct, zlib

        def keep(pattern, window, packer, words):
            for word in words:
                if pattern.match(word):
                    window.append(packer.pack(len(word)))
            return window

        def digest(hashing, window, view):
            for each in window:
                hashing.update(each)
            return hashing.hexdigest()[:8], view[FAULT], zlib.crc32(view)

        def work(words):
            kept = keep(re.compile("[a-z]+"), collections.deque(), struct.Struct("<H"), words)
            return digest(hashlib.sha256(), kept, memoryview(array.array("i", [3, 1, 2])))

        print(work(["one", "2", "three"]))
        """,
        "1", "0", "digest", ("work",),
        full="hashing = <_hashlib.HASH>\n  window = deque([b'\\x03\\x00', b'\\x05\\x00'])",
        output_test=True,
        no_test="no test can be written of digest: an object of _hashlib.HASH, whose state cannot "
        "be seen",
        doubt="changes inside these are not visible: hashing (<_hashlib.HASH>)",
    ),
    "huge values": Hard(
        """
        def numbers(count):
            return list(range(count))

        def text(count):
            return "x" * count

        def nested(depth):
            found = []
            for _ in range(depth):
                found = [found]
            return found

        def measure(table, words, tree):
            return len(table), FAULT, len(tree)

        def main():
            return measure(numbers(50_000), text(5_000_000), nested(50_000))

        print(main())
        """,
        "len(words) + 1", "len(words)", "measure", ("main",),
        full="table = [\n    0, 1, 2, 3,",
        output_test=True,
        no_test="no test can be written of measure: a list of which less was recorded than there "
        "is",
        doubt="recorded in part only: table, words, tree",
    ),
    "a repr that raises": _odd("__repr__(self):\n    raise RuntimeError('not to be shown')"),
    "a repr that does not end": _odd("__repr__(self):\n    while True:\n        pass"),
    "a repr that lies": _odd("__repr__(self):\n    return 'Odd(8)'"),
    "an eq and a hash that raise": _odd(
        "__eq__(self, other):\n    raise RuntimeError('not to be compared')",
        "__hash__(self):\n    raise RuntimeError('not to be hashed')",
    ),
    "an eq and a hash that do not end": _odd(
        "__eq__(self, other):\n    while True:\n        pass",
        "__hash__(self):\n    while True:\n        pass",
    ),
    "an eq and a hash that lie": _odd(
        "__eq__(self, other):\n    return True",
        "__hash__(self):\n    Odd.made += 1\n    return Odd.made",
    ),
    "attributes that raise and lie": Hard(
        """
        class Proxy:
            __slots__ = ("_to",)

            def __init__(self, to):
                object.__setattr__(self, "_to", to)

            @property
            def __class__(self):
                return int

            def __getattribute__(self, name):
                if name.startswith("_"):
                    return object.__getattribute__(self, name)
                raise RuntimeError("no " + name)

            def __len__(self):
                raise RuntimeError("no length")

            def __bool__(self):
                raise RuntimeError("neither")

        def unwrap(proxy):
            return proxy._to + FAULT

        def work(number):
            return unwrap(Proxy(number))

        print(work(4), isinstance(Proxy(1), int))
        """,
        "1", "0", "unwrap", ("work",),
        full="proxy = Proxy(_to=4)\n  returned: 5",
    ),
    "sys.exit": Hard(
        """
        import sys

        def status(problems):
            return FAULT

        def finish(problems):
            print(len(problems), "problems")
            sys.exit(status(problems))

        finish(["one"])
        """,
        "0", "len(problems)", "status", ("finish",),
        full="problems = ['one']\n  returned: 0",
        symptom="result",
    ),
    "os._exit": Hard(
        """
        import os

        def status(problems):
            return FAULT

        def finish(problems):
            print(len(problems), "problems", flush=True)
            os._exit(status(problems))

        finish(["one"])
        """,
        "3", "len(problems)", "status", ("finish",),
        full="problems = ['one']\n  returned: 3",
        output_test=True,
        no_test=f"no test can be written of status: {_DID_NOT_END}",
    ),
    "fork": Hard(
        """
        import os

        def work(number):
            return number + FAULT

        def parent():
            child = os.fork()
            if child == 0:
                print("child", flush=True)
                os._exit(0)
            os.waitpid(child, 0)
            return work(2)

        print("parent", parent())
        """,
        "2", "1", "work", ("parent",),
        options=("--no-children",),
        full="number = 2\n  returned: 4",
        doubt="the program started other processes, and what they did was not recorded",
    ),
    "a fault in a child that is not recorded": Hard(
        _FAULT_IN_A_CHILD,
        "2", "1", "parent", (),
        options=("--no-children",),
        full="returned: 3",
        not_known="its outcome differs there, though no code that ran in it is known to differ",
        doubt="the program started other processes, and what they did was not recorded "
        "(Pythons are recorded, except with --journal or --no-children)",
    ),
    "a fault in a child that is recorded": Hard(
        _FAULT_IN_A_CHILD,
        "2", "1", "work", ("parent",),
        full="is in a process that the program started, and only the main process",
    ),
    "exec of code": Hard(
        """
        def compiled(text):
            names = {}
            exec(text, names)
            return names["added"]

        def calculate(number):
            return compiled("def added(n): return n + FAULT")(number)

        print(calculate(3))
        """,
        "2", "1", "calculate", (),
        full="number = 3\n  returned: 5",
    ),
    "another program in its place": Hard(
        """
        import os, sys

        def command(number):
            return [sys.executable, "-c", f"print({number} + FAULT)"]

        def become(number):
            words = command(number)
            print("before", flush=True)
            os.execv(words[0], words)

        become(3)
        """,
        "2", "1", "command", ("become",),
        full="'print(3 + 2)']",
        no_test=f"no test can be written of command: {_DID_NOT_END}",
        reported="The program did not end: the recording breaks off: the process was killed, is "
        "still running, or became another program (exec).",
    ),
    "what whence itself uses replaced": Hard(
        """
        import builtins, json, os, sys, time

        original = json.dumps

        def plain(value, **options):
            return "<" + original(value, **options) + FAULT

        def patch():
            json.dumps = plain
            os.getpid = lambda: 7
            os.close = os.stat = os.write = os.fork = os.waitpid = os._exit = None
            builtins.open = time.monotonic = sys._getframe = None

        def work(value):
            return json.dumps(value)

        if __name__ == "__main__":
            patch()
            print(work([1]))
        """,
        '"<"', '">"', "plain", ("work",),
        full="value = [1]\n  options = {}\n  returned: '<[1]<'",
    ),
    "a function of a library replaced": Hard(
        """
        import json, os

        original = json.dumps

        def plain(value, **options):
            return "<" + original(value, **options) + FAULT

        def patch():
            json.dumps = plain
            os.fork = os.waitpid = os._exit = None

        def work(value):
            return json.dumps(value)

        patch()
        print(work([1]))
        """,
        '"<"', '">"', "plain", ("work",),
        full="value = [1]\n  options = {}\n  returned: '<[1]<'",
    ),
    "mocks": Hard(
        """
        from unittest import mock

        def notify(sender, text):
            sender.send(FAULT)
            return sender.send.call_args.args

        def work():
            return notify(mock.Mock(name="sender"), "hello")

        print(work())
        """,
        "text[1:]", "text", "notify", ("work",),
        full="_mock_call_count=0,",
        output_test=True,
        no_test="no test can be written of notify: an object of unittest.mock._CallList: how it "
        "is made is not known",
    ),
    "recursion to the limit": Hard(
        """
        def depth(tree):
            return 1 + depth(FAULT) if tree else 0

        def report(tree):
            return f"{depth(tree)} levels"

        print(report([[[]]]))
        """,
        "tree", "tree[0]", "depth", ("report",),
        full="tree = [[[]]]\n  not terminated: the recursion limit was reached",
        no_test=f"no test can be written of depth: {_DID_NOT_END}",
        reported="The program did not end: the recursion limit was reached.",
    ),
    "recursion to the limit that is caught": Hard(
        """
        def depth(tree):
            return 1 + depth(FAULT) if tree else 0

        def report(tree):
            try:
                return f"{depth(tree)} levels"
            except RecursionError:
                return "too deep"

        print(report([[[]]]))
        """,
        "tree", "tree[0]", "depth", ("report",),
        options=("--whole-values",),
        full="tree = [[[]]]\n  raised: RecursionError('maximum recursion depth exceeded')",
    ),
    "an exception that holds what was given": Hard(
        """
        def check(items):
            if len(items) > FAULT:
                raise ValueError(items, "too many")
            return items

        def work(number):
            return check([number] * number)

        print(work(3))
        """,
        "2", "3", "check", ("work",),
        full="items = [3, 3, 3]\n  raised: ValueError(<same as #1>, 'too many')",
    ),
    "nothing printed": Hard(
        """
        import sys

        def half(n):
            return n // FAULT

        def run():
            return half(8)

        if run() != 4:
            sys.exit(1)
        """,
        "3", "2", "half", ("run",),
        full="n = 8\n  returned: 2",
    ),
}  # fmt: skip
