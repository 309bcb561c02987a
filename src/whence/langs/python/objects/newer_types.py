"""The builtin types that only newer versions of Python have; empty where there are none.

The types of templates are not imported from `string.templatelib`: a program need not have done so.
"""

from __future__ import annotations

import builtins
import sys
import types
from typing import Any

TEMPLATES: tuple[type, ...] = ()
"""The types of `t"…"` (3.14) and of what it holds besides texts."""
if sys.version_info >= (3, 14):
    _EXAMPLE = eval('t"{0}"')
    TEMPLATES = (type(_EXAMPLE), type(_EXAMPLE.interpolations[0]))

FROZENDICTS: tuple[Any, ...] = ()
"""`frozendict`, which is no subclass of `dict` (3.15)."""
SENTINELS: tuple[type, ...] = ()
"""The type of what `sentinel("NAME")` makes (3.15)."""
LAZY_IMPORTS: tuple[type, ...] = ()
"""The type of what stands in a namespace for what is imported when it is first used (3.15)."""
if sys.version_info >= (3, 15):
    FROZENDICTS = (builtins.frozendict,)
    SENTINELS = (builtins.sentinel,)
    LAZY_IMPORTS = (types.LazyImportType,)


def is_lazy_import(value: object) -> bool:
    """Whether a name is bound to what is not imported yet."""
    return bool(LAZY_IMPORTS) and type(value) is LAZY_IMPORTS[0]
