"""A household book, month by month."""


def new_month(name, opening):
    return {"name": name, "opening": opening, "entries": [], "closing": dict(opening)}


def book(month, account, amount, text):
    month["entries"].append((account, amount, text))
    month["closing"][account] = month["closing"].get(account, 0) + amount


def next_month(month, name):
    following = new_month(name, month["closing"])
    following["closing"] = following["opening"]
    return following


def read(text):
    entries = []
    for line in text.strip().splitlines():
        account, amount, *words = line.split()
        entries.append((account, int(amount), " ".join(words)))
    return entries


def year(opening, texts):
    months, month = [], None
    for name, text in texts.items():
        month = new_month(name, opening) if month is None else next_month(month, name)
        for entry in read(text):
            book(month, *entry)
        months.append(month)
    return months


def saved(month):
    return sum(month["closing"].values()) - sum(month["opening"].values())


def summary(months):
    return [f"{month['name']:<5}{saved(month):>6}  {len(month['entries'])}" for month in months]


TEXTS = {
    "jan": "bank 900 pay\nbank -400 rent\ncash -20 bread",
    "feb": "bank 900 pay\nbank -450 rent",
    "mar": "cash 50 gift\nbank -60 books",
}


def main():
    months = year({"bank": 100, "cash": 80}, TEXTS)
    print("\n".join(summary(months)))
    print("all", sum(map(saved, months)), months[-1]["closing"])


if __name__ == "__main__":
    main()
