"""Receipts, printed as the goods come along the belt."""

PRICES = {"milk": 1.1, "bread": 2.4, "apple": 0.3, "cheese": 4.5}


def goods(text):
    for word in text.split():
        number, _, name = word.rpartition("x")
        yield (int(number) if number else 1), name


def priced(items):
    for number, name in items:
        yield name, round(number * PRICES.get(name, 0.0), 2)


def totals():
    """Takes amounts, gives the total so far; None ends a customer."""
    total = 0.0
    out = None
    while True:
        amount = yield out
        if amount is None:
            out, total = total, total
        else:
            total = round(total + amount, 2)
            out = total


def receipt(text, total):
    lines = []
    for name, amount in priced(goods(text)):
        so_far = total.send(amount)
        lines.append(f"{name:<8}{amount:>6.2f}{so_far:>8.2f}")
    lines.append(f"{'sum':<8}{total.send(None):>14.2f}")
    return lines


def shift(customers):
    total = totals()
    next(total)
    return [receipt(text, total) for text in customers]


def takings(receipts):
    return round(sum(float(lines[-1].split()[-1]) for lines in receipts), 2)


def main():
    receipts = shift(["2xmilk bread", "6xapple", "cheese 2xbread apple"])
    for lines in receipts:
        print("\n".join(lines))
    print("takings", takings(receipts))


if __name__ == "__main__":
    main()
