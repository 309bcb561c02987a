"""Fields on a map: how large they are, and in which one a tree stands."""
import math


def parse(text):
    corners = []
    for pair in text.split():
        x, _, y = pair.partition(",")
        corners.append((float(x), float(y)))
    return corners


def edges(corners):
    return list(zip(corners, corners[1:]))


def area(corners):
    twice = sum(x1 * y2 - x2 * y1 for (x1, y1), (x2, y2) in edges(corners))
    return abs(twice) / 2


def fence(corners):
    return sum(math.dist(a, b) for a, b in edges(corners))


def crosses(edge, point):
    """Whether a line from the point to the right crosses the edge."""
    (x1, y1), (x2, y2) = edge
    x, y = point
    if (y1 > y) == (y2 > y):
        return False
    return x < x1 + (y - y1) * (x2 - x1) / (y2 - y1)


def contains(corners, point):
    return sum(crosses(edge, point) for edge in edges(corners)) % 2 == 1


def where(fields, point):
    return [name for name, corners in fields.items() if contains(corners, point)]


MAP = {
    "meadow": "0,0 6,0 6,4 0,4",
    "corner": "6,0 9,0 6,4",
    "orchard": "1,5 5,5 7,9 1,8",
}


def main():
    fields = {name: parse(text) for name, text in MAP.items()}
    for name, corners in fields.items():
        print(f"{name:<8}{area(corners):>8.2f}{fence(corners):>8.2f}")
    for tree in ((3, 2), (7, 1), (2, 7), (8, 8)):
        print(tree, *where(fields, tree) or ["nowhere"])


if __name__ == "__main__":
    main()
