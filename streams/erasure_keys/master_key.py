"""The master key, which wraps the data keys of a key store."""

import base64
import binascii
import hashlib
import os
import secrets
from pathlib import Path
from typing import Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from streams.configuration import is_open_to_others
from streams.errors import ConfigurationError

KEY_BYTES, NONCE_BYTES, ID_BYTES = 32, 12, 8


class NotUnwrapped(ValueError):  # noqa: N818 - what happened
    """The bytes are damaged, or another master key wrapped them."""


class KeyWrapper(Protocol):
    """Wraps keys: `MasterKeyFile`, or a client of a key management service."""

    def refresh(self) -> None:
        """Notices a rotation by another process; called before `wrap`."""
        ...

    def wrap(self, key: bytes, context: bytes) -> bytes:
        """The wrapped key, bound to `context`."""
        ...

    def unwrap(self, wrapped: bytes, context: bytes) -> bytes:
        """The key. Raises NotUnwrapped."""
        ...

    def begin_rotation(self) -> None:
        """From now on `wrap` uses a new master key; `unwrap` accepts all."""
        ...

    def end_rotation(self) -> None:
        """Drops all master keys but the newest."""
        ...


class MasterKeyFile:
    """A file of master keys in base64, one per line, the newest first; more than one during a
    rotation. It is read again if it changes.

    Raises:
        ConfigurationError: the file is missing, damaged, or other accounts can read it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stamp: tuple[int, int, int] | None = None
        self._ciphers: dict[bytes, AESGCM] = {}
        self.refresh()

    @classmethod
    def create(cls, path: Path) -> "MasterKeyFile":
        """Raises ConfigurationError: the file exists, or cannot be written."""
        try:
            _write(path, [secrets.token_bytes(KEY_BYTES)], os.O_EXCL)
        except OSError as error:
            raise ConfigurationError(f"{path}: {error.strerror or error}") from None
        return cls(path)

    def wrap(self, key: bytes, context: bytes) -> bytes:
        id, cipher = next(iter(self._ciphers.items()))
        nonce = os.urandom(NONCE_BYTES)
        return id + nonce + cipher.encrypt(nonce, key, context)

    def unwrap(self, wrapped: bytes, context: bytes) -> bytes:
        id, nonce = wrapped[:ID_BYTES], wrapped[ID_BYTES : ID_BYTES + NONCE_BYTES]
        if id not in self._ciphers:
            self.refresh()
        try:
            return self._ciphers[id].decrypt(nonce, wrapped[ID_BYTES + NONCE_BYTES :], context)
        except (KeyError, InvalidTag, ValueError):
            raise NotUnwrapped from None

    def begin_rotation(self) -> None:
        """A rotation that was interrupted continues with its new key."""
        keys = self._read()
        if len(keys) == 1:
            _replace(self.path, [secrets.token_bytes(KEY_BYTES), *keys])
        self.refresh()

    def end_rotation(self) -> None:
        _replace(self.path, self._read()[:1])
        self.refresh()

    def refresh(self) -> None:
        try:
            status = self.path.stat()
            stamp = (status.st_ino, status.st_size, status.st_mtime_ns)
            if stamp == self._stamp:
                return
            if is_open_to_others(self.path):
                raise ConfigurationError(f"{self.path}: other accounts can read it; chmod 600")
            keys = self._read()
        except OSError as error:
            raise ConfigurationError(f"{self.path}: {error.strerror or error}") from None
        self._ciphers = {hashlib.sha256(key).digest()[:ID_BYTES]: AESGCM(key) for key in keys}
        self._stamp = stamp

    def _read(self) -> list[bytes]:
        lines = self.path.read_bytes().split()
        for number, line in enumerate(lines, 1):
            if not _is_key(line):
                raise ConfigurationError(
                    f"{self.path}: line {number} is not a master key: {KEY_BYTES} bytes in base64"
                )
        if not lines:
            raise ConfigurationError(f"{self.path}: contains no master key")
        return [base64.b64decode(line) for line in lines]


def _is_key(line: bytes) -> bool:
    try:
        return len(base64.b64decode(line, validate=True)) == KEY_BYTES
    except binascii.Error:
        return False


def _write(path: Path, keys: list[bytes], flags: int) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o600), "wb") as file:
        file.write(b"".join(base64.b64encode(key) + b"\n" for key in keys))
        file.flush()
        os.fsync(file.fileno())


def _replace(path: Path, keys: list[bytes]) -> None:
    temporary = path.with_name(f".{path.name}.new")
    _write(temporary, keys, os.O_TRUNC)
    temporary.replace(path)
    flush_folder(path.parent)


def flush_folder(folder: Path) -> None:
    """Makes new and removed names of a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
