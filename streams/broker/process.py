"""Processes by id: ours, or started by a command that has ended since."""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

POLL = 0.05  # seconds
PROC = Path("/proc")  # Linux's; others have ps


def spawn(command: Sequence[str | Path], log: Path) -> subprocess.Popen[bytes]:
    """Starts a process of its own session (Ctrl-C is not for it) that appends to a log file."""
    with log.open("ab") as out:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


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
