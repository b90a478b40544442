"""What was made of one owner's rows of a history, kept in memory for a while: who moves a clock
asks the same question again and again, of other times.

A table's files are only added to, but for `compact`, `forget` and a rebuilt generation. So rows
that were read once are brought up to date from the files that came since, or all are read again.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock, Timer
from typing import Any, Generic, NamedTuple, TypeVar

from sinks.errors import TooManyRowsError
from sinks.files import data_files, newest_commit
from sinks.locations import Location
from sinks.lookup import Lookup

MOST_BYTES = 256_000_000
"""About as much as all rows may take; what was not asked for longest gives way."""
MOST_OF_ONE = MOST_BYTES // 4
"""What is larger is read for each question anew."""
SECONDS = 300.0
"""How long rows are kept, since they were first read: nothing of who is forgotten by another
process stays for longer."""
MOST_ROWS = 200_000
"""Of one owner's rows of one kind: more are not taken into memory at all."""
ROW, VALUE = 120, 60
"""Bytes: what a row takes, and each of its values besides text."""

T = TypeVar("T")
Row = tuple[Any, ...]


class Source(NamedTuple, Generic[T]):
    """What is made of the rows that `read` finds in some tables. `grows`: what new files hold is
    added to the rows; else all are read again. `weight`: bytes that what is made takes for each
    row. `read` and `make` take the owner, too."""

    name: str
    tables: tuple[str, ...]
    read: Callable[[Lookup, str], list[Any]]
    make: Callable[[str, Lookup, list[Any]], T]
    grows: bool = True
    weight: int = 0


class _Kept(Generic[T]):
    """One owner's rows, and what was made of them."""

    def __init__(self, folder: Location, owner: str) -> None:
        self._folder, self._owner = folder, owner
        self._lock = Lock()
        self._commits: list[Any] = []
        self._files: dict[str, list[str]] | None = None
        self._rows: list[Any] = []
        self._made: T | None = None
        self.size = 0
        self.until = time.monotonic() + SECONDS

    def value(self, about: Lookup, source: Source[T]) -> T:
        """As it is now."""
        with self._lock:
            commits = [newest_commit(self._folder / table) for table in source.tables]
            if self._made is None or None in commits or commits != self._commits:
                try:
                    self._refresh(about, source)
                finally:
                    about.clear()
                self._commits = commits
            assert self._made is not None
            return self._made

    def _refresh(self, about: Lookup, source: Source[T]) -> None:
        files = {name: data_files(about.db, self._folder / name) for name in source.tables}
        known = self._files
        if known == files:
            return
        about.most = MOST_ROWS
        grown = known and all(set(known[name]) <= set(files[name]) for name in files)
        if known and grown and source.grows:
            about.only = {name: sorted(set(files[name]) - set(known[name])) for name in files}
            rows = source.read(about, self._owner)
            self._rows = [*self._rows, *rows]
        else:
            about.only = files
            rows, self.size = source.read(about, self._owner), 0
            self._rows = rows
        if len(self._rows) > MOST_ROWS:
            raise TooManyRowsError(f"{self._owner!r} has more than {MOST_ROWS:,} rows")
        self.size += sum(map(_size, rows)) + source.weight * len(rows)
        self._made = source.make(self._owner, about, self._rows)
        self._files = files


def _size(row: Sequence[Any]) -> int:
    texts = (len(value) for value in row if type(value) is str or type(value) is bytes)
    return ROW + VALUE * len(row) + sum(texts)


Key = tuple[Location, str, str, str]
"""Folder, tenant, name of the source, owner."""
_all: OrderedDict[Key, _Kept[Any]] = OrderedDict()
_lock = Lock()
_erasures = 0
_sweeper: Timer | None = None


def kept(about: Lookup, source: Source[T], owner: str) -> T:
    """What is made of an owner's rows as they are now. Nothing else is loaded in `about`, nor will
    be."""
    key = about.folder, about.tenant, source.name, owner
    with _lock:
        begun, found = _erasures, _all.get(key)
    if found is None:
        found = _Kept(about.folder, owner)
    value: T = found.value(about, source)
    _keep(key, found, begun)
    return value


def _keep(key: Key, found: _Kept[Any], begun: int) -> None:
    """Unless somebody was erased since the rows were asked for."""
    with _lock:
        if begun != _erasures:
            return
        _all.pop(key, None)
        if found.size > MOST_OF_ONE or found.until <= time.monotonic():
            return
        _all[key] = found
        while sum(one.size for one in _all.values()) > MOST_BYTES:
            _all.popitem(last=False)
        _sweep_later()


def _sweep_later() -> None:
    global _sweeper
    if _sweeper is None and _all:
        due = min(one.until for one in _all.values())
        _sweeper = Timer(max(0.0, due - time.monotonic()), _sweep)
        _sweeper.daemon = True
        _sweeper.start()


def _sweep() -> None:
    """Lets go of what has been kept for long enough."""
    global _sweeper
    with _lock:
        _sweeper = None
        for key in [key for key, one in _all.items() if one.until <= time.monotonic()]:
            del _all[key]
        _sweep_later()


def owners() -> list[Key]:
    """Of whom something is kept."""
    with _lock:
        return list(_all)


def forget() -> None:
    """Lets go of all rows, and of what is being read now once it has been answered: somebody was
    erased."""
    global _erasures, _sweeper
    with _lock:
        _erasures += 1
        _all.clear()
        if _sweeper is not None:
            _sweeper.cancel()
            _sweeper = None
