"""A store whose changes are kept all or not at all."""


class Store:
    def __init__(self):
        self.data = {}
        self.log = []

    def put(self, key, value):
        if value < 0:
            raise ValueError(f"{key} would be {value}")
        self.data[key] = value

    def get(self, key):
        return self.data.get(key, 0)


class Transaction:
    def __init__(self, store, name):
        self.store = store
        self.name = name
        self.before = None

    def __enter__(self):
        self.before = dict(self.store.data)
        return self.store

    def __exit__(self, kind, error, trace):
        if kind is None:
            self.store.log.append(f"{self.name}: done")
            return False
        if self.before:
            self.store.data = self.before
        self.store.log.append(f"{self.name}: {error}")
        return issubclass(kind, ValueError)


def move(store, source, target, amount):
    store.put(target, store.get(target) + amount)
    store.put(source, store.get(source) - amount)


def fill(store, stock):
    for key, value in stock:
        store.put(key, value)


def run(store, steps):
    for name, action, *args in steps:
        with Transaction(store, name) as open_store:
            action(open_store, *args)


def main():
    store = Store()
    run(store, [
        ("load", fill, [("shelf", 5), ("cellar", -1)]),
        ("again", fill, [("cellar", 8)]),
        ("up", move, "cellar", "shelf", 3),
        ("down", move, "shelf", "attic", 9),
    ])
    for key in sorted(store.data):
        print(f"{key:<8}{store.data[key]}")
    print("\n".join(store.log))


if __name__ == "__main__":
    main()
