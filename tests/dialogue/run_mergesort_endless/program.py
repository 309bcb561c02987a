"""Merge sort, as in Fig. 12 of Takahashi & Ono. It goes on until the interpreter stops it."""


def split(x):
    if not x:
        return [], []
    if not x[1:]:
        return x, []
    u, v = split(x[2:])
    return [x[0], *u], [x[1], *v]


def xmerge(x, y):
    if not x:
        return y
    if not y:
        return x
    if x[0] < y[0]:
        return [x[0], *xmerge(x[1:], y)]
    return [y[0], *xmerge(x, y[1:])]


def mergesort(x):
    if not x[1:]:
        return x
    u, v = split(x)
    return mergesort(xmerge(u, v))


print(mergesort([4, 2, 1, 6]))
