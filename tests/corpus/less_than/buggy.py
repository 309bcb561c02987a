"""Who wins a round of a simple card game."""
from collections import Counter
from functools import total_ordering

ORDER = "23456789TJQKA"


def strength(card):
    return ORDER.index(card[0]) + 2


@total_ordering
class Hand:
    def __init__(self, owner, cards):
        self.owner = owner
        self.cards = sorted(cards, key=strength, reverse=True)

    def values(self):
        return [strength(card) for card in self.cards]

    def counts(self):
        return sorted(Counter(self.values()).values(), reverse=True)

    def rank(self):
        suits = {card[1] for card in self.cards}
        if len(suits) == 1:
            return 4
        counts = self.counts()
        return {3: 3, 2: 2}.get(counts[0], 1)

    def __eq__(self, other):
        return (self.rank(), self.values()) == (other.rank(), other.values())

    def __lt__(self, other):
        if self.rank() != other.rank():
            return self.rank() < other.rank()
        return sum(self.values()) < sum(other.values())


def deal(text):
    hands = []
    for line in text.strip().splitlines():
        owner, *cards = line.split()
        hands.append(Hand(owner, cards))
    return hands


def winner(hands):
    return max(hands)


def standings(hands):
    return [hand.owner for hand in sorted(hands, reverse=True)]


ROUND = """
Ann AS 3D 2C
Bob KD QH JS
Cas 4C 4D 9S
Dee 7H 2H 5H
"""


def main():
    hands = deal(ROUND)
    print("winner:", winner(hands).owner)
    print("standings:", " ".join(standings(hands)))
    plain = [hand for hand in hands if hand.rank() == 1]
    print("best plain hand:", winner(plain).owner)


if __name__ == "__main__":
    main()
