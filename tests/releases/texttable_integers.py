"""A table of account numbers."""

from texttable import Texttable

table = Texttable()
table.set_cols_dtype(["t", "i"])
table.add_rows([["owner", "account"], ["Ada", 12345678901234567890], ["Bob", 42]])
print(table.draw())
