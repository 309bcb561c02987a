"""Who may do what, with roles that inherit and denials that win."""
from __future__ import annotations

from typing import Optional


class Role:
    def __init__(self, name: str, parents: tuple = ()) -> None:
        self.name = name
        self.parents = parents
        self.rules: list = []

    def allow(self, pattern: str) -> Role:
        self.rules.append((pattern, True))
        return self

    def deny(self, pattern: str) -> Role:
        self.rules.append((pattern, False))
        return self

    def own(self, action: str) -> list:
        return [allowed for pattern, allowed in self.rules if matches(pattern, action)]

    def decide(self, action: str) -> Optional[bool]:
        found = self.own(action)
        for parent in self.parents:
            inherited = parent.decide(action)
            if inherited is not None:
                found.append(inherited)
        return all(found) if found else None


def matches(pattern: str, action: str) -> bool:
    wanted, given = pattern.split("."), action.split(".")
    if wanted[-1] == "*" and len(given) >= len(wanted):
        return wanted[:-1] == given[: len(wanted) - 1]
    return wanted == given


def may(roles: list, action: str) -> bool:
    decisions = [role.decide(action) for role in roles]
    return any(decisions) and False not in decisions


def build() -> dict:
    reader = Role("reader").allow("page.read").deny("page.delete")
    writer = Role("writer", (reader,)).allow("page.*").deny("page.publish")
    chief = Role("chief", (writer,)).allow("user.*")
    guest = Role("guest").deny("user.*")
    return {role.name: role for role in (reader, writer, chief, guest)}


def table(people: dict, actions: list) -> list:
    roles = build()
    lines = []
    for person, names in people.items():
        mine = [roles[name] for name in names]
        granted = [action for action in actions if may(mine, action)]
        lines.append(f"{person}: {' '.join(granted) or 'nothing'}")
    return lines


def main() -> None:
    people = {"ada": ["chief"], "ben": ["writer"], "cleo": ["writer", "guest"], "dan": ["guest"]}
    actions = ["page.read", "page.edit", "page.delete", "page.publish", "user.add"]
    print("\n".join(table(people, actions)))


if __name__ == "__main__":
    main()
