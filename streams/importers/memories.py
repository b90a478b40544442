"""Statements of another memory system, each as a write plan.

They come without the turns that support them, so they count as words of an agent (docs/context.md,
Trust) and have no evidence.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from schemas.base import DAY, JsonObject, format_time
from schemas.events import SCHEMA_VERSION
from streams.folds.ids import canonical, make_id
from streams.importers.base import ImportDefaults, ImportFault, NoUser, Skipped, identifier, micros


class Statement(NamedTuple):
    """A fact of another memory system about a user; times are microseconds.

    `said_at`: when it was written there. `payload`: further fields.
    """

    id: str
    user_id: str
    text: str
    said_at: int
    valid_from: int
    valid_to: int | None
    payload: JsonObject


def plan(source: str, statement: Statement) -> JsonObject:
    """Returns the write plan of a statement. Its id is derived from the content: the same statement
    is a duplicate, and a changed one updates the state."""
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
    """Fields of one item, validated on access. `number` counts items from 1."""

    def __init__(self, item: Any, number: int) -> None:
        """Raises ImportFault if the item is not an object."""
        if not isinstance(item, dict):
            raise ImportFault("expected an object", item=number)
        self.item: JsonObject = item
        self.number = number

    def text(self, name: str) -> str:
        """Returns a text. Raises ImportFault if it is missing."""
        value = self.item.get(name)
        if not isinstance(value, str) or not value.strip():
            raise ImportFault("expected text", item=self.number, field=name)
        return value

    def id(self, *names: str) -> str:
        """Returns the first present id. Raises ImportFault."""
        for name in names:
            if id := identifier(self.item.get(name), item=self.number, field=name):
                return id
        raise ImportFault("is missing", item=self.number, field=names[0])

    def user(self, defaults: ImportDefaults) -> str:
        """Returns the user. Raises NoUser, ImportFault."""
        named_user = self.item.get("user_id")
        if isinstance(named_user, str) and not named_user.strip():
            named_user = None
        user = identifier(named_user, item=self.number, field="user_id") or defaults.user
        if user is None:
            raise NoUser(self.number)
        return user

    def time(self, *names: str) -> int | None:
        """Returns the first present time in microseconds; a date is its start (UTC). Raises
        ImportFault."""
        for name in names:
            value = self.item.get(name)
            if isinstance(value, str) and len(value) == len("2026-01-31"):
                value = f"{value}T00:00:00Z"
            if value is not None:
                return micros(value, item=self.number, field=name)
        return None

    def last_day(self, name: str) -> int | None:
        """Returns the end of a day given as a date; otherwise as `time`."""
        value, at = self.item.get(name), self.time(name)
        whole_day = isinstance(value, str) and len(value) == len("2026-01-31")
        return at + DAY if at is not None and whole_day else at

    def said_at(self, defaults: ImportDefaults, skipped: Skipped, *names: str) -> int:
        """Returns the time of writing, or the default. Raises ImportFault."""
        at = self.time(*names)
        if at is not None:
            return at
        if defaults.created is None:
            reason = "is missing, and the file's own time cannot be used: give --created TIME"
            raise ImportFault(reason, item=self.number, field=names[-1])
        skipped.date(defaults)
        return defaults.created

    def kept(self, *names: str) -> JsonObject:
        """Returns the non-empty ones of these fields."""
        return {name: self.item[name] for name in names if self.item.get(name)}


def unwrapped(documents: Iterable[Any], *lists: str) -> Iterator[Any]:
    """Iterates over the items of a file: objects, arrays of objects, and replies with a list
    (`results`)."""
    for document in documents:
        for item in document if isinstance(document, Iterator | list) else [document]:
            fields = item if isinstance(item, dict) else {}
            name = next(
                (list_name for list_name in lists if isinstance(fields.get(list_name), list)), None
            )
            if isinstance(item, list):
                yield from item
            elif name is None:
                yield item
            else:
                yield from fields[name]
