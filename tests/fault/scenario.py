"""A deployment under load that is hurt: what is started, what is done to it, what came of it."""

import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

from streams.broker import Broker, Security
from streams.files import file_runner
from tests.fault import accounts, commits, poison
from tests.fault.deployment import SINK, Deployment
from tests.fault.disk import small_disk
from tests.fault.faults import PASSED_WITHIN, Faults
from tests.fault.feeder import Feeder
from tests.fault.load import Record
from tests.fault.proxy import Proxy
from tests.kafka.working import APP, produced

GROUPS = (APP, SINK)

Act = Callable[[Faults, Feeder], None]


class Result(NamedTuple):
    """What a scenario did: records sent, turns among them, kills, faults by name, outcome
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

    def play(self, act: Act) -> Result:
        """Starts everything, lets `act` hurt it, and settles the accounts."""
        with ExitStack() as stack:
            run, faults = self._start(stack)
            bootstrap = run.broker.bootstrap
            known = self.folder / "known.ndjson"
            known.write_bytes(b"".join(line + b"\n" for line in poison.KNOWN))
            produced(bootstrap, [("turns", poison.SESSION, one, ()) for one in poison.KNOWN])
            with Feeder(self._data, bootstrap, self.folder) as feeder:
                act(faults, feeder)
                feeder.finish()
            note("all is sent")
            counts = accounts.await_done(run)
            run.stop()
            offsets = commits.of_groups(bootstrap, GROUPS)
            note("all is done")
            file_runner.run([str(file) for file in (known, *feeder.files)], self.folder / "by-file")
            note("the file runner has ended too")
            wrong = accounts.problems(run, counts, self.folder / "by-file", faults.refused)
        wrong += offsets.went_back
        wrong += [f"{group} committed nothing" for group in GROUPS if not offsets.counts[group]]
        self._tell(run.struck, faults.proxies, offsets.counts, feeder)
        return Result(
            feeder.records, feeder.turns, faults.kills, run.struck, accounts.outcomes(counts), wrong
        )

    def _start(self, stack: ExitStack) -> tuple[Deployment, Faults]:
        """Broker, proxies, disk, workers and sinks, until the stack is closed."""
        enter = stack.enter_context
        proxies = [enter(Proxy()) for _ in range(self._nodes)]
        advertised = [proxy.port for proxy in proxies]
        broker = enter(Broker.start(nodes=self._nodes, security=Security(advertised=advertised)))
        for proxy, node in zip(proxies, broker.nodes, strict=True):
            proxy.target = node.ports["PROXIED"]
        disk = enter(small_disk(self.folder / "disk", self._megabytes))
        through = ",".join(f"127.0.0.1:{port}" for port in advertised)
        run = Deployment(broker, self.folder, disk.folder / "history", through)
        stack.callback(run.kill_all)
        run.start()
        run.await_ready()
        return run, Faults(run, disk, self.chance, proxies)

    def _tell(
        self,
        struck: Counter[str],
        proxies: Sequence[Proxy],
        committed: Counter[str],
        feeder: Feeder,
    ) -> None:
        """What is worth a line though it is no fault."""
        struck["(produce run again)"] += feeder.again
        struck["(offsets committed)"] += committed.total()
        for proxy in proxies:
            struck["(MB through proxies)"] += proxy.counts["bytes"] // 1_000_000


def one_broker(kills: int, turns: int, step: int, only: Sequence[str] = ()) -> Act:
    """Every fault in turn, until there were enough kills and turns. `step`: turns a round."""

    def act(faults: Faults, feeder: Feeder) -> None:
        names = only or list(faults.kinds())
        faults.more = partial(feeder.feed, max(step // 5, 200))
        for number, name in enumerate(cycle(names)):
            enough = faults.kills >= kills and feeder.turns >= turns
            if enough and number >= len(names):
                break
            feeder.feed(step)
            faults.strike(name)
            note(f"{faults.kills:>4} kills {feeder.turns:>9,} turns  {name}")
        faults.run.wrong += [f"{name}: never happened" for name in names if not faults.struck[name]]

    return act


def three_brokers(rounds: int, step: int) -> Act:
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
