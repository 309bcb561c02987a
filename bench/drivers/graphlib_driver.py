from graphlib import CycleError, TopologicalSorter

plan = {"app": {"core", "ui"}, "ui": {"core", "theme"}, "core": {"base"}, "theme": set()}
print(sorted(TopologicalSorter(plan).static_order(), key=len)[:2])
sorter = TopologicalSorter()
for target, *needs in (("d", "b", "c"), ("b", "a"), ("c", "a"), ("e",)):
    sorter.add(target, *needs)
sorter.prepare()
rounds = []
while sorter.is_active():
    ready = sorted(sorter.get_ready())
    rounds.append(ready)
    sorter.done(*ready)
print(rounds, bool(sorter))
for step in (lambda: sorter.done("z"), lambda: sorter.done("a"), lambda: sorter.add("x"), sorter.prepare):
    try:
        step()
    except ValueError as problem:
        print(problem)
try:
    TopologicalSorter({"a": ["b"], "b": ["c"], "c": ["a"], "x": ["a"]}).prepare()
except CycleError as problem:
    print(problem.args[0], sorted(set(problem.args[1])))
