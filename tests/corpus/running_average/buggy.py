"""Smooths readings of a sensor and reports when they leave a band."""
from collections import deque


def readings(text):
    for word in text.split():
        if word != "-":
            yield float(word)


def windows(values, size):
    """The last `size` values, as soon as there are so many."""
    kept = deque()
    for value in values:
        kept.append(value)
        if len(kept) > size + 1:
            kept.popleft()
        if len(kept) >= size:
            yield tuple(kept)


def mean(values):
    return sum(values) / len(values)


def smoothed(values, size):
    for window in windows(values, size):
        yield round(mean(window), 2)


def leaves(values, low, high):
    """The places at which the values leave the band."""
    inside = True
    for place, value in enumerate(values):
        now = low <= value <= high
        if inside and not now:
            yield place, value
        inside = now


def report(text, size, low, high):
    values = list(smoothed(readings(text), size))
    lines = [" ".join(f"{value:g}" for value in values)]
    for place, value in leaves(values, low, high):
        lines.append(f"left at {place}: {value:g}")
    return lines


def main():
    text = "20 21 - 22 25 30 36 31 22 - 20 19 12 11 20"
    for line in report(text, size=3, low=17, high=28):
        print(line)


if __name__ == "__main__":
    main()
