"""Sums expenses in one currency, with rates that differ from day to day."""

TABLE = {
    ("USD", 1): 0.90, ("USD", 2): 0.92, ("USD", 3): 0.80,
    ("GBP", 1): 1.15, ("GBP", 2): 1.17, ("GBP", 3): 1.20,
}


class Rates:
    def __init__(self, table, size=4):
        self.table = table
        self.size = size
        self.kept = {}
        self.lookups = 0

    def key(self, currency, day):
        return currency.upper(), day

    def fetch(self, currency, day):
        self.lookups += 1
        return self.table[currency.upper(), day]

    def rate(self, currency, day):
        if currency == "EUR":
            return 1.0
        key = self.key(currency, day)
        if key not in self.kept:
            if len(self.kept) >= self.size:
                self.kept.pop(next(iter(self.kept)))
            self.kept[key] = self.fetch(currency, day)
        return self.kept[key]


def in_euros(rates, expense):
    day, amount, currency = expense
    return round(amount * rates.rate(currency, day), 2)


def parse(text):
    expenses = []
    for line in text.strip().splitlines():
        day, amount, currency = line.split()
        expenses.append((int(day), float(amount), currency))
    return expenses


def by_day(rates, expenses):
    days = {}
    for expense in expenses:
        days.setdefault(expense[0], []).append(in_euros(rates, expense))
    return {day: round(sum(amounts), 2) for day, amounts in days.items()}


EXPENSES = """
1 100 USD
1 20 EUR
2 50 GBP
2 10 GBP
3 100 USD
3 7.5 EUR
"""


def main():
    rates = Rates(TABLE)
    days = by_day(rates, parse(EXPENSES))
    for day, amount in days.items():
        print(f"day {day}: {amount:.2f}")
    print(f"total {sum(days.values()):.2f}")


if __name__ == "__main__":
    main()
