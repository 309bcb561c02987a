"""Which parts fit into the van and are worth most."""
from typing import NamedTuple


class Item(NamedTuple):
    name: str
    weight: int
    worth: int


def parse(text):
    items = []
    for line in text.strip().splitlines():
        name, weight, worth = line.split()
        items.append(Item(name, int(weight), int(worth)))
    return items


def fill(items, capacity):
    """best[i][c]: the most that the first i items are worth within c."""
    best = [[0] * (capacity + 1)]
    for item in items:
        row = list(best[-1])
        for room in range(item.weight, capacity + 1):
            with_it = best[-1][room - item.weight] + item.worth
            if with_it > row[room]:
                row[room] = with_it
        best.append(row)
    return best


def chosen(items, best, capacity):
    """Goes back through the table."""
    names, room = [], capacity
    for number in range(len(items), 0, -1):
        if room > 0 and best[number][room] != best[number - 1][room]:
            names.append(items[number - 1].name)
            room -= items[number - 1].weight
    return sorted(names)


def pack(items, capacity):
    best = fill(items, capacity)
    return best[-1][capacity], chosen(items, best, capacity)


def summary(items, capacity):
    worth, names = pack(items, capacity)
    weight = sum(item.weight for item in items if item.name in names)
    return f"{capacity}: {', '.join(names)} ({weight} kg) worth {worth}"


def main():
    items = parse("""
        saw 5 10
        drill 4 40
        lamp 6 30
        rope 3 50
        """)
    for capacity in (3, 7, 10, 14):
        print(summary(items, capacity))


if __name__ == "__main__":
    main()
