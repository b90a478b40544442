"""Where a history lies, and whether a folder is one. Imports nothing slow: readers use it too."""

import json
import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from sinks.disk import trouble

MARKER = "turnfold.json"
MARKERS = (MARKER, "turnstone.json")
"""A folder with one of them is a history; the project had the second name until November 2026."""
OWNER = "_sink.json"
"""Says whose sinks write a history, where sinks do."""
LOCAL = "_local"
"""Files of a program's own server (`serve --local`); they may be there before the history is."""
FORMAT = 1
UNUSABLE = frozenset('%[]{}*?#^|<>`"\\\n')
"""Characters in a path that the Delta writer or DuckDB would take for something else."""

ADDRESS = re.compile("[a-z][a-z0-9+.-]+:/", re.ASCII | re.IGNORECASE)
"""How `s3://…` begins; a path made of it has lost the second stroke."""


class HistoryError(Exception):
    """The folder is not a history, or not one of this format. Nothing was touched."""

    exit_code = 3


class HistoryWriteError(HistoryError):
    """A table could not be written; what it held before still stands. `may_pass`: the disk is the
    reason, so the same may be tried again."""

    exit_code = 1

    @property
    def may_pass(self) -> bool:
        return trouble(self) is not None


def replace(file: Path, text: str, *, mode: int | None = None) -> None:
    """Writes a file so that the old or the new text stands, never a part; on disk when it returns.
    Of several who do so at once, the last one's stands.

    `mode` is the new file's; without one as the process's umask has it. Raises OSError.
    """
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
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def is_marked(folder: Path) -> bool:
    """Whether a folder is a history, or a generation of one."""
    return any(os.access(f"{folder}/{name}", os.F_OK) for name in MARKERS)


def marker_of(folder: Path) -> Path:
    """The marker that a folder has, or is to have."""
    return next((folder / name for name in MARKERS if (folder / name).exists()), folder / MARKER)


def is_shared(root: Path) -> bool:
    """Whether sinks write this history."""
    return (root / OWNER).exists()


def is_url(path: str | Path) -> bool:
    """Whether the history lies in an object store (`s3://…`)."""
    return "://" in str(path)


def open_root(path: str | Path) -> Path:
    """The history's folder, made and marked if there is none or an empty one.

    Raises HistoryError for a file, a folder with other things in it, or another format.
    """
    root = check_root(path)
    if not is_marked(root):
        try:
            root.mkdir(parents=True, exist_ok=True)
            replace(root / MARKER, json.dumps({"format": FORMAT}) + "\n")
        except (FileExistsError, NotADirectoryError) as error:  # a link to nothing, a file above
            raise HistoryError(f"{root}: cannot be a folder: {error.strerror}") from error
        except OSError as error:
            raise HistoryWriteError(f"{root}: {error.strerror or error}") from error
    return root


def find_root(path: str | Path) -> Path:
    """An existing history's folder; raises HistoryError where there is none."""
    root = check_root(path)
    if not is_marked(root):
        raise HistoryError(f"{root}: no history here; `turnfold run FILE --history {root}`")
    return root


def check_root(path: str | Path) -> Path:
    """The absolute path, if it is a history or may become one. Touches nothing."""
    check_is_path(path)
    root = Path(path).absolute()
    if bad := sorted(UNUSABLE.intersection(str(root))):
        raise HistoryError(f"{root}: a history's path cannot hold {' '.join(bad)}")
    try:
        if not root.exists():
            return root
        if not root.is_dir():
            raise HistoryError(f"{root}: is a file; a history is a folder of its own")
        if not is_marked(root):
            ours = (f".{MARKER}", LOCAL)
            others = [one for one in root.iterdir() if not one.name.startswith(ours)]
            if others and not is_marked(root):  # nobody has made it a history meanwhile
                raise HistoryError(
                    f"{root}: is not a history (it has other files and no {MARKER}); name a new "
                    "or empty folder"
                )
            return root
        _check_format(root)
    except PermissionError as error:
        raise HistoryError(f"{root}: {error.strerror}") from error
    return root


def check_is_path(path: str | Path) -> None:
    """Raises HistoryError for an address."""
    if ADDRESS.match(str(path)):
        raise HistoryError(
            f"{path}: an address; a history is a local folder (copy it elsewhere afterwards)"
        )


def _check_format(root: Path) -> None:
    marker = marker_of(root)
    stat = marker.stat()
    try:
        found = _format(marker, stat.st_ino, stat.st_mtime_ns, stat.st_size)
    except (ValueError, KeyError, TypeError, IsADirectoryError) as error:
        raise HistoryError(f"{marker}: not readable as a history's marker") from error
    if found != FORMAT:
        raise HistoryError(
            f"{root}: history format {found!r}, this version reads {FORMAT}; use the version "
            "that wrote it, or run the input again into a new folder"
        )


@lru_cache(64)
def _format(marker: Path, *_: int) -> Any:
    """What a marker names, read once for each state of its file: every question asks."""
    return json.loads(marker.read_text(encoding="utf-8"))["format"]
