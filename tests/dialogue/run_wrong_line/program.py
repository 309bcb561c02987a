"""A statement of account: each line is made by calls of its own."""


def parse(text):
    name, _, amount = text.partition(" ")
    return name, int(amount)


def added(totals, entry):
    name, amount = entry
    return {**totals, name: amount}


def shown(name, totals):
    return f"{name}: {totals[name]}"


def largest(totals):
    return max(totals, key=totals.get)


entries = [parse(text) for text in ("ada 3", "ben 4", "ada 5")]
totals = {}
for entry in entries:
    totals = added(totals, entry)
print("names:", len(totals))
print(shown("ada", totals))
print("most:", largest(totals))
