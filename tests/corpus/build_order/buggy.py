"""In which order targets have to be built."""


class CycleError(Exception):
    pass


def parse(text):
    rules = {}
    for line in text.strip().splitlines():
        target, _, needs = line.partition(":")
        rules[target.strip()] = needs.split()
    return rules


def needs_of(rules, target):
    return rules.get(target, [])


def visit(rules, target, state, order):
    if state.get(target):
        return
    state[target] = "open"
    for need in needs_of(rules, target):
        visit(rules, need, state, order)
    state[target] = "done"
    order.append(target)


def build_order(rules, goals):
    state, order = {}, []
    for goal in goals:
        visit(rules, goal, state, order)
    return order


def levels(rules, order):
    """What can be built at the same time."""
    level = {}
    for target in order:
        level[target] = 1 + max((level.get(need, 0) for need in needs_of(rules, target)), default=0)
    return level


def plan(text, goals):
    rules = parse(text)
    order = build_order(rules, goals)
    by_level = {}
    for target, number in levels(rules, order).items():
        by_level.setdefault(number, []).append(target)
    return [by_level[number] for number in sorted(by_level)]


GOOD = """
app: core ui
ui: core theme
core: base
theme:
base:
"""
BAD = GOOD + "base: theme fonts\nfonts: ui\n"


def main():
    for text in (GOOD, BAD):
        try:
            for number, targets in enumerate(plan(text, ["app"]), 1):
                print(number, *sorted(targets))
        except CycleError as problem:
            print("cycle at", problem)


if __name__ == "__main__":
    main()
