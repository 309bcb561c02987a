"""A report of which one section is empty."""

from prettytable import PrettyTable

table = PrettyTable(["name", "price"])
for section in [[["tea", 3], ["milk", 1]], [], [["bread", 2]]]:
    table.add_rows(section, divider=True)
print(table)
