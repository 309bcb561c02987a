from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from recorded import BACKENDS, record

from whence.errors import WhenceError
from whence.langs.python.priors.learned_prior import LearnedPrior
from whence.langs.python.priors.learned_store import FILE, LearnedStore, Spectrum
from whence.langs.python.priors.learner import Learner
from whence.langs.python.trace.trace_reader import open_trace


def ran(*names: str) -> dict[str, str | None]:
    return dict.fromkeys(names)


@pytest.fixture
def learned(tmp_path: Path) -> Iterator[LearnedStore]:
    opened = LearnedStore(tmp_path / FILE)
    yield opened
    opened.close()


def test_functions_are_counted_by_how_their_tests_ended(learned: LearnedStore) -> None:
    learned.learn("t1", True, ran("shop.total", "shop.price"), [])
    learned.learn("t2", True, ran("shop.price"), [])
    learned.learn("t3", False, ran("shop.total"), [])
    assert learned.spectra("") == {"shop.total": Spectrum(1, 1), "shop.price": Spectrum(2, 0)}
    assert learned.spectra("t3") == {"shop.total": Spectrum(1, 0), "shop.price": Spectrum(2, 0)}
    assert (learned.failing(""), learned.failing("t3")) == (1, 0)


def test_a_test_that_is_learned_again_replaces_what_was_known_of_it(learned: LearnedStore) -> None:
    learned.learn("t1", True, ran("shop.total"), ["aa"])
    learned.learn("t1", False, ran("shop.price"), [])
    assert learned.spectra("") == {"shop.price": Spectrum(0, 1)}
    assert learned.seen(["aa"]) == set()


def test_equations_count_only_where_a_passing_test_had_them(learned: LearnedStore) -> None:
    learned.learn("t1", True, {}, ["aa", "bb"])
    learned.learn("t2", False, {}, ["cc"])
    assert learned.seen(["aa", "cc", "dd"]) == {"aa"}
    many = [f"{number:x}" for number in range(2000)]
    learned.learn("t3", True, {}, many)
    assert learned.seen(many) == set(many)


def test_the_file_is_bounded(learned: LearnedStore) -> None:
    for number in range(10):
        learned.learn(f"t{number}", True, ran("f"), [f"{number}a", f"{number}b"])
    learned.trim(tests=5, equations=4)
    assert learned.spectra("") == {"f": Spectrum(5, 0)}
    assert learned.amount().equations == 4
    assert learned.seen(["9a", "0a"]) == {"9a"}


def test_a_file_that_is_none_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / FILE
    path.write_bytes(b"no database" * 100)
    with pytest.raises(WhenceError, match="remove it and learn again"):
        LearnedStore(path)


PROGRAM = """
def price(item):
    return item * 2

def total(items):
    return sum(price(each) for each in items)

def tax(amount):
    return amount + 1

def test():
    {test}

test()
"""


def recording(folder: Path, name: str, test: str) -> Path:
    before = set(folder.glob("*.whence"))
    record(PROGRAM.format(test=test), folder, BACKENDS[0], name="shop")
    (new,) = set(folder.glob("*.whence")) - before
    return new.rename(folder / f"{name}.whence")


def test_what_ran_and_was_right_in_passing_tests_is_less_likely(tmp_path: Path) -> None:
    project, runs = tmp_path / "project", tmp_path / "runs"
    project.mkdir()
    runs.mkdir()
    told = []
    for number in range(3):
        path = recording(runs, f"passed{number}", f"assert total([{number}, 5]) >= 0")
        told.append({"test": f"t{number}", "file": path.name, "passed": True})
    (runs / "1.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in told))
    learner = Learner(runs, project)
    place = learner.path
    assert learner.waiting == 3
    while learner.step():
        pass
    amount = learner.finish()
    assert not list(runs.glob("*.whence")), "what was read is removed"
    assert (amount.passing, amount.failing) == (3, 0)
    assert amount.equations >= 5  # price of 0, 1, 2 and 5, and three times total
    tree = open_trace(recording(tmp_path, "failed", "assert total([5, 7]) != tax(3)"))
    factors = LearnedPrior(place).factors(tree)
    by_call = {
        tree.call(position).left(): float(factors[position])
        for position in range(len(tree.columns))
    }
    assert by_call["tax(amount=3)"] > by_call["price(item=7)"] > by_call["price(item=5)"] > 0
    assert by_call["total(items=[5, 7])"] == by_call["price(item=7)"] == pytest.approx(0.5)
    assert np.all(factors > 0)


def test_lists_are_read_as_they_grow_and_a_recording_that_is_none_is_passed_over(
    tmp_path: Path,
) -> None:
    learner = Learner(tmp_path, tmp_path)
    assert not learner.step()
    (tmp_path / "1.jsonl").write_text('{"test": "t1", "file": "1.whence", "pas')
    assert not learner.step()
    with (tmp_path / "1.jsonl").open("a") as stream:
        stream.write('sed": true}\n')
    assert learner.waiting == 1
    (tmp_path / "1.whence").write_text("no trace")
    assert learner.step()
    assert not learner.step()
    assert learner.finish().passing == 0


def test_what_was_learned_is_kept_when_it_is_stopped_and_no_test_by_half(
    tmp_path: Path,
) -> None:
    learned = LearnedStore(tmp_path / FILE)
    learned.learn("t1", True, ran("f"), ["aa"])

    def stopped() -> Iterator[str]:
        yield "bb"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learned.learn("t2", True, ran("f"), stopped())
    learned.close()
    again = LearnedStore(tmp_path / FILE)
    assert again.spectra("") == {"f": Spectrum(1, 0)}
    assert again.seen(["aa", "bb"]) == {"aa"}
    again.close()


def test_a_function_changed_since_its_tests_passed_is_the_likeliest(tmp_path: Path) -> None:
    project, runs = tmp_path / "project", tmp_path / "runs"
    project.mkdir()
    runs.mkdir()
    path = recording(runs, "passed", "assert tax(total([2, 5])) == 15")
    told = {"test": "shop", "file": path.name, "passed": True}
    (runs / "1.jsonl").write_text(f"{json.dumps(told)}\n")
    learner = Learner(runs, project)
    assert learner.step()
    learner.finish()

    def factors(change: tuple[str, str], has_passed: bool = False) -> dict[str, float]:
        source = PROGRAM.format(test="assert tax(total([3, 5]))").replace(*change)
        record(source, tmp_path, BACKENDS[0], name="shop")
        (new,) = tmp_path.glob("*.whence")
        tree = open_trace(new.rename(tmp_path / "failed"))
        if has_passed:
            known = LearnedStore(learner.path)
            known.learn(tree.functions[0].name, True, {}, [])
            known.close()
        found = LearnedPrior(learner.path).factors(tree)
        names = [tree.functions[number].qualname for number in tree.columns.function]
        return dict(zip(names, found.tolist(), strict=True))

    same = factors(("", ""))
    moved = factors(("def tax", "# a remark\n\ndef tax"))
    assert moved == same
    changed = factors(("amount + 1", "amount + 2"))
    assert changed["tax"] == 1 > same["tax"]
    assert changed["total"] == same["total"]
    broken = factors(("amount + 1", "amount + 2"), has_passed=True)
    assert broken["tax"] == 1
    assert broken["total"] < same["total"], "the test passed with it, and something else changed"


ENDLESS = """
WITH RECURSIVE endless(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM endless)
SELECT n AS id, 'name' AS name, n AS passed, n AS code, n AS function, n AS test FROM endless
"""


def test_a_file_with_an_endless_view_is_refused(tmp_path: Path) -> None:
    path = tmp_path / FILE
    LearnedStore(path).close()
    with sqlite3.connect(path) as database:
        database.execute("DROP TABLE ran")
        database.execute(f"CREATE VIEW ran AS {ENDLESS}")
    database.close()
    for read_only in (True, False):
        with pytest.raises(WhenceError, match="was not written by whence"):
            LearnedStore(path, read_only=read_only)


def test_a_query_that_takes_too_long_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whence.langs.python.priors.learned_store._MOST_STEPS", 2)
    path = tmp_path / FILE
    LearnedStore(path).close()
    store = LearnedStore(path, read_only=True)
    with pytest.raises(WhenceError, match="interrupted"):
        store._select(f"count(*) FROM ({ENDLESS})")
    store.close()


def test_reading_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / FILE
    LearnedStore(path).close()
    before = path.read_bytes()
    store = LearnedStore(path, read_only=True)
    with pytest.raises(WhenceError):
        store.learn("t", True, {}, [])
    store.close()
    assert path.read_bytes() == before


@pytest.mark.parametrize("read_only", [True, False])
def test_what_is_no_regular_file_is_refused(tmp_path: Path, read_only: bool) -> None:
    os.mkfifo(tmp_path / FILE)
    with pytest.raises(WhenceError, match="is no regular file"):
        LearnedStore(tmp_path / FILE, read_only=read_only)


def test_nothing_is_written_to_the_file_that_a_link_leads_to(tmp_path: Path) -> None:
    other = tmp_path / "other.sqlite"
    other.touch()
    (tmp_path / FILE).symlink_to(other)
    with pytest.raises(WhenceError, match="cannot be read or written"):
        LearnedStore(tmp_path / FILE)
    assert other.stat().st_size == 0
