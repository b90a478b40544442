"""Everything that can be done to workers, sinks, brokers, connections and disks."""

import random
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from tests.command import turnfold
from tests.fault import poison
from tests.fault.deployment import (
    NAMES,
    Deployment,
    Role,
    doomed_sink,
    doomed_worker,
    worker_command,
)
from tests.fault.disk import Disk
from tests.fault.proxy import Proxy
from tests.kafka.working import produced

SESSION = 10.0  # seconds, of workers and sinks
PASSED_WITHIN = 120.0
ATTEMPTS, ATTEMPT = 15, 8.0  # seconds
WORKER_POINTS = ("before commit", "committed", "restoring")
SINK_POINTS = ("before events", "after events", "after revisions", "written", "committed",
               "positioned")  # fmt: skip
KILLS = {"both workers killed": 2, "both sinks killed": 2}
"""What counts for more than one."""


class Faults:
    """What can be done to a deployment; `chance` says to whom and when."""

    def __init__(
        self, run: Deployment, disk: Disk, chance: random.Random, proxies: Sequence[Proxy] = ()
    ) -> None:
        self.run, self.disk, self.chance, self.proxies = run, disk, chance, proxies
        self.struck = run.struck
        self.kills = self.refused = 0
        self.more: Callable[[], None] = lambda: None
        """Called where a fault waits for work that others may have done by then."""

    def kinds(self) -> dict[str, Callable[[], None]]:
        """Every fault of one broker, by its name."""
        kill_worker = {f"worker killed: {one}": partial(self.worker_doomed, one)
                       for one in WORKER_POINTS}  # fmt: skip
        kill_sink = {f"sink killed: {one}": partial(self.sink_doomed, one) for one in SINK_POINTS}
        return {
            "worker killed": self.worker_killed, "sink killed": self.sink_killed, **kill_worker,
            "broker killed": self.broker_killed, "poison": self.poison,
            "both workers killed": self.both_workers_killed, "connections slow": self.slow,
            **kill_sink, "worker asleep": self.worker_asleep,
            "both sinks killed": self.both_sinks_killed, "connections stalled": self.stalled,
            "rebalances": self.rebalances, "connections half-closed": self.half_closed,
            "sink asleep": self.sink_asleep, "connections dropped": self.dropped,
            "disk full": self.disk_full,
        }  # fmt: skip

    def strike(self, name: str) -> None:
        """One of `kinds`; counts it if it happened."""
        self.run.supervise()
        self.kinds()[name]()

    def _killed(self, name: str) -> None:
        self.struck[name] += 1
        self.kills += KILLS.get(name, 1)

    # --- kills ------------------------------------------------------------------------------

    def worker_killed(self) -> None:
        self._wait(0.2, 3)
        self.run.kill(self._one(self.run.workers))
        self._killed("worker killed")

    def sink_killed(self) -> None:
        self._wait(0.2, 3)
        self.run.kill(self._one(self.run.sinks))
        self._killed("sink killed")

    def both_workers_killed(self) -> None:
        self._wait(0.2, 3)
        for role in self.run.workers.values():
            self.run.kill(role)
        self._killed("both workers killed")

    def both_sinks_killed(self) -> None:
        self._wait(0.2, 3)
        for role in self.run.sinks.values():
            self.run.kill(role)
        self._killed("both sinks killed")

    def worker_doomed(self, point: str) -> None:
        name = self.chance.choice(NAMES)
        after = self.chance.randint(1, 3)
        command = doomed_worker(self.run.ways[name], name, point, after)
        self._doomed(self.run.workers[name], command, f"worker killed: {point}")

    def sink_doomed(self, point: str) -> None:
        name = self.chance.choice(NAMES)
        command = doomed_sink(self.run.ways[name], self.run.history, point, 1)
        self._doomed(self.run.sinks[name], command, f"sink killed: {point}")

    def _doomed(self, role: Role, command: list[str], fault: str) -> None:
        """Runs it in the role's place until it kills itself, if it gets to the point."""
        role.end(signal.SIGTERM)
        doomed = role.start(command)
        for _ in range(ATTEMPTS):
            with suppress(subprocess.TimeoutExpired):
                doomed.wait(ATTEMPT)
                break
            self.more()
        if doomed.poll() == -signal.SIGKILL:
            self._killed(fault)
        else:
            self.struck[f"({fault}: not passed)"] += 1
            role.end(signal.SIGKILL)
        role.start()

    # --- sleep, rebalances ------------------------------------------------------------------

    def worker_asleep(self) -> None:
        self._asleep(self._one(self.run.workers), "worker asleep")

    def sink_asleep(self) -> None:
        self._asleep(self._one(self.run.sinks), "sink asleep")

    def _asleep(self, role: Role, fault: str) -> None:
        """Past its session's end: its partitions are somebody else's when it goes on."""
        role.signal(signal.SIGSTOP)
        time.sleep(SESSION + self.chance.uniform(1, 4))
        role.signal(signal.SIGCONT)
        self.struck[fault] += 1

    def rebalances(self, times: int = 4) -> None:
        """Workers without a name come and go."""
        for number in range(times):
            guest = Role(f"worker-guest-{number}", worker_command(self.run.broker.bootstrap),
                         self.run.folder)  # fmt: skip
            guest.start()
            guest.wait_for(": restored ")
            self._wait(0, 2)
            code = guest.end(signal.SIGTERM)
            if code not in (0, -signal.SIGTERM):
                self.run.wrong.append(f"a guest ended with {code}: {guest.end_of()}")
            self.struck["rebalances"] += 1

    # --- broker, connections ----------------------------------------------------------------

    def broker_killed(self) -> None:
        self._wait(0.2, 2)
        node = self.chance.choice(self.run.broker.nodes)
        node.kill()
        self._wait(0, 3)
        node.start()
        self.run.broker.await_ready()
        self.struck["broker killed"] += 1

    def slow(self) -> None:
        before = self._proxied("delayed")
        for proxy in self.proxies:
            proxy.delay = self.chance.uniform(0.02, 0.2)
        time.sleep(6)
        for proxy in self.proxies:
            proxy.delay = 0.0
        self.struck["connections slow"] += self._proxied("delayed") > before

    def stalled(self) -> None:
        before = self._proxied("stalled")
        for proxy in self.proxies:
            proxy.stall()
        self._wait(3, SESSION + 5)
        for proxy in self.proxies:
            proxy.flow()
        self.struck["connections stalled"] += self._proxied("stalled") > before

    def half_closed(self) -> None:
        self._wait(0.5, 2)
        self.struck["connections half-closed"] += sum(one.half_close() for one in self.proxies)

    def dropped(self) -> None:
        self._wait(0.5, 2)
        self.struck["connections dropped"] += sum(one.drop() for one in self.proxies)

    def _proxied(self, name: str) -> int:
        return sum(proxy.counts[name] for proxy in self.proxies)

    # --- bad records, no room ---------------------------------------------------------------

    def poison(self) -> None:
        bad = [message for _, message in poison.refused()]
        produced(self.run.broker.bootstrap, bad)
        self.refused += len(bad)
        self.struck["poison"] += 1

    def disk_full(self) -> None:
        """The sinks say so and wait; meanwhile the history can be read."""
        sinks = [role.process.pid for role in self.run.sinks.values()]
        before = self._complaints()
        with self.disk.full(sinks):
            self.more()
            deadline = time.monotonic() + PASSED_WITHIN
            while self._complaints() == before and time.monotonic() < deadline:
                time.sleep(0.2)
            for _ in range(3):
                self.run.supervise()
                time.sleep(1)
            read = turnfold("sql", "--history", self.run.history, "SELECT count(*) FROM events")
            if read.code:
                self.run.wrong.append(f"not readable on a full disk: {read.err}")
        self.struck["disk full"] += self._complaints() > before

    def _complaints(self) -> int:
        said = [role.file.read_text(errors="replace") for role in self.run.sinks.values()]
        return sum(text.count("No space left") + text.count("File too large") for text in said)

    # --- chance -----------------------------------------------------------------------------

    def _wait(self, least: float, most: float) -> None:
        time.sleep(self.chance.uniform(least, most))

    def _one(self, roles: dict[str, Role]) -> Role:
        return roles[self.chance.choice(NAMES)]
