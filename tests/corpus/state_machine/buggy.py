"""A drinks machine, as a table of states and what happens in them."""

PRICES = {"tea": 120, "cocoa": 180, "soup": 200}


class Machine:
    def __init__(self):
        self.state = "idle"
        self.paid = 0
        self.choice = None
        self.out = []

    def handle(self, event):
        kind, _, value = event.partition(":")
        handler = getattr(self, f"on_{kind}")
        handler(value)
        return self.state

    def on_coin(self, value):
        self.paid += int(value)
        if self.state == "chosen":
            self.paid = int(value)
            self.try_to_pour()
        else:
            self.state = "paying"

    def on_choose(self, value):
        if value not in PRICES:
            self.out.append(f"no {value}")
            return
        self.choice = value
        self.state = "chosen"
        self.try_to_pour()

    def on_cancel(self, value):
        self.give_back(self.paid)
        self.reset()

    def try_to_pour(self):
        price = PRICES[self.choice]
        if self.paid >= price:
            self.out.append(self.choice)
            self.give_back(self.paid - price)
            self.reset()

    def give_back(self, amount):
        for coin in (100, 50, 20, 10):
            while amount >= coin:
                self.out.append(coin)
                amount -= coin

    def reset(self):
        self.state, self.paid, self.choice = "idle", 0, None


def play(events):
    machine = Machine()
    states = [machine.handle(event) for event in events.split()]
    return states, machine


def main():
    for events in (
        "coin:100 coin:50 choose:tea",
        "coin:100 choose:cocoa coin:100",
        "choose:milk coin:20 cancel",
        "choose:soup coin:100 coin:50 coin:50",
    ):
        states, machine = play(events)
        print(" ".join(states), "->", *machine.out)


if __name__ == "__main__":
    main()
