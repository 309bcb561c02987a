"""Prints tables with aligned columns."""


def is_number(text):
    return text.replace(".", "", 1).lstrip("-").isdigit()


def cell(value):
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.2f}"
    return str(value)


def rows_of(records, names):
    return [[cell(record.get(name)) for name in names] for record in records]


def widths(header, rows):
    found = [0] * len(header)
    for row in rows:
        for place, text in enumerate(row):
            found[place] = max(found[place], len(text))
    return found


def aligned(text, width, right):
    return text.rjust(width) if right else text.ljust(width)


def number_columns(rows):
    return [all(is_number(text) or text == "-" for text in column) for column in zip(*rows)]


def rule(sizes):
    return "-+-".join("-" * size for size in sizes)


def table(records, names):
    rows = rows_of(records, names)
    sizes, right = widths(names, rows), number_columns(rows)

    def line(row):
        return " | ".join(map(aligned, row, sizes, right)).rstrip()

    return [line(names), rule(sizes), *map(line, rows)]


RECORDS = [
    {"name": "oak", "height": 21.5, "age": 140},
    {"name": "birch", "height": 14.25, "age": 38},
    {"name": "young fir", "height": None, "age": 3},
]


def main():
    for text in table(RECORDS, ["name", "height", "age"]):
        print(text)


if __name__ == "__main__":
    main()
