"""Finds parts of a nested document by a path such as `store.*.price` or `..price`."""
import re

STEP = re.compile(r"\.\.(\w+|\*)|\.?(\w+|\*)|\[(-?\d+|\*)\]")


def steps_of(path):
    steps = []
    for deep, name, index in STEP.findall(path):
        if deep:
            steps.append(("deep", deep))
        elif index:
            steps.append(("index", index if index == "*" else int(index)))
        else:
            steps.append(("name", name))
    return steps


def children(node):
    if isinstance(node, dict):
        return list(node.values())
    return list(node) if isinstance(node, list) else []


def descendants(node):
    found = [node]
    if isinstance(node, (dict, list)):
        for child in children(node):
            found.extend(descendants(child))
    return found


def by_name(node, name):
    if name == "*":
        return children(node)
    if isinstance(node, dict) and name in node:
        return [node[name]]
    return []


def by_index(node, index):
    if not isinstance(node, list):
        return []
    if index == "*":
        return list(node)
    return [node[index]] if -len(node) <= index < len(node) else []


def apply(nodes, step):
    kind, what = step
    if kind == "deep":
        return [hit for node in nodes for each in descendants(node) for hit in by_name(each, what)]
    select = by_index if kind == "index" else by_name
    return [hit for node in nodes for hit in select(node, what)]


def find(document, path):
    nodes = [document]
    for step in steps_of(path):
        nodes = apply(nodes, step)
    return nodes


SHOP = {
    "owner": {"name": "Ida"},
    "store": {
        "book": [
            {"title": "Sand", "price": 9, "by": [{"name": "Wu"}]},
            {"title": "Salt", "price": 14},
        ],
        "bike": {"price": 120, "maker": {"name": "Roll"}},
    },
}


def main():
    for path in ("owner.name", "store.book[-1].title", "store.book[*].price", "..name", "..price"):
        print(f"{path:<22}", find(SHOP, path))


if __name__ == "__main__":
    main()
