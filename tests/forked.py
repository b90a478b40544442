"""Calls of the command line that are forked from a process which has loaded its libraries.

A call is a process like any other, with its own exit code, signals, environment, folder and files.
Only the second of CPU that Python takes to start and to load libraries is spent once per test
process instead of once per call: in multiprocessing's fork server, which loads `tests.preloaded`.
"""

import atexit
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from contextlib import chdir
from functools import cache
from multiprocessing import connection, forkserver
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any

AT_START = (
    "AIO", "F_", "FAUST", "LANG", "LC_", "LD_", "MALLOC_", "OTEL_", "PROMETHEUS", "PYTHON", "RUST",
    "SSL", "TZ",
)  # fmt: skip
"""Beginnings of variables that Python or a library reads only once."""

_context = multiprocessing.get_context("forkserver")
_import_path = sys.path.copy()
_lock = threading.Lock()
"""Of multiprocessing's list of processes, and of their exit codes: each can be read once."""


def forkable(environment: dict[str, str]) -> bool:
    """Whether a fork is the same as a process of its own: no library that was loaded before with
    the server's environment would differ."""
    with _lock:
        changes = environment.items() ^ _server_environment().items()
    return not any(name.startswith(AT_START) for name, _ in changes)


@cache
def _server_environment() -> dict[str, str]:
    """Starts the server."""
    _context.set_forkserver_preload(["__main__", __name__, "tests.preloaded"])
    with chdir(Path(__file__).parents[1]):  # for `tests`
        forkserver.ensure_running()
    atexit.register(_kill_all)
    return dict(os.environ)


def _kill_all() -> None:
    """Before multiprocessing waits for what a test forgot."""
    for process in multiprocessing.active_children():
        process.kill()


class Fork(subprocess.Popen[bytes]):
    """A call as a Popen: `args`, `cwd`, `env`, `stdin`, `stdout` and `stderr` are the caller's, and
    nothing else."""

    def _execute_child(self, args: list[str], *options: Any) -> None:
        folder, environment, pipes = options[4], options[5], options[9:15]
        files = Files(pipes[0], pipes[3], pipes[5])
        self._process = _context.Process(target=_call, args=(args, environment, folder, files))
        with _lock:
            self._process.start()
        assert self._process.pid
        self.pid = self._process.pid
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]

    def poll(self) -> int | None:
        with _lock:
            if self.returncode is None:
                self.returncode: Any = self._process.exitcode
            return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.poll() is None and not connection.wait([self._process.sentinel], timeout):
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        code = self.poll()
        assert code is not None
        return code


class Files:
    """Numbers of open files; pickled for a new process, those that the files have there."""

    def __init__(self, *numbers: int) -> None:
        self.numbers = numbers

    def __getstate__(self) -> list[Any]:
        return [DupFd(number) for number in self.numbers]

    def __setstate__(self, handles: list[Any]) -> None:
        self.numbers = tuple(handle.detach() for handle in handles)


def _call(words: list[str], environment: dict[str, str], folder: str, files: Files) -> None:
    """The command, in the new process, as the script `turnfold` runs it."""
    from streams.cli import main

    for number, file in enumerate(files.numbers):
        os.dup2(file, number)
        os.close(file)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _open_standard_streams()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = words
    sys.path = [str(Path(words[0]).parent), *_import_path[1:]]
    try:
        main()
    finally:  # as Python ends: threads, then these
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()


def _open_standard_streams() -> None:
    """As Python opens them when it starts: the server's know whether its own can be sought in."""
    encoding, errors = sys.stdout.encoding, sys.stdout.errors
    sys.stdin = open(0, encoding=encoding, errors=errors, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding=encoding, errors=errors, closefd=False)  # noqa: SIM115
    sys.stderr = open(  # noqa: SIM115
        2, "w", 1, encoding=encoding, errors="backslashreplace", closefd=False
    )
