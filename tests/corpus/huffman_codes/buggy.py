"""Packs a text with codes of different lengths and unpacks it again."""
import heapq
from collections import Counter


class Leaf:
    def __init__(self, letter, count):
        self.letter = letter
        self.count = count


class Inner:
    def __init__(self, left, right):
        self.left = left
        self.right = right
        self.count = left.count + right.count


def build(text):
    leaves = [Leaf(letter, count) for letter, count in sorted(Counter(text).items())]
    heap = [(leaf.count, number, leaf) for number, leaf in enumerate(leaves)]
    heapq.heapify(heap)
    number = len(heap)
    while len(heap) > 1:
        _, _, left = heapq.heappop(heap)
        _, _, right = heapq.heappop(heap)
        node = Inner(left, right)
        heapq.heappush(heap, (node.count, number, node))
        number += 1
    return heap[0][2]


def codes(node, prefix=""):
    if isinstance(node, Leaf):
        return {node.letter: prefix or "0"}
    found = codes(node.left, prefix + "0")
    found.update(codes(node.right, prefix[:-1] + "1"))
    return found


def pack(text, table):
    return "".join(table[letter] for letter in text)


def unpack(bits, tree):
    out, node = [], tree
    for bit in bits:
        node = node.left if bit == "0" else node.right
        if isinstance(node, Leaf):
            out.append(node.letter)
            node = tree
    return "".join(out)


def ratio(text, bits):
    return round(len(bits) / (8 * len(text)), 3)


def round_trip(text):
    tree = build(text)
    table = codes(tree)
    bits = pack(text, table)
    return table, unpack(bits, tree), ratio(text, bits)


def main():
    table, text, share = round_trip("abracadabra")
    for letter, bits in sorted(table.items()):
        print(letter, bits)
    print(text, share)


if __name__ == "__main__":
    main()
