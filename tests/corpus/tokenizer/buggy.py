"""Turns a recipe's amounts into tokens and adds them up."""


class Lexer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def peek(self) -> str:
        return self.text[self.at] if self.at < len(self.text) else ""

    def take_while(self, test) -> str:
        start = self.at
        while self.peek() and test(self.peek()):
            self.at += 1
        return self.text[start : self.at]

    def number(self) -> float:
        whole = self.take_while(str.isdigit)
        if self.peek() != "/":
            return float(whole)
        self.at += 1
        below = self.take_while(str.isdigit)
        return float(below) / int(whole)

    def word(self) -> str:
        return self.take_while(str.isalpha)

    def tokens(self) -> list:
        found = []
        while self.at < len(self.text):
            letter = self.peek()
            if letter.isdigit():
                found.append(("number", self.number()))
            elif letter.isalpha():
                found.append(("word", self.word()))
            else:
                self.at += 1
        return found


UNITS = {"g": 1.0, "kg": 1000.0, "cup": 240.0, "spoon": 15.0}


def amounts(tokens: list) -> list:
    """Pairs of grams and what they are of."""
    found, number, unit = [], 1.0, None
    for kind, value in tokens:
        if kind == "number":
            number, unit = value, None
        elif unit is None and value in UNITS:
            unit = value
        else:
            found.append((number * UNITS.get(unit, 50.0), value))
            number, unit = 1.0, None
    return found


def grams(recipe: str) -> dict:
    total: dict = {}
    for amount, name in amounts(Lexer(recipe).tokens()):
        total[name] = total.get(name, 0.0) + amount
    return total


def scaled(total: dict, factor: float) -> dict:
    return {name: amount * factor for name, amount in total.items()}


def main() -> None:
    total = grams("2 cup flour, 3/4 cup milk, 1 egg; 1/2 kg flour, 2 spoon sugar")
    for name, amount in sorted(scaled(total, 1.5).items()):
        print(f"{name:<6}{amount:>8.1f} g")


if __name__ == "__main__":
    main()
