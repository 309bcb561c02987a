import json
import os
from pathlib import Path

import pytest

from whence.langs.python import recording_signature as signatures
from whence.langs.python.recording_signature import (
    PARTS,
    ForeignRecording,
    allow,
    key_folder,
    require_own,
    sign,
    why_foreign,
)


@pytest.fixture(autouse=True)
def own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(signatures, "_allowed", set())


@pytest.fixture
def recording(tmp_path):
    path = tmp_path / "run.whence"
    for part in PARTS:
        Path(f"{path}.{part}" if part else path).write_bytes(f"content {part}".encode())
    return path


def test_a_signed_recording_is_the_users_own(recording):
    sign(recording, key_folder())
    assert why_foreign(recording) == ""
    require_own(recording)


def test_a_recording_without_a_signature_is_foreign(recording):
    assert why_foreign(recording) == "it was not recorded by you on this machine"
    with pytest.raises(ForeignRecording, match="nothing that it names is run"):
        require_own(recording)


@pytest.mark.parametrize("part", PARTS)
def test_a_changed_file_makes_it_foreign(recording, part):
    sign(recording, key_folder())
    Path(f"{recording}.{part}" if part else recording).write_bytes(b"other content")
    assert "has changed since it was recorded" in why_foreign(recording)


@pytest.mark.parametrize("part", PARTS[1:])
def test_a_file_that_was_added_later_makes_it_foreign(recording, part):
    added = Path(f"{recording}.{part}")
    content = added.read_bytes()
    added.unlink()
    sign(recording, key_folder())
    added.write_bytes(content)
    assert why_foreign(recording) == f"{added.name} is not signed"


def test_the_signature_of_one_part_does_not_fit_another(recording):
    Path(f"{recording}.stdin").write_bytes(b"same")
    Path(f"{recording}.journal").write_bytes(b"same")
    sign(recording, key_folder())
    file = Path(f"{recording}.signature")
    entries = {
        entry["part"]: entry["mac"] for entry in map(json.loads, file.read_text().splitlines())
    }
    assert entries["stdin"] != entries["journal"]


def test_another_users_key_does_not_fit(recording, tmp_path, monkeypatch):
    sign(recording, key_folder())
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    sign(tmp_path / "something else", key_folder())
    assert why_foreign(recording)


def test_what_the_user_allows_is_signed_and_stays_allowed(recording, monkeypatch):
    allow(recording)
    assert why_foreign(recording) == ""
    monkeypatch.setattr(signatures, "_allowed", set())
    assert why_foreign(recording) == ""


def test_what_the_user_allows_counts_even_if_it_cannot_be_signed(recording, monkeypatch):
    monkeypatch.setattr(signatures, "sign", lambda *_: None)
    allow(recording)
    assert why_foreign(recording) == ""


def test_the_key_is_private_and_created_once(recording):
    os.umask(old := os.umask(0))
    try:
        os.umask(0)
        sign(recording, key_folder())
    finally:
        os.umask(old)
    key = Path(key_folder()) / "recording-key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert key.parent.stat().st_mode & 0o777 == 0o700
    first = key.read_bytes()
    sign(recording, key_folder())
    assert key.read_bytes() == first
    assert list(key.parent.iterdir()) == [key]


def test_a_key_that_others_can_read_is_not_used(recording):
    sign(recording, key_folder())
    (Path(key_folder()) / "recording-key").chmod(0o644)
    os.utime(f"{recording}.signature", (1, 1))  # so that it is checked anew
    assert "is not yours alone" in why_foreign(recording)


def test_without_a_home_nothing_is_signed_and_everything_is_foreign(
    recording, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr(Path, "home", _no_home)
    assert key_folder() == ""
    sign(recording, key_folder())
    assert "this user has no home folder" in why_foreign(recording)
    assert not (tmp_path / "recording-key").exists()
    assert not Path(f"{recording}.signature").exists()


@pytest.mark.parametrize("content", [b"", b"\xff", b"[]\n", b'{"part": ""}\n', b"1\n" * 70_000])
def test_a_damaged_signature_makes_it_foreign(recording, content):
    sign(recording, key_folder())
    Path(f"{recording}.signature").write_bytes(content)
    assert why_foreign(recording)


def test_a_part_that_is_no_regular_file_makes_it_foreign(recording):
    sign(recording, key_folder())
    Path(f"{recording}.stdin").unlink()
    os.mkfifo(f"{recording}.stdin")
    assert "stdin" in why_foreign(recording)


def test_a_signature_is_never_written_through_a_link(recording, tmp_path):
    target = tmp_path / "target"
    target.write_text("precious")
    Path(f"{recording}.signature").symlink_to(target)
    sign(recording, key_folder())
    assert target.read_text() == "precious"


def _no_home():
    raise RuntimeError("Could not determine home directory.")


@pytest.mark.parametrize("part", PARTS[1:])
def test_a_signed_part_of_another_recording_does_not_fit(recording, tmp_path, part):
    other = tmp_path / "other.whence"
    other.write_bytes(b"another trace")
    Path(f"{other}.{part}").write_bytes(b"another part")
    for path in (recording, other):
        sign(path, key_folder())
    Path(f"{recording}.{part}").write_bytes(b"another part")
    lines = Path(f"{recording}.signature").read_text().splitlines()
    theirs = Path(f"{other}.signature").read_text().splitlines()
    mixed = [line for line in lines if json.loads(line)["part"] != part] + theirs[1:]
    Path(f"{recording}.signature").write_text("\n".join(mixed))
    assert why_foreign(recording) == f"{recording.name}.{part} has changed since it was recorded"


@pytest.mark.parametrize("part", [*PARTS[1:], "signature"])
def test_a_fifo_in_place_of_a_file_is_not_waited_for(recording, part):
    sign(recording, key_folder())
    place = Path(f"{recording}.{part}")
    place.unlink()
    os.mkfifo(place)
    assert "it is no regular file" in why_foreign(recording)
