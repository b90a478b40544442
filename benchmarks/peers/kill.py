"""SIGKILLs a peer's worker while turns come in, and counts what was lost, doubled or wrong.

    python -m benchmarks.peers.kill --peer ours --kills 8 --turns 100000

A round: half of its turns wait when the worker starts, the others come while it works; at a random
moment after its first outputs are readable it is killed, and started again; one more round goes
undisturbed. What is read at the end under `read_committed` is compared with what the job itself
makes of every turn: a turn is known by its session and its text.
"""

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from aiokafka import AIOKafkaProducer

from benchmarks.common import machine, note
from benchmarks.peers import job
from benchmarks.peers.outputs import Outputs, create, fold
from benchmarks.peers.workers import PEERS, last_words, start
from streams.broker import Broker

SOURCE, OUTPUT, CHANGELOG, GROUP = "killed-in", "killed-out", "killed-changelog", "killed"
WITHIN = 1.5
"""Seconds from a worker's first outputs to its end, at most; as long its other turns come."""
HANDFULS = 30
TOO_LONG = 180.0
QUIET = 20.0
"""Seconds without a new output, with nothing more to come: it is done, or never will be. Nobody
commits so seldom."""
POLL = 0.02

Turn = tuple[bytes, bytes]
Identity = tuple[str, str]
"""A turn's session and text, and those of its context."""


class Tally(NamedTuple):
    """Turns; those `lost` without an output, `doubled` outputs beyond the first of a turn; outputs
    with a `wrong` context; sessions whose last context is `wrong_at_the_end`."""

    turns: int
    kills: int
    lost: int
    doubled: int
    wrong: int
    wrong_at_the_end: int


class Fed:
    """The turns that were sent, as the contexts they make: each one's, and each session's last."""

    def __init__(self) -> None:
        self.outputs: dict[Identity, job.Context] = {}
        self.contexts: dict[str, job.Context] = {}

    def add(self, turn: bytes) -> None:
        context = fold(self.contexts, turn)
        self.outputs[_identity(context)] = context


class Feeder:
    """Sends turns, and remembers them."""

    def __init__(self, producer: AIOKafkaProducer, turns: Iterator[Turn]) -> None:
        self._producer, self._turns = producer, turns
        self.fed = Fed()

    async def send(self, count: int) -> None:
        for key, value in islice(self._turns, count):
            await self._producer.send(SOURCE, key=key, value=value)
            self.fed.add(value)
        await self._producer.flush()

    async def trickle(self, count: int) -> None:
        for number in range(HANDFULS):
            await self.send(count * (number + 1) // HANDFULS - count * number // HANDFULS)
            await asyncio.sleep(WITHIN / HANDFULS)


def _identity(context: job.Context) -> Identity:
    return context.session_id, context.last_user_message


class Victim:
    """The worker that is killed, and the next one with the same name and folder."""

    def __init__(self, peer: str, bootstrap: str, folder: Path) -> None:
        self._given = (peer, folder, bootstrap, GROUP, SOURCE, OUTPUT, CHANGELOG)
        self._folder = folder
        self.start()

    def start(self) -> None:
        self._worker = start(*self._given)

    def check(self) -> None:
        """A kill of who is gone already would be none."""
        if (code := self._worker.poll()) is not None:
            sys.exit(f"the worker ended by itself with {code}: {self.last_words()}")

    def end(self) -> None:
        self._worker.kill()
        self._worker.wait()

    def last_words(self) -> str:
        return last_words(self._folder)


async def kill(bootstrap: str, peer: str, kills: int, turns: int, seed: int, folder: Path) -> Tally:
    await create(bootstrap, SOURCE, OUTPUT, CHANGELOG)
    async with (
        AIOKafkaProducer(
            bootstrap_servers=bootstrap, linger_ms=5, enable_idempotence=True
        ) as producer,
        Outputs(bootstrap, OUTPUT) as outputs,
    ):
        portion = turns // (kills + 1)
        feeder = Feeder(producer, job.turns(portion * (kills + 1)))
        victim = Victim(peer, bootstrap, folder)
        try:
            await _rounds(feeder, outputs, victim, portion, kills, random.Random(seed))
            await feeder.send(portion)
            await _await_new(outputs, victim)
            while await _is_new(outputs, victim, QUIET):
                pass
        finally:
            victim.end()
        rows = [one.value async for records in outputs.read() for one in records]
        return tally(map(job.decode_row, rows), feeder.fed, kills)


async def _rounds(
    feeder: Feeder,
    outputs: Outputs,
    victim: Victim,
    portion: int,
    kills: int,
    chance: random.Random,
) -> None:
    for number in range(1, kills + 1):
        await feeder.send(portion // 2)
        await _await_new(outputs, victim)
        others = asyncio.create_task(feeder.trickle(portion - portion // 2))
        await asyncio.sleep(chance.uniform(0, WITHIN))
        victim.check()
        victim.end()
        victim.start()
        await others
        note(f"{number} kills, {len(feeder.fed.outputs):,} turns")


async def _await_new(outputs: Outputs, victim: Victim) -> None:
    if not await _is_new(outputs, victim, TOO_LONG):
        sys.exit(f"no output in {TOO_LONG:.0f} s; the worker says: {victim.last_words()}")


async def _is_new(outputs: Outputs, victim: Victim, within: float) -> bool:
    """Whether something new became readable."""
    before, deadline = await outputs.ends(), time.monotonic() + within
    while await outputs.ends() == before:
        victim.check()
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(POLL)
    return True


def tally(contexts: Iterable[job.Context], fed: Fed, kills: int) -> Tally:
    """Compares all outputs, a session's in their order, with those that should be."""
    seen: Counter[Identity] = Counter()
    last: dict[str, job.Context] = {}
    wrong = 0
    for context in contexts:
        identity = _identity(context)
        seen[identity] += 1
        last[context.session_id] = context
        wrong += fed.outputs.get(identity) != context
    return Tally(
        turns=len(fed.outputs),
        kills=kills,
        lost=len(fed.outputs.keys() - seen.keys()),
        doubled=seen.total() - len(seen),
        wrong=wrong,
        wrong_at_the_end=sum(last.get(key) != context for key, context in fed.contexts.items()),
    )


def table(tallies: dict[str, Tally]) -> str:
    lines = [
        "| peer | turns | kills | lost | doubled | wrong contexts | sessions wrong at the end |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for peer, tally in tallies.items():
        lines.append(f"| {peer} | {' | '.join(f'{number:,}' for number in tally)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--peer", nargs="+", default=["ours"], choices=list(PEERS))
    parser.add_argument("--kills", type=int, default=8)
    parser.add_argument("--turns", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    tallies = {}
    for peer in given.peer:
        with Broker.start() as broker, tempfile.TemporaryDirectory() as folder:
            killed = kill(
                broker.bootstrap, peer, given.kills, given.turns, given.seed, Path(folder)
            )
            tallies[peer] = asyncio.run(killed)
        note(f"{peer}: {tallies[peer]}")
    if given.json:
        counted = {peer: tally._asdict() for peer, tally in tallies.items()}
        said = json.dumps({"machine": machine(), "peers": counted}, indent=1)
    else:
        said = f"{table(tallies)}\n\n{machine()}"
    sys.stdout.write(said + "\n")


if __name__ == "__main__":
    main()
