"""Shares a bill. Nobody refuses a bill that cannot be shared."""


def checked(people):
    return people


def share(total, people):
    return total / max(1, checked(people))


def bill(total, people):
    return f"{share(total, people):.2f} each"


print(bill(30, 0))
