"""Merge sort, as in Fig. 1 of Takahashi & Ono, Design and Implementation of a Declarative
Debugging System for Functional Programs. It loses half of its numbers."""


def mergesort(x):
    if not x[1:]:
        return x
    u, v = split(x)
    return xmerge(mergesort(u), mergesort(v))


def xmerge(x, y):
    if not x:
        return y
    if not y:
        return y
    if x[0] < y[0]:
        return [x[0], *xmerge(x[1:], y)]
    return [y[0], *xmerge(x, y[1:])]


def split(x):
    if not x:
        return [], []
    if not x[1:]:
        return x, []
    u, v = split(x[2:])
    return [x[0], *u], [x[1], *v]


print(mergesort([3, 7, 2, 5, 6, 1, 8, 4]))
