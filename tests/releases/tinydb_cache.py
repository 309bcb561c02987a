"""A cache whose entry is replaced."""

from tinydb.utils import LRUCache

prices = LRUCache(capacity=2)
prices["tea"] = 3
prices["coffee"] = 4
prices["tea"] = 5
prices["milk"] = 1
print({name: prices.get(name) for name in ("tea", "coffee", "milk")})
