"""Fits a line to prices and foretells some."""
import numpy as np


def table(text):
    return np.array([[float(word) for word in line.split()] for line in text.strip().splitlines()])


def split(data):
    return data[:, :-1], data[:, -1]


def design(inputs):
    """The inputs with a column of ones in front."""
    ones = np.ones((len(inputs), 1))
    return np.hstack([inputs, ones])


def solve(matrix, goal):
    normal = matrix.T @ matrix
    return np.linalg.solve(normal, matrix.T @ goal)


class Model:
    def __init__(self, weights):
        self.constant = weights[0]
        self.slopes = weights[1:]

    def predict(self, inputs):
        return self.constant + inputs @ self.slopes


def fit(data):
    inputs, goal = split(data)
    return Model(solve(design(inputs), goal))


def error(model, data):
    inputs, goal = split(data)
    return float(np.abs(model.predict(inputs) - goal).max())


DATA = """
1 30 105
2 50 160
3 40 150
4 80 240
2 20 100
"""


def main():
    data = table(DATA)
    model = fit(data)
    print("constant", round(float(model.constant), 3))
    print("slopes", [round(float(each), 3) for each in model.slopes])
    print("price", round(float(model.predict(np.array([3, 60]))), 2))
    print("error", round(error(model, data), 3))


if __name__ == "__main__":
    main()
