"""`turnfold dlq replay`: sends dead letters to the topics they came from.

A letter is sent with its bytes, key and headers, and with the header REPLAY, which names the place
of the original. If it is applied now, any later copy is a duplicate. If it is refused again, the
new dead letter has the header too; neither it nor its original is sent from then on, except by
`again`, for a version that accepts more. Until a worker has read a letter nothing shows that it was
sent: a second replay sends it again.
"""

import json
import re
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from sinks.locations import Location
from sinks.shared import check_cluster, owner_of
from streams.errors import DataRefused
from streams.files.inbox import TOPIC as INBOX
from streams.folds.rows import Input
from streams.kafka.agents.routing import MAPPED_FROM, route, route_of
from streams.kafka.client.admin import cluster_of, connected
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.sink.batch import MISFIT
from streams.kafka.tools.dead_letters import Letter
from streams.kafka.tools.produce import Feed, Headers
from streams.pipeline.decode import Dead
from streams.pipeline.withheld import in_headers
from streams.topology import TOPICS

REPLAY = "turnfold_replay"
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


def chosen(
    found: Iterable[Letter],
    reasons: Sequence[str] = (),
    again: bool = False,
    places: Sequence[str] = (),
    came_back: Collection[str] = (),
    mapping: Mapping | None = None,
) -> tuple[list[Letter], Counter[str]]:
    """Those to send, of these places if any are named; how many are passed over and why.

    `came_back`: places of letters that were refused again, besides those that `found` shows.
    `mapping`: of letters of other topics than ours; without it these are passed over. Raises
    DataRefused for a place where no letter is.
    """
    every = list(found)
    if missing := sorted(set(places) - {one.place for one in every}):
        raise DataRefused(f"no dead letter {', '.join(missing)}: `turnfold dlq list` has their ids")
    came_back = {*came_back, *refused_again(every)}
    to_send: list[Letter] = []
    passed: Counter[str] = Counter()
    for one in every:
        if places and one.place not in places:
            passed["not_named"] += 1
        elif _mark(one) is not None:
            passed["replays"] += 1
        elif _is_a_generation_s(one.src_topic) and not _mapped(one, mapping):
            passed["of_a_generation"] += 1
        elif one.reason == MISFIT or (reasons and one.reason not in reasons):
            passed["other_reason"] += 1
        elif one.place in came_back and not again:
            passed["refused_again"] += 1
        elif _is_a_platform_s(one.src_topic) and not _mapped(one, mapping):
            passed["needs_mapping"] += 1
        elif one.reason not in reasons and _is_changed(one.payload):
            passed["bytes_not_kept"] += 1
        else:
            to_send.append(one)
    return to_send, passed


def refused_again(found: Iterable[Letter]) -> set[str]:
    """The places of letters that were replayed and are dead letters once more."""
    return {mark for one in found if (mark := _mark(one)) is not None}


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
) -> dict[str, int]:
    """Sends letters, in their order: {"sent", "too_large", "withheld"}; with a mapping also
    {"skipped", "refused"}: events of which it makes nothing, or still no valid record; `say`
    hears of the first of these. Raises Unreachable."""
    counts: Counter[str] = Counter(sent=0, too_large=0, withheld=0)
    if mapping is not None:
        counts.update(skipped=0, refused=0)
    async with Feed(settings, topics=READ) as feed:
        for one in found:
            if mapping is not None and (source := mapping.of_place(one.src_topic)):
                await _map(one, source, feed, counts, say)
                continue
            way = route(one.payload)
            if way is None or in_headers(_headers(one)):
                counts["withheld"] += 1
                continue
            topic = one.src_topic if one.src_topic in _INPUTS else way.topic
            key = way.key if one.key is None else one.key.encode()
            fits = await feed.send(topic, key, way.value, _marked(one))
            counts["sent" if fits else "too_large"] += 1
        await feed.flush()
    return dict(counts)


async def _map(
    letter: Letter, source: "Source", feed: Feed, counts: Counter[str], say: Callable[[str], None]
) -> None:
    """Maps an event again, and sends the record to where it belongs: never to the platform's own
    topic, which others read."""
    from streams.mapping.envelopes import Message

    place = (letter.src_topic, letter.src_partition, letter.src_offset)
    key = None if letter.key is None else letter.key.encode()
    message = Message(letter.src_topic, letter.recorded_at // 1000, key, _headers(letter))
    found, line = source.map(letter.payload, place, message)
    if isinstance(found, Input):
        way = route_of(found.record, line)
        marks = [(MAPPED_FROM, "/".join(map(str, place)).encode()), (REPLAY, letter.place.encode())]
        fits = await feed.send(way.topic, way.key, line, marks)
        counts["sent" if fits else "too_large"] += 1
    elif isinstance(found, Dead):
        counts["refused"] += 1
        if counts["refused"] <= SHOWN:
            say(f"{letter.place}: still {found.reason}: {found.detail}")
    else:
        counts[found] += 1


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
    return [*_headers(letter), (REPLAY, letter.place.encode())]


def _mark(letter: Letter) -> str | None:
    return next((value.decode() for name, value in _headers(letter) if name == REPLAY), None)


def _headers(letter: Letter) -> list[tuple[str, bytes]]:
    """The record's own headers, from pairs of name and text; {"base64": …} is no text."""
    if letter.headers is None:
        return []
    return [(name, _bytes(value)) for name, value in json.loads(letter.headers)]


def _bytes(value: Any) -> bytes:
    if isinstance(value, dict):
        return b64decode(value["base64"])
    return b"" if value is None else str(value).encode()
