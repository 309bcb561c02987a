"""Which names and texts are secrets, what replaces them, and the environment."""

from __future__ import annotations

import pytest

from whence import secret_values
from whence.secret_values import Secrets

SALT = bytes(range(32))
KEY = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"


@pytest.mark.parametrize(
    "name",
    [
        "password", "db_password", "dbPassword", "DB_PASSWORD", "db-password", "userPwd", "passwd",
        "api_key", "apikey", "apiKey", "API_KEY", "APIKey", "x-api-key", "aws_secret_access_key",
        "access_key", "private_key", "Authorization", "auth", "set-cookie", "session_id",
        "sessionId", "credentials", "client_secret", "passphrase", "token", "accessToken",
    ],
)  # fmt: skip
def test_names_of_secrets(name):
    assert Secrets(SALT).least(name) > 0


@pytest.mark.parametrize(
    "name",
    ["author", "authority", "secretary", "tokenize", "tokens", "max_tokens", "keyboard", "key",
     "id", "session", "compass", "apikeyboard", ""],
)  # fmt: skip
def test_names_of_other_things(name):
    assert Secrets(SALT).least(name) == 0


def test_equal_secrets_have_equal_digests_and_others_do_not():
    ours, others = Secrets(SALT), Secrets(bytes(32))
    assert ours.digest("a") == Secrets(SALT).digest("a")
    assert len({ours.digest("1"), ours.digest(b"1"), ours.digest(1), others.digest("1")}) == 4


def test_keys_in_a_text_are_replaced():
    text = f"key={KEY}, see https://bob:pw@host/x and x{KEY}\n"
    shown = Secrets(SALT).without_keys(text)
    assert shown.startswith("key=<secret ")
    assert "bob" not in shown
    assert shown.endswith(f"host/x and x{KEY}\n")
    assert Secrets().without_keys(text) == text


def test_of_a_secret_variable_only_the_digest_is_stored():
    secrets = Secrets(SALT)
    variables = {"HOME": "/home/bob", "DB_PASSWORD": "hunter2", "URL": "http://a:pw@b", "AUTH": ""}
    stored = secrets.environment(variables)
    assert "hunter2" not in str(stored)
    assert "pw" not in str(stored)
    assert stored["HOME"] == "/home/bob"
    assert secrets.restored(stored, variables) == (variables, [])
    restored, missing = secrets.restored(stored, {"DB_PASSWORD": "hunter3", "HOME": "/root"})
    assert restored == {"HOME": "/home/bob", "AUTH": ""}
    assert missing == ["DB_PASSWORD", "URL"]


def test_the_salt_of_a_user_stays(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(secret_values, "_salts", {})
    salt = secret_values.user_salt()
    monkeypatch.setattr(secret_values, "_salts", {})
    assert secret_values.user_salt() == salt
    assert (tmp_path / "whence" / "secret-salt").stat().st_mode & 0o777 == 0o600
