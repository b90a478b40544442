"""The long form of `test_worlds`: as many worlds as told, in all cores.

    python -m tests.reference.worlds_at_length --worlds 100000 --first 0

Compares folds and replayed revisions with the reference model, world by world. Of a world that
differs it drops records while it still does, and prints what is left. Exits with 1 then.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from random import Random

from tests.property.world import World
from tests.reference import worlds
from tests.reference.test_worlds import faults
from tests.reference.worlds import Json

AT_ONCE = 500


def found(records: list[Json]) -> list[str]:
    """What differs in one world."""
    world = World()
    world.say(*records)
    return faults(records, world)


def arranged(seed: int) -> list[Json]:
    draw = Random(seed)
    return worlds.arranged(draw, worlds.world(draw))


def differing(seeds: Iterable[int]) -> list[tuple[int, list[Json], list[str]]]:
    """Worlds that differ, as small as dropping records makes them."""
    wrong = []
    for seed in seeds:
        records = arranged(seed)
        if found(records):
            small = smaller(records)
            wrong.append((seed, small, found(small)))
    return wrong


def smaller(records: list[Json]) -> list[Json]:
    """Fewer records that differ still; none can be left out."""
    for number in range(len(records)):
        rest = records[:number] + records[number + 1 :]
        if found(rest):
            return smaller(rest)
    return records


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0, help="the first world's number")
    given = parser.parse_args()
    began, wrong = time.monotonic(), 0
    last = given.first + given.worlds
    parts = [range(at, min(at + AT_ONCE, last)) for at in range(given.first, last, AT_ONCE)]
    with ProcessPoolExecutor(os.cpu_count()) as cores:
        for part, some in zip(parts, cores.map(differing, parts), strict=True):
            for seed, records, faults_of_it in some:
                wrong += 1
                print(f"world {seed}:", *map(json.dumps, records), *faults_of_it, sep="\n")
            print(f"{part.stop - given.first} worlds, {wrong} differ", file=sys.stderr, end="\r")
    seconds = time.monotonic() - began
    print(f"{given.worlds} worlds, {wrong} differ from the reference model; {seconds:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
