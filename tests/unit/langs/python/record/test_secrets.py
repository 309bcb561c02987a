"""Secrets are recorded as digests, by every backend alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from recorded import BACKENDS, Node, record

from whence.langs.python.record.options import RecordOptions
from whence.secret_values import WORDS, secrets_for

Run = Callable[..., Node]
SECRETS = secrets_for()
KEYS = [
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "github_pat_11ABCDEFG0abcdefghij",
    "glpat-abcdefghijklmnop1234",
    "xoxb-123456789012-abcdef",
    "sk_live_abcdefghijklmnop",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "eyJhbGciOi.eyJzdWIi.c2lnbmF0dXJl",
    "Bearer abcdefghijklm",
    "postgres://bob:hunter2@host/db",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\n",
]
PLAIN = [
    "Bearer of bad news",
    "basics are fine here",
    "skeleton of a plain text",
    "https://example.com/a:b@c",
    "ghp_short",
    "-----BEGIN CERTIFICATE-----\nMIIE\n",
]


def hidden(value: str | bytes | int) -> str:
    kind, length, digest = SECRETS.digest(value)
    unit = ("character", "byte", "bit")[kind]
    return f"<secret {digest.hex()[:12]}…, {length} {unit}{'s' if length != 1 else ''}>"


def test_what_has_the_name_of_a_secret_is_a_digest(run: Run) -> None:
    body = run("""
API_KEY = "hunter2"
def login(user, password, pinCode, accessToken, **more): return API_KEY and user
def number(private_key, secret): return None
def get_password(): return "hunter2"
login("bob", "hunter2", 1234, "hunter2-long", clientSecret=b"hunter2", count=12345)
number(2**70, -12345); number(12, None)
get_password()
""")
    call = body.find("login")
    assert call.arguments == {
        "user": "'bob'",
        "password": hidden("hunter2"),
        "pinCode": "1234",
        "accessToken": hidden("hunter2-long"),
        "more": f"{{'clientSecret': {hidden(b'hunter2')}, 'count': 12345}}",
    }
    assert call.reads == {"API_KEY": hidden("hunter2")}
    first, second = body.calls[-3:-1]
    assert first.arguments == {"private_key": hidden(2**70), "secret": hidden(-12345)}
    assert second.arguments == {"private_key": "12", "secret": "None"}
    assert body.find("get_password").outcome == f"→ {hidden('hunter2')}"


def test_attributes_slots_and_changes_are_covered(run: Run) -> None:
    body = run("""
class Account:
    def __init__(self, word): self.password = word; self.name = "bob"
class Slotted:
    __slots__ = ("api_key",)
    def __init__(self, word): self.api_key = word
def look(x): return None
def closure():
    access_key = "hunter2"
    def inner():
        nonlocal access_key
        access_key = "hunter3"
        return None
    return inner
def steps(secret):
    yield secret
Account("x"); look(Account("hunter2")); look(Slotted("hunter2"))
closure()()
for _ in steps("hunter2"): pass
""")
    looks = [call for call in body.calls if call.name == "look"]
    assert looks[0].arguments["x"] == f"Account(password={hidden('hunter2')}, name='bob')"
    assert looks[1].arguments["x"] == f"Slotted(api_key={hidden('hunter2')})"
    inner = body.find("closure.<locals>.inner")
    assert inner.effects["access_key"] == (hidden("hunter2"), hidden("hunter3"))
    text = body.find("steps").text()
    assert hidden("hunter2") in text


def test_containers_below_a_name_are_covered_and_objects_are_not(run: Run) -> None:
    body = run("""
class Token:
    def __init__(self, text): self.text = text
def look(auth, token, credentials): return None
found = {"user": "bob", "n": [1, "hunter2", bytearray(b"hunter2")]}
look(("bob", "hunter2"), Token("identifier"), found)
""")
    call = body.find("look")
    assert call.arguments["auth"] == f"({hidden('bob')}, {hidden('hunter2')})"
    assert call.arguments["token"] == "Token(text='identifier')"
    assert "hunter2" not in call.arguments["credentials"]
    assert call.arguments["credentials"].startswith(f"{{'user': {hidden('bob')}, 'n': [1, ")


def test_a_token_of_a_parser_is_no_secret(run: Run) -> None:
    call = run("def parse(token): return token\nparse('+')\nparse('identifier')\n").calls
    assert call[0].arguments == {"token": "'+'"}
    assert call[1].arguments == {"token": hidden("identifier")}


@pytest.mark.parametrize("key", KEYS)
def test_keys_of_well_known_services_are_digests(run: Run, key: str) -> None:
    body = run(f"def look(x): return [x]\nlook({key!r})\nlook({key.encode()!r})\n")
    assert body.calls[0].arguments == {"x": hidden(key)}
    assert body.calls[0].outcome == f"→ [{hidden(key)}]"
    assert body.calls[1].arguments == {"x": hidden(key.encode())}


@pytest.mark.parametrize("text", PLAIN)
def test_other_texts_are_as_they_are(run: Run, text: str) -> None:
    body = run(f"def look(x): return None\nlook({text!r})\n")
    assert body.calls[0].arguments == {"x": repr(text)}


def test_secrets_are_kept_or_added_on_request(run: Run) -> None:
    source = "def f(password, badge_no): return None\nf('hunter2', 'b-17')\n"
    kept = run(source, RecordOptions(keep_secrets=True)).calls[0]
    assert kept.arguments == {"password": "'hunter2'", "badge_no": "'b-17'"}
    more = run(source, RecordOptions(secret_names=("BADGE*",))).calls[0]
    assert more.arguments == {"password": hidden("hunter2"), "badge_no": hidden("b-17")}


def test_patterns_of_the_environment_count(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHENCE_SECRET", "other, badge_??")
    call = run("def f(badge_no): return None\nf('b-17')\n").calls[0]
    assert call.arguments == {"badge_no": hidden("b-17")}


WORDS_OF_NAMES = st.sampled_from(
    [*WORDS, "api", "Key", "session", "ID", "Private", "user", "é", "7", "_", "-", "X"]
)
TEXTS = st.one_of(
    st.text(),
    st.builds("".join, st.lists(st.sampled_from([*KEYS, *PLAIN, " ", "é", ":", "://", "@"]))),
)


@pytest.mark.skipif(len(BACKENDS) < 2, reason="there is one backend only")
@given(
    names=st.lists(st.builds("".join, st.lists(WORDS_OF_NAMES, max_size=5)), max_size=4),
    values=st.lists(
        st.one_of(TEXTS, st.binary(), st.integers(), st.integers(900, 1100), st.none()),
        min_size=4,
        max_size=4,
    ),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_backends_agree(names: list[str], values: list[object], tmp_path: Path) -> None:
    pairs = dict(zip(names, values, strict=False))
    source = f"""
class Box: pass
def look(x, password): return x
box = Box()
box.__dict__.update({pairs!r})
look({pairs!r}, {values!r}); look(box, box); look({values!r}, {values[0]!r})
"""
    texts = [record(source, tmp_path, backend).text() for backend in BACKENDS]
    assert len(set(texts)) == 1
