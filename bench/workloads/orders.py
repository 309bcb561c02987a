"""Objects that change each other, exceptions that are caught, generators that are read to the end."""

from dataclasses import dataclass, field


class OutOfStock(Exception):
    def __init__(self, name, wanted, left):
        super().__init__(f"{name}: {wanted} wanted, {left} left")
        self.name = name


@dataclass
class Product:
    name: str
    price: int
    stock: int

    def take(self, count):
        if count > self.stock:
            raise OutOfStock(self.name, count, self.stock)
        self.stock -= count
        return self.price * count


@dataclass
class Order:
    number: int
    lines: list = field(default_factory=list)
    total: int = 0

    def add(self, product, count):
        self.total += product.take(count)
        self.lines.append((product.name, count))
        return self

    @property
    def is_large(self):
        return self.total > 500


class Shop:
    def __init__(self, products):
        self.products = {product.name: product for product in products}
        self.orders = []
        self.refused = 0

    def find(self, name):
        return self.products[name]

    def buy(self, number, wishes):
        order = Order(number)
        for name, count in wishes:
            try:
                order.add(self.find(name), count)
            except OutOfStock:
                self.refused += 1
        self.orders.append(order)
        return order


def wishes(number):
    for step in range(4):
        yield f"p{(number * 7 + step) % 20}", 1 + (number + step) % 3


def large(orders):
    return [order.number for order in orders if order.is_large]


def run():
    shop = Shop([Product(f"p{n}", 10 + n * 13, 200) for n in range(20)])
    for number in range(6000):
        shop.buy(number, wishes(number))
    return len(large(shop.orders)), shop.refused
