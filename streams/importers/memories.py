"""Statements that another memory has made of conversations, as write plans: one of each.

They come without the turns they rest on, so they count as what an agent said (docs/context.md,
Trust) and have no evidence.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from schemas.base import DAY, JsonObject, format_time
from schemas.events import SCHEMA_VERSION
from streams.folds.ids import canonical, make_id
from streams.importers.base import ImportFault, NoUser, Skipped, Told, identifier, micros


class Statement(NamedTuple):
    """What another memory holds true of a user; times are microseconds.

    `said_at`: when it was written there. `payload`: what else it says of it.
    """

    id: str
    user_id: str
    text: str
    said_at: int
    valid_from: int
    valid_to: int | None
    payload: JsonObject


def plan(source: str, statement: Statement) -> JsonObject:
    """The record that says it. Its id is made of the content: the same again is a duplicate, and
    what has changed there since changes the state here."""
    state = {
        "op": "upsert",
        "kind": "fact",
        "state_id": statement.id,
        "body_text": statement.text,
        "payload": {"source": source, **statement.payload},
        "valid_from": format_time(statement.valid_from),
        "reason": f"imported from {source}",
    }
    if statement.valid_to is not None:
        state["valid_to"] = format_time(statement.valid_to)
    return {
        "type": "write_plan",
        "schema_version": SCHEMA_VERSION,
        "plan_id": make_id("plan", source, statement.id, canonical(state)),
        "user_id": statement.user_id,
        "occurred_at": format_time(statement.said_at),
        "extractor": {"name": source},
        "state_updates": [state],
    }


class Fields:
    """The fields of one item, checked as they are asked for. `number` counts items from 1."""

    def __init__(self, item: Any, number: int) -> None:
        """Raises ImportFault for what is no object."""
        if not isinstance(item, dict):
            raise ImportFault("expected an object", item=number)
        self.item: JsonObject = item
        self.number = number

    def text(self, name: str) -> str:
        """Raises ImportFault where there is none."""
        value = self.item.get(name)
        if not isinstance(value, str) or not value.strip():
            raise ImportFault("expected text", item=self.number, field=name)
        return value

    def id(self, *names: str) -> str:
        """The first of these that is given. Raises ImportFault."""
        for name in names:
            if found := identifier(self.item.get(name), item=self.number, field=name):
                return found
        raise ImportFault("is missing", item=self.number, field=names[0])

    def user(self, told: Told) -> str:
        """Raises NoUser, ImportFault."""
        said = self.item.get("user_id")
        if isinstance(said, str) and not said.strip():
            said = None
        user = identifier(said, item=self.number, field="user_id") or told.user
        if user is None:
            raise NoUser(self.number)
        return user

    def time(self, *names: str) -> int | None:
        """The first of these that is given, in microseconds; a date is its beginning (UTC).
        Raises ImportFault."""
        for name in names:
            value = self.item.get(name)
            if isinstance(value, str) and len(value) == len("2026-01-31"):
                value = f"{value}T00:00:00Z"
            if value is not None:
                return micros(value, item=self.number, field=name)
        return None

    def last_day(self, name: str) -> int | None:
        """The end of a day that is named by its date; else as `time`."""
        value, at = self.item.get(name), self.time(name)
        whole_day = isinstance(value, str) and len(value) == len("2026-01-31")
        return at + DAY if at is not None and whole_day else at

    def said_at(self, told: Told, skipped: Skipped, *names: str) -> int:
        """When it was written, else what who imports says. Raises ImportFault."""
        at = self.time(*names)
        if at is not None:
            return at
        if told.created is None:
            reason = "is missing, and the file's own time cannot be used: give --created TIME"
            raise ImportFault(reason, item=self.number, field=names[-1])
        skipped.date(told)
        return told.created

    def kept(self, *names: str) -> JsonObject:
        """Those of these fields that say anything."""
        return {name: self.item[name] for name in names if self.item.get(name)}


def unwrapped(documents: Iterable[Any], *lists: str) -> Iterator[Any]:
    """The items of a file: objects, arrays of objects, and replies that list them (`results`)."""
    for document in documents:
        for item in document if isinstance(document, Iterator | list) else [document]:
            found = item if isinstance(item, dict) else {}
            name = next((one for one in lists if isinstance(found.get(one), list)), None)
            if isinstance(item, list):
                yield from item
            elif name is None:
                yield item
            else:
                yield from found[name]
