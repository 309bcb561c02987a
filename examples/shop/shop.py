"""A shop: prices in cents, and what a receipt says."""

from dataclasses import dataclass


@dataclass
class Line:
    article: str
    count: int
    cents: int


def in_cents(text):
    """'4.50' → 450"""
    euros, _, cents = text.partition(".")
    return int(euros) * 100 + int(cents or "0")


def parse_line(text):
    """'3 pen 1.20' → Line('pen', 3, 120)"""
    count, article, price = text.split()
    return Line(article, int(count), in_cents(price))


def receipt(text):
    lines = [parse_line(line) for line in text.splitlines()]
    return {"lines": lines, "total": sum(line.count * line.cents for line in lines)}
