"""Nothing but calls: what a call costs shows undiluted."""


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def run():
    return fib(26)
