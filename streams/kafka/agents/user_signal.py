"""What an ended turn means for its user, as a message between the agents.

See docs/kafka-tier.md, "User signals between the agents".

On `user-signals` it is a signal of scope user, so that one schema describes the topic, with three
more fields: the turn's `status`, the moment of `affect`, and `recorded_at`, the turn's own.
A posted signal lacks the headers that say where a hop comes from.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from schemas.base import parse_time
from streams.folds.rows import Moment, UserSignal
from streams.kafka.agents.encoding import time_text, to_json
from streams.pipeline.ports import Signalled
from streams.topology import SESSION_AGENT

AGAIN = ("again", b"1")
"""The header of a hop whose turn was set aside and folded later, after turns that follow it in the
log (docs/quotas.md)."""
SET_ASIDE = "/again"
"""Ends the name of a source of such hops."""
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
    """The message; a `schemas.events.Signal` by its names."""

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
    """The turn behind a hop, as far as revisions need it."""

    event_id: str
    session_id: str | None
    status: str
    type: str = "turn"


class Received(NamedTuple):
    """A hop as read. `source`: "topic/partition" of its turn, `offset` there."""

    source: str
    offset: int
    said: Signalled


_time = lru_cache(10_000)(parse_time)  # what comes together was recorded together
_decode = msgspec.json.Decoder(Hop).decode


def encode(signal: UserSignal, tenant: str, status: str, recorded_at: str) -> bytes:
    """The message of one signal."""
    known = signal.difficulty is not None or signal.correct_rate is not None
    felt = signal.affect
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
            _Metadata(signal.difficulty, signal.correct_rate) if known else None,
            _Affect(felt.text, felt.labels, _Vad(felt.v, felt.a, felt.d), felt.confidence)
            if felt
            else None,
        )
    )


def read(record: Any) -> Received | None:
    """A message of the session agent; None for a signal that was posted.

    Raises:
        ValueError: somebody else wrote it, with headers as if it were the agent's.
    """
    place = place_of(record.headers)
    if place is None:
        return None
    hop = _decode(record.value)
    cause = Cause(hop.signal_id, hop.session_id, hop.status)
    said = Signalled(hop.tenant, _time(hop.recorded_at), cause, _signal(hop))
    return Received(*place, said)


def place_of(headers: Sequence[tuple[str, bytes]]) -> tuple[str, int] | None:
    """The source of a hop's turn and its offset there; None for what is no hop.

    Raises:
        ValueError: the headers are incomplete.
    """
    found = dict(headers)
    source = _source(found.get("src_topic"), found.get("src_partition"))
    if source is None:
        return None
    if AGAIN[0] in found:
        source += SET_ASIDE
    offset = found.get("src_offset")
    if offset is None:
        raise ValueError("headers: src_offset is missing")
    return source, int(offset)


def is_repeated(source: str, offset: int, seen: Mapping[str, int]) -> bool:
    """Whether a hop came before; `seen`: the newest offset of each source. The hops of turns that
    were set aside are a source of their own: they come later than hops of turns that follow theirs.
    All others follow, in the log, every turn that was folded before them."""
    newest = seen.get(source, -1)
    if not source.endswith(SET_ASIDE):
        newest = max(newest, seen.get(source + SET_ASIDE, -1))
    return offset <= newest


@lru_cache(1000)
def _source(topic: bytes | None, partition: bytes | None) -> str | None:
    """Where a hop comes from by its headers; None where they name no source of the agent."""
    name = (topic or b"").decode("utf-8", "replace")
    if name.partition(".")[0] not in SOURCES:  # of a generation's mapping: turns.NAME
        return None
    if partition is None:
        raise ValueError("headers: src_partition is missing")
    return f"{name}/{int(partition)}"


def _signal(hop: Hop) -> UserSignal:
    at, felt, known = parse_time(hop.occurred_at), hop.affect, hop.metadata or _NOTHING_KNOWN
    moment = None
    if felt is not None:
        numbers = (felt.vad.v, felt.vad.a, felt.vad.d, felt.confidence)
        said = (felt.text, felt.labels, False, hop.session_id)
        moment = Moment(at, hop.signal_id, *numbers, *said)
    return UserSignal(
        hop.signal_id, hop.user_id, hop.session_id, at, hop.intent, hop.topic, hop.artifact,
        known.difficulty, known.correct_rate, moment,
    )  # fmt: skip
