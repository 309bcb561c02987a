"""When work that takes so many working days is done."""
from datetime import date, timedelta

DAY = timedelta(days=1)


def easter(year):
    """The algorithm of Meeus."""
    a, b, c = year % 19, year // 100, year % 100
    d, e = divmod(b, 4)
    f = (b + 8) // 25
    g = (b - f + 1) // 3
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    m = (32 + 2 * e + 2 * i - h - k) % 7
    n = (a + 11 * h + 22 * m) // 451
    month, day = divmod(h + m - 7 * n + 114, 31)
    return date(year, month, day + 1)


def holidays(year):
    sunday = easter(year)
    return {
        date(year, 1, 1),
        sunday - 2 * DAY,
        sunday + DAY,
        date(year, 5, 1),
        date(year, 12, 25),
        date(year, 12, 26),
    }


def is_weekend(day):
    return day.weekday() >= 5


def between(start, end):
    day = start
    while day < end:
        yield day
        day += DAY


def working_days(start, end):
    days = [day for day in between(start, end) if not is_weekend(day)]
    off = holidays(start.year) | holidays(end.year)
    return len(days) - sum(start <= day < end and not is_weekend(day) for day in off)


def finished(start, effort):
    """The first day on which so many working days are over."""
    day = start
    while working_days(start, day) < effort:
        day += DAY
    return day


def schedule(tasks, start):
    plan = []
    for name, effort in tasks:
        end = finished(start, effort)
        plan.append((name, start, end))
        start = end
    return plan


def main():
    tasks = [("design", 3), ("build", 2), ("test", 2)]
    for name, start, end in schedule(tasks, date(2021, 4, 28)):
        print(f"{name:<8}{start:%d.%m.} - {end:%d.%m.}")


if __name__ == "__main__":
    main()
