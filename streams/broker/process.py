"""Processes by id: ours, or started by a command that has ended since."""

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
PROC = Path("/proc")  # Linux's; others have ps


def spawn(command: Sequence[str | Path], log: Path, tied: bool = False) -> subprocess.Popen[bytes]:
    """Starts a process of its own session (Ctrl-C is not for it) that appends to a log file.
    `tied`: it is told to end where this process is killed."""
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
    """In a new process: asks Linux for a SIGTERM where the one that started it ends. Elsewhere it
    does nothing: who kills the starter then has to end the started one, too."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def ending(code: int) -> str:
    """How a process has ended, by its return code as `subprocess` gives it."""
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


def is_running(pid: int, argument: str) -> bool:
    """Whether the process runs and `argument` stands in its command line.

    The id alone is not enough: after a restart of the machine it may be anybody's.
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
    """Sends a signal; a process that has ended meanwhile is no error."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def await_end(pid: int, argument: str, seconds: float) -> bool:
    """Whether the process ended within so many seconds."""
    deadline = time.monotonic() + seconds
    while is_running(pid, argument):
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL)
    return True
