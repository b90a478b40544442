"""`turnstone repartition` that kills itself when it has passed so many points."""

import argparse
import asyncio
import os
import signal
import sys

from streams.kafka.repartition import repartition
from streams.kafka.settings import KafkaSettings


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--to", type=int, required=True)
    parser.add_argument("--die-after", type=int, required=True)
    given = parser.parse_args()
    left = given.die_after

    def observe(point: str) -> None:
        nonlocal left
        left -= 1
        if left <= 0:
            sys.stdout.write(f"{point}\n")
            sys.stdout.flush()
            os.kill(os.getpid(), signal.SIGKILL)

    settings = KafkaSettings.plain(given.bootstrap)
    asyncio.run(repartition(settings, "turnstone", None, given.to, observe=observe))


if __name__ == "__main__":
    main()
