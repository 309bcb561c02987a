"""Makes objects from recipes that came as JSON (`oracles/recipe_json.py` writes them).

Invariants: no code of the program's is run to make an object, but for the `__hash__` and `__eq__`
of what stands in a set or is the key of a dict. Whatever cannot be made as it was is a
`CannotMake`, never something like it.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from types import MappingProxyType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

from whence.langs.python.record import matches

Spec = list[Any]
_MISSING = object()
_FILLED: dict[str, Callable[[], Any]] = {"list": list, "set": set}
_FINISHED: dict[str, Callable[[Any], Any]] = {"tuple": tuple, "frozenset": frozenset}
_CONTENTS = (dict, list, set, bytearray, int, float, complex, str, bytes, tuple, frozenset)
_SEEN = (*_CONTENTS, object)
_HEAP = 1 << 9
"""The flag of classes that are made by a class statement, and not in C."""


class CannotMake(Exception):
    """What cannot be made, and why."""


class Maker:
    """Makes the objects of one call; what is shared between them is one object."""

    def __init__(self) -> None:
        self._labelled: dict[int, Any] = {}

    def make(self, spec: Spec) -> Any:
        """The object that a recipe tells."""
        kind, *rest = spec
        maker = getattr(self, f"_make_{kind}", None)
        if maker is None:
            raise CannotMake(f"nothing is known of {kind}")
        return maker(*rest)

    def _label(self, label: int | None, value: Any) -> Any:
        if label is not None:
            self._labelled[label] = value
        return value

    def _make_same(self, label: int) -> Any:
        try:
            return self._labelled[label]
        except KeyError:
            raise CannotMake("a value that holds itself in a way that cannot be made") from None

    # --- builtins --------------------------------------------------------------------------------

    @staticmethod
    def _make_literal(value: Any) -> Any:
        return value

    @staticmethod
    def _make_int(text: str) -> int:
        return int(text, 16)

    @staticmethod
    def _make_float(text: str) -> float:
        return float.fromhex(text)

    @staticmethod
    def _make_complex(real: str, imaginary: str) -> complex:
        return complex(float.fromhex(real), float.fromhex(imaginary))

    @staticmethod
    def _make_bytes(text: str) -> bytes:
        return bytes.fromhex(text)

    def _make_bytearray(self, text: str, label: int | None) -> bytearray:
        made: bytearray = self._label(label, bytearray.fromhex(text))
        return made

    def _make_items(self, kind: str, items: list[Spec], label: int | None) -> Any:
        if kind in _FINISHED:
            return self._label(label, _FINISHED[kind]([self.make(item) for item in items]))
        made = self._label(label, _FILLED[kind]())
        self._fill(made, items)
        return made

    def _make_dict(self, entries: list[tuple[Spec, Spec]], label: int | None) -> dict[Any, Any]:
        made: dict[Any, Any] = self._label(label, {})
        self._enter(made, entries)
        return made

    def _fill(self, made: Any, items: list[Spec]) -> None:
        for item in items:
            if isinstance(made, list):
                list.append(made, self.make(item))
            else:
                set.add(made, self.make(item))

    def _enter(self, made: dict[Any, Any], entries: list[tuple[Spec, Spec]]) -> None:
        for key, value in entries:
            dict.__setitem__(made, self.make(key), self.make(value))

    # --- objects ---------------------------------------------------------------------------------

    def _make_instance(
        self, module: str, qualname: str, state: list[tuple[str, Spec]], label: int | None
    ) -> Any:
        kind = find_class(module, qualname)
        try:
            made: Any = object.__new__(kind)
        except TypeError as problem:
            raise CannotMake(f"an object of {qualname} ({problem})") from None
        self._label(label, made)
        self._give(made, state)
        return made

    def _make_extended(
        self,
        module: str,
        qualname: str,
        content: Spec,
        state: list[tuple[str, Spec]],
        label: int | None,
    ) -> Any:
        kind = find_class(module, qualname)
        base = next((each for each in _raw_mro(kind) if each in _CONTENTS), None)
        if any(not each.__flags__ & _HEAP for each in _raw_mro(kind) if each not in _SEEN):
            raise CannotMake(f"an object of {qualname}, which holds more than can be seen")
        if base is None:
            raise CannotMake(f"an object of {qualname}, which is no subclass of a builtin here")
        try:
            if base in (dict, list, set, bytearray):
                made = self._label(label, base.__new__(kind))
                self._pour(base, made, content)
            else:
                made = self._label(label, _new(base)(kind, self.make(content)))
        except TypeError as problem:
            raise CannotMake(f"an object of {qualname} ({problem})") from None
        self._give(made, state)
        return made

    def _pour(self, base: type, made: Any, content: Spec) -> None:
        if base is dict:
            self._enter(made, content[1])
        elif base is bytearray:
            bytearray.extend(made, bytes.fromhex(content[1]))
        else:
            self._fill(made, content[2])

    def _make_raised(
        self,
        module: str,
        qualname: str,
        args: Spec,
        state: list[tuple[str, Spec]],
        label: int | None,
    ) -> Any:
        kind = find_class(module, qualname)
        if not issubclass(kind, BaseException):
            raise CannotMake(f"{qualname} is no exception here")
        given = self.make(args)
        base = next(each for each in _raw_mro(kind) if each.__module__ == "builtins")
        try:
            made = _new(base)(kind, *given)
            _init(base)(made, *given)
        except Exception as problem:
            raise CannotMake(f"a {qualname} ({problem})") from None
        made.args = given
        self._label(label, made)
        self._give(made, state)
        return made

    def _give(self, made: Any, state: list[tuple[str, Spec]]) -> None:
        """Set attributes where they lie, past all that the class has to say about it."""
        for name, spec in state:
            value = self.make(spec)
            slot = _slot(type(made), name)
            if slot is not None:
                slot.__set__(made, value)
                continue
            try:
                namespace = object.__getattribute__(made, "__dict__")
            except AttributeError:
                raise CannotMake(
                    f"an object of {type(made).__qualname__}: it has no {name}"
                ) from None
            dict.__setitem__(namespace, name, value)

    # --- what is found by its name ---------------------------------------------------------------

    def _make_member(self, module: str, qualname: str, name: str, label: int | None) -> Any:
        members = getattr(find_class(module, qualname), "_member_map_", {})
        if name not in members:
            raise CannotMake(f"{qualname} has no member {name} here")
        return self._label(label, members[name])

    def _make_written(self, module: str, qualname: str, text: str, label: int | None) -> Any:
        return self._label(label, from_text(module, qualname, text))

    def _make_method(self, qualname: str, owner: Spec, label: int | None) -> Any:
        held = self.make(owner)
        name = qualname.rpartition(".")[2]
        kind = held if isinstance(held, type) else type(held)
        for each in _raw_mro(kind):
            found = vars(each).get(name)
            if found is not None:
                function = getattr(found, "__func__", found)
                if callable(function):
                    return self._label(label, MethodType(function, held))
        raise CannotMake(f"the method {qualname}")

    @staticmethod
    def _make_class(module: str, qualname: str) -> type:
        return find_class(module, qualname)

    @staticmethod
    def _make_function(module: str, qualname: str) -> Any:
        found = find(module, qualname)
        found = getattr(found, "__func__", found)
        if not callable(found):
            raise CannotMake(f"the function {module}.{qualname}")
        return found

    @staticmethod
    def _make_module(name: str) -> ModuleType:
        return find_module(name)


def find_module(name: str) -> ModuleType:
    """A module, imported if need be."""
    try:
        return sys.modules.get(name) or importlib.import_module(name)
    except BaseException as problem:
        raise CannotMake(f"the module {name} ({type(problem).__name__}: {problem})") from None


def find(module: str, qualname: str) -> Any:
    """What a dotted path in a module leads to, without running code of what it leads through."""
    found: Any = find_module(module or "builtins")
    for part in qualname.split("."):
        if isinstance(found, type):
            spaces = [vars(each) for each in _raw_mro(found)]
        elif isinstance(found, ModuleType):
            spaces = [MappingProxyType(vars(found))]
        else:
            raise CannotMake(f"{module}.{qualname}, which is not there")
        inner = next((space[part] for space in spaces if part in space), _MISSING)
        if inner is _MISSING:
            raise CannotMake(f"{module}.{qualname}, which is not there")
        found = inner
    return found


def find_class(module: str, qualname: str) -> type:
    """A class."""
    found = find(module, qualname)
    if not isinstance(found, type):
        raise CannotMake(f"{module}.{qualname}, which is no class here")
    return found


_raw_mro: Callable[[type], tuple[type, ...]] = type.__dict__["__mro__"].__get__


def _new(base: type) -> Callable[..., Any]:
    return base.__new__


def _init(base: type) -> Callable[..., None]:
    found: Callable[..., None] = vars(base).get("__init__", BaseException.__init__)
    return found


def _slot(kind: type, name: str) -> Any:
    for each in _raw_mro(kind):
        found = vars(each).get(name)
        if isinstance(found, MemberDescriptorType):
            return found
    return None


# --- values that are told by a text --------------------------------------------------------------

_NAMES = {
    "datetime": ("date", "datetime", "time", "timedelta", "timezone", "utc"),
    "decimal": ("Decimal",),
    "fractions": ("Fraction",),
    "pathlib": ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath"),
    "uuid": ("UUID",),
    "re": ("compile",),
    "collections": ("deque",),
    "array": ("array",),
    "zoneinfo": ("ZoneInfo",),
    "builtins": ("range", "slice"),
}
"""What a text may call; it may call nothing else."""


def from_text(module: str, qualname: str, text: str) -> Any:
    """The value that a complete summary tells."""
    package = module.partition(".")[0]
    if package not in (*_NAMES, "numpy"):
        return _flags(find_class(module, qualname), text)
    try:
        tree = ast.parse(text, mode="eval").body
        if package == "numpy":
            return _from_numpy(qualname, tree)
        if (package, qualname) == ("re", "Match"):
            return _match(text)
        return _evaluated(tree, package)
    except (SyntaxError, ValueError, TypeError, ArithmeticError, LookupError, AttributeError):
        raise CannotMake(f"a {qualname} from {text[:80]}") from None


def _match(text: str) -> Any:
    told = matches.read(text)
    found = None if told is None else matches.made(told)
    if found is None:
        raise CannotMake("a match that no function of re gives")
    return found[0]


def _flags(kind: type, text: str) -> Any:
    """Flags of an enum that have no name of their own together: `Right(0)`, `Right(5)`."""
    number = text.removeprefix(f"{kind.__qualname__}(").removesuffix(")")
    enum = sys.modules.get("enum")
    if enum is None or not issubclass(kind, enum.Flag) or not number.isdecimal():
        raise CannotMake(f"a {kind.__qualname__} from {text[:80]}")
    return kind(int(number))


def _evaluated(node: ast.expr, package: str) -> Any:
    """A text made of literals and calls of what `_NAMES` has."""
    if isinstance(node, ast.Call):
        function = _evaluated(node.func, package)
        named = {each.arg: _evaluated(each.value, package) for each in node.keywords if each.arg}
        return function(*(_evaluated(each, package) for each in node.args), **named)
    if isinstance(node, ast.Attribute | ast.Name):
        return _named(ast.unparse(node), package)
    return ast.literal_eval(node)


def _named(text: str, package: str) -> Any:
    """`date` or `datetime.date` or `datetime.timezone.utc`, if it may be called."""
    first, *path = text.split(".")
    if first in _NAMES and path:
        package = first
    else:
        path = [first, *path]
    if package not in _NAMES or any(part not in _NAMES[package] for part in path):
        raise ValueError(text)
    found: Any = importlib.import_module(package)
    for part in path:
        found = getattr(found, part)
    return found


def _from_numpy(qualname: str, node: ast.expr) -> Any:
    numpy: Any = sys.modules.get("numpy")
    if numpy is None or not isinstance(node, ast.Call):
        raise ValueError("numpy was not imported")
    named = {each.arg: ast.literal_eval(each.value) for each in node.keywords}
    positional = [ast.literal_eval(each) for each in node.args]
    if qualname == "ndarray":
        made = numpy.array(positional[0], dtype=named["dtype"])
        return made.reshape(named["shape"]) if "shape" in named else made
    kind = getattr(numpy, qualname)
    if not isinstance(kind, type) or not issubclass(kind, numpy.generic):
        raise ValueError(qualname)
    return kind(*positional)
