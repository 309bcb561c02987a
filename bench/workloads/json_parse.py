"""A parser from PyPI as user code: lark, with a grammar of JSON."""

import lark

PACKAGES = ("lark",)
GRAMMAR = r"""
?value: object | array | string | SIGNED_NUMBER -> number
      | "true" -> true | "false" -> false | "null" -> null
array: "[" [value ("," value)*] "]"
object: "{" [pair ("," pair)*] "}"
pair: string ":" value
string: ESCAPED_STRING
%import common.ESCAPED_STRING
%import common.SIGNED_NUMBER
%import common.WS
%ignore WS
"""
PARSER = lark.Lark(GRAMMAR, start="value", parser="lalr")
TEXT = (
    '{"orders": ['
    + ", ".join(f'{{"id": {n}, "tags": ["a", "b"], "paid": true}}' for n in range(500))
    + "]}"
)


class Count(lark.Visitor):
    def __init__(self):
        self.pairs = 0

    def pair(self, tree):
        self.pairs += 1


def run():
    count = Count()
    count.visit(PARSER.parse(TEXT))
    return count.pairs
