"""Plans the watering of a garden."""

DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]


class Plant:
    needs = []
    every = 3

    def __init__(self, name, thirsty=False):
        self.name = name
        self.thirsty = thirsty

    def require(self, what):
        self.needs.append(what)
        return self

    def interval(self):
        return 1 if self.thirsty else self.every

    def days(self, offset):
        return [day for number, day in enumerate(DAYS) if (number + offset) % self.interval() == 0]


class Cactus(Plant):
    every = 7


def garden():
    return [
        Plant("fern", thirsty=True).require("shade"),
        Plant("rose").require("dung"),
        Cactus("agave"),
        Plant("mint").require("dung").require("space"),
    ]


def plan(plants):
    week = {day: [] for day in DAYS}
    for offset, plant in enumerate(plants):
        for day in plant.days(offset):
            week[day].append(plant.name)
    return week


def shopping(plants):
    counts = {}
    for plant in plants:
        for need in plant.needs:
            counts[need] = counts.get(need, 0) + 1
    return counts


def main():
    plants = garden()
    for day, names in plan(plants).items():
        print(day, *names)
    print(shopping(plants))


if __name__ == "__main__":
    main()
