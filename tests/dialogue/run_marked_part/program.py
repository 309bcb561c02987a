"""An order in which one price is wrong; the total is only as wrong as that."""


class Line:
    def __init__(self, article, count, price):
        self.article = article
        self.count = count
        self.price = price

    def amount(self):
        return self.count * self.price


def in_cents(text):
    euros, _, cents = text.partition(".")
    return int(euros) * 100 + int(cents or "0")


def parsed(text):
    article, count, price = text.split()
    return Line(article, int(count), in_cents(price))


def order(texts):
    lines = [parsed(text) for text in texts]
    return {"lines": lines, "total": sum(line.amount() for line in lines)}


print(order(["pen 2 1.20", "ink 1 4.5", "pad 3 2"])["total"])
