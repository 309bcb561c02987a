"""How many ponds a map has, and how large they are."""


def parse(text):
    return [list(line) for line in text.split()]


def inside(grid, row, column):
    return 0 <= row < len(grid) and 0 <= column < len(grid[row])


def neighbours(grid, row, column):
    steps = [(1, 0), (0, 1), (0, -1)]
    around = [(row + down, column + right) for down, right in steps]
    return [place for place in around if inside(grid, *place)]


def fill(grid, row, column, sign):
    """How many fields were filled."""
    if grid[row][column] != "~":
        return 0
    grid[row][column] = sign
    return 1 + sum(fill(grid, r, c, sign) for r, c in neighbours(grid, row, column))


def ponds(grid):
    sizes = {}
    for row, line in enumerate(grid):
        for column, sign in enumerate(line):
            if sign == "~":
                name = chr(ord("a") + len(sizes))
                sizes[name] = fill(grid, row, column, name)
    return sizes


def largest(sizes):
    return max(sizes, key=sizes.get)


def draw(grid):
    return ["".join(line) for line in grid]


MAP = """
..~~..~
~.~...~
~~~.~~.
......~
"""


def main():
    grid = parse(MAP)
    sizes = ponds(grid)
    print("\n".join(draw(grid)))
    print(sizes, "largest:", largest(sizes))


if __name__ == "__main__":
    main()
