"""Hurts the whole topology in every way we know, under load, and checks that nothing is bent.

    python -m tests.fault.kill_topology --kills 50 --turns 500000

Two workers and two sinks on a real broker, one of each behind a proxy, fold real data. Each round
sends more and does one thing to them. Then the same with three brokers, of which one is killed at
a time. Afterwards digests and counters must agree (accounts.py), committed offsets never went
back, and every kind of fault has struck. Exits 1 where something is wrong.
"""

import argparse
import random
import sys
import tempfile
from pathlib import Path

from tests.fault.load import records
from tests.fault.scenario import Result, Scenario, one_broker, three_brokers
from tests.shared_data import ROOT


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
    parser.add_argument("--kills", type=int, default=50, help="at least, with one broker")
    parser.add_argument("--turns", type=int, default=500_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nodes-killed", type=int, default=6, help="of three brokers, one by one")
    parser.add_argument("--only", action="append", default=[], help="only this fault; again")
    parser.add_argument("--keep", type=Path, help="folder for logs and records")
    given = parser.parse_args()
    shared = ROOT.parent / "shared"
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
