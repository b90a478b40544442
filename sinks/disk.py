"""Flushes a folder, and recognises transient disk errors, as opposed to faults of the data.

Libraries in Rust and C++ report the system's text without errno. Imports only fast modules.
"""

import os
import re
from errno import (
    EACCES,
    EDQUOT,
    EFBIG,
    EIO,
    EISDIR,
    ELOOP,
    ENAMETOOLONG,
    ENOENT,
    ENOSPC,
    ENOTDIR,
    EPERM,
    EROFS,
)
from pathlib import Path

TROUBLES = (ENOSPC, EDQUOT, EIO, EROFS, EFBIG)
_WORDS = {os.strerror(number).lower(): os.strerror(number) for number in TROUBLES}


_ROOM = "make room, then run the same command again"
_ALLOWED = "let this user read and write it, or name another place"
_OF_SYSTEM = {
    ENOSPC: _ROOM,
    EDQUOT: _ROOM,
    EFBIG: "raise the limit of a file's size (ulimit -f), then run the same command again",
    EIO: "check the disk, then run the same command again",
    EROFS: "name a place that can be written",
    EACCES: _ALLOWED,
    EPERM: _ALLOWED,
    ENOENT: "correct the path",
    EISDIR: "name a file",
    ENOTDIR: "a part of the path is a file: correct the path",
    ENAMETOOLONG: "shorten the name",
    ELOOP: "name the file itself",
}
_REMEDIES = [
    *((re.compile(re.escape(os.strerror(number)) + r"( \(\w+\)|\.)?\Z", re.IGNORECASE), remedy)
      for number, remedy in _OF_SYSTEM.items()),
    (re.compile(r"not UTF-8\b[^;]*\Z"), "save it as UTF-8"),
    (re.compile(r"not (JSON|TOML)\b[^;]*\Z"), "correct it there, or name another file"),
    (re.compile(r"expected '[^;]*, but found '[^;]*\Z"), "correct it there, or name another file"),
    (re.compile(r"(end-of-stream marker was reached|Not a gzipped file \([^;]*\))\Z"),
     "get the file again, then run the same command"),
    (re.compile(r"not a file\Z"), "name a file"),
]  # fmt: skip


def flush(folder: Path) -> None:
    """Waits until all that was written to the folder's file system is on its disk. Raises OSError.

    One call for all files: to sync each file and folder of a batch takes ten times as long.
    """
    import ctypes  # not needed by readers

    handle = os.open(folder, os.O_RDONLY)
    try:
        syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)  # Linux
        if syncfs is None:
            os.sync()
        elif syncfs(handle) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(folder))
    finally:
        os.close(handle)


def with_remedy(message: str) -> str:
    """Appends the remedy to a message that ends with the system's text of an error."""
    for words, remedy in _REMEDIES:
        if words.search(message):
            return f"{message}; {remedy}"
    return message


def trouble(error: BaseException) -> str | None:
    """The system's text of a disk error ("No space left on device"), or None for other errors."""
    if isinstance(error, OSError) and error.errno in TROUBLES:
        return os.strerror(error.errno)
    text = str(error).lower()
    return next((word for sign, word in _WORDS.items() if sign in text), None)
