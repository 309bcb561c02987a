"""What a picture of a large run costs the server, and how much it sends.

    python bench/web.py [--largest 10000000]

For trees of 10^5 … 10^7 calls in the shapes of `bench/search.py`: the milliseconds of the first
picture after an answer (which sums up all suspects once), of zoom steps, and of a search; the boxes
and the bytes of a picture 1,920 pixels wide and 60 rows high; and what is held for it at most,
beside the tree.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from search import SHAPES

from whence.model.verdict import Answer, Verdict
from whence.session import events
from whence.session.engine import apply
from whence.session.state import State
from whence.ui.web.layouts import Layouts
from whence.ui.web.pictures import Pictures

PIXELS = 1920
ZOOMS = 25
ROWS = 60


def seconds(work: Callable[[], object]) -> tuple[float, object]:
    """How much processor time a piece of work takes, and what comes of it."""
    begin = time.process_time()
    result = work()
    return time.process_time() - begin, result


def measure(shape: str, count: int) -> list[str]:
    """One row of the table."""
    tree = SHAPES[shape](count, np.random.default_rng(1))
    state = apply(State(tree), events.Answered((Answer(count // 2, Verdict.RIGHT),)))
    state.space()
    parameters = {"pixels": PIXELS, "rows": ROWS}
    tracemalloc.start()
    for width in ("calls", "suspicion"):
        Pictures(Layouts(state), 1).picture({**parameters, "width": width})
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    pictures = Pictures(Layouts(state), 1)
    for width in ("calls", "suspicion"):
        first, picture = seconds(lambda: pictures.picture({**parameters, "width": width}))  # noqa: B023
        if width == "calls":
            first_calls = first
    text, whole = json.dumps(picture), picture
    assert isinstance(whole, dict)
    again, _ = seconds(lambda: pictures.picture(parameters))
    random = np.random.default_rng(2)
    steps = []
    node = 0
    for _ in range(ZOOMS):
        took, shown = seconds(lambda: pictures.picture({**parameters, "from": node}))  # noqa: B023
        steps.append(took)
        assert isinstance(shown, dict)
        ids = shown["boxes"]["id"]
        node = int(ids[int(random.integers(len(ids)))]) if len(ids) > 1 else 0
    found, _ = seconds(lambda: pictures.picture({**parameters, "find": "7"}))
    return [
        shape, f"{count:,}", f"{first_calls * 1e3:.0f}", f"{first * 1e3:.0f}",
        f"{again * 1e3:.0f}", f"{statistics.median(steps) * 1e3:.0f}", f"{max(steps) * 1e3:.0f}",
        f"{found * 1e3:.0f}", f"{len(whole['boxes']['id']):,}", f"{len(text) / 1024:,.0f}",
        f"{held / 2**20:,.0f}",
    ]  # fmt: skip


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--largest", type=int, default=10**7)
    given = options.parse_args()
    heads = [
        "shape", "calls", "first", "first, suspicion", "again", "zoom", "zoom at most", "search",
        "boxes", "KiB", "MiB held",
    ]  # fmt: skip
    print("| " + " | ".join(heads) + " |")
    print("|---" * len(heads) + "|")
    for shape in SHAPES:
        for power in (5, 6, 7):
            if 10**power <= given.largest:
                print("| " + " | ".join(measure(shape, 10**power)) + " |", flush=True)


if __name__ == "__main__":
    main()
