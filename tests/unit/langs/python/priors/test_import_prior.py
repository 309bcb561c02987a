from __future__ import annotations

import numpy as np

from whence.langs.python.priors.import_prior import ImportPrior
from whence.model.call import Call, Function, Location, Outcome, OutcomeKind, Rule
from whence.ports import Floats, Tree
from whence.search.auto import Auto
from whence.search.space import SearchSpace, Switches
from whence.tree.column_tree import ColumnTree, Node, tree_of

CALLS = [
    (None, "<module>", "__main__"), (0, "<module>", "package"), (1, "<module>", "package.parts"),
    *[(2, "define", "package")] * 20, (1, "register", "package"), (0, "main", "__main__"),
    (24, "parse", "package"), (24, "shown", "package"),
]  # fmt: skip


def program() -> ColumnTree:
    nodes = []
    for number, (parent, qualname, module) in enumerate(CALLS):
        name = f"{module}.{qualname}"
        function, rule = Function(name, qualname, module, Location("p.py", 1)), Rule(name, name)
        nodes.append(Node(number, parent, Call(function, rule, Outcome(OutcomeKind.RETURNED))))
    return tree_of(nodes)


def first_question(tree: ColumnTree, prior: Floats | None) -> Function:
    space = SearchSpace(tree, Switches(), (), rest=False, prior=prior)
    chosen = Auto().choose(space)
    assert chosen is not None
    return tree.call(chosen.position).function


def test_imports_and_what_they_call_are_unlikely() -> None:
    tree = program()
    factors = {}
    for place, factor in enumerate(ImportPrior().factors(tree)):
        factors[tree.functions[tree.columns.function[place]].name] = float(factor)
    assert factors["__main__.<module>"] == factors["__main__.main"] == factors["package.parse"] == 1
    assert factors["package.<module>"] == factors["package.parts.<module>"] == 0
    assert 0 < factors["package.define"] == factors["package.register"] < 0.5


def test_what_else_is_known_is_multiplied_in() -> None:
    class Half:
        def factors(self, tree: Tree) -> Floats:
            return np.full(len(tree.columns), 0.5)

    tree = program()
    both, alone = ImportPrior(Half()).factors(tree), ImportPrior().factors(tree)
    assert (both == alone / 2).all()


def test_what_the_program_does_is_asked_about_first() -> None:
    tree = program()
    assert first_question(tree, ImportPrior().factors(tree)).module == "__main__"
    assert first_question(tree, None).qualname == "<module>", "else an import would be"
