"""Rewrites modules when they are imported."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from whence.langs.python.provenance.rewriter.module_rewriter import rewrite_module
from whence.langs.python.provenance.rewriter.rewriter_state import Wanted
from whence.langs.python.provenance.runtime.run_state import RUN
from whence.langs.python.provenance.runtime.shadow_switch import SWITCH
from whence.langs.python.provenance.tags import Activation
from whence.langs.python.record.repeatable import Aside, directly
from whence.langs.python.source.pytest_modules import Asserts, replace_test_modules
from whence.langs.python.source.quiet_compile import parse_quietly


class Modules:
    """Numbers the rewritten modules, and knows how to rewrite them."""

    def __init__(
        self, *, dual: bool, wanted: tuple[str, int, str] | None = None, aside: Aside = directly
    ):
        self._dual = dual
        self._rewritten = aside(self._rewrite)
        self._wanted = wanted
        self._count = 0

    def code(self, source: str | bytes, file: str) -> CodeType:
        """The code of a module."""
        # Compile the original first: warnings and syntax errors are those of the program.
        compile(source, file, "exec", dont_inherit=True)
        code: CodeType = self._rewritten(source, file)
        return code

    def code_of_tests(self, file: str, asserts: Asserts) -> CodeType:
        """The code of a module whose assertions pytest has rewritten."""
        code: CodeType = self._rewritten(b"", file, asserts)
        return code

    def _rewrite(self, source: str | bytes, file: str, asserts: Asserts | None = None) -> CodeType:
        tree = None
        if asserts is not None:
            source = Path(file).read_bytes()
            tree = parse_quietly(source, file)
            asserts(tree, source, file)
        self._count += 1
        wanted: Wanted = None
        if self._wanted is not None and self._wanted[0] == file:
            wanted = self._wanted[1:]
        quiet = self._dual and not SWITCH.is_on
        return rewrite_module(
            source, file, self._count, dual=self._dual, quiet=quiet, wanted=wanted, tree=tree
        )

    @property
    def last(self) -> int:
        """The number of the module that was rewritten last."""
        return self._count


class _Loader(SourceFileLoader):
    def __init__(self, name: str, path: str, modules: Modules):
        super().__init__(name, path)
        self._modules = modules

    def get_code(self, fullname: str) -> CodeType | None:
        path = self.get_filename(fullname)
        return self._modules.code(self.get_data(path), path)

    def exec_module(self, module: ModuleType) -> None:
        code = self.get_code(module.__name__)
        assert code is not None
        RUN.note_namespace(module.__dict__, self._modules.last)
        exec(code, module.__dict__)


class Finder(MetaPathFinder):
    """Finds the modules that are to be rewritten."""

    def __init__(self, chosen: Callable[[str, str], bool], modules: Modules):
        self._chosen = chosen
        self._modules = modules

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module, if it has a text and is chosen by its name and file."""
        replace_test_modules(self._rewritten_test_module)
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None or type(spec.loader) is not SourceFileLoader:
            return None
        if not self._chosen(fullname, spec.origin):
            return None
        spec.loader = _Loader(fullname, spec.origin, self._modules)
        return spec

    def _rewritten_test_module(
        self, code: CodeType, namespace: dict[str, Any], asserts: Asserts
    ) -> CodeType:
        file = code.co_filename
        if self._chosen(namespace["__name__"], file):
            code = self._modules.code_of_tests(file, asserts)
            RUN.note_namespace(namespace, self._modules.last)
        return code


def rewrite_imports(chosen: Callable[[str, str], bool], modules: Modules) -> Finder:
    """Rewrite modules that are imported from here on."""
    SWITCH.install()
    finder = Finder(chosen, modules)
    sys.meta_path.insert(0, finder)
    return finder


Watch = Callable[[Activation], None]


def run_source(
    source: str | CodeType, file: str = "", *, on_enter: Watch | None = None,
    on_leave: Watch | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Run a program in this process with tags on everything; its namespace.

    For a program that runs many times, pass the code that it was rewritten to.
    """
    SWITCH.install()
    code = Modules(dual=False).code(source, file) if isinstance(source, str) else source
    SWITCH.start()
    RUN.on_enter, RUN.on_leave = on_enter, on_leave
    namespace: dict[str, Any] = {"__name__": "__main__", "__builtins__": __builtins__}
    try:
        exec(code, namespace)
    finally:
        SWITCH.stop()
    return namespace
