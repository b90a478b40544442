"""Where a history lies: a folder, or a prefix in an object store.

Both understand the same part of `pathlib.Path`: `/`, `name`, `parent`, `exists`, `is_dir`,
`iterdir`, `stat`, `read_text`. What differs between them is here. Imports nothing slow.
"""

import os
import re
from pathlib import Path
from typing import TypeVar, overload

from sinks.errors import HistoryError
from sinks.object_store import SCHEMES, ObjectPath, without_secrets

Location = Path | ObjectPath
P = TypeVar("P", Path, ObjectPath, Path | ObjectPath)
"""A place of the kind that was given."""

UNUSABLE = frozenset('%[]{}*?#^|<>`"\\\n')
"""Characters in a path that the Delta writer or DuckDB would take for something else."""
ATTEMPTS = 3
"""To write a file that is replaced."""
ADDRESS = re.compile("[a-z][a-z0-9+.-]+:/", re.ASCII | re.IGNORECASE)
"""How `s3://…` begins; a path made of it has lost the second stroke."""


def is_url(path: str | Location) -> bool:
    """Whether the history lies in an object store (`s3://…`)."""
    return isinstance(path, ObjectPath) or str(path).startswith(
        tuple(f"{one}://" for one in SCHEMES)
    )


@overload
def location_of(path: Path) -> Path: ...
@overload
def location_of(path: ObjectPath) -> ObjectPath: ...
@overload
def location_of(path: str | Location) -> Location: ...
def location_of(path: str | Location) -> Location:
    """What a text or a path means; an absolute path. Touches nothing. Raises HistoryError."""
    if isinstance(path, ObjectPath):
        return path
    if isinstance(path, str) and is_url(path):
        return ObjectPath(path)
    if ADDRESS.match(str(path)):
        raise HistoryError(
            f"{without_secrets(str(path))}: an address that no history can have; it lies in a "
            f"folder, or in an object store: {', '.join(f'{one}://' for one in SCHEMES)} "
            "(docs/object-stores.md)"
        )
    found = Path(path).absolute()
    if bad := sorted(UNUSABLE.intersection(str(found))):
        raise HistoryError(f"{found}: a history's path cannot hold {' '.join(bad)}")
    return found


def make_folder(place: Location) -> None:
    """An object store has none: there it does nothing. Raises OSError."""
    if isinstance(place, Path):
        place.mkdir(parents=True, exist_ok=True)


def create(file: Location, text: str) -> None:
    """Writes a file unless there is one; of several who do so at once, one's stands, whole.

    Raises OSError, StoreError.
    """
    if isinstance(file, ObjectPath):
        file.create_text(text)
        return
    fresh = file.with_name(f".{file.name}-{os.getpid()}")
    try:
        fresh.write_text(text, encoding="utf-8")
        try:
            os.link(fresh, file)
        except FileExistsError:
            return
    finally:
        fresh.unlink(missing_ok=True)


def replace(file: Location, text: str, *, mode: int | None = None) -> None:
    """Writes a file so that the old or the new text stands, never a part; on disk when it returns.
    Of several who do so at once, the last one's stands.

    `mode` is the new file's; without one as the process's umask has it. Raises OSError, StoreError.
    """
    if isinstance(file, ObjectPath):
        file.write_text(text)
        return
    for attempt in range(ATTEMPTS):
        try:
            _replace(file, text, mode)
            break
        except FileNotFoundError:  # `clear_left` was faster, or there is no such folder
            if attempt == ATTEMPTS - 1:
                raise
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _replace(file: Path, text: str, mode: int | None) -> None:
    fresh = file.with_name(f".{file.name}-{os.urandom(4).hex()}")
    try:
        fresh.touch(0o600 if mode is not None else 0o666)
        if mode is not None:
            fresh.chmod(mode)
        with fresh.open("w", encoding="utf-8") as opened:
            opened.write(text)
            opened.flush()
            os.fsync(opened.fileno())
        fresh.replace(file)
    finally:
        fresh.unlink(missing_ok=True)


def clear_left(folder: Path) -> None:
    """Removes what a killed `replace` or `create` left in a folder, which has a name of its own for
    each file. One that is at work begins again."""
    for file in folder.glob(".*-*"):
        if file.is_file():
            file.unlink(missing_ok=True)
