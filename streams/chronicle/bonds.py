"""What a turn replies to, and its threads: the views `link_current` and `thread_current`, of the
turns of one session."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

from sinks.kept import Source
from sinks.lookup import Lookup

Json = dict[str, Any]


class Bond(NamedTuple):
    """A row of `links` (of what replies to what) or of `threads`, where `to` is the thread."""

    table: str
    event_id: str
    to: str
    owner_id: str
    session_id: str | None
    is_put: bool
    provisional: bool
    seq: int
    recorded_at: int
    src_offset: int

    @property
    def order(self) -> tuple[int, int, int]:
        """The last of those that say the same stands."""
        return self.seq, self.recorded_at, self.src_offset


ByEvent = dict[str, list[Bond]]
LATER = ("owner_id", "session_id", "op = 'put'")
PLACE = ("seq", "epoch_us(recorded_at)", "src_offset")


def _read(about: Lookup, owner: str) -> list[Bond]:
    links = ("'links'", "from_event_id", "to_event_id", *LATER, "provisional", *PLACE)
    threads = ("'threads'", "event_id", "thread_key", *LATER, "false", *PLACE)
    found = about.rows("links", links, "owner_id = ? AND label = 'reply_to'", owner)
    return list(map(Bond._make, [*found, *about.rows("threads", threads, "owner_id = ?", owner)]))


def _by_event(_owner: str, _about: Lookup, every: list[Bond]) -> ByEvent:
    found = defaultdict[str, list[Bond]](list)
    for one in every:
        found[one.event_id].append(one)
    return dict(found)


BONDS: Source[ByEvent] = Source("bonds", ("links", "threads"), _read, _by_event)


def known(every: ByEvent, events: Iterable[str], known_at: int) -> Iterator[Bond]:
    """Those of some turns that were recorded by a time."""
    return (one for event in events for one in every.get(event, ()) if one.recorded_at <= known_at)


def replies(session_id: str, held: Collection[Bond]) -> dict[str, Json]:
    """By turn, what it replies to. What a plan says stands over what was assumed."""
    links = [one for one in held if one.table == "links"]
    assumed = _assumed(one for one in links if one.provisional and one.owner_id == session_id)
    planned = _standing(session_id, (one for one in links if not one.provisional))
    return {
        one.event_id: {"event_id": one.to, "provisional": one.provisional}
        for one in [*assumed, *planned]
    }


def threads(session_id: str, held: Collection[Bond]) -> dict[str, list[str]]:
    """By turn, its threads."""
    found = defaultdict[str, set[str]](set)
    for one in _standing(session_id, (one for one in held if one.table == "threads")):
        found[one.event_id].add(one.to)
    return {event: sorted(some) for event, some in found.items()}


def _standing(session_id: str, bonds: Iterable[Bond]) -> list[Bond]:
    """Puts less removes, of what names this session or none."""
    last: dict[tuple[Any, ...], Bond] = {}
    for one in sorted(bonds, key=lambda one: one.order):
        last[one.owner_id, one.session_id, one.event_id, one.to] = one
    return [one for one in last.values() if one.is_put and one.session_id in (None, session_id)]


def _assumed(links: Iterable[Bond]) -> list[Bond]:
    """Of a turn's links the one that was put last, if it was not removed since."""
    put: dict[str, Bond] = {}
    removed: dict[tuple[str, str], int] = {}
    for one in sorted(links, key=lambda one: one.order):
        if one.is_put:
            put[one.event_id] = one
        else:
            removed[one.event_id, one.to] = one.seq
    return [one for one in put.values() if removed.get((one.event_id, one.to), -1) < one.seq]
