"""In which sessions a user spoke, as it was known at any time."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from schemas.time import format_time
from sinks.kept import Source
from sinks.lookup import Lookup
from streams.chronicle.series import Newest, Series

Json = dict[str, Any]


class _Spoken(NamedTuple):
    session_id: str
    event_id: str
    occurred_at: int
    recorded_at: int


class _Turns(Series[_Spoken]):
    """Of each turn the earliest row."""

    @staticmethod
    def key(row: _Spoken) -> str:
        return row.event_id

    @staticmethod
    def standing(rows: Sequence[_Spoken]) -> Iterable[_Spoken]:
        return [min(rows, key=attrgetter("occurred_at"))]


class _Rows(_Turns):
    """Every row."""

    @staticmethod
    def standing(rows: Sequence[_Spoken]) -> Iterable[_Spoken]:
        return rows


class Talk:
    """In which sessions a user spoke."""

    def __init__(self, rows: list[_Spoken]) -> None:
        by_session = defaultdict[str, list[_Spoken]](list)
        for row in rows:
            by_session[row.session_id].append(row)
        self._sessions = {name: (_Turns(some), _Rows(some)) for name, some in by_session.items()}

    def sessions(self, as_of: int, known_at: int | None, limit: int) -> Newest[Json]:
        """The last one first: `turns` are the user's."""
        found = []
        for name, (turns, rows) in self._sessions.items():
            if count := turns.newest(as_of, known_at, 0).total:
                last = rows.newest(as_of, known_at, 1).shown[0]
                found.append((-last.occurred_at, name, count))
        found.sort()
        return Newest(
            [
                {"session_id": name, "turns": turns, "last_active": format_time(-last)}
                for last, name, turns in found[:limit]
            ],
            len(found),
        )


def _talked(about: Lookup, owner: str) -> list[_Spoken]:
    shown = ("session_id", "event_id", "epoch_us(occurred_at)", "epoch_us(recorded_at)")
    found = about.rows("events", shown, "user_id = ? AND session_id IS NOT NULL", owner)
    return list(map(_Spoken._make, found))


TALK: Source[Talk] = Source("talk", ("events",), _talked, lambda _owner, _about, rows: Talk(rows))
