from dataclasses import dataclass, field
from typing import Literal, NewType

Minutes = NewType("Minutes", int)
Way = Literal["bus", "tram", "walk"]


@dataclass
class Leg:
    way: Way
    minutes: Minutes


@dataclass
class Route:
    name: str
    legs: list[Leg] = field(default_factory=list)


def way_of(letter: str) -> Way:
    return {"b": "bus", "t": "tram", "w": "walk"}[letter]


def minutes_of(text: str) -> Minutes:
    """The minutes in "12" or "1:05"."""
    hours, colon, minutes = text.partition(":")
    if colon:
        return Minutes(int(hours) * 60 + int(minutes))
    return Minutes(int(hours))


def leg_of(text: str) -> Leg:
    return Leg(way_of(text[0]), minutes_of(text[1:]))


def route_of(name: str, text: str) -> Route:
    return Route(name, [leg_of(part) for part in text.split()])


def longest(route: Route) -> Leg:
    return max(route.legs, key=lambda leg: int(leg.minutes))


def by_way(route: Route) -> dict[Way, int]:
    found: dict[Way, int] = {}
    for leg in route.legs:
        found[leg.way] = found.get(leg.way, 0) + 1
    return found


def summary(route: Route) -> str:
    leg = longest(route)
    ways = ", ".join(f"{count} {way}" for way, count in sorted(by_way(route).items()))
    times = " + ".join(f"{each.minutes!r}" for each in route.legs)
    return f"{route.name}: {ways}; longest by {leg.way}; {times} min"


ROUTES = {"work": "w5 b1:05 t12", "school": "w9 t7", "station": "b40 b8"}


def main() -> None:
    for name, text in ROUTES.items():
        print(summary(route_of(name, text)))


if __name__ == "__main__":
    main()
