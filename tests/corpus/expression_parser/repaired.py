"""Evaluates arithmetic with variables."""
import re

TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d+)?)|([a-z]\w*)|(.))")


def tokenize(text):
    tokens = []
    for number, name, sign in TOKEN.findall(text):
        if number:
            tokens.append(("number", float(number)))
        elif name:
            tokens.append(("name", name))
        elif sign.strip():
            tokens.append(("sign", sign))
    tokens.append(("end", None))
    return tokens


class Parser:
    def __init__(self, tokens):
        self.tokens = tokens
        self.at = 0

    def peek(self):
        return self.tokens[self.at]

    def take(self, *signs):
        kind, value = self.peek()
        if kind == "sign" and value in signs:
            self.at += 1
            return value
        return None

    def sum(self):
        left = self.product()
        while sign := self.take("+", "-"):
            left = (sign, left, self.product())
        return left

    def product(self):
        left = self.factor()
        while sign := self.take("*", "/"):
            left = (sign, left, self.factor())
        return left

    def factor(self):
        if self.take("-"):
            return ("neg", self.factor())
        if self.take("("):
            inner = self.sum()
            if not self.take(")"):
                raise SyntaxError("a bracket is not closed")
            return inner
        kind, value = self.peek()
        if kind not in ("number", "name"):
            raise SyntaxError(f"unexpected {value}")
        self.at += 1
        return (kind, value)


def evaluate(tree, names):
    kind, *parts = tree
    if kind == "number":
        return parts[0]
    if kind == "name":
        return names[parts[0]]
    if kind == "neg":
        return -evaluate(parts[0], names)
    left, right = (evaluate(part, names) for part in parts)
    if kind == "+":
        return left + right
    if kind == "-":
        return left - right
    return left * right if kind == "*" else left / right


def calculate(text, **names):
    return evaluate(Parser(tokenize(text)).sum(), names)


def main():
    print(calculate("2 + 3 * 4"))
    print(calculate("-(1 + 2) * x", x=2.5))
    print(calculate("100 - a - b / 2 - 7", a=20, b=30))
    print(calculate("8 / 4 / 2"))


if __name__ == "__main__":
    main()
