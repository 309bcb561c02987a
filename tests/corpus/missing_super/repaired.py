"""A few accounts and what happened to them."""


class Account:
    def __init__(self, owner, balance=0):
        self.owner = owner
        self.balance = balance
        self.history = [("open", balance)]

    def deposit(self, amount):
        if amount <= 0:
            raise ValueError("a deposit must be positive")
        self.balance += amount
        self.note("in", amount)

    def withdraw(self, amount):
        if amount > self.limit():
            raise ValueError(f"{self.owner} has only {self.limit()}")
        self.balance -= amount
        self.note("out", amount)

    def limit(self):
        return self.balance

    def note(self, kind, amount):
        self.history.append((kind, amount))


class Giro(Account):
    def limit(self):
        return self.balance + 500


class Savings(Account):
    def __init__(self, owner, balance=0, rate=2):
        super().__init__(owner, balance)
        self.rate = rate

    def add_interest(self):
        interest = self.balance * self.rate // 100
        self.deposit(interest)
        return interest


def transfer(source, target, amount):
    source.withdraw(amount)
    target.deposit(amount)


def run(accounts, orders):
    for source, target, amount in orders:
        try:
            transfer(accounts[source], accounts[target], amount)
        except ValueError as problem:
            print("refused:", problem)


def statement(account):
    moves = " ".join(f"{kind}:{amount}" for kind, amount in account.history)
    return f"{account.owner:<6}{account.balance:>7}  {moves}"


def main():
    accounts = {"a": Giro("Ada", 100), "b": Savings("Bob", 900, rate=3), "c": Giro("Cy")}
    run(accounts, [("a", "c", 550), ("c", "a", 2000), ("a", "b", 20)])
    accounts["b"].add_interest()
    for account in accounts.values():
        print(statement(account))


if __name__ == "__main__":
    main()
