"""Corrects misspelt words by their distance to known ones."""

KNOWN = ["banana", "bandana", "cabana", "canal", "anna", "nan"]


def table(left, right):
    rows = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    rows[0] = list(range(len(right) + 1))
    for i in range(1, len(left) + 1):
        rows[i][0] = i
        for j in range(1, len(right) + 1):
            change = rows[i - 1][j - 1] + cost(left[i - 1], right[j - 1])
            rows[i][j] = min(change, rows[i - 1][j] + 1, rows[i][j - 1] + 1)
    return rows


def cost(a, b):
    if a == b:
        return 0
    return 1


def distance(left, right):
    return table(left, right)[-1][-1]


def ranked(word, known):
    return sorted((distance(word, other), other) for other in known)


def correct(word, known):
    if word in known:
        return word
    far, best = ranked(word, known)[0]
    return best if far <= max(1, len(word) // 2) else word + "?"


def correct_all(text, known):
    return " ".join(correct(word, known) for word in text.split())


def main():
    print(correct_all("banan xanna cnal annanan pear", KNOWN))
    for far, word in ranked("abanan", KNOWN)[:3]:
        print(far, word)


if __name__ == "__main__":
    main()
