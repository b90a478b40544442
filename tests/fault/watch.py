"""Looks at groups' committed offsets all the time: they must never go back."""

import asyncio
import threading
from collections import Counter
from collections.abc import Sequence
from typing import Self

from aiokafka.errors import KafkaError
from aiokafka.structs import TopicPartition

from streams.errors import TurnstoneError
from streams.kafka.admin import connected
from streams.kafka.settings import KafkaSettings

EVERY = 0.5  # seconds
WITHIN = 5.0


class Watch:
    """A thread that asks for as long as the block lasts.

    `counts`: how often it asked, got no answer (a broker that is down) and saw an offset move.
    `went_back` describes each offset that did.
    """

    def __init__(self, bootstrap: str, groups: Sequence[str]) -> None:
        self.counts: Counter[str] = Counter()
        self.went_back: list[str] = []
        self._settings = KafkaSettings.plain(bootstrap)
        self._groups = groups
        self._seen: dict[tuple[str, TopicPartition], int] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(EVERY):
            try:
                asyncio.run(self._ask())
                self.counts["asked"] += 1
            except (TurnstoneError, KafkaError):
                self.counts["no answer"] += 1

    async def _ask(self) -> None:
        async with connected(self._settings, WITHIN) as admin:
            for group in self._groups:
                for at, found in (await admin.list_consumer_group_offsets(group)).items():
                    if found.offset >= 0:
                        self._look(group, at, found.offset)

    def _look(self, group: str, at: TopicPartition, offset: int) -> None:
        before = self._seen.get((group, at), -1)
        if offset < before:
            self.went_back.append(f"{group}: {at.topic}/{at.partition} from {before} to {offset}")
        self.counts["moved"] += offset > before
        self._seen[group, at] = max(offset, before)
