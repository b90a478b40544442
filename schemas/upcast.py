"""Renames old fields, and normalizes the content of a record (docs/records.md).

Works on the decoded JSON, before validation. Version 1 has several names for some fields, such as
the misspelt `angent_answer`; version 2 has one. Both accept the old names. Two records of the same
content are equal in normal form.
"""

from decimal import Decimal
from functools import cache
from math import isfinite
from typing import Any, get_args

from schemas.base import Wire
from schemas.events import RECORD_TYPES, Record, Summary, Turn

TURN_ALIASES = (
    ("angent_answer", "agent_answer"),
    ("final_answer", "agent_answer"),
    ("session_subject", "subject"),
    ("session_goal", "object"),
)
SUMMARY_ALIAS = ("narrative", "content")

MEANINGFUL_IF_EMPTY = frozenset({"constraints", "plan", "result"})
"""Fields that an empty list clears, or with free content."""

Shape = dict[str, type[Wire] | None]
"""Fields of a model, with the models nested in them."""

EXACT = 2**53
"""Below it every integer has an exact float."""
INTEGERS = range(-(2**63), 2**64)
"""Integers that rows can store."""


def number(digits: str) -> int | float:
    """Parses a JSON number with a fraction or an exponent: 2.0 is 2, 1e2 is 100, -0.0 is 0.

    A whole number beyond 64 bits stays a float. Raises ValueError beyond the range of floats.
    """
    value = float(digits)
    if not value.is_integer():
        if isfinite(value):
            return value
        raise ValueError("Number out of range")
    if abs(value) < EXACT:
        return int(value)
    whole = int(Decimal(digits)) if abs(value) < 2**65 else 0
    return whole if whole in INTEGERS and whole else value


def upcast(record: dict[str, Any]) -> dict[str, Any]:
    """Renames old fields in place, drops nulls of declared fields and returns the record; nulls in
    free content stay."""
    kind = record.get("type")
    model = RECORD_TYPES.get(kind, Turn) if isinstance(kind, str) else Turn
    _drop_nulls(record, model)
    if kind == "tool_result":
        record.setdefault("result", None)
    elif kind == "turn":
        for old, new in TURN_ALIASES:
            if old in record and new not in record:
                record[new] = record.pop(old)
        summary, (old, new) = record.get("summary"), SUMMARY_ALIAS
        if isinstance(summary, dict) and old in summary and new not in summary:
            summary[new] = summary.pop(old)
    return record


def settled(model: Record, content: dict[str, Any]) -> dict[str, Any]:
    """Removes empty objects and lists of declared fields from `model` and from `content`, its
    dump without defaults. Changes both; returns `content`."""
    for name, value in list(content.items()):
        if not _is_empty(name, value):
            continue
        field = type(model).model_fields.get(name)
        if field is not None and field.default is None and name not in MEANINGFUL_IF_EMPTY:
            del content[name]
            setattr(model, name, None)
    return content


def _is_empty(name: str, value: Any) -> bool:
    if name == "metadata" and type(value) is dict:
        return not any(part is not None for part in value.values())
    return type(value) in (dict, list) and not value


def _drop_nulls(value: Any, model: type[Wire]) -> None:
    if type(value) is list:
        for element in value:
            _drop_nulls(element, model)
    elif type(value) is dict:
        shape = _shape(model)
        for name, part in list(value.items()):
            if name not in shape:
                continue
            nested = shape[name]
            if part is None:
                del value[name]
            elif nested is not None:
                _drop_nulls(part, nested)


@cache
def _shape(model: type[Wire]) -> Shape:
    shape = {name: _nested(field.annotation) for name, field in model.model_fields.items()}
    aliases = TURN_ALIASES if model is Turn else (SUMMARY_ALIAS,) if model is Summary else ()
    return shape | {old: shape[new] for old, new in aliases}


def _nested(hint: Any) -> type[Wire] | None:
    """The model in an annotation (of a list, an optional and so on), or None without one."""
    if isinstance(hint, type) and issubclass(hint, Wire):
        return hint
    return next((model for part in get_args(hint) if (model := _nested(part))), None)
