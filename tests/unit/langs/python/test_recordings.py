import os

import pytest

from whence.errors import WhenceError
from whence.langs.python.recordings import (
    beside,
    folder,
    latest,
    nearest,
    new_recording,
    read_symptom,
    recordings,
    remove,
    remove_companions,
    write_symptom,
)
from whence.model.symptom import Symptom, SymptomKind


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(name):
    path = new_recording(name)
    path.write_bytes(b"something")
    return path


def test_the_folder_is_made_in_the_working_directory_and_keeps_runs_out_of_git(project):
    assert nearest() is None
    assert folder() == project / ".whence"
    assert "/runs/" in (project / ".whence" / ".gitignore").read_text().splitlines()


def test_a_folder_further_up_is_used_from_below(project, monkeypatch):
    folder()
    (project / "src" / "deep").mkdir(parents=True)
    monkeypatch.chdir(project / "src" / "deep")
    assert folder() == project / ".whence"


def test_an_ignore_file_that_somebody_changed_is_left_alone(project):
    (project / ".whence").mkdir()
    (project / ".whence" / ".gitignore").write_text("*\n")
    folder()
    assert (project / ".whence" / ".gitignore").read_text() == "*\n"


def test_recordings_are_numbered_over_the_whole_project_and_the_newest_is_last():
    paths = [written(name) for name in ("zebra", "ape", "zebra")]
    assert [path.name for path in paths] == ["zebra-1.whence", "ape-2.whence", "zebra-3.whence"]
    assert recordings() == paths
    assert latest() == paths[-1]


def test_ten_comes_after_nine():
    paths = [written("run") for _ in range(11)]
    assert recordings() == paths


def test_a_name_that_is_no_file_name_is_made_one():
    assert (
        new_recording("tests/test_a.py::test_b[x/y]").name == "tests-test_a.py-test_b[x-y]-1.whence"
    )
    assert new_recording("..").name == "run-2.whence"
    assert new_recording("x" * 300).name == "x" * 80 + "-3.whence"


def test_a_recording_in_which_nothing_was_written_is_not_listed():
    new_recording("empty")
    assert recordings() == []
    assert latest() is None


def test_a_recording_is_removed_with_what_belongs_to_it_and_nothing_else():
    first, second = written("a[1]"), written("a[1]")
    write_symptom(first, Symptom(SymptomKind.RESULT))
    beside(first, "d").mkdir()
    (beside(first, "d") / "7.whence").write_text("child")
    write_symptom(second, Symptom(SymptomKind.EXCEPTION))
    remove(first)
    assert recordings() == [second]
    assert read_symptom(first) is None
    assert not beside(first, "d").exists()
    assert read_symptom(second) == Symptom(SymptomKind.EXCEPTION)


def test_a_symptom_is_kept_beside_its_recording():
    path = written("run")
    assert read_symptom(path) is None
    write_symptom(path, Symptom(SymptomKind.OUTPUT, line=2))
    assert read_symptom(path) == Symptom(SymptomKind.OUTPUT, line=2)


@pytest.mark.parametrize("text", ["{", '{"kind": "mood"}', "[" * 100_000])
def test_a_damaged_symptom_is_named(text):
    path = written("run")
    beside(path, "symptom.json").write_text(text)
    with pytest.raises(WhenceError, match=r"run-1\.whence\.symptom\.json"):
        read_symptom(path)


def test_a_place_that_cannot_be_written_is_named(project):
    (project / ".whence").write_text("a file")
    with pytest.raises(WhenceError, match="recordings cannot be kept there"):
        new_recording("run")


def test_a_link_from_a_cloned_repository_is_replaced_and_not_followed(project):
    mine = project / "mine"
    mine.write_text("mine\n")
    (project / ".whence").mkdir()
    (project / ".whence" / ".gitignore").symlink_to(project / "new")
    recording = written("run")
    beside(recording, "symptom.json").symlink_to(mine)
    write_symptom(recording, Symptom(SymptomKind.RESULT))
    assert mine.read_text() == "mine\n"
    assert not (project / "new").exists()
    assert read_symptom(recording) == Symptom(SymptomKind.RESULT)


def test_a_full_disk_leaves_no_empty_ignore_file(project, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        with pytest.raises(WhenceError, match="No space left"):
            new_recording("run")
    assert [path.name for path in (project / ".whence").iterdir()] == ["runs"]
    new_recording("run")
    assert (project / ".whence" / ".gitignore").read_text()


def test_in_a_read_only_folder_nothing_is_removed_that_is_not_there(project, monkeypatch):
    def read_only(*_, **__):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("pathlib.Path.unlink", read_only)
    remove_companions(project / "run.whence")
    (project / "run.whence.journal").touch()
    with pytest.raises(WhenceError, match="belongs to an earlier recording"):
        remove_companions(project / "run.whence")
