from __future__ import annotations

from enum import Enum


class Unit(Enum):
    PIECE = "pc"
    KILO = "kg"


class Article:
    def __init__(self, name: str, unit: Unit, cents: int) -> None:
        self.name = name
        self.unit = unit
        self.cents = cents


class Stock:
    def __init__(self) -> None:
        self._articles: dict[str, Article] = {}
        self._counts: dict[str, int] = {}

    def add(self, article: Article, count: int = 0) -> None:
        self._articles[article.name] = article
        self._counts[article.name] = self._counts.get(article.name, 0) + count

    def article(self, name: str) -> Article:
        return self._articles[name]

    def count(self, name: str) -> int:
        return self._counts[name]

    def names(self) -> list[str]:
        return sorted(self._articles)


def price(article: Article, count: int | float) -> int:
    return round(article.cents * count)


def worth(stock: Stock, name: str) -> int:
    """The value of what there is of an article."""
    return price(stock.article(name), stock.count(name))


def unit_of(stock: Stock, name: str) -> Unit:
    return stock.article(name).unit.value


def written(unit: Unit, count: int) -> str:
    if unit is Unit.KILO:
        return f"{count} kg"
    return f"{count} pc" if count != 1 else "1 piece"


def line(stock: Stock, name: str) -> str:
    amount = written(unit_of(stock, name), stock.count(name))
    return f"{name}: {amount}, {worth(stock, name) / 100:.2f}"


def filled() -> Stock:
    stock = Stock()
    stock.add(Article("nails", Unit.KILO, 450), 12)
    stock.add(Article("hammer", Unit.PIECE, 1990), 1)
    stock.add(Article("saw", Unit.PIECE, 2490), 3)
    return stock


def main() -> None:
    stock = filled()
    for name in stock.names():
        print(line(stock, name))


if __name__ == "__main__":
    main()
