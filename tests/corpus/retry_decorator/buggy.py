"""Fetches pages from a flaky source."""
import functools


class Flaky(Exception):
    pass


class Source:
    def __init__(self, failures):
        self.failures = dict(failures)
        self.asked = []

    def fetch(self, name):
        self.asked.append(name)
        if self.failures.get(name, 0) > 0:
            self.failures[name] -= 1
            raise Flaky(f"{name} is not there")
        return f"<p>{name}</p>"


def retried(times):
    def decorate(function):
        state = {"left": times}

        @functools.wraps(function)
        def wrapper(*args):
            while True:
                try:
                    return function(*args)
                except Flaky:
                    state["left"] -= 1
                    if state["left"] <= 0:
                        raise

        return wrapper

    return decorate


@retried(3)
def load(source, name):
    return source.fetch(name)


def text_of(page):
    return page.removeprefix("<p>").removesuffix("</p>")


def load_all(source, names):
    pages, lost = {}, []
    for name in names:
        try:
            pages[name] = text_of(load(source, name))
        except Flaky as problem:
            lost.append(str(problem))
    return pages, lost


def summary(pages, lost, source):
    return [", ".join(sorted(pages)), f"{len(source.asked)} asked", *lost]


def main():
    source = Source({"home": 1, "news": 2, "jobs": 3, "maps": 1})
    pages, lost = load_all(source, ["home", "about", "news", "jobs", "maps"])
    print("\n".join(summary(pages, lost, source)))


if __name__ == "__main__":
    main()
