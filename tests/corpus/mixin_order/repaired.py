"""Channels for messages, put together from small classes."""


class Channel:
    def __init__(self):
        self.sent = []

    def send(self, message):
        self.sent.append(message)
        return len(message)


class Stamped(Channel):
    number = 0

    def send(self, message):
        self.number += 1
        return super().send(f"#{self.number} {message}")


class Counted(Channel):
    def __init__(self):
        super().__init__()
        self.counts = {}

    def send(self, message):
        kind = kind_of(message)
        self.counts[kind] = self.counts.get(kind, 0) + 1
        return super().send(message)


class Limited(Channel):
    most = 24

    def send(self, message):
        if len(message) > self.most:
            message = message[: self.most - 3] + "..."
        return super().send(message)


class Mail(Counted, Limited, Stamped):
    pass


class Pager(Limited, Counted):
    most = 12


def kind_of(message):
    return "urgent" if message.endswith("!") else "plain"


def deliver(channel, messages):
    return sum(channel.send(message) for message in messages)


def summary(channel, size):
    name = type(channel).__name__
    return [f"{name} {size} {channel.counts}", *(f"  {text}" for text in channel.sent)]


def main():
    messages = ["hello", "the water is rising in the yard!", "come", "now!"]
    for channel in (Mail(), Pager()):
        size = deliver(channel, messages)
        print("\n".join(summary(channel, size)))


if __name__ == "__main__":
    main()
