"""Few calls with long lists."""


def merge(left, right):
    out = []
    i = j = 0
    while i < len(left) and j < len(right):
        if left[i] <= right[j]:
            out.append(left[i])
            i += 1
        else:
            out.append(right[j])
            j += 1
    out.extend(left[i:])
    out.extend(right[j:])
    return out


def merge_sort(xs):
    if len(xs) < 2:
        return xs
    middle = len(xs) // 2
    return merge(merge_sort(xs[:middle]), merge_sort(xs[middle:]))


NUMBERS = [(n * 7919) % 1_000_003 for n in range(30_000)]


def run():
    return merge_sort(NUMBERS)
