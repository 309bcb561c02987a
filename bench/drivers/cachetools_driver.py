import cachetools
from cachetools import FIFOCache, LFUCache, LRUCache, TLRUCache, TTLCache, cached, cachedmethod, keys

now = [0]
caches = {
    "fifo": FIFOCache(3), "lru": LRUCache(3), "lfu": LFUCache(3), "sized": LRUCache(7, getsizeof=len),
    "ttl": TTLCache(3, 5, timer=lambda: now[0]), "tlru": TLRUCache(3, lambda k, v, t: t + len(str(v)), timer=lambda: now[0]),
}
for name, cache in caches.items():
    for key, value in (("a", "11"), ("b", "2"), ("c", "333"), ("a", "4"), ("d", "55"), ("e", "6")):
        now[0] += 1
        try:
            cache[key] = value
        except ValueError as problem:
            print(problem)
        cache.get("a"), cache.get("b", None)
    print(name, sorted(cache), cache.currsize, cache.maxsize, "c" in cache, cache.pop("e", "gone"), cache.setdefault("z", "9"))
    print(cache.popitem(), len(cache), repr(cache)[:60])
    now[0] = 0 if name != "ttl" else now[0]
@cached(LRUCache(2), key=keys.typedkey)
def square(n, *more, **named):
    print("squared", n)
    return n * n
print(square(2), square(2.0), square(2), square(3, x=1), square(2))
class Shop:
    def __init__(self):
        self.cache = LRUCache(2)
    @cachedmethod(lambda self: self.cache)
    def price(self, name):
        print("asked", name)
        return len(name)
shop = Shop()
print(shop.price("tea"), shop.price("tea"), shop.price("soup"), shop.price("milk!"), shop.price("tea"))
print(keys.hashkey(1, a=2) == keys.hashkey(1, a=2), keys.methodkey(shop, 1), keys.hashkey(1) + keys.hashkey(2))
