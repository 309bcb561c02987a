"""The option `--reference`, and the oracles that run the program's code in processes of their own.

Apart from `diagnosing.py` because these have to be started for one recording, and ended.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from whence.langs.python.oracles.contracts import ContractOracle, contracts_of
from whence.langs.python.oracles.reference import ReferenceOracle, oracle_of
from whence.ports import Oracle, Tree


def add_options(group: Any) -> None:
    """The options."""
    group.add_argument(
        "--reference", metavar="VERSION",
        help="ask a version that is right: a folder or script that stands in for the program's "
        "own, git:REVISION, or PACKAGE==VERSION (docs/reference.md)",
    )  # fmt: skip


def reference_oracles(options: argparse.Namespace, tree: Tree) -> list[Oracle]:
    """The oracle of the reference version, if one is named."""
    return [] if options.reference is None else [oracle_of(tree, options.reference)]


def contract_oracles(tree: Tree) -> list[Oracle]:
    """The oracle that asks what stands beside the code, if the tree is a recording."""
    found = contracts_of(tree)
    return [] if found is None else [found]


@contextmanager
def ended_at_last(oracles: Sequence[Oracle], note: Callable[[str], None]) -> Iterator[None]:
    """Say what they could not tell, and end what they started."""
    mine = [each for each in oracles if isinstance(each, ReferenceOracle | ContractOracle)]
    try:
        yield
        for oracle in mine:
            for text in oracle.notes():
                note(text)
    finally:
        for oracle in mine:
            oracle.close()
