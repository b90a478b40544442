"""What Rust prints of a panic in one of its threads is kept from stderr.

deltalake's writer panics in a thread of its own where a disk is full, besides raising an error that
says what is wrong. The error is ours to tell; the panic's text and backtrace help nobody.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Lock

SIGN = b"panicked at"
THREADS_END = 0.05
"""Seconds after an error in which threads of the writer may still panic."""
ERR = 2

_lock = Lock()
_inside = 0
_kept = _real = -1


@contextmanager
def left_out() -> Iterator[None]:
    """What native code writes to stderr in the block is shown after it, panics left out. Python's
    own lines are not held up where `apart` was called."""
    _enter()
    try:
        yield
    except BaseException:
        time.sleep(THREADS_END)
        raise
    finally:
        _leave()


def apart() -> None:
    """Python's stderr writes past `left_out` from now on. For a command, once."""
    if sys.stderr is not None and sys.stderr.fileno() == ERR:
        sys.stderr.flush()
        sys.stderr = os.fdopen(os.dup(ERR), "w", buffering=1, errors="backslashreplace")


def is_panic(error: BaseException) -> bool:
    """Whether a panic came to Python: no Exception, and each extension has a class of its own."""
    return type(error).__name__ == "PanicException"


def _enter() -> None:
    global _inside, _kept, _real
    with _lock:
        _inside += 1
        if _inside == 1 and hasattr(os, "memfd_create"):  # Linux's
            _kept, _real = os.memfd_create("stderr"), os.dup(ERR)
            os.dup2(_kept, ERR)


def _leave() -> None:
    global _inside, _kept, _real
    with _lock:
        _inside -= 1
        if _inside or _kept == -1:
            return
        os.dup2(_real, ERR)
        os.close(_real)
        if size := os.fstat(_kept).st_size:
            _show(os.pread(_kept, size, 0))
        os.close(_kept)
        _kept = _real = -1


def _show(said: bytes) -> None:
    """All that stands before the first panic. Where stderr takes nothing, as a log on a full disk,
    it is lost: the error that the block raised is what counts."""
    lines = said.splitlines(keepends=True)
    panic = next((at for at, line in enumerate(lines) if SIGN in line), len(lines))
    if text := b"".join(lines[:panic]).strip(b"\n"):
        with suppress(OSError):
            os.write(ERR, text + b"\n")
