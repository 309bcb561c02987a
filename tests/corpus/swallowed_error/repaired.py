"""Reads expenses from standard input and says which kinds are above a limit."""
import sys


class BadLine(ValueError):
    def __init__(self, number, line):
        super().__init__(f"line {number}: {line!r}")
        self.number = number


def amount_of(text):
    text = text.strip().replace(",", ".")
    try:
        return float(text)
    except ValueError:
        raise


def split(line):
    kind, sign, amount = line.partition(";")
    if not sign:
        raise ValueError(line)
    return kind.strip(), amount


def read(lines):
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            kind, text = split(line)
            yield kind, amount_of(text)
        except ValueError:
            raise BadLine(number, line.strip()) from None


def totals(entries):
    sums = {}
    for kind, amount in entries:
        sums[kind] = round(sums.get(kind, 0.0) + amount, 2)
    return sums


def above(sums, limit):
    return sorted(kind for kind, amount in sums.items() if amount > limit)


def option(arguments, name, default):
    if name in arguments:
        return float(arguments[arguments.index(name) + 1])
    return default


def main(arguments):
    limit = option(arguments, "--limit", 100.0)
    try:
        sums = totals(read(sys.stdin))
    except BadLine as problem:
        print("refused,", problem)
        return
    for kind, amount in sums.items():
        print(f"{kind:<6}{amount:>8.2f}")
    print("above:", *above(sums, limit))


if __name__ == "__main__":
    main(sys.argv[1:])
