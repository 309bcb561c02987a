"""Small programs with a fault in one statement, of every kind.

Each has the call that shows it. The line that is wrong says what it should be.
"""

from __future__ import annotations

import re
from textwrap import dedent

_REPAIR = re.compile(r"^( *)(.*?)  # should be: (.*)$", re.MULTILINE)

PROGRAMS = {
    "a plain sequence": (
        """
        def f(a, b):
            total = a + b
            double = total * 2
            half = double // 4  # should be: half = double // 2
            rest = double - half
            return [total, half, rest]
        """,
        "f(4, 6)",
    ),
    "the body of a loop": (
        """
        def f(xs, limit):
            kept = []
            seen = 0
            for x in xs:
                seen += 1
                y = x * 2
                if y > limit:
                    y = limit + 1  # should be: y = limit
                kept.append(y)
            return kept, seen
        """,
        "f([1, 2, 3, 1], 4)",
    ),
    "the test of a loop": (
        """
        def f(xs, wanted):
            low, high = 0, len(xs) - 1
            while low < high:  # should be: while low <= high:
                middle = (low + high) // 2
                if xs[middle] == wanted:
                    return middle
                if xs[middle] < wanted:
                    low = middle + 1
                else:
                    high = middle - 1
            return -1
        """,
        "f([1, 3, 5, 7], 7)",
    ),
    "the items of a loop": (
        """
        def f(n):
            product = 1
            for i in range(1, n):  # should be: for i in range(1, n + 1):
                product *= i
            return product
        """,
        "f(5)",
    ),
    "the else of a loop": (
        """
        def f(xs):
            for x in xs:
                if x < 0:
                    break
            else:
                x = 1  # should be: x = 0
            return x
        """,
        "f([1, 2])",
    ),
    "nested loops with continue": (
        """
        def f(rows):
            out = []
            for row in rows:
                if not row:
                    continue
                best = row[0]
                for cell in row[1:]:
                    if cell < best:  # should be: if cell > best:
                        best = cell
                out.append(best)
            return out
        """,
        "f([[1, 5, 3], [], [2, 8]])",
    ),
    "elif": (
        """
        def f(marks):
            grades = ""
            for mark in marks:
                if mark > 90:
                    grade = "A"
                elif mark > 75:  # should be: elif mark > 70:
                    grade = "B"
                else:
                    grade = "C"
                grades += grade
            return grades
        """,
        "f([95, 72, 50])",
    ),
    "a handler": (
        """
        def f(words):
            numbers, bad = [], 0
            for word in words:
                try:
                    number = int(word)
                except ValueError:
                    number = -1  # should be: number = 0
                    bad += 1
                finally:
                    bad += 0
                numbers.append(number)
            return numbers, bad
        """,
        "f(['1', 'x', '3'])",
    ),
    "a raise that should not be": (
        """
        def f(n):
            steps = 0
            while n > 1:
                if n < 3:  # should be: if n < 0:
                    raise ValueError
                n //= 2
                steps += 1
            return steps
        """,
        "f(9)",
    ),
    "with": (
        """
        from contextlib import nullcontext
        def f(xs):
            total = 0
            with nullcontext():
                for x in xs:
                    total += x
                total -= 1  # should be: total += 1
            return total
        """,
        "f([1, 2])",
    ),
    "match": (
        """
        def f(commands):
            x, y = 0, 0
            for command in commands:
                match command:
                    case ("up", n):
                        y += n
                    case ("left", n):
                        x += n  # should be: x -= n
                    case ("stop", *_):
                        break
            return x, y
        """,
        "f([('up', 2), ('left', 3), ('stop', 1), ('up', 9)])",
    ),
    "a comprehension": (
        """
        def f(words):
            short = [w for w in words if len(w) < 3]  # should be: short = [w for w in words if w]
            joined = "-".join(short)
            return joined.upper()
        """,
        "f(['a', '', 'abcd'])",
    ),
    "what is changed in place": (
        """
        def f(queue, graph):
            order = []
            done = {}
            while queue:
                node = queue.pop()  # should be: node = queue.pop(0)
                if node in done:
                    continue
                done[node] = True
                order.append(node)
                for other in graph[node]:
                    queue.append(other)
            return order
        """,
        "f(['a'], {'a': ['b', 'c'], 'b': ['d'], 'c': [], 'd': []})",
    ),
    "a generator": (
        """
        def f(xs):
            last = 0
            for x in xs:
                yield x - last
                last = x + 1  # should be: last = x
            yield last
        """,
        "list(f([1, 4, 9]))",
    ),
    "what is yielded": (
        """
        def f(n):
            a, b = 0, 1
            while a < n:
                yield a + 1  # should be: yield a
                a, b = b, a + b
        """,
        "list(f(6))",
    ),
    "a coroutine": (
        """
        async def one(x):
            return x
        async def f(xs):
            total = 0
            for x in xs:
                got = await one(x)
                total = got  # should be: total += got
            return total
        """,
        "f([1, 2, 3]).send(None)",
    ),
    "a return too early": (
        """
        def f(xs):
            for i, x in enumerate(xs):
                if x > 2:
                    return i + 1  # should be: return i
            return None
        """,
        "f([1, 2, 3])",
    ),
    "a call of its own": (
        """
        def f(n):
            if n == 0:
                return []
            below = f(n - 1)
            below.append(n * n + 1)  # should be: below.append(n * n)
            return below
        """,
        "f(3)",
    ),
}  # fmt: skip
NTH = {"a call of its own": 3}
"""Of a recursive function, the call that has only right ones below it."""


def twins_of(name: str) -> tuple[str, str, int]:
    """A program with its fault, the same without it, and the line in which they differ."""
    text = dedent(PROGRAMS[name][0]).strip() + "\n"
    changed = next(n for n, line in enumerate(text.splitlines(), 1) if "# should be: " in line)
    return _REPAIR.sub(r"\1\2", text), _REPAIR.sub(r"\1\3", text), changed
