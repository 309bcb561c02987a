"""Random programs whose calls change everything that they can reach, for freezing.

A program has independent parts with separate data, so that many programs cost one process. Each
part ends by printing all its data, including which objects are identical and the order of sets.
"""

from __future__ import annotations

import random

_START = '''
import collections, functools, io, itertools, random, zlib

COUNTS = collections.Counter()


class Node:
    def __init__(self, value, following=None):
        self.value = value
        self.following = following


class Slotted:
    __slots__ = ("left", "right", "__weakref__")

    def __init__(self, left):
        self.left = left


class Row(collections.namedtuple("Row", "first second")):
    pass


class Bag(list):
    pass


class World:
    made = 0
    tags = []

    def __init__(self, seed):
        World.made += 1
        self.items, self.other = [seed], Bag([seed, seed])
        self.table, self.ordered = {}, collections.OrderedDict()
        self.groups = collections.defaultdict(list)
        self.seen, self.objects = set(), set()
        self.queue, self.recent = collections.deque(), collections.deque(maxlen=3)
        self.node, self.slotted = Node(seed), Slotted(seed)
        self.text, self.buffer = io.StringIO(), bytearray(b"ab")
        self.chance = random.Random(seed)
        self.closure, self.iterator = counter(seed), iter(range(50))
        self.pair = self.kept = None

    def bump(self):
        self.items.append(len(self.items))
        return self


def counter(start):
    count = [start]
    total = 0

    def step():
        nonlocal total
        count[0] += 1
        total += count[0]
        return total

    return step


def squares(count):
    for number in range(count):
        yield number * number


@functools.cache
def remembered(number):
    return [number]


def told(value, known):
    """All that can be reached, as text, without a method of anything."""
    kind = type(value).__name__
    if value is None or kind in ("int", "str", "bool", "float", "bytes"):
        return repr(value)
    if id(value) in known:
        return f"#{known[id(value)][0]}"
    known[id(value)] = (len(known), value)
    if kind == "function":
        parts = [cell.cell_contents for cell in value.__closure__ or ()]
    elif kind == "method":
        parts = [value.__self__]
    elif kind in ("range_iterator", "generator"):
        return kind
    elif isinstance(value, (io.StringIO, bytearray)):
        return repr(value.getvalue() if kind == "StringIO" else bytes(value))
    elif isinstance(value, random.Random):
        return repr(value.random())
    elif isinstance(value, dict):
        parts = [each for entry in value.items() for each in entry]
    elif isinstance(value, (list, tuple, set, frozenset, collections.deque)):
        parts = list(value)
    else:
        parts = []
    parts += [each for entry in getattr(value, "__dict__", {}).items() for each in entry]
    parts += [getattr(value, name, None) for name in ("left", "right") if kind == "Slotted"]
    return f"{kind}({', '.join(told(each, known) for each in parts)})"
'''

_STATEMENTS = (
    "w.items.append(x)", "w.items[x % 3:] = [x, x + 1]", "w.items.sort(key=lambda each: -each)",
    "w.items, w.other = w.other, w.items", "w.other.note = x",
    "w.table[x % 5] = w.items", "w.table.setdefault('k', []).append(x)",
    "w.table.pop(x % 5, None)", "w.table[x % 3, 'pair'] = w.table.get(x % 5)",
    "w.ordered[x % 4] = x", "w.ordered.move_to_end(next(iter(w.ordered), None), last=False) "
    "if w.ordered else None", "w.groups[x % 3].append(w.node)",
    "w.node = Node(x, w.node)", "w.node.value += x", "w.node.extra = [w]",
    "w.slotted = Slotted(w.slotted)", "w.slotted.right = x", "w.pair = (w.items, [x])",
    "w.pair = Row(w.node, Row(x, w.pair))", "w.kept = frozenset([x, x + 1, 'k'])",
    "w.seen.add(x)", "w.seen.update(range(x))", "w.queue.append(w.pair)", "w.recent.append(x)",
    "w.queue.rotate(1)", "w.text.write(str(x))", "w.buffer.extend(b'xy')", "w.chance.random()",
    "w.objects.add(w.node)", "w.objects.add(Node(x))", "w.objects |= {Node(1), Node(2)}",
    "w.items.extend(each.value for each in list(w.objects)[:2])",
    "w.closure()", "w.closure = counter(x)", "w.table['f'] = w.closure",
    "w.kept = w.bump", "w.kept = lambda: (w, x)", "w.bump()", "World.made += x",
    "World.tags.append(x)", "COUNTS[x % 7] += 1", "COUNTS['all'] = w.items",
    "TOTAL{part}.append(x)",
    "w.extra = [x]", "w.__dict__.pop('extra', None)", "w.items.append(sum(squares(x % 4)))",
    "w.items.append(len(sorted(map(str, w.items))))", "w.items = list(w.items)",
    "w.table = dict(w.table)", "w.node.following = w.node",
)  # fmt: skip
_SELDOM = (
    "next(w.iterator)",
    "w.kept = squares(x)",
    "w.items.append(remembered(x)[0])",
    "print(x)",
    "w.seen.discard(x)",
    "w.objects.pop() if w.objects else None",
    "w.kept = id(w) and None",
    "w.table['error'] = ValueError(x)",
    "raise ValueError(x)",
    "w.items.append(1 // (x % 3))",
)
_RESULTS = (
    "x", "None", "w", "w.items", "w.node", "[x, [x]]", "(w.items, x)", "w.table.get(x % 5)",
    "Node(x, w.node)", "{'a': w, 'b': {}}", "frozenset([x])", "w.bump", "counter(x)",
    "[w.node] * 2", "{x, x + 2, 'z'}", "w.pair", "Row(x, [])", "float(x)", "str(x) * 2",
    "Bag([x])", "'-'.join(map(str, w.recent))",
)  # fmt: skip


def program(seed: int, parts: int, effects: int = 5) -> str:
    """A program of so many parts."""
    chance = random.Random(seed)
    text = [_START]
    for part in range(parts):
        text.append(_part(chance, part, effects))
    return "\n".join(text)


def _part(chance: random.Random, part: int, effects: int) -> str:
    count = chance.randint(3, 6)
    lines = [f"TOTAL{part} = []", ""]
    for number in reversed(range(count)):
        lines.append(f"def f{part}_{number}(w, x):")
        for _ in range(chance.randint(1, effects)):
            lines.append("    " + _statement(chance, part, number, count))
        lines += [f"    return {chance.choice(_RESULTS)}", "", ""]
    lines += [
        f"def main{part}():", f"    w, results = World({part}), []",
        f"    for x in range({chance.randint(3, 7)}):",
    ]  # fmt: skip
    for _ in range(chance.randint(2, 5)):
        called = f"f{part}_{chance.randrange(count)}(w, x + {chance.randint(0, 9)})"
        lines += ["        try:", f"            results.append({called})",
                  "        except Exception as error:",
                  "            results.append(repr(error))"]  # fmt: skip
    lines += [
        f"    text = told([w, results, TOTAL{part}], {{}})",
        f"    print({part}, len(text), zlib.crc32(text.encode()), text[:200])",
        "",
        f"main{part}()",
        "",
    ]
    return "\n".join(lines)


def _statement(chance: random.Random, part: int, number: int, count: int) -> str:
    kind = chance.random()
    if kind < 0.25 and number + 1 < count:
        below = chance.randrange(number + 1, count)
        call = f"f{part}_{below}(w, x + {chance.randint(0, 3)})"
        return chance.choice([call, f"w.kept = {call}", f"for x in range(x % 3): {call}"])
    statements = _SELDOM if kind > 0.95 else _STATEMENTS
    return chance.choice(statements).replace("{part}", str(part))
