"""Rights as bits, with groups that pass them on."""
from enum import IntFlag


class Right(IntFlag):
    READ = 1
    WRITE = 2
    SHARE = 4
    OWN = 8


def parse(text):
    rights = Right(0)
    for name in text.split("+"):
        rights |= Right[name.strip().upper()]
    return rights


def grant(rights, more):
    return rights | more


def revoke(rights, less):
    return rights & ~less


def change(rights, order):
    sign, names = order[0], parse(order[1:])
    if sign == "+":
        return grant(rights, names)
    if sign == "-":
        return revoke(rights, names)
    raise ValueError(order)


def effective(rights, groups, member_of):
    total = rights
    for group in member_of:
        total = grant(total, groups[group])
    if total & Right.OWN:
        total = grant(total, Right.READ | Right.WRITE | Right.SHARE)
    return total


def names(rights):
    return "+".join(each.name.lower() for each in Right if rights & each) or "none"


def apply(orders, start):
    rights = start
    for order in orders.split():
        rights = change(rights, order)
    return rights


PEOPLE = {
    "ann": ("+read+write -share", ["staff"]),
    "bo": ("+own -write +read", []),
    "cy": ("+read -read -write", ["guests"]),
}


def main():
    groups = {"staff": parse("read"), "guests": Right(0)}
    for person, (orders, member_of) in PEOPLE.items():
        rights = apply(orders, Right(0))
        print(f"{person:<4}{names(rights):<18}{names(effective(rights, groups, member_of))}")


if __name__ == "__main__":
    main()
