"""A prior that makes imports unlikely to be at fault.

Importing a package makes hundreds of calls below module bodies, and nobody can judge
`<module>() → None`. So these are asked about last. Statements of the program itself (`__main__`)
are as likely as any others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whence.ports import Floats, Prior, Tree

_BELOW = 0.05
"""The factor of calls that an import makes: they can be wrong, but later ones are likelier."""
_BODY = "<module>"


@dataclass(frozen=True)
class ImportPrior:
    """Makes imports unlikely; `further` is another prior to multiply with."""

    further: Prior | None = None

    def factors(self, tree: Tree) -> Floats:
        """The factor of each call: 1 for all but imports, times what `further` says."""
        columns = tree.columns
        # Code from a text (`exec`, an example in a docstring) is no import.
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
            if position >= end:  # its own imports lie below it
                end = int(columns.end[position])
                factors[position:end] *= _BELOW
            factors[position] = 0.0  # raised to the floor that every prior has
        return factors
