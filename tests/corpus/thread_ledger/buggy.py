"""Payments of several tills, each in a thread of its own, one after another."""
import threading


class Till:
    FEE = 2

    def __init__(self, name, cash):
        self.name = name
        self.cash = cash
        self.refused = []
        self.lock = threading.Lock()

    def pay(self, who, amount):
        with self.lock:
            self.cash -= self.FEE
            if amount > self.cash:
                self.refused.append(who)
                return False
            self.cash -= amount
            return True

    def add(self, amount):
        with self.lock:
            self.cash += amount


def serve(till, orders):
    paid = 0
    for who, amount in orders:
        if amount < 0:
            till.add(-amount)
        elif till.pay(who, amount):
            paid += amount
    till.paid = paid


def in_thread(function, *args):
    thread = threading.Thread(target=function, args=args)
    thread.start()
    thread.join()


def split(orders, names):
    return {name: [(who, amount) for till, who, amount in orders if till == name] for name in names}


def balance(tills):
    return sum(till.cash for till in tills)


ORDERS = [
    ("a", "Eva", 30), ("b", "Tom", 80), ("a", "Jan", 70), ("b", "Ute", 25),
    ("a", "Mia", -50), ("a", "Jan", 66), ("b", "Tom", 15),
]


def main():
    tills = [Till("a", 90), Till("b", 110)]
    shares = split(ORDERS, [till.name for till in tills])
    for till in tills:
        in_thread(serve, till, shares[till.name])
    for till in tills:
        print(till.name, till.cash, till.paid, till.refused)
    print("left", balance(tills))


if __name__ == "__main__":
    main()
