"""Where the corners of a drawing go when it is turned, stretched and turned back."""
from fractions import Fraction


def identity(size):
    return [[Fraction(row == column) for column in range(size)] for row in range(size)]


def product(left, right):
    columns = list(zip(*right))
    return [[dot(row, column) for column in columns] for row in left]


def dot(row, column):
    return sum((a * b for a, b in zip(row, column)), Fraction(0))


def determinant(matrix):
    (a, b), (c, d) = matrix
    return a * d - b * c


def inverse(matrix):
    (a, b), (c, d) = matrix
    size = determinant(matrix)
    if size == 0:
        raise ZeroDivisionError("there is no inverse")
    return [[d / size, -b / size], [-c, a]]


def power(matrix, exponent):
    if exponent < 0:
        return power(inverse(matrix), -exponent)
    result = identity(len(matrix))
    for _ in range(exponent):
        result = product(result, matrix)
    return result


def apply(matrix, point):
    return tuple(dot(row, point) for row in matrix)


def chain(steps):
    result = identity(2)
    for matrix, exponent in steps:
        result = product(power(matrix, exponent), result)
    return result


TURN = [[Fraction(3, 5), Fraction(-4, 5)], [Fraction(4, 5), Fraction(3, 5)]]
STRETCH = [[Fraction(2), Fraction(0)], [Fraction(1), Fraction(1)]]


def main():
    whole = chain([(TURN, 2), (STRETCH, -1), (TURN, -2), (STRETCH, 1)])
    for point in ((1, 0), (0, 1), (2, 3)):
        print(point, "->", *apply(whole, point))


if __name__ == "__main__":
    main()
