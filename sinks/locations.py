"""Location of a history: a folder, or a prefix in an object store.

Both support a subset of `pathlib.Path`: `/`, `name`, `parent`, `exists`, `is_dir`, `iterdir`,
`stat`, `read_text`. This module has the operations that differ. Imports only fast modules.
"""

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TypeVar, overload

from sinks.errors import HistoryError
from sinks.object_store import SCHEMES, ObjectPath, without_secrets

Location = Path | ObjectPath
P = TypeVar("P", Path, ObjectPath, Path | ObjectPath)
"""Same type of location as the argument."""

UNUSABLE = frozenset('%[]{}*?#^|<>`"\\\n')
"""Characters with a special meaning for the Delta writer or DuckDB."""
ATTEMPTS = 3
"""Attempts to replace a file."""
ADDRESS = re.compile("[a-z][a-z0-9+.-]+:/", re.ASCII | re.IGNORECASE)
"""Start of `s3://…`; `Path` removes the second slash."""


def is_url(path: str | Location) -> bool:
    """Whether the path is in an object store (`s3://…`)."""
    return isinstance(path, ObjectPath) or str(path).startswith(
        tuple(f"{scheme}://" for scheme in SCHEMES)
    )


@overload
def location_of(path: Path) -> Path: ...
@overload
def location_of(path: ObjectPath) -> ObjectPath: ...
@overload
def location_of(path: str | Location) -> Location: ...
def location_of(path: str | Location) -> Location:
    """Converts a text or path into a location, without I/O; paths become absolute. Raises
    HistoryError."""
    if isinstance(path, ObjectPath):
        return path
    if isinstance(path, str) and is_url(path):
        return ObjectPath(path)
    if ADDRESS.match(str(path)):
        raise HistoryError(
            f"{without_secrets(str(path))}: not a valid location of a history; name a folder or an "
            f"object store: {', '.join(f'{scheme}://' for scheme in SCHEMES)} "
            "(docs/object-stores.md)"
        )
    absolute = Path(path).absolute()
    if bad := sorted(UNUSABLE.intersection(str(absolute))):
        raise HistoryError(f"{absolute}: a history's path cannot contain {' '.join(bad)}")
    return absolute


def make_folder(place: Location) -> None:
    """Creates a folder, unless it is in an object store. Raises OSError."""
    if isinstance(place, Path):
        place.mkdir(parents=True, exist_ok=True)


def files_in(folder: Location) -> list[Location]:
    """The files of a folder without subfolders; none if it does not exist."""
    if isinstance(folder, ObjectPath):
        return [folder / address.rpartition("/")[2] for address in folder.sizes()]
    return list(folder.iterdir()) if folder.is_dir() else []


def create(file: Location, text: str) -> None:
    """Writes a file unless it exists, atomically; durable when it returns. One of several
    concurrent writers wins. Raises OSError, StoreError."""
    if isinstance(file, ObjectPath):
        file.create_text(text)
        return
    fresh = file.with_name(f".{file.name}-{os.getpid()}")
    try:
        _write(fresh, text)
        with suppress(FileExistsError):
            os.link(fresh, file)
        _sync(file.parent)
    finally:
        fresh.unlink(missing_ok=True)


def replace(file: Location, text: str, *, mode: int | None = None) -> None:
    """Replaces a file atomically; durable when it returns. The last concurrent writer wins.

    `mode` is the new file's; by default the process's umask applies. Raises OSError, StoreError.
    """
    if isinstance(file, ObjectPath):
        file.write_text(text)
        return
    for attempt in range(ATTEMPTS):
        try:
            _replace(file, text, mode)
            break
        except FileNotFoundError:  # `clear_left` removed it, or the folder does not exist
            if attempt == ATTEMPTS - 1:
                raise
    _sync(file.parent)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write(file: Path, text: str) -> None:
    with file.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())


def _replace(file: Path, text: str, mode: int | None) -> None:
    fresh = file.with_name(f".{file.name}-{os.urandom(4).hex()}")
    try:
        fresh.touch(0o600 if mode is not None else 0o666)
        if mode is not None:
            fresh.chmod(mode)
        _write(fresh, text)
        fresh.replace(file)
    finally:
        fresh.unlink(missing_ok=True)


def clear_left(folder: Path) -> None:
    """Removes temporary files of killed `replace` and `create` calls. A concurrent call retries."""
    for file in folder.glob(".*-*"):
        if file.is_file():
            file.unlink(missing_ok=True)
