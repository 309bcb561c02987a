"""Converts between units that are joined by a chain of known conversions."""
from fractions import Fraction


class Units:
    def __init__(self):
        self.factors = {}

    def define(self, text):
        left, right = text.split("=")
        one, unit = left.split()
        number, other = right.split()
        self.factors[unit, other] = Fraction(number) / Fraction(one)

    def neighbours(self, unit):
        found = []
        for (a, b), factor in self.factors.items():
            if a == unit:
                found.append((b, factor))
            elif b == unit and (b, a) in self.factors:
                found.append((a, 1 / factor))
        return found

    def factor(self, source, target):
        reached, waiting = {source: Fraction(1)}, [source]
        while waiting:
            unit = waiting.pop(0)
            if unit == target:
                return reached[unit]
            for other, factor in self.neighbours(unit):
                if other not in reached:
                    reached[other] = reached[unit] * factor
                    waiting.append(other)
        raise LookupError(f"no way from {source} to {target}")


def load(text):
    units = Units()
    for line in text.strip().splitlines():
        units.define(line)
    return units


def convert(units, amount, source, target):
    return float(Fraction(amount) * units.factor(source, target))


def answer(units, question):
    amount, source, _, target = question.split()
    return f"{question}: {convert(units, amount, source, target):g}"


DEFINITIONS = """
1 ft = 12 in
1 yd = 3 ft
1 mi = 1760 yd
1 in = 2.54 cm
100 cm = 1 m
"""


def main():
    units = load(DEFINITIONS)
    for question in ("2 mi in m", "6 ft in cm", "180 cm in in", "880 yd in mi"):
        print(answer(units, question))


if __name__ == "__main__":
    main()
