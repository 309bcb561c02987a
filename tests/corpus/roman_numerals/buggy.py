"""Sums chapters that are numbered in Roman numerals."""

DIGITS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
PARTS = [
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"),
    (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
]


def digits_of(text):
    return [DIGITS[letter] for letter in text.upper()]


def value_of(text):
    digits = digits_of(text)
    total = 0
    for here, following in zip(digits, digits[1:] + [0]):
        if here < following and following == 5 * here:
            total -= here
        else:
            total += here
    return total


def numeral(number):
    out = []
    for size, letters in PARTS:
        while number >= size:
            out.append(letters)
            number -= size
    return "".join(out)


def is_canonical(text):
    return numeral(value_of(text)) == text


def chapters(contents):
    found = {}
    for line in contents.splitlines():
        number, _, title = line.strip().partition(". ")
        found[value_of(number)] = title
    return found


def next_number(found):
    return numeral(max(found) + 1)


def main():
    contents = """\
        VII. The road
        XIV. A letter
        XXI. Snow
        XXIX. The house
        XXIV. Nobody"""
    found = chapters(contents)
    for number in sorted(found):
        print(f"{number:>3} {numeral(number):<8}{found[number]}")
    print("next:", next_number(found))
    print("odd ones:", [text for text in ("IV", "IIX", "XLIX") if not is_canonical(text)])


if __name__ == "__main__":
    main()
