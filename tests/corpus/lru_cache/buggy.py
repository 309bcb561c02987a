"""Pages that are read through a cache of a fixed size."""
from collections import OrderedDict


class LRU:
    def __init__(self, size):
        self.size = size
        self.items = OrderedDict()
        self.hits = 0
        self.misses = 0

    def get(self, key):
        if key not in self.items:
            self.misses += 1
            return None
        self.hits += 1
        if len(self.items) < self.size:
            self.items.move_to_end(key)
        return self.items[key]

    def put(self, key, value):
        if key in self.items:
            self.items.move_to_end(key)
        self.items[key] = value
        if len(self.items) > self.size:
            self.items.popitem(last=False)


class Disk:
    def __init__(self, pages):
        self.pages = pages
        self.reads = []

    def read(self, number):
        self.reads.append(number)
        return self.pages[number]


def page(cache, disk, number):
    found = cache.get(number)
    if found is None:
        found = disk.read(number)
        cache.put(number, found)
    return found


def book(cache, disk, numbers):
    return " ".join(page(cache, disk, number) for number in numbers)


def report(cache, disk):
    rate = cache.hits / (cache.hits + cache.misses)
    return f"{rate:.0%} hits, read {disk.reads}, kept {list(cache.items)}"


def main():
    disk = Disk({1: "once", 2: "upon", 3: "a", 4: "time", 5: "there"})
    cache = LRU(3)
    print(book(cache, disk, [1, 2, 3, 1, 4, 1, 2, 5, 1]))
    print(report(cache, disk))


if __name__ == "__main__":
    main()
