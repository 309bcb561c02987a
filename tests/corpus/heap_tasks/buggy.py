"""Works tasks off by priority, on a heap of its own."""


class Heap:
    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)
        self._rise(len(self.items) - 1)

    def pop(self):
        top, last = self.items[0], self.items.pop()
        if self.items:
            self.items[0] = last
            self._sink(0)
        return top

    def _rise(self, at):
        while at > 0:
            above = (at - 1) // 2
            if self.items[above] <= self.items[at]:
                return
            self._swap(at, above)
            at = above

    def _sink(self, at):
        while True:
            below = 2 * at + 1
            if below >= len(self.items):
                return
            right = below + 1
            if right < len(self.items) and self.items[right] < self.items[at]:
                below = right
            if self.items[at] <= self.items[below]:
                return
            self._swap(at, below)
            at = below

    def _swap(self, a, b):
        self.items[a], self.items[b] = self.items[b], self.items[a]

    def __len__(self):
        return len(self.items)


def load(text):
    heap = Heap()
    for number, line in enumerate(text.strip().splitlines()):
        priority, name = line.split()
        heap.push((int(priority), number, name))
    return heap


def work(heap, late):
    """Works off all; some tasks bring others with them."""
    done = []
    while len(heap):
        priority, number, name = heap.pop()
        done.append(name)
        if name in late:
            heap.push((priority + 2, number, late.pop(name)))
    return done


TASKS = """
5 paint
3 saw
8 clean
1 measure
4 screw
2 mark
7 pack
"""


def main():
    print(" ".join(work(load(TASKS), {"measure": "note", "paint": "dry"})))
    print(" ".join(work(load("3 c\n1 a\n2 b"), {})))


if __name__ == "__main__":
    main()
