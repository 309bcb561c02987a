"""Free time in a day, from the calendars of several people."""

DAY = (8 * 60, 18 * 60)


def minutes(text):
    hours, _, rest = text.partition(":")
    return int(hours) * 60 + int(rest)


def clock(number):
    return f"{number // 60:02}:{number % 60:02}"


def parse(calendar):
    found = []
    for entry in calendar.split(","):
        start, end = entry.strip().split("-")
        found.append((minutes(start), minutes(end)))
    return found


def merge(intervals):
    merged = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def clipped(interval, bounds):
    start, end = max(interval[0], bounds[0]), min(interval[1], bounds[1])
    return (start, end) if start < end else None


def gaps(busy, bounds):
    free, at = [], bounds[0]
    for start, end in busy:
        if start > at:
            free.append((at, start))
        at = max(at, end)
    if at < bounds[1]:
        free.append((at, bounds[1]))
    return free


def free_for_all(calendars, least):
    busy = []
    for calendar in calendars:
        for interval in parse(calendar):
            inside = clipped(interval, DAY)
            if inside is not None:
                busy.append(inside)
    return [gap for gap in gaps(merge(busy), DAY) if gap[1] - gap[0] >= least]


def main():
    calendars = [
        "9:00-12:00, 13:00-13:30, 17:00-19:00",
        "9:30-10:15, 13:15-14:00",
        "7:00-8:30, 10:30-11:00, 16:00-16:20",
    ]
    for start, end in free_for_all(calendars, least=30):
        print(clock(start), "-", clock(end))


if __name__ == "__main__":
    main()
