from sortedcontainers import SortedDict, SortedKeyList, SortedList, SortedSet

numbers = SortedList([5, 1, 4, 1, 9, 2, 6])
numbers._reset(4)
for value in (3, 5, 8, 9, 7, 0, 2):
    numbers.add(value)
print(list(numbers), numbers.bisect_left(5), numbers.bisect_right(5), numbers.count(9), numbers.index(4), 6 in numbers)
numbers.remove(4), numbers.discard(77), numbers.update([10, 11, -1]), numbers.pop(), numbers.pop(0)
print(list(numbers), numbers[2], numbers[-1], numbers[1:4], list(numbers.irange(2, 6, (True, False))), list(numbers.islice(2, 5, True)))
del numbers[1], numbers[2:4]
print(list(numbers), numbers + [3], numbers * 2 == numbers, list(reversed(numbers)), numbers < [1], numbers.copy() == numbers)
words = SortedKeyList(["pear", "fig", "apple", "kiwi", "date"], key=len)
words._reset(4)
words.add("plum"), words.update(["quince", "nut"]), words.remove("fig"), words.discard("none")
print(list(words), words.bisect_key_left(4), words.bisect_key_right(4), list(words.irange_key(3, 4)), words.index("kiwi"), words.count("date"), "nut" in words)
table = SortedDict({"b": 2, "a": 1, "d": 4})
table["c"] = 3
print(list(table.items()), table.peekitem(0), table.popitem(), table.pop("a"), table.setdefault("z", 9), table.keys()[0], list(table.values()), table.index("c") if hasattr(table, "index") else 0, repr(table))
marks = SortedSet([3, 1, 2])
marks |= {7, 5}
print(list(marks), marks[0], marks & [1, 5, 9], marks - [1], marks ^ [7, 8], marks.isdisjoint([4]), marks < {1, 2, 3, 5, 7, 9}, marks.pop(), marks.add(4), list(marks))
