"""Gives rooms to meetings, the smallest that fits first."""


class Room:
    def __init__(self, name, seats):
        self.name = name
        self.seats = seats
        self.taken = []

    def is_free(self, start, end):
        return all(end <= s or start >= e for s, e, _ in self.taken)

    def take(self, start, end, title):
        self.taken.append((start, end, title))
        self.taken.sort()


class Meeting:
    def __init__(self, title, start, length, people):
        self.title = title
        self.start = start
        self.end = start + length
        self.people = people


def parse(line):
    title, start, length, people = (part.strip() for part in line.split(","))
    return Meeting(title, int(start), int(length), int(people))


def fitting(rooms, meeting):
    large_enough = [room for room in rooms if room.seats >= meeting.people]
    return [room for room in large_enough if room.is_free(meeting.start, meeting.end)]


def assign(rooms, meetings):
    placed, homeless = {}, []
    for meeting in sorted(meetings, key=lambda each: (each.start, -each.people)):
        choices = fitting(rooms, meeting)
        if not choices:
            homeless.append(meeting.title)
            continue
        room = min(choices, key=lambda each: each.seats)
        room.take(meeting.start, meeting.end, meeting.title)
        placed[meeting.title] = room.name
    return placed, homeless


LINES = """
standup, 9, 1, 6
board, 9, 2, 10
review, 10, 1, 5
sales, 11, 1, 9
lunch, 12, 1, 12
"""


def main():
    rooms = [Room("birch", 6), Room("oak", 12)]
    placed, homeless = assign(rooms, map(parse, LINES.strip().splitlines()))
    for title, room in placed.items():
        print(f"{title:<9}{room}")
    print("without a room:", *homeless or ["nobody"])


if __name__ == "__main__":
    main()
