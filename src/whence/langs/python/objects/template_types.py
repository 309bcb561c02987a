"""The types of `t"…"` (3.14) and of what it holds besides texts; none where there are none.

Not imported from `string.templatelib`: a program need not have done so.
"""

from __future__ import annotations

import sys

TEMPLATES: tuple[type, ...] = ()
if sys.version_info >= (3, 14):
    _EXAMPLE = eval('t"{0}"')
    TEMPLATES = (type(_EXAMPLE), type(_EXAMPLE.interpolations[0]))
