"""What is known beforehand of a recorded program: that to import a module is seldom the fault.

A program that imports a package has hundreds of calls below the bodies of its modules, and nobody
can say of `<module>() → None` whether it is right. So they are asked about when nothing else is
left. Statements of the program itself (`__main__`) are as likely as any others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whence.ports import Floats, Prior, Tree

_BELOW = 0.05
"""What an import calls may well be wrong; what the program does afterwards is likelier to be."""
_BODY = "<module>"


@dataclass(frozen=True)
class ImportPrior:
    """Makes imports unlikely; `further`: what else is known."""

    further: Prior | None = None

    def factors(self, tree: Tree) -> Floats:
        """1 for all other calls, or what `further` says of them."""
        columns = tree.columns
        # What is made of a text (`exec`, an example in a docstring) is no import.
        bodies = [
            number
            for number, function in enumerate(tree.functions)
            if function.qualname == _BODY
            and function.module != "__main__"
            and function.location is not None
            and not function.location.file.startswith("<")
        ]
        factors: Floats = np.ones(len(columns))
        if self.further is not None:
            factors *= self.further.factors(tree)
        end = 0
        for position in np.flatnonzero(np.isin(columns.function, bodies)):
            if position >= end:  # what it imports in turn lies below it
                end = int(columns.end[position])
                factors[position:end] *= _BELOW
            factors[position] = 0.0  # raised to the floor that every prior has
        return factors
