"""Random programs that end: functions that call each other, generators, closures, exceptions."""

from __future__ import annotations

import sys

from hypothesis import strategies as st

# Each function may call those defined before it, so that every program ends.
_STATEMENTS = [
    "total += {call}",
    "total = total * 2 - {n}",
    "xs.append({n})",
    "xs[:1] = [total]",
    "total += sum({call} for _ in range({n} % 3))",
    "total += sum([{call} for _ in range({n} % 3)])",
    "try:\n        total += {call}\n    except ValueError as e:\n        total += len(e.args)",
    "try:\n        total += {call}\n    finally:\n        total += 1",
    "if total % 2: raise ValueError(total, {n})",
    "if total % 3 == 0: return total",
    "for v in made({n} % 4, xs): total += v",
    "total += next(made({n} % 4, xs), {n})",
    "total += closure({n})",
    "total += max([{n}, total % 5], key=first)",
]
if sys.version_info >= (3, 12):
    # Up to 3.11 a generator is met when it first runs, so that these would change places.
    _STATEMENTS.append("g = made(2, xs); h = made(1, xs); total += sum(h) + sum(g)")
_START = """
def first(x):
    return -x
def made(n, xs):
    for i in range(n):
        xs.append(i)
        yield first(i)
"""


@st.composite
def programs(draw: st.DrawFn) -> str:
    source = _START
    names = ["first"]
    for number in range(draw(st.integers(1, 4))):
        lines = []
        for _ in range(draw(st.integers(1, 5))):
            callee = draw(st.sampled_from(names))
            n = draw(st.integers(0, 9))
            call = f"first({n})" if callee == "first" else f"{callee}({n}, [{n}])"
            if draw(st.booleans()) and callee != "first":
                call = f"{callee}({n}, xs)"
            lines.append("    " + draw(st.sampled_from(_STATEMENTS)).format(call=call, n=n))
        closure = "    def closure(by):\n        nonlocal total\n        total += by\n"
        closure += "        return total\n"
        source += f"def f{number}(a, xs):\n    total = a\n{closure}"
        source += "\n".join(lines) + "\n    return total\n"
        names.append(f"f{number}")
    for name in names[1:]:
        source += (
            f"try:\n    {name}({draw(st.integers(0, 5))}, [7])\nexcept ValueError:\n    pass\n"
        )
    return source
