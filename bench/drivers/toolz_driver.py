import toolz
from toolz import curried
from toolz.dicttoolz import assoc_in, dissoc, get_in, itemmap, keyfilter, merge_with, update_in, valmap
from toolz.functoolz import complement, compose, curry, do, excepts, juxt, memoize, pipe, thread_first, thread_last
from toolz.itertoolz import (
    accumulate, concat, cons, count, diff, drop, first, frequencies, get, groupby, interleave, interpose,
    isdistinct, iterate, join, last, mapcat, merge_sorted, nth, partition, partition_all,
    peek, pluck, reduceby, remove, second, sliding_window, tail, take, take_nth, topk, unique,
)

from toolz.recipes import partitionby

people = [{"name": n, "age": a, "town": t} for n, a, t in (("Ann", 31, "Ems"), ("Bo", 25, "Ulm"), ("Cy", 31, "Ulm"))]
print(groupby("town", people))
print(sorted(frequencies(pluck("age", people)).items()))
print(reduceby("town", lambda total, each: total + each["age"], people, 0))
print(list(partition(2, range(7), pad=None)), list(partition_all(3, range(7))))
print(list(sliding_window(3, range(5))), list(partitionby(str.isdigit, "ab12c3")))
print(list(merge_sorted([1, 4, 6], [2, 3, 9], key=lambda n: n)), list(interleave(["ab", "xyz"])))
print(list(join("town", people, first, [("Ulm", 1), ("Ems", 2), ("Bonn", 3)], left_default=None)))
print(list(unique("mississippi")), isdistinct("abc"), isdistinct("abca"), topk(2, [3, 9, 4]))
print(list(take_nth(2, range(7))), list(take(3, iterate(lambda n: n * 2, 1))), tail(2, [1, 2, 3]))
print(first("abc"), second("abc"), nth(2, "abcd"), last("xyz"), list(drop(2, "abcd")), peek([5, 6])[0])
print(list(accumulate(lambda a, b: a + b, [1, 2, 3])), list(interpose("-", "abc")), get([0, 9], "ab", "?"))
print(list(concat([[1], [2, 3]])), list(cons(0, [1])), count("abc"), list(mapcat(sorted, ["ba", "dc"])))
print(list(remove(str.isdigit, "a1b2")), list(diff([1, 2, 3], [1, 5, 3])))
print(valmap(len, {"a": "xx", "b": ""}), itemmap(reversed, {"a": 1}), keyfilter(str.isupper, {"A": 1, "b": 2}))
print(merge_with(sum, {"a": 1, "b": 2}, {"b": 3}), assoc_in({}, ["a", "b"], 1), dissoc({"a": 1, "b": 2}, "a"))
print(update_in({"a": {"n": 1}}, ["a", "n"], lambda n: n + 1), get_in(["a", "z"], {"a": {}}, 7))
print(pipe(3, lambda n: n + 1, str), thread_first(1, (lambda a, b: a - b, 4), abs), thread_last([1, 2], (map, str), list))
print(compose(str, abs)(-4), complement(bool)(0), juxt(min, max)([3, 1]), excepts(ValueError, int, lambda e: -1)("x"))
@curry
def add(a, b, c=0):
    return a + b + c
print(add(1)(2), add(1, c=5)(1), do(lambda v: None, 4))
@memoize
def square(n):
    return n * n
print(square(3), square(3), toolz.pipe([3, 1, 2], curried.map(square), sorted))
