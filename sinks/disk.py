"""Troubles of a disk, told apart from faults of data: nobody is to blame, and they may pass.

Libraries in Rust and C++ give the system's words and no number. Imports nothing slow.
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
    *((re.compile(re.escape(os.strerror(one)) + r"( \(\w+\)|\.)?\Z", re.IGNORECASE), remedy)
      for one, remedy in _OF_SYSTEM.items()),
    (re.compile(r"not UTF-8\b[^;]*\Z"), "save it as UTF-8"),
    (re.compile(r"not (JSON|TOML)\b[^;]*\Z"), "correct it there, or name another file"),
    (re.compile(r"expected '[^;]*, but found '[^;]*\Z"), "correct it there, or name another file"),
    (re.compile(r"(end-of-stream marker was reached|Not a gzipped file \([^;]*\))\Z"),
     "get the file again, then run the same command"),
    (re.compile(r"not a file\Z"), "name a file"),
]  # fmt: skip


def with_remedy(message: str) -> str:
    """A message that ends with the system's words for an error, with what to do behind them."""
    for words, remedy in _REMEDIES:
        if words.search(message):
            return f"{message}; {remedy}"
    return message


def trouble(error: BaseException) -> str | None:
    """The system's word for it ("No space left on device"); None where it is something else."""
    if isinstance(error, OSError) and error.errno in TROUBLES:
        return os.strerror(error.errno)
    said = str(error).lower()
    return next((word for sign, word in _WORDS.items() if sign in said), None)
