from fractions import Fraction


def people_in(text):
    """Names, each with how many share the bill with it."""
    found = {}
    for part in text.split(","):
        name, _, count = part.strip().partition(" x")
        found[name] = int(count or 1)
    return found


def guests(people, absent):
    return {name: count for name, count in people.items() if name not in absent}


def head_count(people):
    return sum(people.values())


def share(total, heads):
    return Fraction(total, heads)


def paying(people, absent, invited):
    """Who pays: those who came and were not invited; if that is nobody, all who came."""
    came = guests(people, absent)
    payers = guests(came, invited)
    assert payers, "somebody has to pay"
    return payers


def amounts(total, payers):
    each = share(total, head_count(payers))
    return {name: each * count for name, count in payers.items()}


def shown(found):
    return [f"{name} {float(amount) / 100:.2f}" for name, amount in sorted(found.items())]


def settle(total, text, absent=(), invited=()):
    payers = paying(people_in(text), absent, invited)
    return shown(amounts(total, payers))


def main():
    print(settle(9000, "Ada x2, Ben, Cleo x3", absent=("Ben",)))
    print(settle(5000, "Dan, Eve x4", invited=("Dan",)))
    print(settle(1200, "Finn, Gil x2", absent=("Finn",), invited=("Gil",)))


if __name__ == "__main__":
    main()
