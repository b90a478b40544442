"""Keeps panics of Rust threads out of stderr.

If the disk is full, a thread of deltalake's writer panics, besides raising an error. The error is
reported; the panic's text and backtrace are noise.
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
_depth = 0
_captured = _stderr = -1


@contextmanager
def without_panics() -> Iterator[None]:
    """Buffers what native code writes to stderr in the block, and writes it afterwards without
    panics. After `detach_stderr`, Python's lines are not buffered."""
    _enter()
    try:
        yield
    except BaseException:
        time.sleep(THREADS_END)
        raise
    finally:
        _leave()


def detach_stderr() -> None:
    """Lets Python's stderr bypass `without_panics`. Once per process."""
    if sys.stderr is not None and sys.stderr.fileno() == ERR:
        sys.stderr.flush()
        sys.stderr = os.fdopen(os.dup(ERR), "w", buffering=1, errors="backslashreplace")


def is_panic(error: BaseException) -> bool:
    """Whether a Rust panic was raised in Python: a BaseException with a class per extension."""
    return type(error).__name__ == "PanicException"


def _enter() -> None:
    global _depth, _captured, _stderr
    with _lock:
        _depth += 1
        if _depth == 1 and hasattr(os, "memfd_create"):  # Linux's
            _captured, _stderr = os.memfd_create("stderr"), os.dup(ERR)
            os.dup2(_captured, ERR)


def _leave() -> None:
    global _depth, _captured, _stderr
    with _lock:
        _depth -= 1
        if _depth or _captured == -1:
            return
        os.dup2(_stderr, ERR)
        os.close(_stderr)
        if size := os.fstat(_captured).st_size:
            _write_before_panic(os.pread(_captured, size, 0))
        os.close(_captured)
        _captured = _stderr = -1


def _write_before_panic(output: bytes) -> None:
    """Writes the lines before the first panic to stderr. If stderr cannot be written, such as a log
    on a full disk, they are lost: the error of the block matters."""
    lines = output.splitlines(keepends=True)
    panic = next((number for number, line in enumerate(lines) if SIGN in line), len(lines))
    if text := b"".join(lines[:panic]).strip(b"\n"):
        with suppress(OSError):
            os.write(ERR, text + b"\n")
