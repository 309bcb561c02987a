"""What a week's orders come to, customer by customer. Ten or more of an article are a tenth off.

Ada ordered twice: five pens at 1.20, a lamp at 24.50 and two notebooks at 3.80. That makes 38.10,
and it prints less.
"""

ORDERS = """\
Ada: 3 pens, 1 lamp
Ben: 12 pens
Ada: 2 notebooks, 2 pens
Cleo: 1 desk
"""


def singular(name):
    return name.removesuffix("s")


def parse_items(text):
    items = {}
    for part in text.split(", "):
        count, name = part.split()
        items[singular(name)] = int(count)
    return items


def parse_order(line):
    customer, items = line.split(": ")
    return customer, parse_items(items)


def parse(text):
    return [parse_order(line) for line in text.splitlines()]


def unit_price(article):
    return {"pen": 120, "lamp": 2450, "notebook": 380, "desk": 19900}[article]


def price(article, count):
    full = count * unit_price(article)
    return full - full // 10 if count >= 10 else full


def merge(basket, items):
    return {**basket, **items}


def basket_of(customer, orders):
    basket = {}
    for name, items in orders:
        if name == customer:
            basket = merge(basket, items)
    return basket


def total(basket):
    return sum(price(article, count) for article, count in basket.items())


def euros(cents):
    return f"{cents // 100}.{cents % 100:02}"


def main():
    orders = parse(ORDERS)
    for customer in sorted({name for name, items in orders}):
        print(f"{customer:6} {euros(total(basket_of(customer, orders))):>8}")


main()
