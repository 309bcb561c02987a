"""Reads a table with quoted fields and sums a column by another one."""


def split_row(line, separator=","):
    fields, current, quoted, at = [], "", False, 0
    while at < len(line):
        letter = line[at]
        if quoted:
            if letter == '"' and line[at + 1 : at + 2] == '"':
                current += '"'
                at += 1
            elif letter == '"':
                quoted = False
            else:
                current += letter
        elif letter == '"':
            quoted = True
        elif letter == separator:
            fields.append(current)
            current = ""
        else:
            current += letter
        at += 1
    fields.append(current)
    return fields


def read_table(text):
    header, *rows = [split_row(line) for line in text.strip().splitlines()]
    return [dict(zip(header, row)) for row in rows]


def number(text):
    return float(text.replace("'", "")) if text else 0.0


def sums(rows, key, column):
    totals = {}
    for row in rows:
        totals[row[key]] = totals.get(row[key], 0.0) + number(row[column])
    return totals


def largest(totals):
    return max(totals.items(), key=lambda pair: pair[1])


def show(totals):
    return [f"{name:<18}|{amount:>9.2f}" for name, amount in sorted(totals.items())]


TEXT = '''
customer,article,amount
"Miller, Ann",paper,12.50
"Bar ""Blue""",glasses,80
Smith,"pens, blue",3.75
"Bar ""Blue""","lamp 12""",1'040.00
"Miller, Ann",,1
'''


def main():
    rows = read_table(TEXT)
    totals = sums(rows, "customer", "amount")
    print("\n".join(show(totals)))
    print("most:", *largest(totals))
    print([row["article"] for row in rows])


if __name__ == "__main__":
    main()
