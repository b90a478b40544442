"""Sends real data as `turnfold kafka produce` does, and keeps the files for the file runner."""

import asyncio
import queue
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from streams.errors import Unreachable
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.tools.produce import produce
from tests.command import ndjson
from tests.fault.load import Record

TOO_LONG = 300.0
PAUSE = 1.0  # seconds


class Feeder:
    """A thread that sends as many turns as it is asked for, with all that comes among them.

    `turns` and `records` count what is in the topics, `again` calls that had to be made again:
    what was sent before is then a duplicate. `files` are all records in their order.
    """

    def __init__(self, records: Iterator[Record], bootstrap: str, folder: Path) -> None:
        self.turns = self.records = self.again = 0
        self.files: list[Path] = []
        self.failure: BaseException | None = None
        self._more, self._bootstrap, self._folder = records, bootstrap, folder
        self._waiting: queue.Queue[Path | None] = queue.Queue()
        self._thread = threading.Thread(target=self._run, name="feeder")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._waiting.put(None)
        self._thread.join()

    def feed(self, turns: int) -> None:
        """So many more, sent while the caller goes on."""
        self.check()
        self._waiting.put(self._next(turns))

    def finish(self) -> None:
        """Returns when all is sent."""
        self._waiting.put(None)
        self._thread.join()
        self.check()

    def check(self) -> None:
        """Raises what went wrong."""
        if self.failure is not None:
            raise self.failure

    def _run(self) -> None:
        try:
            while file := self._waiting.get():
                self._send(file)
        except BaseException as error:
            self.failure = error

    def _next(self, turns: int) -> Path:
        some: list[Record] = []
        while turns:
            some.append(next(self._more))
            turns -= some[-1]["type"] == "turn"
        self.files.append(ndjson(self._folder / f"sent-{len(self.files):04}.ndjson", some))
        self.turns += sum(one["type"] == "turn" for one in some)
        self.records += len(some)
        return self.files[-1]

    def _send(self, file: Path) -> None:
        settings = KafkaSettings.plain(self._bootstrap)
        deadline = time.monotonic() + TOO_LONG
        while True:
            try:
                counts = asyncio.run(produce([str(file)], settings))
            except Unreachable:  # the broker is away
                if time.monotonic() > deadline:
                    raise
                self.again += 1
                time.sleep(PAUSE)
                continue
            assert counts["read"] == counts["sent"], counts
            return
