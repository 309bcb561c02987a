"""Sets a text in columns."""


def paragraphs(text):
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]


def fill_line(words, width):
    """As many words as fit on a line, and the rest."""
    line, used = [], 0
    for number, word in enumerate(words):
        if line and used + len(word) > width:
            return line, words[number:]
        used += len(word) + (1 if line else 0)
        line.append(word)
    return line, []


def wrap(text, width):
    words, lines = text.split(), []
    while words:
        line, words = fill_line(words, width)
        lines.append(" ".join(line))
    return lines


def justify(line, width):
    words = line.split()
    if len(words) < 2:
        return line.ljust(width)
    spaces = width - sum(map(len, words))
    each, more = divmod(spaces, len(words) - 1)
    out = words[0]
    for number, word in enumerate(words[1:]):
        out += " " * (each + (number < more)) + word
    return out


def block(text, width):
    *body, last = wrap(text, width)
    return [justify(line, width) for line in body] + [last.ljust(width)]


def columns(left, right, gap="  |  "):
    height = max(len(left), len(right))
    width = len(left[0])
    left = left + [" " * width] * (height - len(left))
    right = right + [""] * (height - len(right))
    return [(a + gap + b).rstrip() for a, b in zip(left, right)]


def page(text, width):
    blocks = [block(part, width) for part in paragraphs(text)]
    return columns(blocks[0], blocks[1])


TEXT = """
The ferry leaves at nine and it does not wait for those
who are late.

Bring a coat and some bread, the crossing is cold and takes two hours.
"""


def main():
    for line in page(TEXT, 18):
        print(line)


if __name__ == "__main__":
    main()
