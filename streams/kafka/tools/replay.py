"""`turnfold admin dlq replay`: sends dead letters to the topics they came from.

A letter is sent with its bytes, key and headers, and with the header REPLAY, which has the id of
the first letter of the record. A letter that was sent is settled (`streams.kafka.tools.settling`)
and is not sent again. If a worker rejects the record once more, its new letter has the header too
and stands for the old one; it is sent only by `again`, for a version that accepts more.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from sinks.locations import Location
from sinks.shared import check_cluster, owner_of
from streams.files.inbox import TOPIC as INBOX
from streams.folds.rows import Input
from streams.kafka.agents.routing import MAPPED_FROM, route, route_of
from streams.kafka.client.admin import cluster_of, connected
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.sink.batch import MISFIT
from streams.kafka.tools.dead_letters import REPLAY, Letter, named
from streams.kafka.tools.produce import Feed, Headers
from streams.pipeline.decode import Dead
from streams.pipeline.withheld import in_headers
from streams.topology import TOPICS

SHOWN = 5
"""Letters that are refused again whose reasons are shown."""
TOPIC_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
READ = tuple(topic for topic in TOPICS if topic.direction != "output")
_INPUTS = {topic.name for topic in READ}

if TYPE_CHECKING:
    from streams.mapping.mapper import Source


class Mapping(Protocol):
    """As far as replays need a mapping: `streams.mapping.mapper.Mapper`."""

    def of_place(self, topic: str) -> "Source | None": ...


class Replayed(NamedTuple):
    """Counts (`replay`), and the letters that were sent."""

    counts: dict[str, int]
    sent: list[Letter]


def chosen(
    found: Iterable[Letter],
    reasons: Sequence[str] = (),
    again: bool = False,
    places: Sequence[str] = (),
    topic: Collection[Letter] = (),
    mapping: Mapping | None = None,
) -> tuple[list[Letter], Counter[str]]:
    """Those to send, of these places if any are named; how many are passed over and why.

    `topic`: the letters of the topic, which has settled and rejected ones before the history does.
    `mapping`: of letters of other topics than ours; without it these are passed over. Raises
    DataRefused for a place where no letter is.
    """
    every = list(found)
    named(every, places)
    settled = {(one.place, one.payload) for one in (*every, *topic) if one.is_settled}
    replaced = {one.original for one in (*every, *topic)}
    to_send: list[Letter] = []
    passed: Counter[str] = Counter()
    for one in every:
        is_settled = one.place in replaced or (one.place, one.payload) in settled
        if places and one.place not in places:
            passed["not_named"] += 1
        elif is_settled and not (again and places):
            passed["settled"] += 1
        elif _is_a_generation_s(one.src_topic) and not _mapped(one, mapping):
            passed["of_a_generation"] += 1
        elif one.reason == MISFIT or (reasons and one.reason not in reasons):
            passed["other_reason"] += 1
        elif one.original is not None and not again:
            passed["refused_again"] += 1
        elif _is_a_platform_s(one.src_topic) and not _mapped(one, mapping):
            passed["needs_mapping"] += 1
        elif one.reason not in reasons and _is_changed(one.payload):
            passed["bytes_not_kept"] += 1
        else:
            to_send.append(one)
    return to_send, passed


async def check_owner(history: Location, settings: KafkaSettings) -> None:
    """Raises HistoryError where a history's letters were read from other topics than those that
    they would be sent to; Unreachable."""
    async with connected(settings) as admin:
        cluster = await cluster_of(admin, settings)
    instead = (
        "Correct --bootstrap or the topic prefix, or send the letters to another installation "
        "with --elsewhere"
    )
    check_cluster(history, owner_of(history), cluster, instead)


async def replay(
    found: Iterable[Letter],
    settings: KafkaSettings,
    mapping: Mapping | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Replayed:
    """Sends letters, in their order: {"sent", "too_large", "withheld"}; with a mapping also
    {"skipped", "refused"}: events of which it makes nothing, or still no valid record; `say`
    hears of the first of these. Raises Unreachable."""
    counts: Counter[str] = Counter(sent=0, too_large=0, withheld=0)
    sent: list[Letter] = []
    if mapping is not None:
        counts.update(skipped=0, refused=0)
    async with Feed(settings, topics=READ) as feed:
        for one in found:
            if mapping is not None and (source := mapping.of_place(one.src_topic)):
                if await _map(one, source, feed, counts, say):
                    sent.append(one)
                continue
            way = route(one.payload)
            if way is None or in_headers(one.sent_headers):
                counts["withheld"] += 1
                continue
            topic = one.src_topic if one.src_topic in _INPUTS else way.topic
            key = way.key if one.key is None else one.key.encode()
            fits = await feed.send(topic, key, way.value, _marked(one))
            counts["sent" if fits else "too_large"] += 1
            if fits:
                sent.append(one)
        await feed.flush()
    return Replayed(dict(counts), sent)


async def _map(
    letter: Letter, source: "Source", feed: Feed, counts: Counter[str], say: Callable[[str], None]
) -> bool:
    """Maps an event again, and sends the record to where it belongs: never to the platform's own
    topic, which others read. Whether it was sent."""
    from streams.mapping.envelopes import Message

    place = (letter.src_topic, letter.src_partition, letter.src_offset)
    key = None if letter.key is None else letter.key.encode()
    message = Message(letter.src_topic, letter.recorded_at // 1000, key, letter.sent_headers)
    found, line = source.map(letter.payload, place, message)
    if isinstance(found, Input):
        way = route_of(found.record, line)
        marks = [(MAPPED_FROM, "/".join(map(str, place)).encode()), _mark(letter)]
        fits = await feed.send(way.topic, way.key, line, marks)
        counts["sent" if fits else "too_large"] += 1
        return fits
    if isinstance(found, Dead):
        counts["refused"] += 1
        if counts["refused"] <= SHOWN:
            say(f"{letter.place}: still {found.reason}: {found.detail}")
    else:
        counts[found] += 1
    return False


def _is_a_platform_s(topic: str) -> bool:
    """Whether a letter comes from a topic that a mapping reads: files are known by their path."""
    return topic not in _INPUTS and topic != INBOX and TOPIC_NAME.fullmatch(topic) is not None


def _mapped(letter: Letter, mapping: Mapping | None) -> bool:
    """Whether a mapping has the topic or file that a letter comes from."""
    return mapping is not None and mapping.of_place(letter.src_topic) is not None


def _is_a_generation_s(topic: str) -> bool:
    """Whether a letter comes from a generation's own topic: what it says is not for the live
    memory, whose topics replays go to."""
    stem, dot, _ = topic.partition(".")
    return bool(dot) and stem in _INPUTS


def _is_changed(payload: bytes) -> bool:
    """Whether these are not the record's own bytes: less images, or a hash of withheld text."""
    return b"[image removed: " in payload or payload.startswith(b'{"bytes":')


def _marked(letter: Letter) -> Headers:
    return [*(one for one in letter.sent_headers if one[0] != REPLAY), _mark(letter)]


def _mark(letter: Letter) -> tuple[str, bytes]:
    return REPLAY, (letter.original or letter.place).encode()
