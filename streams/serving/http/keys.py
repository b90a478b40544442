"""The API keys: tenant and role of each caller.

A token is `ts_<id>_<secret>`; the secret has 256 random bits. The file stores its SHA-256: a slow
hash and a salt only help against guessable passwords.
"""

import hmac
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from logging import getLogger
from pathlib import Path
from stat import S_IMODE
from typing import Literal, NamedTuple

import msgspec

from schemas.time import SECOND, format_time, parse_time
from sinks.history_root import replace
from sinks.locks import lock_file
from streams.errors import ConfigurationError, DataRefused, UsageError
from streams.pipeline.decode import TENANT

Role = Literal["read", "write", "admin"]
ROLES: tuple[Role, ...] = ("read", "write", "admin")
"""Each may what those before it may."""

ALL = "*"
"""The tenant of an admin's key that is good for every tenant."""

LOOK_SECONDS = 0.5
"""How often the server looks whether the file has changed."""
SAY_SECONDS = 60
"""Interval of log lines about an invalid file."""

_PREFIX = "ts"
_NO_DIGEST = sha256(b"").digest()
_log = getLogger(__name__)


class Caller(NamedTuple):
    """The origin of a request, from its key only. `of_all`: the key is valid for all tenants;
    `tenant` is the one of the request."""

    tenant: str
    role: Role
    key_id: str | None
    of_all: bool = False

    def may(self, needed: Role) -> bool:
        return ROLES.index(self.role) >= ROLES.index(needed)


class Key(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One key as the file has it; times are RFC 3339 text, the digest is in hex."""

    id: str
    tenant: str
    role: Role
    sha256: str
    created_at: str
    expires_at: str | None = None
    note: str = ""


class _KeysFile(msgspec.Struct, forbid_unknown_fields=True):
    version: Literal[1]
    keys: list[Key]


class _Known(NamedTuple):
    """A key as a request is checked against it."""

    caller: Caller
    digest: bytes
    expires_at: float


def make(tenant: str, role: Role, expires_at: int | None, note: str) -> tuple[str, Key]:
    """A new token and its entry in the file; `expires_at` in microseconds.

    Raises UsageError for an invalid tenant or a key that is already expired.
    """
    if not TENANT.fullmatch(tenant):
        raise UsageError(
            f"tenant {tenant!r}: 1 to 128 characters, no `/` and no control characters"
        )
    if tenant == ALL and role != "admin":
        raise UsageError(f"tenant {ALL!r}: only an admin's key can be for all tenants")
    if expires_at is not None and expires_at <= time.time_ns() // 1000:
        when = format_time(expires_at)
        raise UsageError(f"expires: {when} is in the past; give a later time, or omit it")
    key_id, secret = secrets.token_hex(6), secrets.token_hex(32)
    key = Key(
        id=key_id,
        tenant=tenant,
        role=role,
        sha256=sha256(secret.encode()).hexdigest(),
        created_at=format_time(int(time.time()) * SECOND),
        expires_at=None if expires_at is None else format_time(expires_at),
        note=note,
    )
    return f"{_PREFIX}_{key_id}_{secret}", key


# --- the file ---------------------------------------------------------------------------------


def read(file: Path) -> list[Key]:
    """The keys of a file. Raises ConfigurationError where it cannot be used, naming the place."""
    try:
        if S_IMODE(file.stat().st_mode) & 0o022:
            raise ConfigurationError(f"{file}: others can write it; chmod 600 {file}")
        keys = msgspec.json.decode(file.read_bytes(), type=_KeysFile).keys
        for number, key in enumerate(keys):
            _check(key, f"$.keys[{number}]")
    except FileNotFoundError:
        raise ConfigurationError(
            f"{file}: no such file; make the first key: turnfold admin keys add --keys {file} "
            "--tenant TENANT --role admin"
        ) from None
    except OSError as error:
        raise ConfigurationError(f"{file}: {error.strerror or error}") from None
    except (msgspec.DecodeError, ValueError) as error:
        raise ConfigurationError(
            f"{file}: not a keys file ({error}); `turnfold admin keys add` makes one"
        ) from None
    if len({key.id for key in keys}) < len(keys):
        raise ConfigurationError(f"{file}: not a keys file: an id is there twice")
    return keys


def write(file: Path, keys: list[Key], mode: int = 0o600) -> None:
    """Writes the file whole. Raises OSError."""
    text = msgspec.json.encode(_KeysFile(version=1, keys=keys))
    replace(file, msgspec.json.format(text, indent=2).decode() + "\n", mode=mode)


def _check(key: Key, place: str) -> None:
    """Raises ValueError for an invalid entry."""
    if not TENANT.fullmatch(key.tenant) or (key.tenant == ALL and key.role != "admin"):
        raise ValueError(f"not a tenant for that role - at `{place}.tenant`")
    if len(bytes.fromhex(key.sha256)) != sha256().digest_size:
        raise ValueError(f"not a SHA-256 in hex - at `{place}.sha256`")
    if key.expires_at is not None:
        parse_time(key.expires_at)


@contextmanager
def changed(file: Path) -> Iterator[list[Key]]:
    """The keys of a file, to be modified; the file is replaced when the block ends and keeps its
    mode. A new file is readable by its owner only.

    Raises ConfigurationError if it cannot be read or written.
    """
    busy = ConfigurationError(f"{file}: another command is changing it; run it again")
    try:
        with lock_file(file.with_name(f".{file.name}.lock"), busy):
            mode = S_IMODE(file.stat().st_mode) if file.exists() else 0o600
            keys = read(file) if file.exists() else []
            yield keys
            write(file, keys, mode)
    except OSError as error:
        raise ConfigurationError(f"{file}: {error.strerror or error}") from None


def revoke(keys: list[Key], key_id: str) -> Key:
    """Takes a key out. Raises DataRefused where there is none of that id."""
    for key in keys:
        if key.id == key_id:
            keys.remove(key)
            return key
    raise DataRefused(f"no key {key_id!r} in this file; see: turnfold admin keys list")


# --- the server's view --------------------------------------------------------------------------


class Keys:
    """The keys of a running server: it follows the file and keeps the last valid content."""

    def __init__(self, file: Path) -> None:
        """Raises ConfigurationError where the file cannot be used."""
        self._file = file
        self._stamp = self._look()
        self._known = _index(read(file))
        self._next_look = time.monotonic() + LOOK_SECONDS
        self._next_word = 0.0
        self.trouble: str | None = None
        """Why the file cannot be used now, though it once could."""

    def caller(self, token: bytes) -> Caller | None:
        """The caller of a token, or None if it is unknown, revoked or expired."""
        self._follow()
        prefix, _, rest = token.partition(b"_")
        key_id, _, secret = rest.partition(b"_")
        if key_id not in self._known:  # it may have been added just now
            self._next_look = 0.0
            self._follow()
        entry = self._known.get(key_id)
        # as long for an unknown id as for a wrong secret
        expected = entry.digest if entry else _NO_DIGEST
        same = hmac.compare_digest(sha256(secret).digest(), expected)
        if entry is None or not same or prefix != _PREFIX.encode():
            return None
        return entry.caller if time.time() < entry.expires_at else None

    @property
    def tenants(self) -> set[str]:
        """Tenants with a key."""
        return {entry.caller.tenant for entry in self._known.values()} - {ALL}

    def stands(self, caller: Caller) -> bool:
        """Whether the key of a request under way is still good."""
        self._follow()
        entry = self._known.get((caller.key_id or "").encode())
        return entry is not None and time.time() < entry.expires_at

    def _follow(self) -> None:
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + LOOK_SECONDS
        stamp = self._look()
        if stamp != self._stamp:
            self._read_again(stamp)
        if self.trouble and now >= self._next_word:
            self._next_word = now + SAY_SECONDS
            _log.error("%s; the keys it held before still stand", self.trouble)

    def _read_again(self, stamp: tuple[int, ...]) -> None:
        self._stamp = stamp
        self._next_word = 0.0
        try:
            self._known = _index(read(self._file))
            self.trouble = None
            _log.info("%s: %d keys", self._file, len(self._known))
        except ConfigurationError as error:
            self.trouble = str(error)

    def _look(self) -> tuple[int, ...]:
        try:
            status = self._file.stat()
        except OSError:
            return ()
        return (status.st_ino, status.st_size, status.st_mtime_ns, status.st_mode)


def _index(keys: list[Key]) -> dict[bytes, _Known]:
    return {
        key.id.encode(): _Known(
            Caller(key.tenant, key.role, key.id, key.tenant == ALL),
            bytes.fromhex(key.sha256),
            float("inf") if key.expires_at is None else parse_time(key.expires_at) / SECOND,
        )
        for key in keys
    }
