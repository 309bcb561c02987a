"""A stock that is rebuilt from a log of events and snapshots."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Event:
    number: int
    kind: str
    article: str
    amount: int = 0


@dataclass(frozen=True)
class Snapshot:
    number: int
    stock: tuple


class Log:
    def __init__(self):
        self.events = []
        self.snapshots = []

    def append(self, kind, article, amount=0):
        event = Event(len(self.events) + 1, kind, article, amount)
        self.events.append(event)
        return event

    def events_after(self, number):
        return [event for event in self.events if event.number > number]

    def take_snapshot(self, stock):
        last = self.events[-1].number if self.events else 0
        self.snapshots.append(Snapshot(last, tuple(sorted(stock.items()))))


def apply(stock, event):
    changed = dict(stock)
    if event.kind == "arrived":
        changed[event.article] = changed.get(event.article, 0) + event.amount
    elif event.kind == "sold":
        changed[event.article] = changed.get(event.article, 0) - event.amount
    elif event.kind == "dropped":
        changed.pop(event.article, None)
    return changed


def replay(events, stock):
    for event in events:
        stock = apply(stock, event)
    return stock


def current(log):
    if not log.snapshots:
        return replay(log.events, {})
    last = log.snapshots[-1]
    return replay(log.events_after(last.number), dict(last.stock))


def load(log, text):
    for line in text.split(";"):
        kind, article, *amount = line.split()
        log.append(kind, article, *map(int, amount))
        if len(log.events) % 3 == 0:
            log.take_snapshot(current(log))


def main():
    log = Log()
    load(log, "arrived nails 100; arrived hooks 20; sold nails 30; sold hooks 5; "
              "arrived glue 4; sold glue 1; dropped hooks; arrived nails 10")
    print(current(log))
    print([snapshot.number for snapshot in log.snapshots])


if __name__ == "__main__":
    main()
