"""Sums up a journal of stock movements by neighbouring days."""


class Groups:
    """Groups of neighbours with an equal key."""

    def __init__(self, items, key):
        self.items = iter(items)
        self.key = key
        self.waiting = []
        self.ended = False

    def __iter__(self):
        return self

    def __next__(self):
        if self.ended:
            raise StopIteration
        group, self.waiting = self.waiting, []
        for item in self.items:
            if group and self.key(item) != self.key(group[0]):
                self.waiting = [item]
                return group
            group.append(item)
        self.ended = True
        if not group:
            raise StopIteration
        return group


def parse(text):
    moves = []
    for line in text.strip().splitlines():
        day, article, amount = line.split()
        moves.append((day, article, int(amount)))
    return moves


def day_of(move):
    return move[0]


def balance(group):
    totals = {}
    for _, article, amount in group:
        totals[article] = totals.get(article, 0) + amount
    return totals


def daily(moves):
    return [(day_of(group[0]), balance(group)) for group in Groups(moves, day_of)]


def overall(days):
    stock = {}
    for _, totals in days:
        for article, amount in totals.items():
            stock[article] = stock.get(article, 0) + amount
    return stock


TEXT = """
mon nails 200
mon hooks 12
tue nails -50
wed hooks -2
wed nails -30
"""


def main():
    days = daily(parse(TEXT))
    for day, totals in days:
        print(day, totals)
    print("stock", overall(days))


if __name__ == "__main__":
    main()
