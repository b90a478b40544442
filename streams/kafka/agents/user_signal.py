"""A turn's user signal as a message between the agents (a hop).

See docs/kafka-tier.md, "User signals between the agents".

On `user-signals` it is a signal of scope user, so that one schema describes the topic, with three
more fields: the turn's `status`, the moment of `affect`, and the turn's `recorded_at`. Posted
signals lack the headers with a hop's source.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from schemas.base import parse_time
from streams.folds.effects import Moment, UserSignal
from streams.kafka.agents.encoding import time_text, to_json
from streams.pipeline.interfaces import Signalled
from streams.topology import SESSION_AGENT

AGAIN = ("again", b"1")
"""Header of a hop from a turn that was set aside and folded after later turns of the log
(docs/quotas.md)."""
SET_ASIDE = "/again"
"""Suffix of the source name of such hops."""
SOURCES = frozenset(topic.name for topic in SESSION_AGENT.sources)


class _Metadata(msgspec.Struct, omit_defaults=True):
    difficulty: str | None = None
    correct_rate: float | None = None


_NOTHING_KNOWN = _Metadata()


class _Vad(msgspec.Struct):
    v: float
    a: float
    d: float


class _Affect(msgspec.Struct):
    text: str
    labels: tuple[str, ...]
    vad: _Vad
    confidence: float


class Hop(msgspec.Struct, omit_defaults=True, tag_field="type", tag="signal"):
    """The message; a `schemas.events.Signal` by its field names."""

    signal_id: str
    tenant: str
    user_id: str
    occurred_at: str
    recorded_at: str
    status: str
    scope: str
    session_id: str | None = None
    intent: str | None = None
    topic: str | None = None
    artifact: str | None = None
    metadata: _Metadata | None = None
    affect: _Affect | None = None


class Cause(msgspec.Struct):
    """The turn behind a hop, with the fields that revisions need."""

    event_id: str
    session_id: str | None
    status: str
    type: str = "turn"


class ReceivedHop(NamedTuple):
    """A decoded hop. `source`: "topic/partition" of its turn, `offset` there."""

    source: str
    offset: int
    signal: Signalled


_time = lru_cache(10_000)(parse_time)  # consecutive hops share times
_decode = msgspec.json.Decoder(Hop).decode


def encode(signal: UserSignal, tenant: str, status: str, recorded_at: str) -> bytes:
    has_metadata = signal.difficulty is not None or signal.correct_rate is not None
    moment = signal.affect
    return to_json(
        Hop(
            signal.event_id,
            tenant,
            signal.user_id,
            time_text(signal.occurred_at),
            recorded_at,
            status,
            "user",
            signal.session_id,
            signal.intent,
            signal.topic,
            signal.artifact,
            _Metadata(signal.difficulty, signal.correct_rate) if has_metadata else None,
            _Affect(
                moment.text, moment.labels, _Vad(moment.v, moment.a, moment.d), moment.confidence
            )
            if moment
            else None,
        )
    )


def decode_hop(message: Any) -> ReceivedHop | None:
    """Decodes a message of the session agent, or returns None for a posted signal.

    Raises:
        ValueError: a foreign message with the agent's headers.
    """
    place = place_of(message.headers)
    if place is None:
        return None
    hop = _decode(message.value)
    cause = Cause(hop.signal_id, hop.session_id, hop.status)
    signal = Signalled(hop.tenant, _time(hop.recorded_at), cause, _signal(hop))
    return ReceivedHop(*place, signal)


def place_of(headers: Sequence[tuple[str, bytes]]) -> tuple[str, int] | None:
    """Source and offset of a hop's turn, or None for other messages.

    Raises:
        ValueError: the headers are incomplete.
    """
    by_name = dict(headers)
    source = _source(by_name.get("src_topic"), by_name.get("src_partition"))
    if source is None:
        return None
    if AGAIN[0] in by_name:
        source += SET_ASIDE
    offset = by_name.get("src_offset")
    if offset is None:
        raise ValueError("headers: src_offset is missing")
    return source, int(offset)


def is_repeated(source: str, offset: int, offsets: Mapping[str, int]) -> bool:
    """Whether a hop was seen before; `offsets`: newest offset by source. Hops of set-aside turns
    are a separate source: they arrive after hops of later turns. Other hops keep the order in which
    their turns were folded."""
    newest = offsets.get(source, -1)
    if not source.endswith(SET_ASIDE):
        newest = max(newest, offsets.get(source + SET_ASIDE, -1))
    return offset <= newest


@lru_cache(1000)
def _source(topic: bytes | None, partition: bytes | None) -> str | None:
    """Source of a hop from its headers, or None if they name no source of the agent."""
    name = (topic or b"").decode("utf-8", "replace")
    if name.partition(".")[0] not in SOURCES:  # a generation's mapping: turns.NAME
        return None
    if partition is None:
        raise ValueError("headers: src_partition is missing")
    return f"{name}/{int(partition)}"


def _signal(hop: Hop) -> UserSignal:
    at, affect, metadata = parse_time(hop.occurred_at), hop.affect, hop.metadata or _NOTHING_KNOWN
    moment = None
    if affect is not None:
        numbers = (affect.vad.v, affect.vad.a, affect.vad.d, affect.confidence)
        words = (affect.text, affect.labels, False, hop.session_id)
        moment = Moment(at, hop.signal_id, *numbers, *words)
    return UserSignal(
        hop.signal_id, hop.user_id, hop.session_id, at, hop.intent, hop.topic, hop.artifact,
        metadata.difficulty, metadata.correct_rate, moment,
    )  # fmt: skip
