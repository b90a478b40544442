"""`turnfold admin dlq replay`: sends dead letters to their source topics.

A letter is sent with its bytes, key and headers, and with the header REPLAY, the id of the record's
first letter. A sent letter is settled (`streams.kafka.tools.settling`) and not sent again. If a
worker rejects the record again, its new letter has the header as well and replaces the old one;
only `again` sends it, for a version that accepts more.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from sinks.locations import Location
from sinks.sink_history import check_cluster, owner_of
from streams.files.inbox import TOPIC as INBOX
from streams.folds.effects import Input
from streams.kafka.agents.routing import MAPPED_FROM, route, route_of
from streams.kafka.client.admin import cluster_of, connected
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.sink.batch import MISFIT
from streams.kafka.tools.dead_letters import REPLAY, Letter, with_ids
from streams.kafka.tools.produce import Feed, Headers
from streams.pipeline.decode import Dead
from streams.pipeline.withheld import in_headers
from streams.topology import TOPICS

SHOWN = 5
"""Maximum letters with their new rejection shown."""
TOPIC_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
READ = tuple(topic for topic in TOPICS if topic.direction != "output")
_INPUTS = {topic.name for topic in READ}

if TYPE_CHECKING:
    from streams.mapping.mapper import Source


class ReplayMapping(Protocol):
    """The part of `streams.mapping.mapper.Mapper` that replays use."""

    def of_place(self, topic: str) -> "Source | None": ...


class Replayed(NamedTuple):
    counts: dict[str, int]
    sent: list[Letter]


def select(
    letters: Iterable[Letter],
    reasons: Sequence[str] = (),
    again: bool = False,
    places: Sequence[str] = (),
    topic: Collection[Letter] = (),
    mapping: ReplayMapping | None = None,
) -> tuple[list[Letter], Counter[str]]:
    """The letters to send, of these places if any are given, and the numbers of skipped letters by
    reason.

    `topic`: letters of the topic, which shows settled and rejected ones before the history does.
    `mapping`: for letters of other topics than ours; without it they are skipped. Raises
    DataRefused for a place without a letter.
    """
    all_letters = list(letters)
    with_ids(all_letters, places)
    settled = {
        (letter.place, letter.payload) for letter in (*all_letters, *topic) if letter.is_settled
    }
    replaced = {letter.original for letter in (*all_letters, *topic)}
    to_send: list[Letter] = []
    skipped: Counter[str] = Counter()
    for letter in all_letters:
        is_settled = letter.place in replaced or (letter.place, letter.payload) in settled
        if places and letter.place not in places:
            skipped["not_named"] += 1
        elif is_settled and not (again and places):
            skipped["settled"] += 1
        elif _is_generation_topic(letter.src_topic) and not _mapped(letter, mapping):
            skipped["of_a_generation"] += 1
        elif letter.reason == MISFIT or (reasons and letter.reason not in reasons):
            skipped["other_reason"] += 1
        elif letter.original is not None and not again:
            skipped["refused_again"] += 1
        elif _is_platform_topic(letter.src_topic) and not _mapped(letter, mapping):
            skipped["needs_mapping"] += 1
        elif letter.reason not in reasons and _is_changed(letter.payload):
            skipped["bytes_not_kept"] += 1
        else:
            to_send.append(letter)
    return to_send, skipped


async def check_owner(history: Location, settings: KafkaSettings) -> None:
    """Raises HistoryError if a history's letters come from other topics than they would be sent to;
    Unreachable."""
    async with connected(settings) as admin:
        cluster = await cluster_of(admin, settings)
    instead = (
        "Correct --bootstrap or the topic prefix, or send the letters to another installation "
        "with --elsewhere"
    )
    check_cluster(history, owner_of(history), cluster, instead)


async def replay(
    letters: Iterable[Letter],
    settings: KafkaSettings,
    mapping: ReplayMapping | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Replayed:
    """Sends letters in order: {"sent", "too_large", "withheld"}; with a mapping also {"skipped",
    "refused"}: events without a record, or still without a valid one; `say` receives the first of
    these. Raises Unreachable."""
    counts: Counter[str] = Counter(sent=0, too_large=0, withheld=0)
    sent: list[Letter] = []
    if mapping is not None:
        counts.update(skipped=0, refused=0)
    async with Feed(settings, topics=READ) as feed:
        for letter in letters:
            if mapping is not None and (source := mapping.of_place(letter.src_topic)):
                if await _map(letter, source, feed, counts, say):
                    sent.append(letter)
                continue
            destination = route(letter.payload)
            if destination is None or in_headers(letter.sent_headers):
                counts["withheld"] += 1
                continue
            topic = letter.src_topic if letter.src_topic in _INPUTS else destination.topic
            key = destination.key if letter.key is None else letter.key.encode()
            fits = await feed.send(topic, key, destination.value, _headers_of(letter))
            counts["sent" if fits else "too_large"] += 1
            if fits:
                sent.append(letter)
        await feed.flush()
    return Replayed(dict(counts), sent)


async def _map(
    letter: Letter, source: "Source", feed: Feed, counts: Counter[str], say: Callable[[str], None]
) -> bool:
    """Maps an event again, and sends the record to its topic, never to the platform's. Returns
    whether it was sent."""
    from streams.mapping.envelopes import Message

    place = (letter.src_topic, letter.src_partition, letter.src_offset)
    key = None if letter.key is None else letter.key.encode()
    envelope = Message(letter.src_topic, letter.recorded_at // 1000, key, letter.sent_headers)
    decoded, line = source.map(letter.payload, place, envelope)
    if isinstance(decoded, Input):
        destination = route_of(decoded.record, line)
        marks = [(MAPPED_FROM, "/".join(map(str, place)).encode()), _mark(letter)]
        fits = await feed.send(destination.topic, destination.key, line, marks)
        counts["sent" if fits else "too_large"] += 1
        return fits
    if isinstance(decoded, Dead):
        counts["refused"] += 1
        if counts["refused"] <= SHOWN:
            say(f"{letter.place}: still {decoded.reason}: {decoded.detail}")
    else:
        counts[decoded] += 1
    return False


def _is_platform_topic(topic: str) -> bool:
    """Whether a letter comes from a mapped topic: files are recognized by their path."""
    return topic not in _INPUTS and topic != INBOX and TOPIC_NAME.fullmatch(topic) is not None


def _mapped(letter: Letter, mapping: ReplayMapping | None) -> bool:
    """Whether a mapping includes the letter's topic or file."""
    return mapping is not None and mapping.of_place(letter.src_topic) is not None


def _is_generation_topic(topic: str) -> bool:
    """Whether a letter comes from a generation's topic: replays go to the live memory's topics,
    where it does not belong."""
    stem, dot, _ = topic.partition(".")
    return bool(dot) and stem in _INPUTS


def _is_changed(payload: bytes) -> bool:
    """Whether these are not the record's original bytes: images were removed, or text withheld."""
    return b"[image removed: " in payload or payload.startswith(b'{"bytes":')


def _headers_of(letter: Letter) -> Headers:
    return [*(header for header in letter.sent_headers if header[0] != REPLAY), _mark(letter)]


def _mark(letter: Letter) -> tuple[str, bytes]:
    return REPLAY, (letter.original or letter.place).encode()
