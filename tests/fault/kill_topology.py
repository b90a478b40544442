"""Hurts the whole topology in every way we know, under load, and checks that nothing is bent.

    python -m tests.fault.kill_topology --kills 50 --turns 500000

Two workers and two sinks on a real broker, one of each behind a proxy, fold real data. Each round
sends more and does one thing to them. Then the same with three brokers, of which one is killed at
a time. Afterwards laws 1 and 3 must hold (accounts.py), committed offsets never went back, and
every kind of fault has struck. Exits 1 where something is wrong. Needs the shared data.
"""

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

from streams.broker import Broker, Security, ports
from streams.runtime import local
from tests.command import ndjson, turnstone
from tests.fault import accounts, poison
from tests.fault.deployment import (
    NAMES,
    SINK,
    Deployment,
    Role,
    doomed_sink,
    doomed_worker,
    worker_command,
)
from tests.fault.disk import Disk, small_disk
from tests.fault.feeder import Feeder
from tests.fault.load import Record, records
from tests.fault.proxy import Proxy
from tests.fault.watch import Watch
from tests.kafka.working import APP, produced
from tests.shared_data import ROOT

SESSION = 10.0  # seconds, of workers and sinks
PASSED_WITHIN = 30.0
ATTEMPTS, ATTEMPT = 5, 8.0  # seconds
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
            "worker killed": self.worker_killed,
            "sink killed": self.sink_killed,
            **kill_worker,
            "broker killed": self.broker_killed,
            "poison": self.poison,
            "both workers killed": self.both_workers_killed,
            "connections slow": self.slow,
            **kill_sink,
            "worker asleep": self.worker_asleep,
            "both sinks killed": self.both_sinks_killed,
            "connections stalled": self.stalled,
            "rebalances": self.rebalances,
            "connections half-closed": self.half_closed,
            "sink asleep": self.sink_asleep,
            "connections dropped": self.dropped,
            "disk full": self.disk_full,
        }

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
        """The sinks say so and end; meanwhile the history can be read."""
        sinks = [role.process.pid for role in self.run.sinks.values()]
        before = self._complaints()
        with self.disk.full(sinks):
            self.more()
            deadline = time.monotonic() + PASSED_WITHIN
            while self._complaints() == before and time.monotonic() < deadline:
                time.sleep(0.2)
            for _ in range(3):
                self.run.supervise()  # they end again, and again
                time.sleep(1)
            read = turnstone("sql", "--history", self.run.history, "SELECT count(*) FROM events")
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


class Result(NamedTuple):
    """What a scenario did: records sent, turns among them, kills, faults by name, law 3's
    counters, and what is wrong."""

    records: int
    turns: int
    kills: int
    struck: Counter[str]
    counts: dict[str, int]
    wrong: list[str]


class Scenario:
    """Broker, proxies, deployment, feeder and watch, from start to the accounts."""

    def __init__(
        self, folder: Path, data: Iterator[Record], chance: random.Random, nodes: int = 1,
        megabytes: int = 8_000,
    ) -> None:  # fmt: skip
        self.folder, self.chance = folder, chance
        folder.mkdir(parents=True, exist_ok=True)
        self._data, self._nodes, self._megabytes = data, nodes, megabytes

    def play(self, act: "Callable[[Faults, Feeder], None]") -> Result:
        """Starts everything, lets `act` hurt it, and settles the accounts."""
        with ExitStack() as stack:
            enter = stack.enter_context
            advertised = ports.free(self._nodes)
            broker = enter(
                Broker.start(nodes=self._nodes, security=Security(advertised=advertised))
            )
            proxies = [
                enter(Proxy(port, node.ports["PROXIED"]))
                for port, node in zip(advertised, broker.nodes, strict=True)
            ]
            disk = enter(small_disk(self.folder / "disk", self._megabytes))
            through = ",".join(f"127.0.0.1:{port}" for port in advertised)
            run = Deployment(broker, self.folder, disk.folder / "history", through)
            stack.callback(run.kill_all)
            known = ndjson(self.folder / "known.ndjson", [])
            known.write_bytes(b"".join(line + b"\n" for line in poison.KNOWN))
            run.start()
            run.workers["a"].wait_for(": restored ")
            produced(broker.bootstrap, [("turns", poison.SESSION, one, ()) for one in poison.KNOWN])
            faults = Faults(run, disk, self.chance, proxies)
            with Watch(broker.bootstrap, [APP, SINK]) as watch:
                with Feeder(self._data, broker.bootstrap, self.folder) as feeder:
                    act(faults, feeder)
                    feeder.finish()
                note("all is sent")
                counts = accounts.await_done(run)
                note("all is done")
                run.stop()
            note("all have ended")
            files = [str(file) for file in (known, *feeder.files)]
            local.run(files, self.folder / "by-file")
            note("the file runner has ended too")
            wrong = accounts.problems(run, counts, self.folder / "by-file", faults.refused)
            wrong += watch.went_back
            if not watch.counts["moved"]:
                wrong.append(f"nobody watched the offsets: {dict(watch.counts)}")
        self._tell(run.struck, proxies, watch, feeder)
        return Result(
            feeder.records, feeder.turns, faults.kills, run.struck, accounts.outcomes(counts), wrong
        )

    def _tell(
        self, struck: Counter[str], proxies: Sequence[Proxy], watch: Watch, feeder: Feeder
    ) -> None:
        """What is worth a line though it is no fault."""
        struck["(produce run again)"] += feeder.again
        struck["(offsets seen to move)"] += watch.counts["moved"]
        for proxy in proxies:
            struck["(MB through proxies)"] += proxy.counts["bytes"] // 1_000_000


def one_broker(kills: int, turns: int, step: int, only: Sequence[str] = ()) -> Callable[..., None]:
    """Every fault in turn, until there were enough kills and turns."""

    def act(faults: Faults, feeder: Feeder) -> None:
        asked = 0
        faults.more = partial(feeder.feed, max(step // 5, 200))
        for round_, name in enumerate(cycle(only or faults.kinds())):
            if faults.kills >= kills and asked >= turns and round_ >= len(only or faults.kinds()):
                return
            feeder.feed(step)
            asked += step
            faults.strike(name)
            note(f"{faults.kills:>4} kills {feeder.turns:>9,} turns  {name}")

    return act


def three_brokers(rounds: int, step: int) -> Callable[..., None]:
    """One node at a time is killed; the work must go on while it is away."""

    def act(faults: Faults, feeder: Feeder) -> None:
        run = faults.run
        for number in range(rounds):
            feeder.feed(step)
            faults._wait(0.5, 2)
            node = run.broker.nodes[number % len(run.broker.nodes)]
            node.kill()
            before = accounts.committed_counts(run.broker.bootstrap)["read"]
            deadline = time.monotonic() + PASSED_WITHIN
            while accounts.committed_counts(run.broker.bootstrap)["read"] <= before:
                if time.monotonic() > deadline:
                    run.wrong.append(f"nothing was done while node {node.number} was away")
                    break
                time.sleep(0.5)
            else:
                faults.struck["one of three brokers killed, the work went on"] += 1
            faults.strike("worker killed")
            faults.strike("sink killed")
            node.start()
            run.broker.await_ready()
            note(f"{faults.kills:>4} kills {feeder.turns:>9,} turns  node killed")

    return act


def note(text: str) -> None:
    """How far it is, to stderr."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")


def say(title: str, result: Result) -> None:
    """The table of one scenario."""
    lines = [f"{title}: {result.records:,} records ({result.turns:,} turns), {result.kills} kills"]
    lines += [f"{count:>7,}  {name}" for name, count in sorted(result.struck.items())]
    lines += [f"{count:>7,}  {name}" for name, count in result.counts.items()]
    lines += result.wrong or ["nothing lost, nothing doubled, memory as the file runner's"]
    sys.stdout.write("\n".join(lines) + "\n\n")
    sys.stdout.flush()


def main() -> int:
    """The long form, for people."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--turns", type=int, default=500_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nodes-killed", type=int, default=6, help="of three brokers, one by one")
    parser.add_argument("--only", action="append", default=[], help="only this fault; again")
    parser.add_argument("--keep", type=Path, help="folder for logs and records")
    given = parser.parse_args()
    shared = ROOT.parent / "shared"
    if not shared.exists():
        sys.exit("needs the shared data beside the project")
    chance = random.Random(given.seed)
    step = max(500, given.turns // (2 * max(1, given.kills)))
    with tempfile.TemporaryDirectory() as temporary:
        folder, data = given.keep or Path(temporary), records(shared)
        act = one_broker(given.kills, given.turns, step, given.only)
        results = {"one broker": Scenario(folder / "one", data, chance).play(act)}
        say("one broker", results["one broker"])
        if given.nodes_killed:
            act = three_brokers(given.nodes_killed, step)
            played = Scenario(folder / "three", data, chance, nodes=3).play(act)
            results["three brokers"] = played
            say("three brokers", played)
    return 1 if any(result.wrong for result in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
