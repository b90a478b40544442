"""Items of LangGraph's store as states of a user's memory: their form, and the filters of a
search."""

import json
import operator
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID, uuid5

from langgraph.store.base import Item, PutOp, get_text_at_path, tokenize_path

from turnfold_client.errors import NotKeptError
from turnfold_client.models import State
from turnfold_client.session_log import Json, encoded
from turnfold_client.times import format_time

FIELD = "langgraph"
"""Field of a state's payload with the store's data of the item."""
IDS = UUID("3c1f6a0e-6d0e-4b0e-9a55-0f3b7d1f2c11")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Kept(NamedTuple):
    """An item, its state's id, and the start of its value's validity (microseconds)."""

    item: Item
    state_id: str
    valid_from: int


def state_id(namespace: tuple[str, ...], key: str) -> str:
    """The id of an item's state."""
    return f"langgraph-{uuid5(IDS, json.dumps([*namespace, key]))}"


def kept_of(state: State) -> Kept | None:
    """The item that a state is, or None for any other state."""
    said = state.payload.get(FIELD)
    if not isinstance(said, dict):
        return None
    item = Item(
        value=json.loads(said["value"]),
        key=said["key"],
        namespace=tuple(said["namespace"]),
        created_at=_time(said["created_at"]),
        updated_at=_time(state.valid_from),
    )
    return Kept(item, state.state_id, state.valid_from)


def update(op: PutOp, before: Kept | None, now: int) -> Json | None:
    """The update of a plan for a put or a delete, or None if the item to delete is missing. Each
    value is valid from its put until the next, so that `as_of` finds it. Raises NotKeptError."""
    if op.ttl is not None:
        raise NotKeptError(f"{op.key}: a fact has no TTL; delete the item when it is over")
    at = now if before is None else max(now, before.valid_from + 1)
    own = {"state_id": state_id(op.namespace, op.key), "reason": "LangGraph's store"}
    if op.value is None:
        if before is None:
            return None
        return {**own, "op": "close", "valid_to": format_time(at)}
    value = encoded(dict(op.value), f"value of {op.key}")
    created_at = at if before is None else _micros(before.item.created_at)
    return {
        **own,
        "op": "upsert",
        "kind": "fact",
        "body_text": _text(op) or op.key,
        "payload": {
            FIELD: {
                "namespace": list(op.namespace),
                "key": op.key,
                "value": value,
                "created_at": created_at,
            }
        },
        "confidence": 1.0,
        "valid_from": format_time(at),
    }


def _text(op: PutOp) -> str:
    """What is found and shown of a value: all of it, or the fields that `index` names."""
    if op.index is False or op.value is None:
        return ""
    if op.index is None:
        return "; ".join(_leaves(op.value, ""))
    texts = (get_text_at_path(op.value, tokenize_path(path)) for path in op.index)
    return "; ".join(text for found in texts for text in found if text)


def _leaves(value: Any, name: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, str(key))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _leaves(inner, name)
    elif value is not None and value != "":
        text = value if isinstance(value, str) else json.dumps(value)
        yield f"{name}: {text}" if name else text


def _time(micros: int) -> datetime:
    return EPOCH + timedelta(microseconds=micros)


def _micros(at: datetime) -> int:
    return (at - EPOCH) // timedelta(microseconds=1)


# --- filters ----------------------------------------------------------------------------------

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


def matches(value: Any, asked: Mapping[str, Any] | None) -> bool:
    """Whether an item's value fits a filter: equal fields, or `{"$gt": 3}` and its like. Raises
    NotKeptError for an unknown operator."""
    return all(_fits(value.get(name), wanted) for name, wanted in (asked or {}).items())


def _fits(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        if any(str(name).startswith("$") for name in wanted):
            return all(_compares(value, name, other) for name, other in wanted.items())
        return isinstance(value, Mapping) and matches(value, wanted)
    if isinstance(wanted, list | tuple):
        return (
            isinstance(value, list) and len(value) == len(wanted) and all(map(_fits, value, wanted))
        )
    return bool(value == wanted)


def _compares(value: Any, name: str, other: Any) -> bool:
    compare = OPERATORS.get(name)
    if compare is None:
        raise NotKeptError(f"{name} is no operator of a filter: use {', '.join(OPERATORS)}")
    try:
        return compare(value, other)
    except TypeError:  # text and a number, or a field that is missing
        return False
