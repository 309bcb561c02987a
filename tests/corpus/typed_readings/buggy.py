from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Optional, Protocol, TypeVar

T = TypeVar("T")


class Shown(Protocol):
    def label(self) -> str: ...


@dataclass(frozen=True)
class Reading:
    sensor: str
    value: float

    def label(self) -> str:
        return f"{self.sensor}: {self.value:.1f}"


def first(items: Iterable[T], default: Optional[T] = None) -> Optional[T]:
    return next(iter(items), default)


def number_of(text: str) -> float:
    """The number; a reading that failed counts as 0."""
    cleaned = text.strip().replace(",", ".")
    if cleaned in ("", "-"):
        return None
    return float(cleaned)


def parsed(line: str) -> tuple[str, list[float]]:
    sensor, _, rest = line.partition("=")
    return sensor.strip(), [number_of(part) for part in rest.split(";")]


def known(values: list[float]) -> list[float]:
    return [value for value in values if value is not None]


def mean(values: list[float]) -> float:
    kept = known(values)
    return sum(kept) / len(kept)


def readings(lines: Iterable[str]) -> Iterator[Reading]:
    for line in lines:
        sensor, values = parsed(line)
        yield Reading(sensor, mean(values))


def shown(items: Iterable[Shown]) -> list[str]:
    return [item.label() for item in items]


LINES = ["roof = 20,5; 21; 22", "cellar = 12; -; 12", "garden = 17; 18,5"]


def main() -> None:
    found = list(readings(LINES))
    coldest = first(sorted(found, key=lambda each: each.value))
    print("\n".join(shown(found)))
    print("coldest", coldest.label() if coldest else "none")


if __name__ == "__main__":
    main()
