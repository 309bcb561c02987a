"""Which values are secrets, and what is recorded in their place: a keyed digest.

A value is a secret because of the name under which the program keeps it (a parameter, a variable,
an attribute, the key of a dict, a function whose result it is), or because it begins like a key of
a well-known service. Digests are keyed with a salt that only this user has, so a short password
cannot be guessed from a recording. The salt is the same for all runs, so equal secrets have equal
digests.

The recorder in C implements the same in `record/native/secrets.c`; a test requires equal traces.
"""

from __future__ import annotations

import os
import re
from _blake2 import blake2s
from collections.abc import Iterable, Mapping
from typing import Final

from whence.errors import WhenceError
from whence.user_folders import KEY_BYTES, state_path, user_key

SECRET_TEXT, SECRET_BYTES, SECRET_NUMBER = 0, 1, 2
SECRET_DIGEST: Final = 8
"""The bytes of a digest."""
VARIABLE: Final = "WHENCE_SECRET"
"""Names an environment variable with more patterns, separated by commas."""
_SALT_FILE = "secret-salt"
_LONGEST_NAME = 128
_LONGEST_KEY = 4096
"""Of a text so much is looked at."""
_SHORT_TOKEN = 8
"""A token is the word of a parser, too. A credential has at least so many characters."""
_LEAST_NUMBER = 1000

WORDS: Final = {
    **dict.fromkeys((
        "password", "passwords", "passwd", "pwd", "passphrase", "passcode", "secret", "secrets",
        "apikey", "accesskey", "privatekey", "signingkey", "encryptionkey", "auth",
        "authorization", "cookie", "cookies", "sessionid", "credential", "credentials",
    ), 1),
    **dict.fromkeys(("token", "bearer", "jwt"), _SHORT_TOKEN),
}  # fmt: skip
"""Words of a name, or two of its words joined: the least length of a text that is a secret."""

_WORD = re.compile(rb"[A-Z]+(?![a-z])|[A-Z]?[a-z\x80-\xff]+|[0-9]+")
_KEY = (
    rb"(?<![A-Za-z0-9_-])(?:"
    rb"(?:AKIA|ASIA)[A-Za-z0-9_-]{12,}"
    rb"|AIza[A-Za-z0-9_-]{20,}"
    rb"|gh[pousr]_[A-Za-z0-9_-]{16,}"
    rb"|github_pat_[A-Za-z0-9_-]{10,}"
    rb"|glpat-[A-Za-z0-9_-]{10,}"
    rb"|xox[abeprs]-[A-Za-z0-9_-]{10,}"
    rb"|[sr]k_live_[A-Za-z0-9_-]{10,}"
    rb"|sk-(?:ant|proj)-[A-Za-z0-9_-]{10,}"
    rb"|eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*"
    rb"|(?:[Bb]earer|[Bb]asic) [A-Za-z0-9_.+/=~-]{8,}(?![A-Za-z0-9_.+/=~ -])"
    rb"|-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z0-9 ]{0,40}-----|\Z)"
    rb")"
    rb"|(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,30}://"
    rb"[^\0 \t-\r/:@?#\"'<>]*:[^\0 \t-\r/@?#\"'<>]+@"
)
_MARKS = (
    "AKIA", "ASIA", "AIza", "gh", "glpat-", "xox", "k_live_", "sk-", "eyJ", "earer ", "asic ",
    "-----BEGIN ", "://",
)  # fmt: skip
"""Of these, a text with a key has one."""
_FIRST = frozenset("AgxsreBb-")
_NEAR = 34
"""Within so many characters a URL has its first colon."""


_salts: dict[str, bytes] = {}
"""The salt, once it was read, by the folder that it is kept in."""


def user_salt() -> bytes:
    """The salt of this user; a new one for this process if none can be kept."""
    try:
        folder = state_path()
        if folder not in _salts:
            _salts[folder] = user_key(folder, _SALT_FILE, create=True)
    except (OSError, WhenceError):
        folder = ""  # one for this process
        _salts.setdefault(folder, os.urandom(KEY_BYTES))
    return _salts[folder]


def secrets_for(keep: bool = False, names: Iterable[str] = ()) -> Secrets:
    """How this user's secrets are replaced, with patterns of more names; `keep`: they are not."""
    return Secrets(None if keep else user_salt(), (*names, *patterns_of_environment()))


def patterns_of_environment() -> tuple[str, ...]:
    """The patterns that the environment adds."""
    return tuple(filter(None, map(str.strip, os.environ.get(VARIABLE, "").split(","))))


class Secrets:
    """Recognizes secrets, and replaces them. Without a salt nothing is a secret."""

    def __init__(self, salt: bytes | None = None, patterns: Iterable[str] = ()) -> None:
        self.salt = salt
        self.patterns = tuple(patterns)
        self._least: dict[str, int] = {}
        """By name; the results of `least`."""
        self._globs = [re.compile(_glob(pattern), re.DOTALL) for pattern in self.patterns]

    @property
    def raw_patterns(self) -> tuple[bytes, ...]:
        """The patterns as the C backend takes them."""
        return tuple(_lower(pattern) for pattern in self.patterns)

    def least(self, name: str) -> int:
        """How long a text must be to be a secret under this name; 0: it is none."""
        found = self._least.get(name)
        if found is None:
            if len(self._least) > 10_000:
                self._least.clear()
            found = self._least[name] = self._find(name) if self.salt is not None else 0
        return found

    def least_of_result(self, qualname: str) -> int:
        """The same for what a function returns."""
        return 1 if self.least(qualname.rpartition(".")[2]) == 1 else 0

    def _find(self, name: str) -> int:
        raw = name.encode("utf-8", "surrogatepass")[:_LONGEST_NAME]
        lower = raw.lower()
        if any(glob.fullmatch(lower) for glob in self._globs):
            return 1
        before, least = b"", 0
        for match in _WORD.finditer(raw):
            word = match[0].lower()
            for text in (word, before + word):
                words = WORDS.get(text.decode("latin-1"), 0)
                least = words if not least or words == 1 else least
            before = word
        return least

    def is_secret_number(self, number: int, least: int) -> bool:
        """Whether a number under a secret name is long enough."""
        return abs(number) >= (_LEAST_NUMBER if least == 1 else 10 ** (least - 1))

    def begins_with_key(self, text: str | bytes) -> bool:
        """Whether a text begins like a key of a well-known service."""
        if len(text) < 12 or self.salt is None:
            return False
        if isinstance(text, str):
            if text[0] not in _FIRST and ":" not in text[:_NEAR]:
                return False
            if not text.isascii():
                return False
            text = text[:_LONGEST_KEY].encode()
        return _keys().match(text[:_LONGEST_KEY]) is not None

    def digest(self, value: str | bytes | int) -> tuple[int, int, bytes]:
        """The kind, the length and the digest of a secret."""
        if isinstance(value, str):
            kind, length = SECRET_TEXT, len(value)
            data = value.encode("utf-8", "surrogatepass")
        elif isinstance(value, bytes):
            kind, length, data = SECRET_BYTES, len(value), value
        else:
            kind, length = SECRET_NUMBER, value.bit_length()
            data = bytes((value < 0,)) + abs(value).to_bytes((length + 7) // 8, "little")
        return kind, length, self._digest(bytes((kind,)) + data)

    def _digest(self, data: bytes) -> bytes:
        return blake2s(data, key=self.salt or b"", digest_size=SECRET_DIGEST).digest()

    def without_keys(self, text: str) -> str:
        """A text in which the keys of well-known services are replaced."""
        if self.salt is None or not any(mark in text for mark in _MARKS):
            return text
        raw = text.encode("utf-8", "surrogatepass")
        return _keys().sub(self._replaced, raw).decode("utf-8", "surrogatepass")

    def _replaced(self, match: re.Match[bytes]) -> bytes:
        return secret_text(SECRET_TEXT, len(match[0]), self._digest(b"\0" + match[0])).encode()

    @property
    def identifier(self) -> str:
        """Equal for equal salts; empty if secrets are recorded."""
        return "" if self.salt is None else self._digest(b"\xff").hex()

    # --- environments ---

    def environment(self, variables: Mapping[str, str]) -> dict[str, object]:
        """An environment as it is stored: of a secret variable only the digest."""
        return {
            name: self._stored(value) if self._is_secret_variable(name, value) else value
            for name, value in variables.items()
        }

    def restored(
        self, stored: Mapping[str, object], present: Mapping[str, str]
    ) -> tuple[dict[str, str], list[str]]:
        """A stored environment, and the secret variables that it lacks.

        The value of a secret variable is taken from the present environment, if its digest fits.
        """
        variables, missing = {}, []
        for name, value in stored.items():
            if not isinstance(value, dict):
                variables[name] = str(value)
            elif name in present and self._stored(present[name]) == value:
                variables[name] = present[name]
            else:
                missing.append(name)
        return variables, missing

    def _is_secret_variable(self, name: str, value: str) -> bool:
        return 0 < self.least(name) <= len(value) or self.without_keys(value) != value

    def _stored(self, value: str) -> dict[str, object]:
        _, length, digest = self.digest(value)
        return {"secret": digest.hex(), "characters": length}


def secret_text(kind: int, length: int, digest: bytes) -> str:
    """How a secret is shown."""
    unit = {SECRET_TEXT: "character", SECRET_BYTES: "byte"}.get(kind, "bit")
    return f"<secret {digest.hex()[:12]}…, {length:,} {unit}{'' if length == 1 else 's'}>"


def _keys() -> re.Pattern[bytes]:
    """Matches keys. It takes long to compile, and most processes do not need it."""
    return re.compile(_KEY)


def _glob(pattern: str) -> bytes:
    """A pattern with `*` and `?` as a regular expression."""
    return re.escape(_lower(pattern)).replace(rb"\*", b".*").replace(rb"\?", b".")


def _lower(pattern: str) -> bytes:
    return pattern.encode("utf-8", "surrogatepass").lower()
