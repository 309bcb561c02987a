from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")


@dataclass(frozen=True)
class Line:
    article: str
    quantity: int
    price: Decimal


def money(amount):
    return amount.quantize(CENT, rounding=ROUND_HALF_UP)


def discount_for(quantity):
    """The share of the price that is waived."""
    if quantity >= 100:
        return Decimal("0.125")
    if quantity >= 10:
        return Decimal("0.05")
    return Decimal(0)


def line_total(line):
    share = 1 - discount_for(line.quantity)
    return money(line.price * share * line.quantity)


def subtotal(lines):
    return sum((line_total(line) for line in lines), Decimal(0))


def tax(amount, rate=Decimal("0.19")):
    return money(amount * rate)


def parse_line(text):
    article, quantity, price = (part.strip() for part in text.split(";"))
    return Line(article, int(quantity), Decimal(price))


def render(lines):
    rows = [f"{line.article:<12}{line.quantity:>5}{line_total(line):>10}" for line in lines]
    net = subtotal(lines)
    rows.append(f"{'net':<12}{'':>5}{net:>10}")
    rows.append(f"{'tax':<12}{'':>5}{tax(net):>10}")
    rows.append(f"{'total':<12}{'':>5}{net + tax(net):>10}")
    return "\n".join(rows)


ORDER = """\
screws; 1000; 0.03
washers; 40; 0.11
hinges; 4; 2.35
handles; 2; 7.90"""


def main():
    lines = [parse_line(text) for text in ORDER.splitlines()]
    print(render(lines))


if __name__ == "__main__":
    main()
