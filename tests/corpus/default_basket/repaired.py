"""Orders in a small kitchen."""

MENU = {"soup": 450, "salad": 520, "pasta": 890, "bread": 150, "cheese": 210, "olives": 180}


def price_of(dish):
    return MENU[dish]


def new_order(table, dish, extras=None):
    extras = list(extras or [])
    order = {"table": table, "dish": dish, "extras": extras}
    if dish == "soup":
        order["extras"].append("bread")
    return order


def add_extra(order, name):
    if name not in MENU:
        raise ValueError(f"there is no {name}")
    order["extras"].append(name)
    return order


def total(order):
    return price_of(order["dish"]) + sum(price_of(name) for name in order["extras"])


def ticket(order):
    extras = ", ".join(order["extras"]) or "nothing else"
    return f"table {order['table']}: {order['dish']} with {extras}: {total(order) / 100:.2f}"


def take_orders(wishes):
    orders = []
    for table, dish, more in wishes:
        order = new_order(table, dish)
        for name in more:
            add_extra(order, name)
        orders.append(order)
    return orders


def by_table(orders):
    bills = {}
    for order in orders:
        bills[order["table"]] = bills.get(order["table"], 0) + total(order)
    return bills


def main():
    orders = take_orders([
        (1, "soup", []),
        (1, "pasta", ["cheese"]),
        (2, "salad", ["olives"]),
        (3, "soup", ["cheese"]),
    ])
    for order in orders:
        print(ticket(order))
    for table, cents in sorted(by_table(orders).items()):
        print(f"table {table} pays {cents / 100:.2f}")


if __name__ == "__main__":
    main()
