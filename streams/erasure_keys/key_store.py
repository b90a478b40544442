"""A folder of wrapped data keys, one per session or user, shared by all processes.

    store.json      the wrapped key of names
    keys/NAME       NAME, version and wrapped key, in a list; NAME is an HMAC of the entity
    destroyed.log   NAME, version and time of each destroyed key
    lock            shared by processes that create keys, exclusive for destruction and rotation

Keys that are created together share a file by hard links, so that one flush suffices: a flush of
each would take seconds for a batch of new sessions.

A destroyed key is never used again: its version is in the log before its file is removed. A later
record gets a key of a new version, so records of the old one stay unreadable.

An encrypted value is `MAGIC NAME VERSION NONCE CIPHERTEXT`; all are authenticated.
"""

import hmac
import json
import os
import secrets
from base64 import b64decode, b64encode
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, time_ns
from typing import NamedTuple, TypeVar

from cramjam import lz4
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sinks.locks import acquire
from streams.erasure_keys.encrypted_values import MARK
from streams.erasure_keys.master_key import KEY_BYTES, KeyWrapper, NotUnwrapped, flush_folder
from streams.errors import ConfigurationError

STORE, KEYS, DESTROYED, LOCK = "store.json", "keys", "destroyed.log", "lock"
FORMAT = 1
MAGIC, PACKED = MAGICS = MARK + b"\x01", MARK + b"\x02"
"""PACKED: compressed by LZ4."""
LONG = 1_024
"""Bytes from which a value is compressed: ciphertext is not compressible."""
NAME_BYTES, VERSION_BYTES, LENGTH_BYTES, NONCE_BYTES = 16, 8, 2, 12
VERSION_AT = len(MAGIC) + NAME_BYTES
NONCE_AT = VERSION_AT + VERSION_BYTES
TEXT_AT = NONCE_AT + NONCE_BYTES
NO_VERSION = bytes(VERSION_BYTES)
"""In the log: the entity had no key."""
LOOK_EVERY = 0.25
"""Seconds between reads of the log."""
CACHED = 100_000
"""Keys in memory."""
TOGETHER = 64
"""Keys in one file."""
LOCK_WITHIN = 60.0
CONTEXT_OF_NAMES = b"names"

NONCES = 1_024
"""Nonces that are read from the system at once, which is faster."""

_nonces: list[bytes] = []
os.register_at_fork(after_in_child=_nonces.clear)  # a repeated nonce would reveal the key

K = TypeVar("K")
V = TypeVar("V")


class DataKey(NamedTuple):
    """`header`: of its encrypted values; `packed_header`: of compressed ones."""

    version: bytes
    header: bytes
    packed_header: bytes
    cipher: AESGCM


class KeyStore:
    """`erased`: names of the destroyed keys, in the order of the log.

    Raises:
        ConfigurationError: the folder is not a key store, or a file in it is damaged.
        OSError: the folder cannot be read or written now.
    """

    def __init__(self, folder: Path, wrapper: KeyWrapper) -> None:
        self.folder = folder
        self._wrapper = wrapper
        self._keys = folder / KEYS
        self._naming = self._unwrapped(folder / STORE, _wrapped_naming(folder), CONTEXT_OF_NAMES)
        self._names: dict[bytes, bytes] = {}
        self._current: dict[bytes, DataKey] = {}
        self._by_version: dict[bytes, DataKey] = {}
        self._versions: set[bytes] = set()  # destroyed
        self._erased_at: dict[bytes, int] = {}
        self.erased: list[bytes] = []
        self._log_end = 0
        self._looked = float("-inf")
        self.refresh()

    @classmethod
    def create(cls, folder: Path, wrapper: KeyWrapper) -> "KeyStore":
        """Raises ConfigurationError: the folder has other files."""
        check_empty(folder)
        (folder / KEYS).mkdir(parents=True, exist_ok=True)
        with _locked(folder, shared=False):
            wrapped = wrapper.wrap(secrets.token_bytes(KEY_BYTES), CONTEXT_OF_NAMES)
            (folder / DESTROYED).touch()
            _write_store(folder, wrapped)
        return cls(folder, wrapper)

    # --- values ---------------------------------------------------------------------------------

    def encrypt(self, entity: bytes, value: bytes) -> bytes:
        key = self._current.get(entity) or self._current_key(entity)
        try:
            nonce = _nonces.pop()
        except IndexError:
            nonce = _new_nonce()
        header = key.header
        if len(value) >= LONG:
            header, value = key.packed_header, bytes(lz4.compress_block(value))
        return header + nonce + key.cipher.encrypt(nonce, value, header)

    def decrypt(self, value: bytes) -> bytes | None:
        """The plain value, the same bytes if they are not encrypted, or None if the key is
        destroyed or the value damaged."""
        if not value.startswith(MAGICS):
            return value
        version = value[VERSION_AT:NONCE_AT]
        key = self._by_version.get(version)
        if key is None and (key := self._key_of(value[len(MAGIC) : VERSION_AT], version)) is None:
            return None
        try:
            plain = key.cipher.decrypt(value[NONCE_AT:TEXT_AT], value[TEXT_AT:], value[:NONCE_AT])
        except (InvalidTag, ValueError):
            return None
        return bytes(lz4.decompress_block(plain)) if value.startswith(PACKED) else plain

    def prepare(self, entities: Iterable[bytes]) -> None:
        """Creates the missing keys of these entities, with one flush for all."""
        current = self._current
        if missing := {entity for entity in entities if entity not in current}:
            self._load(missing)

    def is_destroyed(self, value: bytes) -> bool:
        """Whether a value was encrypted with a key that the log names."""
        return value[VERSION_AT:NONCE_AT] in self._versions and value.startswith(MAGICS)

    # --- keys -----------------------------------------------------------------------------------

    def name(self, entity: bytes) -> bytes:
        name = self._names.get(entity)
        if name is None:
            name = hmac.digest(self._naming, entity, "sha256")[:NAME_BYTES]
            _bounded(self._names)[entity] = name
        return name

    def _current_key(self, entity: bytes) -> DataKey:
        self._load([entity])
        return self._current[entity]

    def _load(self, entities: Collection[bytes]) -> None:
        """Reads the current keys, and creates missing ones."""
        _bounded(self._current)
        missing = [entity for entity in entities if not self._read_current(entity)]
        if missing:
            names = {self.name(entity): entity for entity in missing}
            self._finish_destruction(names)
            for name, key in self._create(list(names)):
                self._current[names.pop(name)] = key
            if names:  # another writer has created them
                self._load(names.values())

    def _read_current(self, entity: bytes) -> bool:
        key = self._read(self.name(entity))
        if key is not None:
            self._current[entity] = key
        return key is not None

    def _key_of(self, name: bytes, version: bytes) -> DataKey | None:
        if version in self._versions:
            return None
        key = self._read(name)
        return key if key is not None and key.version == version else None

    def _read(self, name: bytes) -> DataKey | None:
        """The key in the file of a name, or None if it is missing or destroyed."""
        file = self._keys / name.hex()
        try:
            _, version, wrapped = _entry(file)
        except FileNotFoundError:
            if not (self.folder / STORE).exists():
                raise ConfigurationError(f"{self.folder}: the key store is gone") from None
            return None
        if version == NO_VERSION:  # another process has just destroyed it
            self.refresh(at_once=True)
        if self._is_destroyed(name, version):
            return None
        key = self._unwrapped(file, wrapped, name + version)
        return self._keep(name, version, key)

    def _keep(self, name: bytes, version: bytes, key: bytes) -> DataKey:
        data_key = DataKey(version, MAGIC + name + version, PACKED + name + version, AESGCM(key))
        _bounded(self._by_version)[version] = data_key
        return data_key

    def _is_destroyed(self, name: bytes, version: bytes) -> bool:
        is_overwritten = version == NO_VERSION and name in self._erased_at
        return is_overwritten or version in self._versions

    def _unwrapped(self, file: Path, wrapped: bytes, context: bytes) -> bytes:
        try:
            return self._wrapper.unwrap(wrapped, context)
        except NotUnwrapped:
            raise ConfigurationError(
                f"{file}: is damaged, or another master key wrapped it"
            ) from None

    def _create(self, names: list[bytes]) -> list[tuple[bytes, DataKey]]:
        """Creates keys for names that have none, and returns them; durable when it returns. If two
        writers create a key, the first link wins."""
        keys: list[tuple[bytes, DataKey]] = []
        with _locked(self.folder, shared=True):
            self._wrapper.refresh()
            for first in range(0, len(names), TOGETHER):
                keys += self._create_together(names[first : first + TOGETHER])
            flush_folder(self._keys)
        return keys

    def _create_together(self, names: list[bytes]) -> Iterator[tuple[bytes, DataKey]]:
        entries, keys = [], []
        for name in names:
            version, key = secrets.token_bytes(VERSION_BYTES), secrets.token_bytes(KEY_BYTES)
            entries.append(_encode(name, version, self._wrapper.wrap(key, name + version)))
            keys.append((name, version, key))
        temporary = self._keys / f".{secrets.token_hex(8)}"
        _write(temporary, b"".join(entries))
        for name, version, key in keys:
            with suppress(FileExistsError):
                os.link(temporary, self._keys / name.hex())
                yield name, self._keep(name, version, key)
        temporary.unlink()

    # --- destruction ----------------------------------------------------------------------------

    def erased_at(self, entity: bytes) -> int | None:
        """Time of the newest destruction of an entity's key, in microseconds since 1970."""
        return self._erased_at.get(self.name(entity)) if self._erased_at else None

    def refresh(self, at_once: bool = False) -> None:
        """Reads destructions by other processes, at most every `LOOK_EVERY` s."""
        now = monotonic()
        if now - self._looked < LOOK_EVERY and not at_once:
            return
        path = self.folder / DESTROYED
        with _opened(path) as log:
            if os.fstat(log).st_size < self._log_end:
                raise ConfigurationError(f"{path}: is shorter than before; restore it")
            lines = os.pread(log, os.fstat(log).st_size - self._log_end, self._log_end)
        self._looked = now
        if lines:
            self._take(path, lines[: lines.rfind(b"\n") + 1])

    def _take(self, path: Path, lines: bytes) -> None:
        for line in lines.splitlines():
            try:
                name, version, at = line.split()
                self._note(bytes.fromhex(name.decode()), bytes.fromhex(version.decode()), int(at))
            except ValueError:
                raise ConfigurationError(
                    f"{path}: the line {line[:100]!r} is not a destroyed key"
                ) from None
        self._log_end += len(lines)
        self._current = {
            entity: key
            for entity, key in self._current.items()
            if key.version not in self._versions
        }

    def _note(self, name: bytes, version: bytes, at: int) -> None:
        self._versions.add(version)
        self._erased_at[name] = max(at, self._erased_at.get(name, at))
        self._by_version.pop(version, None)
        self.erased.append(name)

    def destroy(self, entities: Iterable[bytes]) -> int:
        """Destroys the keys of these entities; returns how many there were. When it returns, no
        process reads records encrypted with them after its next `refresh`."""
        names = [self.name(entity) for entity in entities]
        with _locked(self.folder, shared=False):
            files = [self._keys / name.hex() for name in names]
            versions = [_version_in(file) for file in files]
            self._append(list(zip(names, versions, strict=True)))
            for file in files:
                _remove(file)
            for leftover in self._keys.glob(".*"):  # of killed processes: creators hold the lock
                leftover.unlink()
            flush_folder(self._keys)
        self.refresh(at_once=True)
        return sum(version != NO_VERSION for version in versions)

    def _finish_destruction(self, names: Iterable[bytes]) -> None:
        """Removes files that a killed `destroy` left; another process may have logged them only
        now."""
        if not any(name in self._erased_at for name in names):
            return
        with _locked(self.folder, shared=False):
            self.refresh(at_once=True)
            for name in names:
                file = self._keys / name.hex()
                if file.exists() and self._is_destroyed(name, _entry(file).version):
                    _remove(file)
            flush_folder(self._keys)

    def _append(self, destroyed: list[tuple[bytes, bytes]]) -> None:
        path, at = self.folder / DESTROYED, time_ns() // 1000
        lines = "".join(f"{name.hex()} {version.hex()} {at}\n" for name, version in destroyed)
        with path.open("r+b") as log:
            whole = log.read().rfind(b"\n") + 1  # a killed process may leave part of a line
            log.seek(whole)
            log.truncate()
            log.write(lines.encode())
            log.flush()
            os.fsync(log.fileno())

    # --- rotation -------------------------------------------------------------------------------

    def rotate(self) -> int:
        """Wraps all keys with a new master key, while other processes work; returns their number.
        An interrupted rotation continues."""
        with _locked(self.folder, shared=False):
            self._wrapper.begin_rotation()
            _write_store(self.folder, self._wrapper.wrap(self._naming, CONTEXT_OF_NAMES))
        count = sum(self._rewrap(file) for file in sorted(self._keys.glob("[0-9a-f]*")))
        with _locked(self.folder, shared=False):
            flush_folder(self._keys)
            self._wrapper.end_rotation()
        return count

    def _rewrap(self, file: Path) -> bool:
        """Locks the store: a concurrently destroyed key must not return."""
        with _locked(self.folder, shared=False):
            try:
                _, version, wrapped = _entry(file)
            except FileNotFoundError:
                return False
            name = bytes.fromhex(file.name)
            if self._is_destroyed(name, version):
                return False
            key = self._unwrapped(file, wrapped, name + version)
            temporary = file.with_name(f".{file.name}")
            _write(temporary, _encode(name, version, self._wrapper.wrap(key, name + version)))
            temporary.replace(file)
        return True


def _new_nonce() -> bytes:
    random = os.urandom(NONCES * NONCE_BYTES)
    nonces = [random[at : at + NONCE_BYTES] for at in range(0, len(random), NONCE_BYTES)]
    nonce = nonces.pop()
    _nonces.extend(nonces)
    return nonce


def check_empty(folder: Path) -> None:
    """Raises ConfigurationError: the folder has files, such as another store's."""
    if folder.exists() and any(folder.iterdir()):
        raise ConfigurationError(f"{folder}: is not empty; name a new folder")


def _wrapped_naming(folder: Path) -> bytes:
    path = folder / STORE
    try:
        store = json.loads(path.read_text(encoding="utf-8"))
        if store["format"] != FORMAT:
            raise ConfigurationError(
                f"{path}: format {store['format']!r}, this version reads {FORMAT}"
            )
        return b64decode(store["names"], validate=True)
    except OSError as error:
        raise ConfigurationError(
            f"{path}: {error.strerror or error}; turnfold admin erasure-keys create"
        ) from None
    except (ValueError, KeyError, TypeError):
        raise ConfigurationError(f"{path}: is damaged") from None


def _write_store(folder: Path, wrapped: bytes) -> None:
    temporary = folder / f".{STORE}"
    text = json.dumps({"format": FORMAT, "names": b64encode(wrapped).decode()}) + "\n"
    _write(temporary, text.encode())
    temporary.replace(folder / STORE)
    flush_folder(folder)


@contextmanager
def _locked(folder: Path, shared: bool) -> Iterator[None]:
    with (folder / LOCK).open("a") as lock:
        if not acquire(lock, shared=shared, within=LOCK_WITHIN):
            raise OSError(f"{folder / LOCK}: another process has it")
        yield


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    try:
        descriptor = os.open(path, os.O_RDONLY)  # opened each time: NFS then asks the server
    except FileNotFoundError:
        raise ConfigurationError(f"{path}: the log of destroyed keys is gone") from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


class _Entry(NamedTuple):
    """`at`: offset of the version in its file."""

    at: int
    version: bytes
    wrapped: bytes


def _encode(name: bytes, version: bytes, wrapped: bytes) -> bytes:
    return name + version + len(wrapped).to_bytes(LENGTH_BYTES) + wrapped


def _entry(file: Path) -> _Entry:
    """The entry of the file's name. Raises FileNotFoundError, ConfigurationError."""
    stored = file.read_bytes()
    at = stored.find(bytes.fromhex(file.name))
    version_at = at + NAME_BYTES
    length_at = version_at + VERSION_BYTES
    wrapped_at = length_at + LENGTH_BYTES
    end = wrapped_at + int.from_bytes(stored[length_at:wrapped_at])
    if at < 0 or end > len(stored):
        raise ConfigurationError(f"{file}: is damaged")
    return _Entry(version_at, stored[version_at:length_at], stored[wrapped_at:end])


def _version_in(file: Path) -> bytes:
    try:
        return _entry(file).version
    except FileNotFoundError:
        return NO_VERSION


def _remove(file: Path) -> None:
    """Removes a name, after its entry, which other files' names may share."""
    with suppress(FileNotFoundError):
        _overwrite(file)
        file.unlink()


def _overwrite(file: Path) -> None:
    at, version, wrapped = _entry(file)
    with file.open("r+b") as keys:
        keys.seek(at)
        keys.write(bytes(len(version)) + len(wrapped).to_bytes(LENGTH_BYTES) + bytes(len(wrapped)))
        keys.flush()
        os.fsync(keys.fileno())


def _write(file: Path, content: bytes) -> None:
    """Durable when it returns, except for its name."""
    with file.open("wb") as new:
        new.write(content)
        new.flush()
        os.fsync(new.fileno())


def _bounded(cache: dict[K, V]) -> dict[K, V]:
    if len(cache) >= CACHED:
        cache.clear()
    return cache
