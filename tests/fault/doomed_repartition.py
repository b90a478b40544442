"""`turnfold kafka repartition` that kills itself when it has passed so many points, or inside its
n-th transaction, which it leaves open."""

import argparse
import asyncio
import os
import signal
import sys

from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.transaction import Transactions
from streams.kafka.tools.repartition import repartition


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--to", type=int, required=True)
    when = parser.add_mutually_exclusive_group(required=True)
    when.add_argument("--die-after", type=int, metavar="POINTS")
    when.add_argument("--die-inside", type=int, metavar="TRANSACTION")
    given = parser.parse_args()
    left = given.die_after or given.die_inside
    commit = Transactions.commit

    def passed(point: str) -> None:
        nonlocal left
        left -= 1
        if left <= 0:
            sys.stdout.write(f"{point}\n")
            sys.stdout.flush()
            os.kill(os.getpid(), signal.SIGKILL)

    async def passed_inside(transactions: Transactions) -> None:
        passed("inside a transaction")
        await commit(transactions)

    if given.die_inside:
        Transactions.commit = passed_inside  # type: ignore[assignment,method-assign]
    observe = passed if given.die_after else lambda point: None
    settings = KafkaSettings.plain(given.bootstrap)
    asyncio.run(repartition(settings, "turnfold", None, given.to, observe=observe))


if __name__ == "__main__":
    main()
