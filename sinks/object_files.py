"""Read-only file system for DuckDB over tables in an object store.

DuckDB needs no extension: it reads byte ranges through fsspec's interface, and `obstore` fetches
them. All changes of objects are rejected here, below SQL.
"""

import io
from datetime import UTC, datetime
from threading import Lock
from typing import Any, NoReturn
from urllib.parse import unquote
from weakref import WeakKeyDictionary

import _duckdb
from fsspec import AbstractFileSystem

from sinks.errors import StoreError
from sinks.object_store import ObjectPath, delta_options
from sinks.store_errors import DELETED, patiently, store_error

TAIL = 65_536
"""Bytes at a file's end that are fetched when it is opened, for its footer."""
UNCHANGED = datetime(2000, 1, 1, tzinfo=UTC)
"""Reported time of modification: files of a table never change."""


class ReadOnlyFiles(AbstractFileSystem):  # type: ignore[misc]  # it has no types
    """Registered table files of one scheme. `requests` and `bytes` count fetches.

    DuckDB reports a StoreError as a traceback, which `sinks.store_errors.of_duckdb` parses."""

    cachable = False

    def __init__(self, scheme: str) -> None:
        super().__init__()
        self.protocol = scheme
        self.sizes: dict[str, tuple[ObjectPath, int]] = {}
        self.requests = self.bytes = 0
        self._counting = Lock()

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        return path

    def open(self, path: str, mode: str = "rb", **_: Any) -> "_File":
        if mode != "rb":
            self._refuse()
        return _File(self, *self._entry(path))

    def fetch(self, address: ObjectPath, start: int, length: int) -> bytes:
        """Fetches a range of a file; counts it."""
        try:
            content = address.read_range(start, length)
        except FileNotFoundError:
            raise StoreError(f"{address}: {DELETED}; ask again") from None
        with self._counting:
            self.requests += 1
            self.bytes += len(content)
        return content

    def _entry(self, path: str) -> tuple[ObjectPath, int]:
        if path not in self.sizes:
            raise StoreError(f"{path}: not a file of this history")
        return self.sizes[path]

    def glob(self, path: str, **_: Any) -> list[str]:
        return [path] if path in self.sizes else []

    def exists(self, path: str, **_: Any) -> bool:
        return path in self.sizes

    def isfile(self, path: str) -> bool:
        return path in self.sizes

    def isdir(self, path: str) -> bool:
        return False

    def size(self, path: Any) -> int:
        return path.size if isinstance(path, _File) else self._entry(path)[1]

    def modified(self, path: Any) -> datetime:
        return UNCHANGED

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise StoreError("a history in an object store is not written by SQL")

    rm = rm_file = mv = cp_file = mkdir = makedirs = touch = pipe_file = put_file = rmdir = _refuse
    delete = move = rename = copy = mkdirs = _rm = created = _refuse


class _File(io.RawIOBase):
    """One open file. Its tail is cached, as a footer takes several reads."""

    def __init__(self, files: ReadOnlyFiles, address: ObjectPath, size: int) -> None:
        super().__init__()
        self.size = size
        self._files = files
        self._where = address
        self._at = 0
        self._tail = b""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size}[whence]
        self._at = base + offset
        return self._at

    def read(self, size: int = -1) -> bytes:
        remaining = self.size - self._at
        length = remaining if size < 0 else min(size, remaining)
        if length <= 0:
            return b""
        content = self._content(self._at, length)
        self._at += length
        return content

    def _content(self, start: int, length: int) -> bytes:
        tail_start = max(self.size - TAIL, 0)
        if start < tail_start:
            return self._files.fetch(self._where, start, length)
        if not self._tail:
            self._tail = self._files.fetch(self._where, tail_start, self.size - tail_start)
        return self._tail[start - tail_start : start - tail_start + length]


_ATTACHED: "WeakKeyDictionary[Any, dict[str, ReadOnlyFiles]]" = WeakKeyDictionary()
"""Connection -> scheme -> its file system."""


def data_files(db: _duckdb.DuckDBPyConnection, table: ObjectPath) -> list[str]:
    """Files of a table's newest version, sorted; makes them readable for `db`.

    Raises StoreError.
    """
    return register(db, table, patiently(lambda: sizes(table)))


def readable(db: _duckdb.DuckDBPyConnection, place: ObjectPath, table: Any) -> list[str]:
    """`data_files` of an open DeltaTable, at its version."""
    return register(db, place, _sizes(place, table))


def register(
    db: _duckdb.DuckDBPyConnection, table: ObjectPath, sizes: dict[str, tuple[ObjectPath, int]]
) -> list[str]:
    """Makes files readable for `db`; returns their addresses, sorted."""
    schemes = _ATTACHED.setdefault(db, {})
    files = schemes.get(table.scheme)
    if files is None:
        files = schemes[table.scheme] = ReadOnlyFiles(table.scheme)
        # extensions could write, and read around this file system
        db.execute("SET autoinstall_known_extensions = false")
        db.execute("SET autoload_known_extensions = false")
        db.register_filesystem(files)
    files.sizes.update(sizes)
    return sorted(sizes)


def fetched(db: _duckdb.DuckDBPyConnection) -> tuple[int, int]:
    """Bytes and requests that a connection has fetched."""
    file_systems = _ATTACHED.get(db, {}).values()
    return sum(file_system.bytes for file_system in file_systems), sum(
        file_system.requests for file_system in file_systems
    )


def sizes(table: ObjectPath) -> dict[str, tuple[ObjectPath, int]]:
    """Files of a table's newest version: address -> location, size in bytes from the log. Raises
    StoreError."""
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError, TableNotFoundError

    try:
        delta = DeltaTable(str(table), storage_options=delta_options())
        return _sizes(table, delta)
    except TableNotFoundError:
        return {}
    except (DeltaError, OSError) as error:
        raise store_error(error, str(table)) from None


def _sizes(table: ObjectPath, delta: Any) -> dict[str, tuple[ObjectPath, int]]:
    actions = delta.get_add_actions(flatten=True)
    addresses = [table / unquote(path) for path in actions.column("path").to_pylist()]
    sizes = actions.column("size_bytes").to_pylist()
    return {str(address): (address, size) for address, size in zip(addresses, sizes, strict=True)}
