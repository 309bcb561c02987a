"""The quickest way through a network of footpaths."""
import heapq


def parse(text):
    graph = {}
    for line in text.strip().splitlines():
        ends, _, minutes = line.partition(":")
        a, b = ends.split("-")
        add(graph, a.strip(), b.strip(), int(minutes))
    return graph


def add(graph, a, b, minutes):
    graph.setdefault(a, {})[b] = minutes
    graph.setdefault(b, {})[a] = minutes


def neighbours(graph, place):
    return sorted(graph[place].items())


def search(graph, start):
    """For each place the time and the place before it."""
    best = {start: (0, None)}
    queue = [(0, start)]
    while queue:
        time, place = heapq.heappop(queue)
        for other, minutes in neighbours(graph, place):
            if other not in best or time + minutes < best[other][0]:
                best[other] = (time + minutes, place)
                heapq.heappush(queue, (time + minutes, other))
    return best


def way(best, goal):
    places = []
    while goal is not None:
        places.append(goal)
        goal = best[goal][1]
    return places[::-1]


def route(graph, start, goal):
    best = search(graph, start)
    if goal not in best:
        return None
    return best[goal][0], way(best, goal)


def describe(found):
    if found is None:
        return "no way"
    minutes, places = found
    return f"{minutes} min: {' > '.join(places)}"


PATHS = """
gate - well: 9
gate - mill: 4
mill - well: 3
well - barn: 2
mill - barn: 8
barn - oak: 6
isle - reed: 1
"""


def main():
    graph = parse(PATHS)
    for start, goal in (("gate", "barn"), ("oak", "gate"), ("gate", "isle")):
        print(describe(route(graph, start, goal)))


if __name__ == "__main__":
    main()
