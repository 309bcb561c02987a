"""Completes words as they are typed."""


class Node:
    def __init__(self):
        self.children = {}
        self.count = 0


class Trie:
    def __init__(self):
        self.root = Node()

    def add(self, word):
        node = self.root
        for letter in word:
            node = node.children.setdefault(letter, Node())
        node.count += 1

    def find(self, prefix):
        node = self.root
        for letter in prefix:
            node = node.children.get(letter)
            if node is None:
                return None
        return node

    def remove(self, word):
        self._remove(self.root, word)

    def _remove(self, node, rest):
        """Whether nothing is left below the node."""
        if not rest:
            node.count = 0
            return not node.children
        child = node.children.get(rest[0])
        if child is None:
            return False
        if self._remove(child, rest[1:]):
            del node.children[rest[0]]
        return not node.children and node.count == 0

    def words(self, node, prefix):
        if node.count:
            yield prefix, node.count
        for letter in sorted(node.children):
            yield from self.words(node.children[letter], prefix + letter)

    def complete(self, prefix, most=3):
        node = self.find(prefix)
        if node is None:
            return []
        found = sorted(self.words(node, prefix), key=lambda pair: (-pair[1], pair[0]))
        return [word for word, _ in found[:most]]


def load(text):
    trie = Trie()
    for word in text.split():
        trie.add(word)
    return trie


def session(trie, commands):
    lines = []
    for command in commands:
        if command.startswith("-"):
            trie.remove(command[1:])
        else:
            lines.append(f"{command}: {' '.join(trie.complete(command)) or 'nothing'}")
    return lines


def main():
    trie = load("car card care cat car dog card carton do")
    for line in session(trie, ["ca", "-cat", "ca", "-card", "-car", "ca", "-do", "d"]):
        print(line)


if __name__ == "__main__":
    main()
