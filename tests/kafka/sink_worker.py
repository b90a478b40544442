"""A sink process that kills itself at a named point: `--kill-at "after events" --nth 2`."""

import argparse
import asyncio
import logging
import os
import signal
from collections import Counter

from sinks.locations import Location, location_of
from sinks.sink_history import SharedHistory
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.sink.options import SinkOptions, owner
from streams.kafka.sink.sink import Sink


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--topic-prefix", default="")
    parser.add_argument("--history", type=location_of, required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--instance")
    parser.add_argument("--roll-bytes", type=int, default=200_000)
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--kill-at")
    parser.add_argument("--nth", type=int, default=1)
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    passed: Counter[str] = Counter()

    def observe(point: str) -> None:
        passed[point] += 1
        print(point, flush=True)
        if point == given.kill_at and passed[point] == given.nth:
            os.kill(os.getpid(), signal.SIGKILL)

    options = SinkOptions(
        given.name, given.instance, given.roll_bytes, 0.5, given.once, 500, observe
    )
    settings = KafkaSettings(bootstrap=given.bootstrap, topic_prefix=given.topic_prefix)
    asyncio.run(_run(settings, given.history, options))


async def _run(settings: KafkaSettings, history: Location, options: SinkOptions) -> None:
    whose = await owner(settings, options)
    with SharedHistory(history, whose) as tables:
        sink = Sink(settings, tables, options)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, sink.stop, False)
        counts = await sink.run()
    print(f"counts {counts}", flush=True)


if __name__ == "__main__":
    main()
