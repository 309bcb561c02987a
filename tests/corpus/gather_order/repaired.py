"""Asks several stations for their weather at the same time."""
import asyncio

STATIONS = {"north": (3, [4, 6, 5]), "coast": (1, [11, 12, 10]), "hill": (2, [7, 1, 4])}


async def wait_turns(turns):
    for _ in range(turns):
        await asyncio.sleep(0)


async def fetch(name):
    turns, values = STATIONS[name]
    await wait_turns(turns)
    if not values:
        raise LookupError(name)
    return list(values)


def mean(values):
    return sum(values) / len(values)


async def reading(name):
    values = await fetch(name)
    return round(mean(values), 1)


async def collect(names):
    tasks = [asyncio.ensure_future(reading(name)) for name in names]
    results = await asyncio.gather(*tasks)
    return dict(zip(names, results))


def warmest(readings):
    return max(readings, key=readings.get)


def rows(readings):
    return [f"{name:<6}{value:>6}" for name, value in sorted(readings.items())]


async def report(names):
    readings = await collect(names)
    return rows(readings) + ["warmest: " + warmest(readings)]


def main():
    for line in asyncio.run(report(["north", "coast", "hill"])):
        print(line)


if __name__ == "__main__":
    main()
