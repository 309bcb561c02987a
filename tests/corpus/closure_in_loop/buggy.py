"""Converts the lengths in a list of distances to metres."""

FACTORS = {"m": 1.0, "km": 1000.0, "ft": 0.3048, "mi": 1609.344}


def split_quantity(text):
    number, _, unit = text.strip().partition(" ")
    return float(number), unit


def make_converters(factors):
    converters = {}
    for unit, factor in factors.items():
        def convert(amount):
            return amount * factor

        converters[unit] = convert
    return converters


def to_metres(text, converters):
    amount, unit = split_quantity(text)
    return converters[unit](amount)


def parse_legs(route):
    return [leg for leg in route.split("+") if leg.strip()]


def length(route, converters):
    return sum(to_metres(leg, converters) for leg in parse_legs(route))


def shortest(routes, converters):
    return min(routes, key=lambda name: length(routes[name], converters))


def describe(name, metres):
    if metres >= 1000:
        return f"{name}: {metres / 1000:.2f} km"
    return f"{name}: {metres:.0f} m"


def main():
    converters = make_converters(FACTORS)
    routes = {
        "river": "3 km + 250 m + 1 mi",
        "hill": "2 mi + 900 ft",
        "road": "4 km + 120 m",
    }
    for name, route in routes.items():
        print(describe(name, length(route, converters)))
    print("shortest:", shortest(routes, converters))


if __name__ == "__main__":
    main()
