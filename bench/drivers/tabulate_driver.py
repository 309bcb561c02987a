from tabulate import tabulate

rows = [["spam", 41.9999, None], ["eggs", "451.0", True], ["a long\nname", 7, "x"]]
for style in ("plain", "simple", "github", "grid", "pipe", "html", "latex", "tsv", "rst", "fancy_grid", "presto"):
    print(tabulate(rows, headers=["name", "amount", "note"], tablefmt=style, missingval="?"))
print(tabulate([{"a": 1, "b": 2}, {"a": 3, "c": 4}], headers="keys", showindex=True))
print(tabulate({"n": [1, 22, 333], "s": ["x", "yy", ""]}, headers="keys", numalign="center", stralign="right"))
print(tabulate([[1.5, "1,000"], [2.25, "20"]], floatfmt=".3f", colalign=("right", "left"), tablefmt="orgtbl"))
print(tabulate([["the quick brown fox", 1]], maxcolwidths=[8, None], tablefmt="grid"))
print(tabulate([], headers=["empty"]), tabulate(rows, headers="firstrow", disable_numparse=True))
