"""Kills, stops and fences transport workers, and their broker, while records come in.

    python -m tests.fault.kill_transport --kills 50 --records 500000

Two workers on a real broker count records by key (tests/kafka/counting_worker.py). Each round adds
records and hurts something; afterwards every record must have counted exactly once, in outputs,
table, offsets and counters. Every kind of fault is counted, so that one that never struck shows.
"""

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from itertools import cycle
from pathlib import Path

from streams.broker import Broker
from tests.kafka.counting import Counting

NAMES = ("a", "b")
FAULTS = (
    "random kill", "before commit", "random kill", "committed", "random kill", "restoring",
    "both killed", "random kill", "leaves", "zombie", "random kill", "broker killed",
)  # fmt: skip
TOO_LONG = 120.0
KILLS = ("random kill", "before commit", "committed", "restoring", "both killed")
SESSION = 6.0
FORGOTTEN = "was away too long"


class Run:
    """Two workers with names that come back (static membership), and what was done to them."""

    def __init__(self, broker: Broker, counting: Counting, chance: random.Random) -> None:
        self.broker, self.counting, self.chance = broker, counting, chance
        self.struck: Counter[str] = Counter()
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        for name in NAMES:
            self.start(name)

    def start(self, name: str, *options: str) -> "subprocess.Popen[bytes]":
        worker = self.counting.start("--instance", name, "--max-records", "1000", *options)
        self.running[name] = worker
        return worker

    def strike(self, fault: str) -> None:
        """One fault; a worker that is gone afterwards is started again."""
        victim = self.chance.choice(NAMES)
        if fault in ("random kill", "both killed"):
            time.sleep(self.chance.uniform(0.1, 2.0))
            for name in NAMES if fault == "both killed" else (victim,):
                self._end(name, signal.SIGKILL)
                self.start(name)
        elif fault in ("before commit", "committed", "restoring"):
            self._end(victim, signal.SIGTERM)
            doomed = self.start(victim, "--die", fault, "--after", str(self.chance.randint(1, 2)))
            try:
                doomed.wait(10)
            except subprocess.TimeoutExpired:  # nothing to do for this worker
                doomed.kill()
                self.struck[f"{fault}, not passed"] += 1
                fault = ""
            self.start(victim)
        elif fault == "leaves":
            self._end(victim, signal.SIGTERM)
            self.start(victim)
        elif fault == "zombie":
            self._stop_past_the_session(victim)
        else:
            self.broker.nodes[0].kill()
            time.sleep(self.chance.uniform(0, 3))
            self.broker.nodes[0].start()
            self.broker.await_ready()
        if fault:
            self.struck[fault] += 1

    def _end(self, name: str, number: signal.Signals) -> None:
        worker = self.running[name]
        worker.send_signal(number)
        code = worker.wait(60)
        # SIGTERM may come before the worker listens for it
        if code not in (0, -signal.SIGKILL, -signal.SIGTERM):
            self._ended_itself(worker, code)

    def supervise(self) -> None:
        """Starts again who has ended by himself, as whatever runs workers has to."""
        for name, worker in list(self.running.items()):
            if (code := worker.poll()) is not None:
                self._ended_itself(worker, code)
                self.start(name)

    def _ended_itself(self, worker: "subprocess.Popen[bytes]", code: int) -> None:
        """The one good reason: its group no longer knew it (static membership)."""
        log = self.counting.log(self.counting.workers.index(worker))
        assert code == 1 and FORGOTTEN in log, f"ended with {code}: {log[-3000:]}"
        self.struck["(ended itself, forgotten by its group)"] += 1

    def _stop_past_the_session(self, name: str) -> None:
        self.running[name].send_signal(signal.SIGSTOP)
        time.sleep(SESSION + self.chance.uniform(1, 4))
        self.running[name].send_signal(signal.SIGCONT)

    @property
    def kills(self) -> int:
        return sum(self.struck[name] * (1 + (name == "both killed")) for name in KILLS)


def hurt(folder: Path, kills: int, records: int, seed: int) -> tuple[Run, list[str]]:
    """The whole of it: what struck, and what is wrong."""
    chance = random.Random(seed)
    with Broker.start() as broker:
        counting = Counting(broker.bootstrap, "hurt", folder)
        counting.create()
        run = Run(broker, counting, chance)
        try:
            for fault in cycle(FAULTS):
                counting.produce(records // kills)
                run.supervise()
                run.strike(fault)
                sys.stderr.write(f"{run.kills} kills, {counting.produced} records, {fault}\n")
                if run.kills >= kills and counting.produced >= records:
                    break
            deadline = time.monotonic() + TOO_LONG
            while counting.done() < counting.produced and time.monotonic() < deadline:
                run.supervise()
                time.sleep(0.2)
            wrong = counting.problems()
            for name in NAMES:
                run.running[name].terminate()
                code = run.running[name].wait(60)
                if code not in (0, -signal.SIGTERM):
                    wrong.append(f"{name} ended with {code}")
        finally:
            counting.stop()
    return run, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--records", type=int, default=500_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="folder for the workers' logs")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kept = given.keep or Path(folder)
        kept.mkdir(parents=True, exist_ok=True)
        run, wrong = hurt(kept, given.kills, given.records, given.seed)
    sys.stdout.write(f"{run.counting.produced:,} records, {run.kills} kills\n")
    for name, count in sorted(run.struck.items()):
        sys.stdout.write(f"{count:>6}  {name}\n")
    sys.stdout.write("\n".join(wrong) + "\n" if wrong else "every record counted exactly once\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
