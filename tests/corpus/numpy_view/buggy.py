"""Finds bright spots in a small picture and draws them."""
import numpy as np

SIGNS = " .:*#"


def picture():
    rows = ["01110", "12321", "13430", "02321", "00111"]
    return np.array([[int(sign) for sign in row] for row in rows])


def inner(image):
    """The picture with an empty border."""
    out = image.view()
    out[0, :] = out[-1, :] = 0
    out[:, 0] = out[:, -1] = 0
    return out


def is_peak(image, row, column):
    part = image[max(0, row - 1) : row + 2, max(0, column - 1) : column + 2]
    return image[row, column] > 0 and image[row, column] == part.max()


def peaks(image):
    found = []
    for row in range(image.shape[0]):
        for column in range(image.shape[1]):
            if is_peak(image, row, column):
                found.append((row, column))
    return found


def brightness(image):
    return int(image.sum())


def draw(image):
    return ["".join(SIGNS[int(value)] for value in row) for row in image]


def report(image):
    spots = peaks(inner(image))
    lines = draw(image)
    lines.append(f"{len(spots)} spots at {spots}")
    lines.append(f"brightness {brightness(image)}")
    return lines


def main():
    for line in report(picture()):
        print(line)


if __name__ == "__main__":
    main()
