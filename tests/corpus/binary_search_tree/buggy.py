"""A phone book as a search tree."""
from dataclasses import dataclass
from typing import Optional


@dataclass
class Entry:
    name: str
    number: int
    left: "Optional[Entry]" = None
    right: "Optional[Entry]" = None


def inserted(tree, name, number):
    if tree is None:
        return Entry(name, number)
    if name < tree.name:
        tree.left = inserted(tree.left, name, number)
    elif name > tree.name:
        tree.right = inserted(tree.right, name, number)
    else:
        tree.number = number
    return tree


def smallest(tree):
    while tree.left is not None:
        tree = tree.left
    return tree


def removed(tree, name):
    if tree is None:
        return None
    if name < tree.name:
        tree.left = removed(tree.left, name)
    elif name > tree.name:
        tree.right = removed(tree.right, name)
    elif tree.left is None or tree.right is None:
        return tree.left or tree.right
    else:
        following = smallest(tree.right)
        tree.name = following.name
        tree.right = removed(tree.right, following.name)
    return tree


def in_order(tree):
    if tree is None:
        return []
    return in_order(tree.left) + [(tree.name, tree.number)] + in_order(tree.right)


def build(entries):
    tree = None
    for name, number in entries:
        tree = inserted(tree, name, number)
    return tree


def depth(tree):
    return 0 if tree is None else 1 + max(depth(tree.left), depth(tree.right))


def main():
    entries = [("kim", 11), ("eva", 12), ("tom", 13), ("bob", 14), ("ina", 15), ("ute", 16), ("lea", 17)]
    tree = build(entries)
    for name in ("kim", "bob", "nobody"):
        tree = removed(tree, name)
    for name, number in in_order(tree):
        print(name, number)
    print("depth", depth(tree))


if __name__ == "__main__":
    main()
