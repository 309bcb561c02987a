"""Writes a failing pytest test from a recorded call.

The test creates the call's inputs with literals and constructor calls, makes the call, and asserts
what the user said about it. Nothing of the program is run to write it. If a part of the call cannot
be written, `CannotRebuild` gives the reason. Several ways to write it are tried (`VARIATIONS`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from whence.langs.python.rebuilding.call_source import write_call
from whence.langs.python.rebuilding.checked_source import (
    CannotRebuild,
    checked_file,
    docstring,
    is_identifier,
    literal_source,
)
from whence.langs.python.rebuilding.import_names import ImportNames
from whence.langs.python.rebuilding.outcome_assertion import Complaint, OutcomeAssertion
from whence.langs.python.rebuilding.program_modules import (
    MAIN,
    ModuleAccess,
    RecordedProgram,
    find_access,
    path_expression,
)
from whence.langs.python.rebuilding.recorded_constructors import RecordedConstructors
from whence.langs.python.rebuilding.source_layout import Text, flat
from whence.langs.python.rebuilding.test_trial import Failure
from whence.langs.python.rebuilding.value_source import ValueWriter, plain, same
from whence.langs.python.source.definitions import NOT_LITERAL, ModuleDefinitions, literal
from whence.langs.python.source.environment_reads import environment_reads
from whence.langs.python.trace.call_recipes import CallRecipe
from whence.langs.python.trace.value_recipes import (
    ClassRecipe,
    FunctionRecipe,
    ItemsRecipe,
    LiteralRecipe,
    MemberRecipe,
    MethodRecipe,
    ModuleRecipe,
    QualifiedName,
    Recipe,
    SummaryRecipe,
    UnknownRecipe,
)

_UNCHANGING = (LiteralRecipe, MemberRecipe, SummaryRecipe)


@dataclass(frozen=True, slots=True)
class RecordedTest:
    """The test to write: a call, the complaint about it, the path of the file, its docstring."""

    call: CallRecipe
    complaint: Complaint
    test: Path
    about: str
    prints: bool
    """Whether all output during the call was its own."""
    environment: Mapping[str, str | None] = field(default_factory=dict)
    """The variables of the environment that it may have read; None: it was not set."""
    constructors: RecordedConstructors | None = None


@dataclass(frozen=True, slots=True)
class Variation:
    """A way to write a test.

    `pins_constants`: module variables that nothing seems to change are set to what was recorded. If
    one of them is the fault, fixing it would not make such a test pass. `distinct`: equal literals
    are different objects.
    """

    pins_constants: bool = False
    distinct: bool = False


VARIATIONS = (
    Variation(),
    Variation(pins_constants=True),
    Variation(distinct=True),
    Variation(pins_constants=True, distinct=True),
)
"""The plainest first."""


@dataclass(frozen=True, slots=True)
class WrittenTest:
    """The text of a test file, and how the test is to fail."""

    text: str
    failure: Failure


def test_name(call: CallRecipe) -> str:
    """The name of the test's function."""
    name = re.sub(r"[\W_]+", "_", call.code.qualname).strip("_").lower()
    return f"test_{name}" if is_identifier(f"test_{name}") else "test_call"


def regression_test_source(
    order: RecordedTest, program: RecordedProgram, variation: Variation = VARIATIONS[0]
) -> WrittenTest:
    """A test of a call."""
    call = order.call
    module = program.module(call.code.module)
    if module is None:
        raise CannotRebuild(f"the source of {call.code.qualname} is not available")
    access = find_access(program, call.code.module, module)
    held = {access.module: access.variable} if access.script else {}
    imports = ImportNames({MAIN: program.own_name(MAIN)}, held)
    writer = ValueWriter(imports, program.module, distinct=variation.distinct)
    if order.constructors is not None:
        writer.constructor = functools.partial(order.constructors.construct, writer)
    settings = _settings(
        order, module, ran=access.script is not None, pins_constants=variation.pins_constants
    )
    writer.register([*call.arguments.values(), *settings.values()])
    written = write_call(writer, call, module)
    patches = [
        f"monkeypatch.setattr({imports.module(name.module)}, {literal_source(name.qualname)}, "
        f"{flat(_value(writer, name, recipe))})"
        for name, recipe in settings.items()
    ]
    patches += _environment_lines(order.environment)
    assertion = OutcomeAssertion(writer, call, written, program.module)
    ending = assertion.lines(order.complaint, prints=order.prints)
    body = [*writer.statements, *patches, *ending]
    if variation.distinct:
        body.insert(0, "# What is equal here must not be the same object.")
    fixtures = [*assertion.fixtures, *(["monkeypatch"] if patches else [])]
    head = f"def {test_name(call)}({', '.join(fixtures)}):"
    opening = _opening(order, access, imports)
    lines = [*opening, "", "", head, *(f"    {line}" for line in body)]
    return WrittenTest(checked_file("\n".join(lines) + "\n"), assertion.failure)


def _environment_lines(environment: Mapping[str, str | None]) -> list[str]:
    return [
        f"monkeypatch.delenv({literal_source(name)}, raising=False)"
        if value is None
        else f"monkeypatch.setenv({literal_source(name)}, {literal_source(value)})"
        for name, value in environment.items()
    ]


def _value(writer: ValueWriter, name: QualifiedName, recipe: Recipe) -> Text:
    try:
        return writer.expression(recipe)
    except CannotRebuild as problem:
        raise CannotRebuild(f"it reads {name.qualname}: {problem}") from None


def _settings(
    order: RecordedTest, module: ModuleDefinitions, *, ran: bool, pins_constants: bool
) -> dict[QualifiedName, Recipe]:
    """The module variables that may differ after an import, with their recorded values.

    `ran`: the module is a script that ran when it was loaded, so its variables may have changed.
    """
    settings: dict[QualifiedName, Recipe] = {}
    for name, recipe in order.call.reads.items():
        if isinstance(recipe, ClassRecipe | FunctionRecipe | ModuleRecipe | MethodRecipe):
            continue
        if name.qualname.startswith("__") or name.module != order.call.code.module:
            continue
        values = module.variables.get(name.qualname, [])
        once = len(values) == 1 and name.qualname not in module.rebound
        is_set_elsewhere = once and values[0] and environment_reads(values[0], module)
        if once and not is_set_elsewhere:
            if name.qualname not in module.mutated and not pins_constants:
                continue
            default = literal(values[0])
            is_default = default is not NOT_LITERAL and same(plain(recipe), default)
            if (is_default and not ran) or _is_constant(recipe):
                continue
        if not values and name.qualname in module.names:
            continue  # imported from elsewhere
        if once and isinstance(recipe, UnknownRecipe):
            raise CannotRebuild(f"it reads {name.qualname}: {recipe.reason}")
        settings[name] = recipe
    return settings


def _is_constant(recipe: Recipe) -> bool:
    if isinstance(recipe, ItemsRecipe) and recipe.kind in ("tuple", "frozenset"):
        return all(_is_constant(item) for item in recipe.items)
    return isinstance(recipe, _UNCHANGING)


def _opening(order: RecordedTest, access: ModuleAccess, imports: ImportNames) -> list[str]:
    """The docstring, the imports, and the lines that find the module."""
    out = [docstring(order.about), ""]
    own = [line for line in imports.lines() if _is_of(line, access.module)]
    others = [line for line in imports.lines() if line not in own]
    if access.script is not None:
        return out + _loading_lines(order, access, others)
    if access.root is None or access.root == order.test.parent:
        return out + _sort_imports(others) + ([""] if others and own else []) + own
    path = path_expression(access.root, order.test)
    return [
        *out,
        *_sort_imports([*others, "import sys", "from pathlib import Path"]),
        "",
        f"sys.path.insert(0, str({path}))",
        "",
        *(f"{line}  # noqa: E402" for line in own),
    ]


def _loading_lines(order: RecordedTest, access: ModuleAccess, others: list[str]) -> list[str]:
    assert access.script is not None
    name = access.variable
    needed = ["import contextlib", "import importlib.util", "import sys"]
    return [
        *_sort_imports([*others, *needed, "from pathlib import Path"]),
        "",
        f"SCRIPT = {path_expression(access.script, order.test)}",
        f'spec = importlib.util.spec_from_file_location("{name}", SCRIPT)',
        f'{name} = sys.modules["{name}"] = importlib.util.module_from_spec(spec)',
        "# The script does its work as soon as it is loaded; only what it defines is needed.",
        "with contextlib.suppress(Exception, SystemExit):",
        f"    spec.loader.exec_module({name})",
    ]


def _is_of(line: str, module: str) -> bool:
    """Whether an import belongs to the program's own package."""
    top = module.partition(".")[0]
    return re.match(rf"(import|from) {re.escape(top)}\b", line) is not None


def _sort_imports(lines: list[str]) -> list[str]:
    unique = list(dict.fromkeys(lines))
    return sorted(unique, key=lambda line: (line.startswith("from"), line))
