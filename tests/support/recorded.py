"""Records small programs in this process, and gives what the trace says as plain text."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from whence.langs.python.record.backend_choice import candidates
from whence.langs.python.record.options import RecordOptions
from whence.langs.python.record.recording import Recording, Settings, WrittenRecording
from whence.langs.python.record.user_code import UserCodeRules
from whence.langs.python.recording_signature import key_folder
from whence.langs.python.trace.trace_reader import open_trace
from whence.model.call import Call
from whence.model.value import Limits, Value, show
from whence.ports import Tree

BACKENDS = [candidate.name for candidate in candidates() if candidate.can_be_used]
_LIMITS = Limits(depth=50, parts=1000, characters=100_000, text=100_000)
_counter = itertools.count()


@dataclass
class Node:
    """A call of a trace."""

    name: str
    arguments: dict[str, str]
    reads: dict[str, str]
    outcome: str
    effects: dict[str, tuple[str, str]]
    line: int | None
    column: int | None
    raised_at: int | None
    calls: list[Node] = field(default_factory=list)
    weight: float = 1

    def walk(self) -> Iterator[Node]:
        yield self
        for call in self.calls:
            yield from call.walk()

    def find(self, name: str) -> Node:
        """The only call of a function."""
        found = self.all(name)
        assert len(found) == 1, f"{len(found)} calls of {name} in\n{self.text()}"
        return found[0]

    def all(self, name: str) -> list[Node]:
        return [node for node in self.walk() if node.name == name]

    def names(self) -> list[str]:
        return [call.name for call in self.calls]

    def text(self, indent: str = "") -> str:
        """Everything, for comparing two trees."""
        arguments = ", ".join(f"{name}={value}" for name, value in self.arguments.items())
        lines = [f"{indent}{self.name}({arguments}) {self.outcome} @{self.line}:{self.column}"]
        lines[0] += "" if self.raised_at is None else f" raised at {self.raised_at}"
        lines += [f"{indent}  ! {name}: {a} -> {b}" for name, (a, b) in self.effects.items()]
        lines += [f"{indent}  ? {name}={value}" for name, value in self.reads.items()]
        lines += [call.text(indent + "    ") for call in self.calls]
        return "\n".join(lines)


def written(value: Value | None) -> str:
    return "nothing" if value is None else show(value, _LIMITS)


def _node(call: Call, weight: float) -> Node:
    return Node(
        name=call.function.short(),
        arguments={each.name: written(each.value) for each in call.arguments},
        reads={each.name: written(each.value) for each in call.reads},
        outcome=call.right(_LIMITS),
        effects={each.target: (written(each.before), written(each.after)) for each in call.effects},
        line=call.site.line if call.site else None,
        column=call.site.column if call.site else None,
        raised_at=call.outcome.location.line if call.outcome.location else None,
        weight=weight,
    )


def callees(tree: Tree, position: int) -> list[int]:
    """The positions of the calls that a call made, for trees too large for `as_node`."""
    return [int(at) for at in np.flatnonzero(tree.columns.parent == position) if at > 0]


def as_node(tree: Tree) -> Node:
    """A whole tree; its root is the run."""
    columns = tree.columns
    nodes = [_node(tree.call(at), float(columns.weight[at])) for at in range(len(columns))]
    for at in range(1, len(nodes)):
        nodes[int(columns.parent[at])].calls.append(nodes[at])
    return nodes[0]


@contextlib.contextmanager
def recording(
    output: Path, program: Path, backend: str, options: RecordOptions
) -> Iterator[list[WrittenRecording]]:
    rules = UserCodeRules(only=(str(program),))
    settings = Settings(str(output), options, rules, backend, key_folder=key_folder())
    under_way = Recording(settings, (program.name,))
    result: list[WrittenRecording] = []
    under_way.start()
    try:
        yield result
    finally:
        result.append(under_way.finish(0, 0))


def record(
    source: str,
    folder: Path,
    backend: str,
    options: RecordOptions | None = None,
    name: str = "program",
    **namespace: Any,
) -> Node:
    """Record a program, as a module of its own; what it did below its own body."""
    number = next(_counter)
    program = folder / f"{name}_{number}.py"
    program.write_text(source)
    code = compile(source, str(program), "exec", dont_inherit=True)
    namespace |= {"__name__": name, "__file__": str(program)}
    output = folder / f"{name}_{number}.whence"
    with recording(output, program, backend, options or RecordOptions()) as result:
        exec(code, namespace)
    assert result[0].problem is None
    tree = open_trace(output)
    root = as_node(tree)
    assert root.names() == ["<module>"], root.text()
    return root.calls[0]


def environment() -> dict[str, str]:
    """For a process of its own, in which whence can be imported."""
    import whence

    source = str(Path(whence.__file__).parents[1])
    paths = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
