"""Kills a command at a request with which it changes something in a bucket."""

import signal
import subprocess
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from sinks.object_store import ObjectPath
from streams.errors import Unreachable
from tests.command import PROGRAM, environment
from tests.object_store.faulty_store import FaultyStore, Plan, healthy
from tests.object_store.s3_server import S3Server

CHANGES = ("PUT", "POST", "DELETE")
NEVER = 100_000


class Killer:
    """A plan of a store: kills the process that asks for its nth change, which is `done` or not.
    Other requests have the faults of `otherwise`."""

    def __init__(self, nth: int, done: bool, otherwise: Plan) -> None:
        self.nth, self.done, self.otherwise = nth, done, otherwise
        self.changes = 0
        self.process: subprocess.Popen[bytes] | None = None

    def __call__(self, method: str, path: str, body: bytes) -> str:
        self.changes += method in CHANGES
        if self.changes != self.nth or method not in CHANGES or self.process is None:
            return self.otherwise(method, path, body)
        self.process.kill()
        self.process.wait()
        return "none" if self.done else "denied"


class Ending(NamedTuple):
    """How a command has ended; how many changes it had asked for, with which faults of all.
    `killed`: it is to be called again, as it also is where it gave up on a store that fails."""

    killed: bool
    changes: int
    faults: Counter[str]


def kill(
    s3: S3Server,
    root: ObjectPath,
    command: tuple[str | Path, ...],
    nth: int,
    *,
    done: bool = True,
    otherwise: Plan = healthy,
) -> Ending:
    """Runs a command on a history, and kills it at its nth change unless it ends before that."""
    plan = Killer(nth, done, otherwise)
    with FaultyStore(s3.port, plan) as store:
        plan.process = subprocess.Popen(
            [PROGRAM, *map(str, command), "--history", str(root)],
            env=environment(**s3.environ(store.port)),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        _, error = plan.process.communicate(timeout=300)
    code = plan.process.returncode
    may_give_up = otherwise is not healthy and code == Unreachable.exit_code
    assert code in (0, -signal.SIGKILL) or may_give_up, error.decode()
    return Ending(code != 0, plan.changes, store.counts)
