"""Manages processes by id, even after the command that started them."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

POLL = 0.05  # seconds
PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
PROC = Path("/proc")  # Linux; others have ps


def spawn(command: Sequence[str | Path], log: Path, tied: bool = False) -> subprocess.Popen[bytes]:
    """Starts a process in a new session (it does not get Ctrl-C) that appends to a log file.
    `tied`: it gets SIGTERM if this process is killed."""
    with log.open("ab") as out:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=tie if tied else None,
        )


def tie() -> None:
    """In a new process on Linux: requests a SIGTERM when the parent ends. On other systems it is a
    no-op: whoever kills the parent also has to end the child."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def ending(code: int) -> str:
    """Describes the end of a process, by its `subprocess` return code."""
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


def is_running(pid: int, argument: str) -> bool:
    """Whether the process is running with `argument` in its command line.

    The id alone is not enough: after a restart of the machine another process may have it.
    """
    if (PROC / "self").exists():
        try:
            command = (PROC / str(pid) / "cmdline").read_bytes()
        except OSError:
            return False
        return argument in command.decode(errors="replace").split("\0")
    ps = ["ps", "-ww", "-o", "args=", "-p", str(pid)]
    return argument in subprocess.run(ps, capture_output=True, text=True).stdout


def send(pid: int, number: signal.Signals) -> None:
    """Sends a signal; ignores a process that has ended."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def await_end(pid: int, argument: str, seconds: float) -> bool:
    """Waits up to `seconds`; returns whether the process has ended."""
    deadline = time.monotonic() + seconds
    while is_running(pid, argument):
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL)
    return True
