import json
import os
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whence.ports import Columns
from whence.tree import tree_file, tree_index
from whence.tree.column_tree import ColumnTree
from whence.tree.reader import read_calls
from whence.tree.tree_file import open_tree

Written = Callable[..., Path]

F = {"function": "f"}
NODES: list[dict[str, Any]] = [
    {"id": 5, **F, "args": [1], "returned": 2},
    {"define": "rule", "name": "g.1", "function": "g", "file": "g.py", "line": 3, "source": "g"},
    {"id": 9, "parent": 5, "function": "g", "rule": "g.1", "weight": 2.5, "raised": "Oops"},
    {"id": 7, "parent": 5, **F, "implicit": True, "subtree_weight": 40},
    {"id": 8, "parent": 9, **F, "args": [1], "returned": 2},
]
PLAIN = [{"id": 0, **F}, {"id": 1, "parent": 0, **F}, {"id": 2, "parent": 1, **F}]


@pytest.fixture(autouse=True)
def _every_file_is_indexed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_index, "MIN_LINES", 0)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that are read as a whole from now on."""
    seen: list[Path] = []
    read = read_calls

    def counted(path: Path, *others: Any) -> Any:
        seen.append(path)
        return read(path, *others)

    monkeypatch.setattr(tree_file, "read_calls", counted)
    return seen


def indexes(cache: Path) -> list[Path]:
    return sorted((cache / "whence" / "trees").iterdir())


def assert_equal(one: ColumnTree, other: ColumnTree) -> None:
    for each in fields(Columns):
        ours, theirs = getattr(one.columns, each.name), getattr(other.columns, each.name)
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
    assert (one.functions, one.rules) == (other.functions, other.rules)
    for position in range(len(one.columns)):
        assert one.id(position) == other.id(position)
        assert one.call(position) == other.call(position)


@pytest.mark.parametrize("nodes", [NODES, PLAIN])
def test_an_indexed_tree_equals_the_tree_that_was_read(
    written: Written, monkeypatch: pytest.MonkeyPatch, reads: list[Path], nodes: list[Any]
) -> None:
    path = written(*nodes)
    with monkeypatch.context() as without:
        without.setattr(tree_index, "save", lambda *_: False)
        direct = open_tree(path)
    assert_equal(open_tree(path), direct)
    assert_equal(open_tree(path), direct)
    assert len(reads) == 2


def test_a_file_is_read_only_once(written: Written, reads: list[Path]) -> None:
    path = written(*NODES)
    open_tree(path)
    open_tree(path)
    assert reads == [path]


def test_a_small_file_is_not_indexed(
    written: Written, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_index, "MIN_LINES", 50_000)
    open_tree(written(*NODES))
    assert not cache.exists()
    assert tree_index.is_worthwhile(9_000_000, 10)
    assert tree_index.is_worthwhile(1_000_000, 50_000)


def test_the_columns_are_mapped_and_cannot_be_written(written: Written) -> None:
    tree = open_tree(written(*NODES))
    assert isinstance(tree.columns.end.base, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        tree.columns.end[0] = 3


def test_columns_with_one_value_and_consecutive_ids_are_not_written(
    written: Written, cache: Path
) -> None:
    tree = open_tree(written(*PLAIN))
    assert tree.ids is None
    (directory,) = indexes(cache)
    assert not {"own.npy", "implicit.npy", "ids.npy"} & {each.name for each in directory.iterdir()}
    assert tree.columns.own.strides == tree.columns.implicit.strides == (0,)


def test_nothing_in_an_index_is_a_pickle(written: Written, cache: Path) -> None:
    open_tree(written(*NODES))
    (directory,) = indexes(cache)
    assert {each.suffix for each in directory.iterdir()} == {".npy", ".json"}
    for each in directory.glob("*.npy"):
        np.load(each, allow_pickle=False)


@pytest.mark.parametrize("what", ["size", "time", "content"])
def test_a_file_that_was_changed_is_indexed_anew(
    written: Written, reads: list[Path], cache: Path, what: str
) -> None:
    path = written(*NODES)
    open_tree(path)
    about = path.stat()
    changed = {"size": {"id": 6, "parent": 5, **F}, "content": None, "time": None}[what]
    first = NODES[0] if what != "content" else NODES[0] | {"returned": 3}
    written(*([first, *NODES[1:]] + ([changed] if changed else [])))
    late = 1 if what == "time" else 0
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns + late))
    assert open_tree(path).call(0).right() == ("→ 3" if what == "content" else "→ 2")
    assert len(reads) == 2
    assert len(indexes(cache)) == 1


def test_an_index_of_another_version_is_not_used(
    written: Written, reads: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(*NODES)
    open_tree(path)
    monkeypatch.setattr(tree_index, "INDEX_VERSION", tree_index.INDEX_VERSION + 1)
    open_tree(path)
    assert len(reads) == 2


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _replace(path: Path) -> None:
    path.write_bytes(b"\0" * path.stat().st_size)


def _empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("name", [*tree_index._TYPES, "tables", "about"])
@pytest.mark.parametrize("damage", [Path.unlink, _cut, _replace, _empty])
def test_a_damaged_index_is_made_anew(
    written: Written, cache: Path, reads: list[Path], name: str, damage: Callable[[Path], None]
) -> None:
    path = written(*NODES)
    open_tree(path)
    (directory,) = indexes(cache)
    (file,) = directory.glob(f"{name}.*")
    damage(file)
    tree = open_tree(path)
    assert len(reads) == 2
    assert tree.call(2).equation() == "f(1) → 2"
    open_tree(path)
    assert len(reads) == 2


@pytest.mark.parametrize(
    ("name", "position", "value"),
    [
        ("parent", 0, 0),
        ("parent", 1, 1),
        ("parent", 1, -1),
        ("parent", 3, 99),
        ("end", 0, 99),
        ("end", 1, 1),
        ("end", 2, -1),
        ("end", 2, 4),
        ("end", 3, 5),
        ("depth", 2, 7),
        ("function", 1, 9),
        ("function", 1, -1),
        ("rule", 1, 9),
        ("outcome", 1, 200),
        ("own", 1, -1),
        ("own", 1, np.nan),
        ("weight", 0, np.inf),
        ("implicit", 1, 1),
    ],
)
def test_an_index_that_would_lead_a_search_astray_is_not_used(
    written: Written, cache: Path, reads: list[Path], name: str, position: int, value: float
) -> None:
    path = written(*NODES)
    open_tree(path)
    (directory,) = indexes(cache)
    column = np.load(directory / f"{name}.npy")
    column[position] = value
    np.save(directory / f"{name}.npy", column)
    open_tree(path)
    assert len(reads) == 2


@pytest.mark.parametrize("column", [np.zeros(3), np.zeros((4, 1), np.int32), np.array([{}] * 4)])
def test_a_column_of_another_kind_is_not_used(
    written: Written, cache: Path, reads: list[Path], column: np.ndarray[Any, Any]
) -> None:
    path = written(*NODES)
    open_tree(path)
    (directory,) = indexes(cache)
    np.save(directory / "effort.npy", column, allow_pickle=True)
    open_tree(path)
    assert len(reads) == 2


def test_a_cache_that_cannot_be_written_does_no_harm(
    written: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "occupied").write_text("a file")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "occupied"))
    assert len(open_tree(written(*NODES)).columns) == 4


def test_a_full_disk_does_no_harm_and_leaves_nothing_behind(
    written: Written, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    assert len(open_tree(written(*NODES)).columns) == 4
    assert indexes(cache) == []


def test_without_a_home_nothing_is_indexed(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", homeless)
    assert len(open_tree(written(*NODES)).columns) == 4


@pytest.mark.parametrize("value", ["", "relative/cache"])
def test_a_cache_that_is_not_absolute_is_not_used(
    written: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", value)
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    open_tree(written(*NODES))
    assert len(indexes(tmp_path / "home" / ".cache")) == 1


def test_the_index_of_a_file_that_grew_while_it_was_read_is_not_kept(
    written: Written, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(*NODES)
    read = read_calls

    def growing(*arguments: Any) -> Any:
        found = read(*arguments)
        with path.open("ab") as file:
            file.write(b"\n")
        return found

    monkeypatch.setattr(tree_file, "read_calls", growing)
    open_tree(path)
    assert not cache.exists()


def test_two_processes_may_index_a_file_at_once(
    written: Written, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(*NODES)
    rename = Path.rename

    def slower(self: Path, target: Path) -> Path:
        if self.name.startswith("unfinished-"):
            target.mkdir()
            (target / "about.json").write_text(json.dumps({"format": "another's"}))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", slower)
    assert len(open_tree(path).columns) == 4
    assert len(indexes(cache)) == 1


def test_useless_indexes_are_removed_when_another_is_made(written: Written, cache: Path) -> None:
    kept, gone, changed = (written(*NODES, name=name) for name in ("kept", "gone", "changed"))
    for path in (kept, gone, changed):
        open_tree(path)
    abandoned, fresh = cache / "whence/trees/unfinished-1", cache / "whence/trees/unfinished-2"
    for directory in (abandoned, fresh):
        directory.mkdir()
    os.utime(abandoned, (0, 0))
    gone.unlink()
    written(*NODES, *[{"id": 3, "parent": 5, **F}], name="changed")
    open_tree(written(*NODES, name="new"))
    about = [json.loads(each.read_text()) for each in cache.glob("whence/trees/*/about.json")]
    assert sorted(Path(each["file"]).name for each in about) == ["kept", "new"]
    assert fresh.exists()
    assert not abandoned.exists()


def test_an_index_is_for_this_user_only(written: Written, cache: Path) -> None:
    before = os.umask(0)
    try:
        open_tree(written(*NODES))
    finally:
        os.umask(before)
    places = [cache, *cache.rglob("*")][1:]
    assert any(place.suffix == ".npy" for place in places)
    for place in places:
        assert place.stat().st_mode & 0o777 == (0o700 if place.is_dir() else 0o600), place
