"""Tables in an object store, read by DuckDB through a file system that cannot write.

DuckDB needs no extension for it. It asks for ranges of bytes by fsspec's interface; `obstore`
fetches them. Whatever would change an object is refused here, below all SQL.
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
from sinks.store_errors import DELETED, patiently, told

TAIL = 65_536
"""Bytes at a file's end that are fetched when it is opened: its footer says what else is needed."""
UNCHANGED = datetime(2000, 1, 1, tzinfo=UTC)
"""When each file was last modified: a file of a table is written once."""


class ReadOnlyFiles(AbstractFileSystem):  # type: ignore[misc]  # it has no types
    """The files of tables of one scheme, whose sizes are known. `requests` and `bytes` count what
    is fetched.

    DuckDB tells a StoreError as a traceback: `sinks.store_errors.of_duckdb` finds it there."""

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
        return _File(self, *self._known(path))

    def fetch(self, where: ObjectPath, start: int, length: int) -> bytes:
        """A part of a file, counted."""
        try:
            found = where.read_range(start, length)
        except FileNotFoundError:
            raise StoreError(f"{where}: {DELETED}; ask again") from None
        with self._counting:
            self.requests += 1
            self.bytes += len(found)
        return found

    def _known(self, path: str) -> tuple[ObjectPath, int]:
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
        return path.size if isinstance(path, _File) else self._known(path)[1]

    def modified(self, path: Any) -> datetime:
        return UNCHANGED

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise StoreError("a history in an object store is not written by SQL")

    rm = rm_file = mv = cp_file = mkdir = makedirs = touch = pipe_file = put_file = rmdir = _refuse
    delete = move = rename = copy = mkdirs = _rm = created = _refuse


class _File(io.RawIOBase):
    """One file, open for reading. What was read last stays at hand: the reads of a footer meet."""

    def __init__(self, files: ReadOnlyFiles, where: ObjectPath, size: int) -> None:
        super().__init__()
        self.size = size
        self._files = files
        self._where = where
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
        left = self.size - self._at
        length = left if size < 0 else min(size, left)
        if length <= 0:
            return b""
        found = self._found(self._at, length)
        self._at += length
        return found

    def _found(self, start: int, length: int) -> bytes:
        begins = max(self.size - TAIL, 0)
        if start < begins:
            return self._files.fetch(self._where, start, length)
        if not self._tail:
            self._tail = self._files.fetch(self._where, begins, self.size - begins)
        return self._tail[start - begins : start - begins + length]


_ATTACHED: "WeakKeyDictionary[Any, dict[str, ReadOnlyFiles]]" = WeakKeyDictionary()
"""Connection -> scheme -> what it reads there."""


def data_files(db: _duckdb.DuckDBPyConnection, table: ObjectPath) -> list[str]:
    """The files of a table's newest version, sorted; `db` can read them from now on.

    Raises StoreError.
    """
    return know(db, table, patiently(lambda: sizes(table)))


def readable(db: _duckdb.DuckDBPyConnection, place: ObjectPath, table: Any) -> list[str]:
    """The same of a table that is open (as `deltalake` has it): the version that it is at."""
    return know(db, place, _sizes(place, table))


def know(
    db: _duckdb.DuckDBPyConnection, table: ObjectPath, found: dict[str, tuple[ObjectPath, int]]
) -> list[str]:
    """Files of these sizes can be read by `db` from now on; their addresses, sorted."""
    schemes = _ATTACHED.setdefault(db, {})
    files = schemes.get(table.scheme)
    if files is None:
        files = schemes[table.scheme] = ReadOnlyFiles(table.scheme)
        # what it would install or load could write, and reads around these files
        db.execute("SET autoinstall_known_extensions = false")
        db.execute("SET autoload_known_extensions = false")
        db.register_filesystem(files)
    files.sizes.update(found)
    return sorted(found)


def fetched(db: _duckdb.DuckDBPyConnection) -> tuple[int, int]:
    """How many bytes of files a connection has fetched, in how many requests."""
    files = _ATTACHED.get(db, {}).values()
    return sum(one.bytes for one in files), sum(one.requests for one in files)


def sizes(table: ObjectPath) -> dict[str, tuple[ObjectPath, int]]:
    """The files of a table's newest version by their address, with the size that its log names.
    Raises StoreError."""
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError, TableNotFoundError

    try:
        opened = DeltaTable(str(table), storage_options=delta_options())
        return _sizes(table, opened)
    except TableNotFoundError:
        return {}
    except (DeltaError, OSError) as error:
        raise told(error, str(table)) from None


def _sizes(table: ObjectPath, opened: Any) -> dict[str, tuple[ObjectPath, int]]:
    actions = opened.get_add_actions(flatten=True)
    wheres = [table / unquote(path) for path in actions.column("path").to_pylist()]
    sizes = actions.column("size_bytes").to_pylist()
    return {str(where): (where, size) for where, size in zip(wheres, sizes, strict=True)}
