"""What `trust` and `distrust` mean: which function, module or file."""

from __future__ import annotations

from whence.errors import UsageError
from whence.model.verdict import Trust, TrustScope
from whence.ports import Tree
from whence.session.state import State
from whence.ui.terminal.commands import TrustCode
from whence.ui.terminal.listing import find_function


def find_trust(state: State, command: TrustCode, node: int) -> Trust:
    """The trust that a command is about; without a name, the code of call `node`."""
    trusts = state.facts.trusts
    if command.withdraw and not command.name:
        fitting = [trust for trust in trusts if command.scope in (None, trust.scope)]
        if len(fitting) == 1:
            return fitting[0]
        choices = ", ".join(map(str, fitting)) or "nothing"
        raise UsageError(f"say which trust to take back; there is {choices}")
    if command.withdraw:
        for trust in trusts:
            if trust.name == command.name and command.scope in (None, trust.scope):
                return trust
    scope = command.scope or TrustScope.FUNCTION
    if scope is TrustScope.FUNCTION and command.name:
        number = find_function(state.tree, command.name)
        return Trust(scope, state.tree.functions[number].name)
    return Trust(scope, command.name or _name_at(state.tree, node, scope))


def _name_at(tree: Tree, node: int, scope: TrustScope) -> str:
    function = tree.call(tree.position(node)).function
    file = function.location.file if function.location else ""
    names = {
        TrustScope.FUNCTION: function.name,
        TrustScope.MODULE: function.module,
        TrustScope.FILE: file,
    }
    if not names[scope]:
        raise UsageError(
            f"the tree does not say which {scope.value} {function.short()} is in; name one"
        )
    return names[scope]
