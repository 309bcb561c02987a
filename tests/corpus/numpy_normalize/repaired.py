"""Which of the known flowers is most like the one that was measured."""
import numpy as np

NAMES = ["rose", "lily", "iris", "mint"]
DATA = np.array([[40.0, 5.0, 300.0], [90.0, 9.0, 120.0], [60.0, 7.0, 180.0], [30.0, 2.0, 20.0]])


def lowest(table):
    return table.min(axis=0)


def spread(table):
    span = table.max(axis=0) - table.min(axis=0)
    return np.where(span == 0, 1.0, span)


def normalize(table, low, span):
    return (table - low) / span


def distances(table, row):
    return np.sqrt(((table - row) ** 2).sum(axis=1))


def nearest(table, row, number):
    order = np.argsort(distances(table, row), kind="stable")
    return [int(place) for place in order[:number]]


class Guess:
    def __init__(self, names, table):
        self.names = names
        self.low = lowest(table)
        self.span = spread(table)
        self.table = normalize(table, self.low, self.span)

    def of(self, row):
        row = normalize(np.array(row), self.low, self.span)
        return [self.names[place] for place in nearest(self.table, row, 2)]


def check(guess, rows):
    return {name: guess.of(row) for name, row in rows.items()}


def main():
    guess = Guess(NAMES, DATA)
    found = check(guess, {"tall": [85, 5, 290], "small": [35, 3, 200], "wide": [62, 9, 20]})
    for name, names in found.items():
        print(f"{name:<6}", *names)


if __name__ == "__main__":
    main()
