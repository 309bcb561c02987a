"""Real bugs of public projects, built from PyPI: located, with how many questions, ranked where.

    python bench/bugsinpy.py --mode rank [--bugs tqdm_9,black_7] [--limit 10] [--write FILE]

The bugs are those of BugsInPy that `bench/data/bugsinpy` lists. Each is built once in a cache
folder: the buggy tree, the fixed tree, and an environment with the packages that its tests need.
Modes: `rank` lists functions by suspicion, without an answer; `reference` lets the fixed tree judge
calls; `person` lets it answer as a truthful person would, each answer counted; `verify` checks that
the test fails on the buggy tree and passes on the fixed one.

A diagnosis, or an entry of a ranking, is right if it names a function, class or module that the fix
changed or removed. A class or module counts where the fix only added to it.

The results of `rank` hold the facts about each function; the table weighs them as this checkout
does, so that a change of a weight needs no new run.

What came of each bug is appended to the results at once, with the mode and the version of whence: a
run that was cut off goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from bugsinpy_trees import Bug, Built, Cache, CannotBuild, bugs, published

from whence.langs.python.witnesses.evidence import Evidence, Place
from whence.langs.python.witnesses.suspicion import terms

BEGIN = "<!-- begin: written by `python bench/bugsinpy.py --mode rank --write docs/ranking.md` -->"
END = "<!-- end -->"
RESULTS = Path(__file__).parent / "results" / "bugsinpy.jsonl"
CACHE = Path.home() / ".cache" / "whence-bugsinpy"
MODES = ("rank", "reference", "person", "verify")
TOPS = (1, 3, 5, 10)
_PERSON = Path(__file__).parent / "bugsinpy_person.py"
_COVERAGE = "--cov"
_TESTED = 1
"""The status of pytest if a test failed."""


@dataclass(frozen=True)
class Result:
    """What came of one bug in one mode."""

    bug: str
    mode: str
    seconds: float
    functions: tuple[tuple[str, str, dict[str, Any]], ...] = ()
    """`rank`: the file, the name and the facts of each function."""
    witnesses: int = 0
    located: bool = False
    blamed: str = ""
    asked: int = 0
    unknown: int = 0
    problem: str = ""


# --- one bug -------------------------------------------------------------------------------------


def is_right(bug: Bug, file: str, qualname: str) -> bool:
    """Whether a function, class or module is one that the fix changed or removed."""
    name = qualname.replace(".<locals>", "")
    return any(
        changed.how != "added"
        and name == changed.qualname
        and (file == changed.file or file.endswith(f"/{changed.file}"))
        for changed in bug.truth
    )


def tried(built: Built, mode: str, options: argparse.Namespace) -> Result:
    """What comes of a bug."""
    run = {"rank": _ranked, "reference": _judged, "person": _answered, "verify": _verified}[mode]
    began = time.monotonic()
    try:
        told = run(built, options)
    except subprocess.TimeoutExpired:
        told = {"problem": f"it took longer than {options.seconds} seconds"}
    except (ValueError, KeyError, OSError) as problem:
        told = {"problem": f"{type(problem).__name__}: {problem}"}
    return Result(built.bug.id, mode, round(time.monotonic() - began, 2), **told)


def _pytest_options(tree: Path) -> list[str]:
    """Options for trees whose own options need a plugin for coverage."""
    for name in ("setup.cfg", "tox.ini", "pytest.ini"):
        file = tree / name
        if file.exists() and _COVERAGE in file.read_text(errors="replace"):
            return ["-o", "addopts="]
    return []


def _whence(
    built: Built, options: argparse.Namespace, *words: str
) -> tuple[dict[str, Any] | None, str]:
    """The report of `whence test`, and its last words if there is none."""
    report = built.buggy.parent / "report.json"
    report.unlink(missing_ok=True)
    command = [
        str(built.python), "-m", "whence", "test", "--format", "json", "-o", str(report), *words,
        "--", *_pytest_options(built.buggy), built.bug.test,
    ]  # fmt: skip
    done = subprocess.run(
        command, cwd=built.buggy, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=options.seconds, check=False,
    )  # fmt: skip
    if not report.exists():
        return None, (done.stdout + done.stderr).strip()[-300:]
    told: dict[str, Any] = json.loads(report.read_text())
    return told, ""


def _ranked(built: Built, options: argparse.Namespace) -> dict[str, Any]:
    words = ["--rank", "--rank-seconds", str(options.rank_seconds)]
    report, problem = _whence(built, options, *words)
    if report is None:
        return {"problem": problem}
    functions = tuple(
        (entry["file"], entry["function"], entry["facts"]) for entry in report["functions"]
    )
    return {"functions": functions, "witnesses": report["witnesses"]}


def rank_of(result: Result, bug: Bug) -> int | None:
    """Where the first function that the fix changed is, by the weights of this checkout."""
    scored = []
    for file, qualname, facts in result.functions:
        evidence = Evidence(Place(file, qualname), **facts)
        scored.append((-sum(terms(evidence).values()), evidence.place))
    for number, (_, place) in enumerate(sorted(scored), start=1):
        if is_right(bug, place.file, place.qualname):
            return number
    return None


def _judged(built: Built, options: argparse.Namespace) -> dict[str, Any]:
    report, problem = _whence(built, options, "--reference", str(built.fixed), "--no-session")
    if report is None:
        return {"problem": problem}
    fault = report.get("at_fault") or {}
    blamed, file = str(fault.get("qualname") or ""), str(fault.get("file") or "")
    return {
        "located": bool(blamed) and is_right(built.bug, file, blamed),
        "blamed": f"{file.rpartition('/')[2]}::{blamed}" if blamed else "",
        "problem": "" if fault else str(report.get("reason", ""))[:300],
    }


def _answered(built: Built, options: argparse.Namespace) -> dict[str, Any]:
    command = [str(built.python), "-m", "pytest", "-q", "--whence", *_pytest_options(built.buggy)]
    runs = built.buggy / ".whence" / "runs"
    before = set(runs.glob("*.whence"))
    subprocess.run(
        [*command, built.bug.test], cwd=built.buggy, stdin=subprocess.DEVNULL, capture_output=True,
        timeout=options.seconds, check=False,
    )  # fmt: skip
    new = sorted(set(runs.glob("*.whence")) - before)
    if not new:
        return {"problem": "the test was not recorded"}
    done = subprocess.run(
        [str(built.python), str(_PERSON), str(new[0]), str(built.fixed)], cwd=built.buggy,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=options.seconds,
        check=False,
    )  # fmt: skip
    new[0].unlink(missing_ok=True)
    if done.returncode:
        return {"problem": done.stderr.strip()[-300:]}
    told = json.loads(done.stdout.strip().rpartition("\n")[2])
    file, _, blamed = told["blamed"].rpartition("::")
    return {
        "located": bool(blamed) and is_right(built.bug, file, blamed),
        "blamed": told["blamed"].rpartition("/")[2], "asked": told["asked"],
        "unknown": told["unknown"], "problem": "" if blamed else told["why"][:300],
    }  # fmt: skip


def _verified(built: Built, options: argparse.Namespace) -> dict[str, Any]:
    statuses = []
    for tree in (built.buggy, built.fixed):
        command = [str(built.python), "-m", "pytest", "-q", *_pytest_options(tree), built.bug.test]
        done = subprocess.run(
            command, cwd=tree, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=options.seconds, check=False,
        )  # fmt: skip
        statuses.append(done.returncode)
    fine = statuses == [_TESTED, 0]
    problem = f"pytest ended with {statuses[0]} (buggy) and {statuses[1]} (fixed)"
    return {"located": fine, "problem": "" if fine else problem}


# --- many of them --------------------------------------------------------------------------------


def read(path: Path) -> list[Result]:
    """The results so far; a line that was cut off is passed over."""
    results = []
    for text in path.read_text().splitlines() if path.exists() else ():
        try:
            results.append(Result(**json.loads(text)))
        except (ValueError, TypeError):
            continue
    return results


def chosen(options: argparse.Namespace) -> list[Bug]:
    """The bugs that the options name."""
    every = bugs()
    if options.bugs:
        names = options.bugs.split(",")
        unknown = set(names) - {bug.id for bug in every}
        if unknown:
            sys.exit(f"no bug is called {', '.join(sorted(unknown))}")
        every = [bug for bug in every if bug.id in names]
    if options.half:
        every = [bug for bug in every if bug.is_held_out == (options.half == "held-out")]
    wanted: list[Bug] = every[: options.limit]
    return wanted


def run(options: argparse.Namespace, say: Callable[[str], None]) -> list[Result]:
    """Try the bugs of which nothing is known yet; returns what is known of all."""
    cache, wanted = Cache(options.cache), chosen(options)
    options.results.parent.mkdir(parents=True, exist_ok=True)
    known = {(result.bug, result.mode): result for result in read(options.results)}
    with options.results.open("a") as results:
        for bug in wanted:
            if (bug.id, options.mode) in known:
                continue
            try:
                result = tried(cache.built(bug), options.mode, options)
            except CannotBuild as problem:
                result = Result(bug.id, options.mode, 0.0, problem=f"not built: {problem}")
            results.write(json.dumps(asdict(result)) + "\n")
            results.flush()
            known[bug.id, options.mode] = result
            say(f"{result.seconds:7.1f} {bug.id:18} {_said(result)}")
    return [known[bug.id, options.mode] for bug in wanted]


def _said(result: Result) -> str:
    if result.problem and not result.located:
        return f"- {result.problem.splitlines()[-1][:110]}"
    if result.mode == "rank":
        bug = next(bug for bug in bugs() if bug.id == result.bug)
        of = f"{len(result.functions)}, {result.witnesses} witnesses"
        return f"rank {rank_of(result, bug)} of {of}"
    asked = f", {result.asked} questions" if result.mode == "person" else ""
    return f"{'right' if result.located else 'WRONG'} {result.blamed}{asked}"


# --- the table -----------------------------------------------------------------------------------


def tops(ranks: Sequence[float | None]) -> list[str]:
    """In how many of a hundred the rank is at most 1, 3, 5 and 10."""
    if not ranks:
        return ["-"] * len(TOPS)
    return [
        f"{100 * sum(rank is not None and rank <= top for rank in ranks) / len(ranks):.0f}"
        for top in TOPS
    ]


def rank_table(results: Iterable[Result]) -> str:
    """Rank by rank beside what others reach on the same bugs."""
    known = {result.bug: result for result in results}
    others = published()
    every = {bug.id: bug for bug in bugs()}
    held_out = {name for name, bug in every.items() if bug.is_held_out}
    fauxpy = [name for name in known if (others.get(name) or {}).get("fauxpy")]
    autofl = [name for name in known if (others.get(name) or {}).get("autofl")]
    ours = {name: rank_of(result, every[name]) for name, result in known.items()}
    rows = [
        _row("whence, development half", [ours[name] for name in known if name not in held_out]),
        _row("whence, held-out half", [ours[name] for name in known if name in held_out]),
        _row("whence", list(ours.values())),
    ]
    if fauxpy:
        rows.append(_row("whence, where FauxPy is published", [ours[name] for name in fauxpy]))
        held = [ours[name] for name in fauxpy if name in held_out]
        rows.append(_row("- of these, held-out half", held))
    for technique, label in _TECHNIQUES if fauxpy else ():
        rows.append(_row(label, [others[name]["fauxpy"].get(technique) for name in fauxpy]))
    if autofl:
        rows.append(_row("whence, where AutoFL is published", [ours[name] for name in autofl]))
        held = [ours[name] for name in autofl if name in held_out]
        rows.append(_row("- of these, held-out half", held))
        rows.append(_row("AutoFL, GPT-4", [others[name]["autofl"].get("gpt4") for name in autofl]))
    seconds = statistics.median(result.seconds for result in known.values())
    failed = [result for result in known.values() if not result.functions]
    text = _table(("", "bugs", *(f"top {top}" for top in TOPS)), rows)
    text += f"\n\nMedian: {seconds:.0f} seconds a bug."
    if failed:
        names = ", ".join(sorted(result.bug for result in failed))
        text += f" Without a ranking: {len(failed)} ({names}); they count as not found."
    return text


_TECHNIQUES = (
    ("Ochiai", "Ochiai (FauxPy)"),
    ("DStar", "DStar (FauxPy)"),
    ("ST", "stack trace (FauxPy)"),
    ("Metallaxis", "Metallaxis, mutants (FauxPy)"),
    ("AvgAlfa", "best combination, with mutants (FauxPy)"),
)


def located_table(results: Sequence[Result]) -> str:
    """How many were located, and within how many questions."""
    located = [result for result in results if result.located]
    wrong = [result for result in results if result.blamed and not result.located]
    seconds = statistics.median(result.seconds for result in results)
    row = [f"{len(results)}", f"{len(located)}", f"{len(wrong)}"]
    row += [
        f"{sum(result.asked <= top for result in located)}" for top in TOPS
    ]  # fmt: skip
    header = ("bugs", "located", "another blamed", *(f"within {top}" for top in TOPS), "median s")
    return _table(header, [[*row, f"{seconds:.0f}"]])


def _row(name: str, ranks: Sequence[float | None]) -> list[str]:
    return [name, str(len(ranks)), *tops(ranks)]


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def main(words: Sequence[str] | None = None, say: Callable[[str], None] = print) -> int:
    """Run the bench."""
    parser = argparse.ArgumentParser(prog="bench/bugsinpy.py", description=__doc__.split("\n")[0])
    parser.add_argument("--mode", choices=MODES, default="rank")
    parser.add_argument("--bugs", default="", metavar="A,B", help="only these")
    parser.add_argument("--half", choices=("development", "held-out"), help="only this half")
    parser.add_argument("--limit", type=int, default=None, metavar="N", help="only the first N")
    parser.add_argument("--seconds", type=int, default=600, help="that a bug may take")
    parser.add_argument("--rank-seconds", type=float, default=10.0, help="of whence test --rank")
    parser.add_argument("--cache", type=Path, default=CACHE, metavar="FOLDER")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FILE")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the table into FILE")
    options = parser.parse_args(words)
    results = run(options, say)
    if not results:
        sys.exit("no bug was chosen")
    text = rank_table(results) if options.mode == "rank" else located_table(results)
    if options.write:
        before, _, rest = options.write.read_text().partition(BEGIN)
        options.write.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.partition(END)[2]}")
    say(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
