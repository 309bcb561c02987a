"""Chooses which releases of packages to install."""
from dataclasses import dataclass, field


@dataclass(frozen=True, order=True)
class Version:
    parts: tuple = ()
    label: str = field(default="", compare=False)

    def __str__(self):
        return ".".join(map(str, self.parts)) + self.label


@dataclass
class Package:
    name: str
    releases: list = field(default_factory=list)

    def newest(self, below=None):
        fitting = [each for each in self.releases if below is None or each < below]
        return max(fitting, default=None)


def parse_version(text):
    number, sign, label = text.strip().partition("-")
    parts = tuple(number.split("."))
    return Version(parts, sign + label)


def parse_package(line):
    name, _, rest = line.partition(":")
    return Package(name.strip(), [parse_version(each) for each in rest.split(",")])


def parse_wishes(text):
    wishes = {}
    for wish in text.split():
        name, _, limit = wish.partition("<")
        wishes[name] = parse_version(limit) if limit else None
    return wishes


def choose(packages, wishes):
    chosen = {}
    for name, limit in wishes.items():
        found = packages[name].newest(limit)
        if found is None:
            raise LookupError(f"no {name} below {limit}")
        chosen[name] = found
    return chosen


INDEX = """
yarn: 1.2, 1.9.4, 1.10, 1.9.12-beta
wool: 0.8, 2.0, 0.11
felt: 3.1, 3.0.5
"""


def main():
    packages = {each.name: each for each in map(parse_package, INDEX.strip().splitlines())}
    for wishes in ("yarn wool<1", "felt<3.1 yarn<1.10"):
        chosen = choose(packages, parse_wishes(wishes))
        print(wishes, "->", ", ".join(f"{name} {version}" for name, version in chosen.items()))


if __name__ == "__main__":
    main()
