"""Replays of single dead letters, by the functions of `turnfold admin dlq replay`."""

import asyncio
from typing import TYPE_CHECKING

from sinks.locations import Location
from streams import event_loop
from streams.errors import DataRefused, Unreachable
from streams.serving.backends.backend import NotReady
from streams.serving.history.history_queries import HistoryQueries

if TYPE_CHECKING:
    from streams.kafka.client.settings import KafkaSettings
    from streams.kafka.tools.dead_letters import Letter

WITHIN = 60.0
"""Seconds that the broker may take."""
SENT = "sent"
ENDINGS = (
    SENT, "settled", "of_a_generation", "other_reason", "refused_again",
    "bytes_not_kept", "needs_mapping", "too_large", "withheld",
)  # fmt: skip
"""Outcomes of a replay: sent, or the reason why it was not."""


class Replays:
    """Replays one letter at a time: it is settled before the next starts."""

    def __init__(self, settings: "KafkaSettings") -> None:
        self._settings = settings
        self._one = asyncio.Lock()

    async def replay(self, past: HistoryQueries, tenant: str, place: str, again: bool) -> str:
        """The result (`ENDINGS`). `again`: also a letter that was rejected again after a replay.

        Raises Problem for an unknown letter of the tenant, NotReady without a broker.
        """
        from streams.kafka.tools.dead_letters import of_history

        def letters(root: Location) -> "list[Letter]":
            stored = of_history(root, tenant, place)
            if place not in (letter.place for letter in stored):
                raise DataRefused(f"no dead letter {place}")
            return stored

        stored = await past.ask("dead letter", tenant, letters)
        async with self._one:
            try:
                return await asyncio.to_thread(self._send, stored, tenant, place, again)
            except (Unreachable, TimeoutError) as error:
                raise NotReady(str(error) or "Kafka: no answer in time") from None

    def _send(self, stored: "list[Letter]", tenant: str, place: str, again: bool) -> str:
        """In a separate event loop: a long topic delays no other request."""
        from streams.kafka.tools.dead_letters import of_topic
        from streams.kafka.tools.replay import replay, select
        from streams.kafka.tools.settling import settle, unsettled

        async def send() -> str:
            async with asyncio.timeout(WITHIN):
                topic = await of_topic(self._settings, tenant)
                to_send, passed = select(stored, (), again, [place], topic)
                if not to_send:
                    return next(why for why in passed if why != "not_named")
                counts, sent = await replay(to_send[:1], self._settings)
                await settle(unsettled(sent, [*stored, *topic]), None, self._settings)
                return next(name for name, count in counts.items() if count)

        return event_loop.run(send())
