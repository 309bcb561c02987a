"""Rewrites of functions that change no outcome of a right program, as a release has many.

A reference version that differs from the program in one function only is the easy case. These
rewrites make one that differs in many functions besides the one at fault: locals are renamed,
branches swapped, expressions extracted, comprehensions written as loops. Some rewrites only keep
the outcome for what a right program passes: `x.__len__()` instead of `len(x)` raises another
exception for a wrong `x`. They show whether a function is blamed for what it was given.
"""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Callable, Sequence
from typing import Any

Function = ast.FunctionDef | ast.AsyncFunctionDef
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_OUTER_NAMES = {"locals", "vars", "eval", "exec", "dir", "super", "globals", "__class__"}
_RETURNED, _TAKEN, _LISTED = "rewritten_result", "rewritten_part", "rewritten_list"


def rewritten(
    source: str, seed: int, share: float = 1.0, interfaces: bool = False
) -> tuple[str, list[str]]:
    """A module with harmless rewrites in a share of its functions, and which functions these are.

    With `interfaces`, parameters and helper functions are added too: more than the inside of
    functions differs.
    """
    chance = random.Random(seed)
    tree = ast.parse(source)
    names = []
    rewriters: list[Callable[[Function, random.Random], bool]] = [
        _rename_locals, _swap_branches, _name_results, _extract_arguments, _loop_for_comprehension,
        _reorder_assignments, _call_special_methods,
    ]  # fmt: skip
    if interfaces:
        rewriters.append(_add_parameter)
    for name, function in _functions(tree, ""):
        if chance.random() >= share:
            continue
        changes = [
            rewrite for rewrite in chance.sample(rewriters, len(rewriters)) if chance.random() < 0.6
        ]
        if sum(rewrite(function, chance) for rewrite in changes):
            names.append(name)
    if interfaces:
        names += _extract_helpers(tree, chance, share)
    text = ast.unparse(ast.fix_missing_locations(tree))
    return text + "\n", list(dict.fromkeys(names))


def _functions(node: ast.AST, prefix: str) -> list[tuple[str, Function]]:
    """All functions, the inner ones first, by qualified name."""
    found: list[tuple[str, Function]] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            found += _functions(child, f"{prefix}{child.name}.<locals>.")
            found.append((prefix + child.name, child))
        elif isinstance(child, ast.ClassDef):
            found += _functions(child, f"{prefix}{child.name}.")
        else:
            found += _functions(child, prefix)
    return found


def _own_nodes(function: Function) -> list[Any]:
    """The nodes of a function's body that are its own code, not that of an inner function."""
    nodes: list[ast.AST] = []
    work: list[ast.AST] = list(function.body)
    while work:
        node = work.pop()
        nodes.append(node)
        if not isinstance(node, _SCOPES):
            work += ast.iter_child_nodes(node)
    return nodes


def _blocks(function: Function) -> list[list[ast.stmt]]:
    """The lists of statements of a function."""
    found = [function.body]
    for node in _own_nodes(function):
        if isinstance(node, _SCOPES):
            continue
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                found.append(block)
    return found


def _parameters(function: Function) -> list[str]:
    given = function.args
    some = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return [each.arg for each in some if each is not None]


def _is_simple(function: Function) -> bool:
    """Whether its local names are used by its own code only, and by name only."""
    nodes = [node for part in function.body for node in ast.walk(part)]
    if any(isinstance(node, (*_SCOPES, ast.Global, ast.Nonlocal)) for node in nodes):
        return False
    return not any(isinstance(node, ast.Name) and node.id in _OUTER_NAMES for node in nodes)


# --- the inside of a function --------------------------------------------------------------------


def _rename_locals(function: Function, chance: random.Random) -> bool:
    if not _is_simple(function):
        return False
    nodes = _own_nodes(function)
    stored = {
        node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    other = {getattr(node, "name", None) for node in nodes} | set(_parameters(function))
    for node in nodes:
        if isinstance(node, ast.alias):
            other |= {(node.asname or node.name).partition(".")[0]}
        other |= {getattr(node, "rest", None)}
    names = {name: f"{name}_2" for name in stored - other if not name.startswith("__")}
    for node in nodes:
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
    return bool(names)


def _swap_branches(function: Function, chance: random.Random) -> bool:
    found = False
    for node in _own_nodes(function):
        if isinstance(node, ast.If) and node.orelse and chance.random() < 0.7:
            test = node.test
            if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
                node.test = test.operand
            else:
                node.test = ast.UnaryOp(ast.Not(), test)
            node.body, node.orelse = node.orelse, node.body
            found = True
    return found


def _name_results(function: Function, chance: random.Random) -> bool:
    found = False
    for block in _blocks(function):
        for at in range(len(block) - 1, -1, -1):
            node = block[at]
            if isinstance(node, ast.Return) and isinstance(node.value, ast.Call | ast.BinOp):
                block[at : at + 1] = [
                    _assign(_RETURNED, node.value),
                    ast.Return(ast.Name(_RETURNED, ast.Load())),
                ]
                found = True
    return found


def _extract_arguments(function: Function, chance: random.Random) -> bool:
    """`f(a.b)` becomes `part = a.b; f(part)`, where nothing else is evaluated before."""
    found = 0
    for block in _blocks(function):
        for at in range(len(block) - 1, -1, -1):
            node = block[at]
            if not isinstance(node, ast.Return | ast.Expr | ast.Assign):
                continue
            call = node.value
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
                continue
            if not call.args or isinstance(call.args[0], ast.Starred | ast.Name | ast.Constant):
                continue
            if any(isinstance(part, ast.Yield | ast.Await) for part in ast.walk(call)):
                continue
            if call.func.id in _OUTER_NAMES:
                continue
            name = f"{_TAKEN}_{found}"
            block.insert(at, _assign(name, call.args[0]))
            call.args[0] = ast.Name(name, ast.Load())
            found += 1
    return bool(found)


def _loop_for_comprehension(function: Function, chance: random.Random) -> bool:
    """`x = [e for v in i if c]` becomes a loop that appends."""
    found = 0
    for block in _blocks(function):
        for at in range(len(block) - 1, -1, -1):
            node = block[at]
            if not isinstance(node, ast.Assign | ast.Return):
                continue
            made = node.value
            if not isinstance(made, ast.ListComp) or len(made.generators) != 1:
                continue
            [loop] = made.generators
            inner = [part for part in ast.walk(made) if part is not made]
            nested = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.NamedExpr)
            if any(isinstance(part, (*nested, *_SCOPES, ast.Await)) for part in inner):
                continue
            if loop.is_async or not isinstance(loop.target, ast.Name):
                continue
            used = {part.id for part in ast.walk(loop.iter) if isinstance(part, ast.Name)}
            if loop.target.id in used:
                continue
            result, old = f"{_LISTED}_{found}", loop.target.id
            for part in inner:
                if isinstance(part, ast.Name) and part.id == old:
                    part.id = f"{result}_item"
            append = ast.Attribute(ast.Name(result, ast.Load()), "append", ast.Load())
            body: ast.stmt = ast.Expr(ast.Call(append, [made.elt], []))
            for condition in reversed(loop.ifs):
                body = ast.If(condition, [body], [])
            node.value = ast.Name(result, ast.Load())
            block[at:at] = [
                _assign(result, ast.List([], ast.Load())),
                ast.For(loop.target, loop.iter, [body], []),
            ]
            found += 1
    return bool(found)


def _reorder_assignments(function: Function, chance: random.Random) -> bool:
    """Two assignments of constants or names to different names change places."""
    found = False
    for block in _blocks(function):
        for at in range(len(block) - 1):
            names = [_assigned(node) for node in block[at : at + 2]]
            if None in names or names[0] == names[1]:
                continue
            one, other = block[at], block[at + 1]
            assert isinstance(one, ast.Assign) and isinstance(other, ast.Assign)
            if {_read(one.value), _read(other.value)} & {*names}:
                continue
            block[at], block[at + 1] = other, one
            found = True
    return found


def _assigned(node: ast.stmt) -> str | None:
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return None
    if not isinstance(node.targets[0], ast.Name):
        return None
    value = node.value
    is_plain = isinstance(value, ast.Name | ast.Constant)
    is_empty = isinstance(value, ast.List | ast.Tuple) and not value.elts
    return node.targets[0].id if is_plain or is_empty else None


def _read(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _call_special_methods(function: Function, chance: random.Random) -> bool:
    """`len(x)` becomes `x.__len__()`: the same for all that has a length."""
    found = False
    for node in _own_nodes(function):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "len"
            and len(node.args) == 1
            and isinstance(node.args[0], ast.Name | ast.Attribute)
            and chance.random() < 0.6
        ):
            node.func = ast.Attribute(node.args[0], "__len__", ast.Load())
            node.args = []
            found = True
    return found


def _assign(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


# --- more than the inside ------------------------------------------------------------------------


def _add_parameter(function: Function, chance: random.Random) -> bool:
    if function.decorator_list or function.name.startswith("__") or chance.random() < 0.5:
        return False
    function.args.kwonlyargs.append(ast.arg("rewritten_option"))
    function.args.kw_defaults.append(ast.Constant(None))
    return True


def _extract_helpers(tree: ast.Module, chance: random.Random, share: float) -> list[str]:
    """A returned expression of parameters becomes a function of its own, in the module."""
    names = []
    for at in range(len(tree.body) - 1, -1, -1):
        holder = tree.body[at]
        functions: Sequence[ast.stmt] = (
            holder.body if isinstance(holder, ast.ClassDef) else [holder]
        )
        helpers: list[ast.stmt] = []
        for function in functions:
            if not isinstance(function, ast.FunctionDef) or chance.random() >= share / 2:
                continue
            helper = _helper_of(function, f"rewritten_helper_{at}_{len(helpers)}")
            if helper is not None:
                helpers.append(helper)
                owner = f"{holder.name}." if isinstance(holder, ast.ClassDef) else ""
                names.append(owner + function.name)
        tree.body[at:at] = helpers
    return names


def _helper_of(function: ast.FunctionDef, name: str) -> ast.stmt | None:
    last = function.body[-1]
    if not isinstance(last, ast.Return) or not isinstance(last.value, ast.BinOp | ast.Call):
        return None
    if not _is_simple(function):
        return None
    nodes = list(ast.walk(last.value))
    if any(isinstance(node, ast.Yield | ast.YieldFrom | ast.NamedExpr) for node in nodes):
        return None
    texts = [getattr(node, "id", getattr(node, "attr", "")) for node in nodes]
    if any(text.startswith("__") and not text.endswith("__") for text in texts):
        return None
    stored = {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    }
    used = dict.fromkeys(node.id for node in nodes if isinstance(node, ast.Name))
    if stored & used.keys():
        return None
    taken = [each for each in used if each in _parameters(function)]
    value = last.value
    last.value = ast.Call(
        ast.Name(name, ast.Load()), [ast.Name(each, ast.Load()) for each in taken], []
    )
    arguments = ast.arguments([], [ast.arg(each) for each in taken], None, [], [], None, [])
    [helper] = ast.parse("def helper(): ...").body  # its fields differ between versions of Python
    assert isinstance(helper, ast.FunctionDef)
    helper.name, helper.args, helper.body = name, arguments, [ast.Return(copy.deepcopy(value))]
    return ast.fix_missing_locations(ast.copy_location(helper, function))
